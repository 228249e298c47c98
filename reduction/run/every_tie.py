"""Every tie: an exact search over all runs that OLIVE may take on a small member.

A run is legal if each round takes a maximiser (g, π) and binds a level that the rule
allows. For a fixed policy the maximisers are a polytope, and a linear program over it
says whether some point of it allows a level. Only what matters of a policy is tried:
the action at s0 and those of clause states that are met or bound. So the search sees
faces, not samples, and needs no more than the set of distributions bound so far.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.mdp.distributions import Distribution
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive.backups import (
    distinct_actions,
    single_state_constraints,
    support_states,
)
from olivine.algorithms.olive.program import OliveProgram
from olivine.algorithms.olive.ranges import Upper
from olivine.reduction.family.family import Family
from olivine.reduction.run.levels import LevelRule
from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel

_Policy = NDArray[np.int32]
_Row = tuple[dict[int, Fraction], Fraction]


@dataclass(frozen=True)
class EveryTie:
    """What a search over all legal runs found.

    Attributes
    ----------
    always
        Whether every run meets exactly the hard program, after `rounds` rounds.
    rounds
        m + 2n + 1, the number of the hard program's constraints.
    programs
        Programs met before the hard one, by their constraints.
    faces
        Polytopes of maximisers with one policy, over which levels were decided.
    example
        Constraints of a run that never meets it, in order, the last one not of the
        hard program; or those of one that stops before. Empty if `always`.
    """

    always: bool
    rounds: int
    programs: int
    faces: int
    example: tuple[str, ...]


def every_tie(
    family: Family, y: ArrayLike | None = None, levels: LevelRule = "lowest"
) -> EveryTie:
    """Search all runs of OLIVE, exact and with φ = 0, on the member M_y.

    The work grows as 7^m and as the number of programs that runs can meet; it ends at
    the first run that never meets the hard program.

    Parameters
    ----------
    family, y
        The member; None is the all-zero one.
    levels
        Which level with a positive error may be bound.
    """
    member = family.assignment_of(y)
    search = TieSearch(family.mdp(member), family.ranges(), levels)
    stated = [d.probabilities() for d in family.distributions()]
    waiting: list[tuple[Distribution, ...]] = [()]
    seen, rounds = {frozenset[object]()}, len(stated)
    while waiting:
        bound = waiting.pop()
        for met in search.moves(bound):
            run = bound if met is None else (*bound, met)
            if met is None or met.probabilities() not in stated:
                example = tuple(search.name(d) for d in run)
                return EveryTie(False, rounds, len(seen), search.faces, example)
            key = frozenset(search.name(d) for d in run)
            if len(run) < rounds and key not in seen:
                seen.add(key)
                waiting.append(run)
    return EveryTie(True, rounds, len(seen), search.faces, ())


class TieSearch:
    """Decides what a round may do, by exact linear programs over faces.

    Parameters
    ----------
    mdp, upper
        The MDP, of at most three levels, and the upper ends of the ranges of g.
    levels
        Which level with a positive error may be bound.
    """

    def __init__(self, mdp: TabularMDP, upper: Upper, levels: LevelRule) -> None:
        self.mdp, self.levels, self.faces = mdp, levels, 0
        self.empty = OliveProgram(mdp, [], upper=upper)

    def name(self, distribution: Distribution) -> str:
        """Name a distribution by its states and shares."""
        return ", ".join(
            f"{p} {self.mdp.state_names[s]}"
            for s, p in sorted(distribution.probabilities().items())
        )

    def moves(self, bound: tuple[Distribution, ...]) -> Iterator[Distribution | None]:
        """Yield each distribution that a round may bind; None if it may stop."""
        program = self.empty.extended(bound)
        faces = self.maximisers(program)
        found = set[str]()
        for policy, optimum in faces:
            self.faces += 1
            start = self.mdp.start
            if optimum <= self.mdp.evaluate(policy).value(start):
                yield None  # the errors add up to 0
                continue
            met = [self.mdp.distribution(policy, h) for h in self._levels]
            for level in self._levels:
                if self.name(met[level - 1]) in found:
                    continue
                if self.allowed(program, policy, optimum, met, level):
                    found.add(self.name(met[level - 1]))
                    yield met[level - 1]

    @property
    def _levels(self) -> range:
        return range(1, self.mdp.horizon + 1)

    def maximisers(self, program: OliveProgram) -> list[tuple[_Policy, Fraction]]:
        """Policies that have maximisers, each with the optimum."""
        best, found = Fraction(-1), list[tuple[_Policy, Fraction]]()
        caps = self._caps(program)
        for action in sorted(range(len(caps)), key=lambda a: -caps[a]):
            if caps[action] < best:
                break
            for policy in self._policies(program, action):
                model = self._model(program, policy)
                model.set_objective([self.mdp.start], [1], maximise=True)
                solved = solve_lp(model, exact=True)
                if solved.values is None:
                    continue
                value = Fraction(solved.values[self.mdp.start])
                best = max(best, value)
                found.append((policy, value))
        return [(policy, value) for policy, value in found if value == best]

    def _caps(self, program: OliveProgram) -> list[Fraction]:
        """Bound g(s0) for each action of s0, by ranges and states bound alone."""
        mdp, alone = self.mdp, single_state_constraints(program)

        def cap(action: int, depth: int) -> Fraction:
            ahead = (p * at(t, depth) for t, p in mdp.successors(action))
            return mdp.reward(action) + sum(ahead, Fraction())

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

    def _model(self, program: OliveProgram, policy: _Policy) -> LinearModel:
        """All g that are feasible with a policy."""
        model = LinearModel("face")
        for state, name in enumerate(self.mdp.state_names):
            model.add_variable(name, program.lower, program.upper_of(state))
        for distribution in program.distributions:
            coefficients, reward = self._error(policy, distribution)
            model.add_row(list(coefficients), list(coefficients.values()), "==", reward)
        return model

    def allowed(
        self,
        program: OliveProgram,
        policy: _Policy,
        optimum: Fraction,
        met: list[Distribution],
        level: int,
    ) -> bool:
        """Whether the rule allows a level at some maximiser with this policy."""
        model = self._model(program, policy)
        model.add_row([self.mdp.start], [1], "==", optimum)
        own, reward = self._error(policy, met[level - 1])
        for other in self._levels:
            if other == level:
                continue
            row, cost = self._error(policy, met[other - 1])
            if self.levels == "lowest" and other < level:
                model.add_row(list(row), list(row.values()), "<=", cost)
            if self.levels == "largest":
                row = {s: row.get(s, 0) - own.get(s, Fraction()) for s in row | own}
                model.add_row(list(row), list(row.values()), "<=", cost - reward)
        model.set_objective(
            list(own), list(own.values()), maximise=True, constant=-reward
        )
        values = solve_lp(model, exact=True).values
        if values is None:
            return False
        return model.objective_value([Fraction(v) for v in values]) > 0

    def _error(self, policy: _Policy, distribution: Distribution) -> _Row:
        """E[g(x) − g(x′)] as coefficients, and E[r]."""
        coefficients: dict[int, Fraction] = {}
        reward = Fraction(0)
        for state, share in distribution.probabilities().items():
            action = self.mdp.actions(state)[int(policy[state])]
            coefficients[state] = coefficients.get(state, Fraction()) + share
            reward += share * self.mdp.reward(action)
            for target, chance in self.mdp.successors(action):
                before = coefficients.get(target, Fraction())
                coefficients[target] = before - share * chance
        return coefficients, reward
