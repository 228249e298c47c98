"""Small tabular MDPs, programs and pairs as strategies; slow references."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction

from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution, Pair
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program.program import OliveProgram

REWARDS = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(-1, 4)]


def shares(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


@st.composite
def mdps(draw: st.DrawFn, *, max_states: int = 5) -> TabularMDP:
    """Any acyclic MDP: early ends, equal actions, unreachable states, odd levels."""
    n = draw(st.integers(1, max_states))
    levels = list(itertools.accumulate(draw(st.integers(0, 1)) for _ in range(n - 1)))
    levels = [1, *(1 + level for level in levels)]
    states = []
    for s in range(n):
        actions = []
        for a in range(draw(st.integers(1, 3))):
            later = list(range(s + 1, n))
            targets = (
                draw(st.lists(st.sampled_from(later), unique=True, max_size=3))
                if later
                else []
            )
            weights = [draw(st.integers(1, 3)) for _ in targets]
            successors = dict(
                zip([f"s{t}" for t in targets], shares(weights), strict=True)
            )
            actions.append((f"a{a}", draw(st.sampled_from(REWARDS)), successors))
        if draw(st.booleans()) and len(actions) < 3:
            actions.append(("again", *actions[-1][1:]))
        states.append((f"s{s}", levels[s], actions))
    return TabularMDP.from_lists(states)


@st.composite
def policies(draw: st.DrawFn, mdp: TabularMDP) -> list[int]:
    return [draw(st.integers(0, int(k) - 1)) for k in mdp.action_counts]


@st.composite
def pairs(draw: st.DrawFn, mdp: TabularMDP) -> Pair:
    value = st.fractions(-1, 2, max_denominator=6)
    values = [draw(value) for _ in range(mdp.n_states)]
    return Pair.from_fractions(values, draw(policies(mdp)))


@st.composite
def distributions(draw: st.DrawFn, mdp: TabularMDP) -> Distribution:
    """A distribution over any states; its mass may be below 1, or 0."""
    states = draw(st.lists(st.integers(0, mdp.n_states - 1), unique=True, max_size=3))
    weights = [draw(st.integers(1, 3)) for _ in states]
    spare = draw(st.sampled_from([0, 0, 0, 1]))
    total = max(sum(weights) + spare, 1)
    level = draw(st.integers(1, mdp.horizon))
    return Distribution.from_fractions(
        {s: Fraction(w, total) for s, w in zip(states, weights, strict=True)}, level
    )


@st.composite
def programs(draw: st.DrawFn, *, max_states: int = 5) -> OliveProgram:
    mdp = draw(mdps(max_states=max_states))
    collected = draw(st.lists(distributions(mdp), max_size=4))
    tolerance = draw(st.sampled_from([0, 0, Fraction(1, 10), Fraction(1, 3)]))
    lower = draw(st.sampled_from([0, 0, -1, Fraction(-1, 7), Fraction(1, 5)]))
    upper = draw(st.sampled_from([1, 1, Fraction(9, 7)]))
    return OliveProgram(mdp, collected, tolerance, lower, upper)


def all_policies(mdp: TabularMDP) -> list[list[int]]:
    return [list(p) for p in itertools.product(*map(range, mdp.action_counts))]


def slow_values(mdp: TabularMDP, policy: list[int]) -> list[Fraction]:
    """V^π by recursion on the definition."""

    def value(state: int) -> Fraction:
        action = mdp.actions(state)[policy[state]]
        future = (p * value(t) for t, p in mdp.successors(action))
        return sum(future, mdp.reward(action))

    return [value(s) for s in range(mdp.n_states)]


def slow_error(mdp: TabularMDP, distribution: Distribution, pair: Pair) -> Fraction:
    """Average Bellman error of a pair, written down as it is defined."""
    total = Fraction(0)
    for state, share in distribution.probabilities().items():
        action = mdp.actions(state)[int(pair.policy[state])]
        backup = mdp.reward(action)
        for target, probability in mdp.successors(action):
            backup += probability * pair.value(target)
        total += share * (pair.value(state) - backup)
    return total


def slow_distribution(
    mdp: TabularMDP, policy: list[int], level: int
) -> dict[int, Fraction]:
    """Distribution of the state met at a time step, by enumerating episodes."""
    now = {mdp.start: Fraction(1)}
    for _ in range(level - 1):
        later: dict[int, Fraction] = {}
        for state, mass in now.items():
            for target, p in mdp.successors(mdp.actions(state)[policy[state]]):
                later[target] = later.get(target, Fraction(0)) + mass * p
        now = later
    return dict(sorted(now.items()))


def one_variable_family() -> tuple[TabularMDP, list[Distribution]]:
    """The paper's family for (x1 ∨ x1 ∨ x1) ∧ (¬x1 ∨ ¬x1 ∨ ¬x1), by hand.

    m = 2 clauses, penalty 1/m, member y = (1): unsatisfiable, one clause stays
    unsatisfied, so the optimum of OLIVE's program is 1 − 1/(3m) = 5/6.
    """
    half = Fraction(1, 2)

    def clause(true_state: str, false_state: str) -> list[tuple]:
        actions = []
        for bits in ("001", "010", "011", "100", "101", "110", "111"):
            ones = Fraction(bits.count("1"), 3)
            actions.append((bits, 0, {true_state: ones, false_state: 1 - ones}))
        return actions

    mdp = TabularMDP.from_lists(
        [
            (
                "s0",
                1,
                [
                    ("[try x1]", 0, {"x1^0": half, "x1^1": half}),
                    ("[try C1]", -half, {"C1": 1}),
                    ("[try C2]", -half, {"C2": 1}),
                    ("[solve]", 0, {"C1": half, "C2": half}),
                ],
            ),
            ("C1", 2, clause("x1^1", "x1^0")),
            ("C2", 2, clause("x1^0", "x1^1")),
            ("x1^0", 2, [("[go]", 0, {})]),
            ("x1^1", 2, [("[go]", 1, {})]),
        ]
    )
    collected = [
        Distribution.from_fractions({0: 1}, 1),
        Distribution.from_fractions({1: 1}, 2),
        Distribution.from_fractions({2: 1}, 2),
        Distribution.from_fractions({3: half, 4: half}, 2),
    ]
    return mdp, collected


def pairs_of_q_functions(
    action_counts: Iterable[int], functions: Iterable[Sequence[Fraction | int]]
) -> list[Pair]:
    """The pairs (x ↦ f(x, π_f(x)), π_f), π_f the first greedy action, one by one."""
    offsets = [0, *itertools.accumulate(map(int, action_counts))]
    pairs = []
    for function in functions:
        rows = [function[a:b] for a, b in itertools.pairwise(offsets)]
        best = [max(row) for row in rows]
        policy = [row.index(v) for row, v in zip(rows, best, strict=True)]
        pairs.append(Pair.from_fractions(best, policy))
    return pairs
