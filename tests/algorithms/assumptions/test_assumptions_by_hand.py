"""The assumptions' checkers against plain sums over a process written as lists.

Nothing of the environments' truth is used. Hidden dynamics, the start and rewards
may be random, states unreachable, observations never emitted, and values tie. A
counterexample must be one.
"""

import itertools
import random
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.assumptions.checks import CLIPPED, NAMES, check_assumptions
from olivine.algorithms.assumptions.closure import evaluation_closed
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.environments import from_lists

PR, VR, PV, PC = NAMES
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


class Process:
    """A random process: what its environment is built from, and plain expectations.

    `seen[h]` maps each observation that can be seen at level h (from 0) to its state.
    """

    def __init__(self, rnd: random.Random) -> None:
        self.H, self.K = rnd.randint(1, 3), rnd.randint(1, 2)
        widths = [rnd.randint(1, 2), *(rnd.randint(1, 3) for _ in range(self.H - 1))]
        self.names = [[f"s{h}.{i}" for i in range(w)] for h, w in enumerate(widths)]
        self.levels = [
            [self._state(rnd, h, name) for name in level]
            for h, level in enumerate(self.names)
        ]
        share = Fraction(1, widths[0])
        self.start = dict.fromkeys(self.names[0], share)
        self.codes = [[x for s in level for x in s[1]] for level in self.levels]
        self.states = {s[0]: s for level in self.levels for s in level}
        reached, self.seen = set(self.names[0]), []
        for level in self.levels:
            here = [s for s in level if s[0] in reached]
            self.seen.append({x: s[0] for s in here for x, p in s[1].items() if p})
            reached = {t for s in here for m in s[3] for t, p in m.items() if p}

    def _state(self, rnd, h, name):
        law = rnd.choice([(1,), (1, 0), (HALF, HALF), (THIRD, 1 - THIRD)])
        emitted = {f"{name}.{i}": Fraction(p) for i, p in enumerate(law)}
        most = Fraction(1, self.H)
        paid = {
            x: [rnd.choice([0, 0, most, {most: HALF, 0: HALF}]) for _ in range(self.K)]
            for x in emitted
        }
        moves = []
        for _ in range(self.K if h + 1 < self.H else 0):
            t, u = rnd.choice(self.names[h + 1]), rnd.choice(self.names[h + 1])
            sure = t == u or rnd.random() < 0.5
            moves.append({t: Fraction(1)} if sure else {t: THIRD, u: 1 - THIRD})
        return name, emitted, paid, moves

    def environment(self):
        return from_lists(self.levels, start=self.start)

    def gains(self, h, ahead):
        """{x: [E[r + ahead(x') | x, a] for each a]} over what can be seen."""
        found = {}
        for x, name in self.seen[h].items():
            _, _, paid, moves = self.states[name]
            row = []
            for a, law in enumerate(paid[x]):
                law = law if isinstance(law, dict) else {law: 1}
                total = sum((Fraction(r) * p for r, p in law.items()), Fraction(0))
                if h + 1 < self.H:
                    for t, p in moves[a].items():
                        for y, q in self.states[t][1].items():
                            total += p * q * ahead[y] if q else 0
                row.append(total)
            found[x] = row
        return found

    def followed(self, h, policies):
        """Values of policies of levels h.. at what can be seen."""
        ahead = {}
        for level in reversed(range(h, self.H)):
            q = self.gains(level, ahead)
            ahead = {x: row[policies[level - h][x]] for x, row in q.items()}
        return ahead

    def optimal(self, h):
        """Q* at what can be seen."""
        ahead = {}
        for level in reversed(range(h, self.H)):
            q = self.gains(level, ahead)
            ahead = {x: max(row) for x, row in q.items()}
        return q


def answers(q):
    return {x: [a for a, v in enumerate(row) if v == max(row)] for x, row in q.items()}


def draw_classes(rnd, process):
    """Members by level, {observation: value or action}: often nearly complete."""
    values, policies = [], []
    kept = rnd.choice([0.4, 0.7, 1.0])
    for h in reversed(range(process.H)):
        codes, ahead = process.codes[h], values[0] if values else [{}]
        grid = [Fraction(i, process.H) for i in range(process.H + 1)]
        g = [{x: rnd.choice(grid) for x in codes} for _ in range(rnd.randint(0, 1))]
        pi = [
            {x: rnd.randrange(process.K) for x in codes}
            for _ in range(rnd.randint(0, 2))
        ]
        asked = [process.gains(h, g_ahead) for g_ahead in ahead]
        asked += [
            process.gains(h, process.followed(h + 1, later))
            for later in itertools.product(*policies)
        ]
        for q in [process.optimal(h), *asked]:
            if rnd.random() < kept:
                best = {x: rnd.choice(a) for x, a in answers(q).items()}
                pi.append({x: best.get(x, 0) for x in codes})
            if rnd.random() < kept:
                top = {x: min(Fraction(1), max(row)) for x, row in q.items()}
                g.append({x: top.get(x, Fraction(0)) for x in codes})
        g = g or [dict.fromkeys(codes, Fraction(0))]
        pi = pi or [dict.fromkeys(codes, 0)]
        values.insert(0, rnd.sample(g, min(len(g), 4)))
        policies.insert(0, rnd.sample(pi, min(len(pi), 4)))
    return values, policies


class Definitions:
    """Which members are missing, by the letter of the definitions."""

    def __init__(self, process, values, policies) -> None:
        self.p, self.values, self.policies = process, values, policies

    def no_policy(self, h, q):
        best = answers(q)
        return not any(all(m[x] in best[x] for x in q) for m in self.policies[h])

    def no_value(self, h, wanted):
        return not any(
            all(m[x] == v for x, v in wanted.items()) for m in self.values[h]
        )

    def tops(self, q, name):
        top = {x: max(row) for x, row in q.items()}
        return (
            {x: min(v, Fraction(1)) for x, v in top.items()} if name == CLIPPED else top
        )

    def holds(self, name) -> bool:
        levels = range(self.p.H)
        if name == PR:
            return not any(self.no_policy(h, self.p.optimal(h)) for h in levels)
        if name == VR:
            tops = [self.tops(self.p.optimal(h), name) for h in levels]
            return not any(self.no_value(h, tops[h]) for h in levels)
        if name == PC:
            return not any(
                self.no_policy(h, self.p.gains(h, self.p.followed(h + 1, later)))
                for h in levels
                for later in itertools.product(*self.policies[h + 1 :])
            )
        for h in levels:
            for g in self.values[h + 1] if h + 1 < self.p.H else [{}]:
                q = self.p.gains(h, g)
                if self.no_policy(h, q) or self.no_value(h, self.tops(q, name)):
                    return False
        return True

    def evaluation_closed(self) -> bool:
        for h in range(self.p.H):
            for g in self.values[h + 1] if h + 1 < self.p.H else [{}]:
                q = self.p.gains(h, g)
                for m in self.policies[h]:
                    if self.no_value(h, {x: row[m[x]] for x, row in q.items()}):
                        return False
        return True

    def is_counterexample(self, name, example) -> bool:
        h = example.level - 1
        codes = self.p.codes[h]
        seen = [x for x in codes if x in self.p.seen[h]]
        assert [codes.index(x) for x in seen] == list(example.codes)
        given = {
            level - 1: dict(zip(self._seen(level - 1), row, strict=True))
            for level, row in example.given
        }
        if name in (PR, VR):
            assert not given
            q = self.p.optimal(h)
        elif name == PC:
            assert sorted(given) == list(range(h + 1, self.p.H))
            for level, row in given.items():
                assert any(row.items() <= m.items() for m in self.policies[level])
            later = [given[level] for level in sorted(given)]
            q = self.p.gains(h, self.p.followed(h + 1, later))
        else:
            assert sorted(given) == ([h + 1] if h + 1 < self.p.H else [])
            for level, row in given.items():
                assert any(row.items() <= m.items() for m in self.values[level])
            q = self.p.gains(h, given.get(h + 1, {}))
        place = codes[example.observation]
        name_of_state = self.p.seen[h][place]
        assert self.p.names[h][example.state] == name_of_state
        if example.missing == "policy":
            assert list(example.wanted) == [tuple(answers(q)[x]) for x in seen]
            assert example.nearest not in answers(q)[place]
            return self.no_policy(h, q)
        tops = self.tops(q, name)
        assert list(example.wanted) == [tops[x] for x in seen]
        assert example.nearest != tops[place]
        return self.no_value(h, tops)

    def _seen(self, h):
        return [x for x in self.p.codes[h] if x in self.p.seen[h]]


def as_classes(process, values, policies):
    tables = [
        [[m[x] for x in codes] for m in level]
        for codes, level in zip(process.codes, values, strict=True)
    ]
    actions = [
        [[m[x] for x in codes] for m in level]
        for codes, level in zip(process.codes, policies, strict=True)
    ]
    return (
        ValueClassByLevel(
            [FiniteValueClass(np.array(t, dtype=object)) for t in tables]
        ),
        PolicyClassByLevel([FinitePolicyClass(a, process.K) for a in actions]),
    )


@given(st.integers(0, 10**9))
def test_checkers_and_counterexamples(seed) -> None:
    for part in range(4):
        judge(random.Random(f"{seed} {part}"))


def judge(rnd) -> None:
    process = Process(rnd)
    values, policies = draw_classes(rnd, process)
    env, classes = process.environment(), as_classes(process, values, policies)
    written = Definitions(process, values, policies)
    found = check_assumptions(env, *classes, [*NAMES, CLIPPED])
    for name, assumption in found.items():
        assert assumption.name == name
        assert assumption.holds is written.holds(name), name
        assert (assumption.counterexample is None) == assumption.holds
        if not assumption.holds:
            assert written.is_counterexample(name, assumption.counterexample)
    closed = evaluation_closed(env, *classes).holds
    assert closed is written.evaluation_closed()
    # The Fact, without its first arrow; and that arrow, with closure.
    holds = {name: assumption.holds for name, assumption in found.items()}
    assert holds[PR] or not holds[PC]
    assert (holds[PR] and holds[VR]) or not holds[PV]
    assert holds[PC] or not (holds[PV] and closed)
