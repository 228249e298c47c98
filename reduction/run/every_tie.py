"""Every tie: an exact search over all runs that OLIVE may take on a small member.

For a fixed policy the maximisers of a round are a polytope, a *face*; of a policy only
actions that matter are tried: s0's and those of states bound or that it leads to. With
noise a round may take each pair whose true errors are at most φ + η and whose value is
at least the optimum at φ − η, less γ: estimates within η allow it. Those of its own
errors are variables of the linear program.

What a round may bind depends on the set of distributions bound so far alone, so the
search goes through these sets. A run ends when it has bound the hard program, and
beside it as many others as the variant allows at most.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import check_choice
from ...algorithms.mdp.planning import Distribution, state_distributions
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import (
    OliveProgram,
    Upper,
    distinct_actions,
    single_state_constraints,
    support_states,
)
from ...solvers.lp import LpSession
from ...solvers.model import LinearModel
from ..family.family import Family
from ..family.layout import Layout
from .replay import LEVELS, LevelRule, Levels

_Policy = NDArray[np.int32]
_Bound = Sequence[Distribution]
_Row = tuple[dict[int, Fraction], Fraction]
"""Coefficients and constant of an affine function."""


@dataclass(frozen=True)
class Noise:
    """How far estimates may be off, and OLIVE's thresholds."""

    eta: Fraction = Fraction(0)  # η <= φ: how far estimates of constraints are off
    phi: Fraction = Fraction(0)  # φ, the tolerance of the constraints
    # S >= Hφ: OLIVE stops where estimates add up to S, else binds one >= S/H and > φ
    stop: Fraction = Fraction(0)
    of_errors: Fraction | None = None  # κ: or of a round's errors; None: η
    gamma: Fraction = Fraction(0)  # γ: how far below its optimum a pair may be

    def __post_init__(self) -> None:
        if not 0 <= self.eta <= self.phi:
            raise ValueError(f"noise {self.eta} is outside 0..φ, {self.phi}")
        if self.kappa < 0:
            raise ValueError(f"noise {self.kappa} of the errors is negative")
        if self.gamma < 0:
            raise ValueError(f"γ = {self.gamma} is negative")

    @property
    def kappa(self) -> Fraction:
        """How far an estimate of a round's error may be off."""
        return self.eta if self.of_errors is None else self.of_errors


@dataclass(frozen=True)
class Face:
    """All g that a round may take with a policy: g(s0) is from `least` to `most`."""

    policy: _Policy
    least: Fraction
    most: Fraction
    session: LpSession
    met: Sequence[Distribution]  # States met with the policy, level by level
    errors: Sequence[_Row]  # Average Bellman errors under these


class Faces:
    """What rounds of OLIVE may bind; `looked_at`: number of faces so far."""

    def __init__(
        self, mdp: TabularMDP, upper: Upper, levels: LevelRule, noise: Noise
    ) -> None:
        self.mdp, self.levels, self.noise, self.looked_at = mdp, levels, noise, 0
        if noise.stop < mdp.horizon * noise.phi:
            least = mdp.horizon * noise.phi
            raise ValueError(f"OLIVE cannot stop at {noise.stop}, below Hφ = {least}")
        self._empty = OliveProgram(mdp, [], upper=upper)
        # After the values of states: a margin for strict comparisons, the levels' noise
        self._margin = mdp.n_states
        self._off = [mdp.n_states + 1 + h for h in range(mdp.horizon)]

    def name(self, distribution: Distribution) -> str:
        """Name a distribution by its states and shares."""
        return ", ".join(
            f"{p} {self.mdp.state_names[s]}"
            for s, p in sorted(distribution.probabilities().items())
        )

    def moves(self, bound: _Bound) -> Iterator[Distribution | None]:
        """Yield each distribution that a round may bind; None if it may stop."""
        # Without noise the errors of what is bound are at most φ.
        exact = not self.noise.eta and not self.noise.kappa
        found = {self.name(d) for d in bound} if exact else set[str]()
        for face in self.maximisers(bound):
            if self.may_stop(face):
                yield None
                continue
            for level, distribution in enumerate(face.met, 1):
                name = self.name(distribution)
                if name not in found and self.allows(face, level):
                    found.add(name)
                    yield distribution

    def may_stop(self, face: Face) -> bool:
        """Whether OLIVE may stop at some point of a face."""
        worth = -sum(constant for _, constant in face.errors)
        off = len(face.errors) * self.noise.kappa
        return face.least - worth - off <= self.noise.stop

    def allows(self, face: Face, level: int) -> bool:
        """Whether OLIVE goes on and may bind a level, for some g and estimates."""
        estimates = [
            (row | {off: Fraction(1)}, constant)
            for (row, constant), off in zip(face.errors, self._off, strict=True)
        ]
        wanted = estimates[level - 1]
        phi, share = self.noise.phi, self.noise.stop / len(estimates)
        session, first = face.session, len(face.session.model.rows)

        def demand(row: _Row, *, strictly: bool) -> None:
            terms = row[0] | ({self._margin: Fraction(-1)} if strictly else {})
            session.add_row(list(terms), list(terms.values()), ">=", -row[1])

        def above(row: _Row, least: Fraction) -> _Row:
            return row[0], row[1] - least

        total = _sum((1, row) for row in estimates)
        demand(above(total, self.noise.stop), strictly=True)
        demand(above(wanted, phi), strictly=True)
        demand(above(wanted, share), strictly=False)
        for other in estimates:
            if self.levels == "lowest":
                if other is wanted:
                    break
                # Not large enough: below S/H, or not above φ where that is S/H.
                short = _sum([(-1, above(other, share))])
                demand(short, strictly=share > phi)
            if self.levels == "largest" and other is not wanted:
                demand(_sum([(1, wanted), (-1, other)]), strictly=False)
        session.set_objective([self._margin], [1], maximise=True)
        most = session.solve(exact=True).objective
        session.remove_rows(range(first, len(session.model.rows)))
        return most is not None and most > 0

    def maximisers(self, bound: _Bound) -> Iterator[Face]:
        """Yield the faces of what may be a maximiser."""
        phi, eta, gamma = self.noise.phi, self.noise.eta, self.noise.gamma
        program = self._empty.extended(bound)
        least, faces = Fraction(-1), list[tuple[_Policy, Fraction, LpSession]]()
        caps = self._caps(program)
        for action in sorted(range(len(caps)), key=lambda a: -caps[a]):
            if caps[action] < least - gamma:
                break
            for policy in self._policies(program, action):
                session = self._session(policy, bound, phi + eta)
                most = self._best(session)
                if most is None or most < least - gamma:
                    continue
                faces.append((policy, most, session))
                if eta:
                    best = self._best(self._session(policy, bound, phi - eta))
                    least = least if best is None else max(best, least)
                else:
                    least = max(most, least)
        start, least = self.mdp.start, least - gamma
        for policy, most, session in faces:
            if most < least:
                continue
            session.add_row([start], [1], ">=", least)
            lowest = least if most == least else self._best(session, maximise=False)
            assert lowest is not None
            self.looked_at += 1
            met = list(state_distributions(self.mdp, policy))
            errors = [self._error(policy, distribution) for distribution in met]
            yield Face(policy, lowest, most, session, met, errors)

    def _best(self, session: LpSession, *, maximise: bool = True) -> Fraction | None:
        session.set_objective([self.mdp.start], [1], maximise=maximise)
        found = session.solve(exact=True).objective
        return None if found is None else Fraction(found)

    def _caps(self, program: OliveProgram) -> list[Fraction]:
        """Bound g(s0) for each action of s0, by ranges and states bound alone."""
        mdp, alone = self.mdp, single_state_constraints(program)
        tolerance = self.noise.phi + self.noise.eta

        def cap(action: int, depth: int) -> Fraction:
            ahead = (p * at(t, depth) for t, p in mdp.successors(action))
            return mdp.reward(action) + sum(ahead, tolerance)

        def at(state: int, depth: int) -> Fraction:
            most = program.upper_of(state)
            if state not in alone or depth == 0:
                return most
            return min(most, max(cap(a, depth - 1) for a in mdp.actions(state)))

        most = program.upper_of(mdp.start)
        if mdp.start not in alone:
            return [most] * len(mdp.actions(mdp.start))
        return [min(most, cap(a, 2)) for a in mdp.actions(mdp.start)]

    def _policies(self, program: OliveProgram, action: int) -> Iterator[_Policy]:
        """Yield policies with an action at s0 that differ in what matters."""
        mdp = self.mdp
        first = mdp.actions(mdp.start)[action]
        relevant = {*support_states(program), *(t for t, _ in mdp.successors(first))}
        states = sorted(relevant - {mdp.start})
        options = [self.options(program, s) for s in states]
        for chosen in itertools.product(*options):
            policy = np.zeros(mdp.n_states, dtype=np.int32)
            policy[mdp.start] = action
            policy[states] = chosen
            yield policy

    def options(self, program: OliveProgram, state: int) -> list[int]:
        """Actions of a state that differ in a program, as local indices."""
        return distinct_actions(program.mdp, state)

    def _session(
        self, policy: _Policy, bound: _Bound, tolerance: Fraction
    ) -> LpSession:
        model, kappa = LinearModel("face"), self.noise.kappa
        for state, name in enumerate(self.mdp.state_names):
            model.add_variable(name, 0, self._empty.upper_of(state))
        model.add_variable("margin", 0, 1)
        for off in self._off:
            model.add_variable(f"off{off}", -kappa, kappa)
        for distribution in bound:
            row, constant = self._error(policy, distribution)
            terms = list(row), list(row.values())
            if tolerance:
                model.add_row(*terms, "<=", tolerance - constant)
                model.add_row(*terms, ">=", -tolerance - constant)
            else:
                model.add_row(*terms, "==", -constant)
        return LpSession(model)

    def _error(self, policy: _Policy, distribution: Distribution) -> _Row:
        terms: list[tuple[Fraction, _Row]] = []
        for state, share in distribution.probabilities().items():
            action = self.mdp.actions(state)[int(policy[state])]
            ahead = dict(self.mdp.successors(action))
            terms.append((share, ({state: Fraction(1)}, -self.mdp.reward(action))))
            terms.append((-share, (ahead, Fraction(0))))
        return _sum(terms)


def _sum(terms: Iterable[tuple[Fraction | int, _Row]]) -> _Row:
    coefficients: dict[int, Fraction] = {}
    constant = Fraction(0)
    for factor, (row, own) in terms:
        constant += factor * own
        for state, value in row.items():
            before = coefficients.get(state, Fraction())
            coefficients[state] = before + factor * value
    return coefficients, constant


__all__ = ["EveryTie", "Noise", "every_tie", "search_ties"]

_Run = tuple[Distribution, ...]


@dataclass(frozen=True)
class EveryTie:
    """What a search over legal runs found."""

    always: bool  # Whether every run met is as stated, and comes to the hard program
    rounds: tuple[int, int]  # least and most, before the hard program
    optima: frozenset[Fraction]
    # programs, ends: programs met before these; these
    programs: int
    ends: int
    faces: int  # polytopes of maximisers looked at
    example: tuple[str, ...]  # constraints of a run not as stated, in order


def every_tie(
    family: Family,
    y: ArrayLike | None = None,
    levels: Levels = "lowest",
    noise: Noise | None = None,
    *,
    after: Sequence[Distribution] = (),
    rng: np.random.Generator | None = None,
    runs: int = 1,
) -> EveryTie:
    """Search all runs of OLIVE on the member M_y, with all estimates there may be.

    Runs go on from what was bound before, `after`; with a generator, some are drawn.
    The work grows as 7^m and as the number of programs that runs can meet; it ends at
    the first run that is not as stated.

    Examples
    --------
    >>> from olivine.reduction.formula.formula import Formula
    >>> family = Family(Formula.from_clauses([[1]]).three_sat(), "forced")
    >>> found = every_tie(family, levels="all")
    >>> found.always, found.rounds, found.optima == {family.parameters.best}
    (True, (5, 5), True)
    """
    check_choice("level rule", levels, LEVELS)
    single: LevelRule = "any" if levels == "all" else levels
    mdp, sides = family.mdp(family.assignment_of(y)), family.layout.n_sides
    given = mdp, family.ranges(), single, noise or Noise()
    search = _Copies(family.layout, *given) if sides else Faces(*given)
    return search_ties(
        search,
        family.distributions(),
        beside=1 if sides else 0,
        every_level=levels == "all",
        after=after,
        rng=rng,
        runs=runs,
    )


def search_ties(
    search: Faces,
    hard: Sequence[Distribution],
    *,
    beside: int = 0,
    every_level: bool = False,
    after: Sequence[Distribution] = (),
    rng: np.random.Generator | None = None,
    runs: int = 1,
) -> EveryTie:
    """Search runs on any MDP for one that misses `hard`, or binds more `beside` it."""
    found = _Runs(search, hard, beside, every_level)
    if rng is None:
        found.everything(tuple(after))
    else:
        for _ in range(runs):
            found.draw(rng, tuple(after))
    return EveryTie(
        not found.example,
        (min(found.rounds, default=0), max(found.rounds, default=0)),
        frozenset(found.ends.values()),
        len(found.seen),
        len(found.ends),
        search.looked_at,
        found.example,
    )


class _Runs:
    def __init__(
        self,
        search: Faces,
        hard: Sequence[Distribution],
        beside: int,
        every_level: bool,
    ) -> None:
        self.search, self.beside, self.every = search, beside, every_level
        self.hard = self.key(hard)
        self.seen: set[frozenset[str]] = set()
        self.ends: dict[frozenset[str], Fraction] = {}
        self.rounds: list[int] = []
        self.example: tuple[str, ...] = ()

    def everything(self, start: _Run) -> None:
        waiting: list[tuple[_Run, int]] = [(start, 0)]
        met = {(self.key(start), 0)}
        while waiting and not self.example:
            bound, rounds = waiting.pop()
            for after in self.after(bound, rounds):
                state = (self.key(after), rounds + 1)
                if state not in met:
                    met.add(state)
                    waiting.append((after, rounds + 1))

    def draw(self, rng: np.random.Generator, bound: _Run) -> None:
        for rounds in itertools.count():
            found = self.after(bound, rounds)
            if not found or self.example:
                return
            bound = found[int(rng.integers(len(found)))]

    def key(self, bound: Sequence[Distribution]) -> frozenset[str]:
        return frozenset(map(self.search.name, bound))

    def after(self, bound: _Run, rounds: int) -> list[_Run]:
        """List what may be bound after one more round; nothing where the run ends."""
        key, name = self.key(bound), self.search.name
        if self.hard <= key:
            self.rounds.append(rounds)
            if key not in self.ends:
                best = [f.most for f in self.search.maximisers(bound)]
                self.ends[key] = max(best)
            return []
        self.seen.add(key)
        found: dict[frozenset[str], _Run] = {}
        for met in self._bindings(bound):
            new = met if not self.every else (d for d in met if name(d) not in key)
            run = (*bound, *new)
            if len(self.key(run) - self.hard) > self.beside or self.key(run) == key:
                self.example = tuple(map(name, run))
                return []
            found[self.key(run)] = run
        return list(found.values())

    def _bindings(self, bound: _Run) -> Iterator[_Run]:
        """Yield what a round may bind, level by level; nothing where it may stop."""
        if not self.every:
            for move in self.search.moves(bound):
                yield () if move is None else (move,)
            return
        for face in self.search.maximisers(bound):
            yield () if self.search.may_stop(face) else tuple(face.met)


class _Copies(Faces):
    """Faces of `forced`: of copies with sides that are bound alike, one is tried."""

    def __init__(
        self,
        layout: Layout,
        mdp: TabularMDP,
        upper: Upper,
        levels: LevelRule,
        noise: Noise,
    ) -> None:
        super().__init__(mdp, upper, levels, noise)
        self.layout = layout

    def options(self, program: OliveProgram, state: int) -> list[int]:
        """Actions of a state that differ in a program, as local indices."""
        found = super().options(program, state)
        if not 1 <= state <= self.layout.n_clauses:
            return found
        kept = dict[object, int]()
        for action in found:
            side = int(self.layout.side_state(state - 1, action))
            k = self.layout.n_sides
            own = {side - k: "Y", side: "y", side + k: "z"}
            bound = (d.probabilities() for d in program.distributions)
            alike = frozenset(
                tuple((own.get(s, s), p) for s, p in met.items())
                for met in bound
                if own.keys() & met.keys()
            )
            behind = self.mdp.successors(self.mdp.actions(state)[action])
            literals = tuple((s, p) for s, p in behind if s != side)
            kept.setdefault((literals, alike), action)
        return list(kept.values())
