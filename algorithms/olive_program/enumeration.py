"""The optimum of OLIVE's program by brute force over policies, exact.

With a fixed policy the program is a linear program in the values; policies differ only
where the action matters. Each is settled in rationals, engines only suggesting
multipliers: *solved* exactly; *bounded*, by weak duality, by the best value so far; or
*covered* by an earlier policy's multipliers, which rest on constraints that this one,
choosing alike in their states, has as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...solvers.lp import LpSession, dual_bound
from ...solvers.model import LinearModel, Sense
from ...solvers.outcome import LinearOutcome, Status
from ..mdp.planning import Pair
from .pair_model import backup_of, distinct_actions, needed_states, support_states
from .program import OliveProgram

_MULTIPLIER_DENOMINATOR = 10**6


@dataclass(frozen=True)
class Enumeration:
    """Result of `enumerate_policies`."""

    optimum: Fraction | None  # Exact optimum, or None if no pair is feasible
    pair: Pair | None  # A pair that attains it, or None
    policies: int  # Number of policies that differ where it matters
    # How many of them were settled in each way
    solved: int
    bounded: int
    covered: int


def enumerate_policies(
    program: OliveProgram, *, max_policies: int = 20_000
) -> Enumeration:
    """Optimum over all policies; ValueError if there are more than `max_policies`."""
    choices = policy_choices(program)
    count = math.prod(map(len, choices.values()))
    if count > max_policies:
        raise ValueError(
            f"{count} policies in {len(choices)} states with a choice, more than the "
            f"{max_policies} allowed"
        )
    search = _Search(program, choices)
    search.explore({})
    return Enumeration(
        program.objective(search.best) if search.best else None,
        search.best,
        count,
        search.solved,
        search.bounded,
        search.covered,
    )


def policy_choices(program: OliveProgram) -> dict[int, list[int]]:
    """Distinct actions of each state where the program has a choice to make."""
    choices = {s: distinct_actions(program.mdp, s) for s in support_states(program)}
    return {s: actions for s, actions in choices.items() if len(actions) > 1}


def policy_optimum(program: OliveProgram, policy: ArrayLike) -> Pair | None:
    """Best pair with a given policy (n,), by one exact linear program."""
    program.mdp.global_actions(policy)
    lp = _PolicyLp(program, np.asarray(policy, dtype=np.int32))
    outcome = lp.session.solve(exact=True)
    return lp.pair(outcome) if outcome.status is Status.OPTIMAL else None


class _PolicyLp:
    """The linear program of a policy, which can be moved to another policy."""

    def __init__(self, program: OliveProgram, policy: NDArray[np.int32]) -> None:
        self.program = program
        self.policy = policy.copy()
        self.supports = [d.probabilities() for d in program.distributions]
        self.variable: dict[int, int] = {}
        model = LinearModel(name="olive, one policy")
        for state in needed_states(program):
            self.variable[state] = model.add_variable(
                program.mdp.state_names[state], program.lower, program.upper_of(state)
            )
        start = self.variable[program.mdp.start]
        model.set_objective([start], [1], maximise=True)
        self.row_constraint: list[int] = []
        for i in range(len(self.supports)):
            for sense, indices, coefficients, rhs in self._rows(i):
                model.add_row(indices, coefficients, sense, rhs)
                self.row_constraint.append(i)
        self.session = LpSession(model)

    def _rows(
        self, constraint: int
    ) -> list[tuple[Sense, list[int], list[Fraction], Fraction]]:
        """|Σ_x D(x)(g(x) − E[r + g(x′) | x, π(x)])| ≤ φ as one row or two."""
        mdp = self.program.mdp
        indices: list[int] = []
        coefficients: list[Fraction] = []
        constant = Fraction(0)
        for state, share in self.supports[constraint].items():
            action = mdp.actions(state)[int(self.policy[state])]
            backup = backup_of(self.program, action)
            indices += [self.variable[state]]
            coefficients += [share]
            indices += [self.variable[s] for s in backup.states]
            coefficients += [-share * c for c in backup.coefficients]
            constant += share * backup.constant
        slack = self.program.tolerance
        if slack == 0:
            return [("==", indices, coefficients, constant)]
        return [
            ("<=", indices, coefficients, constant + slack),
            (">=", indices, coefficients, constant - slack),
        ]

    def move(self, choice: Mapping[int, int]) -> None:
        changed = {s for s, local in choice.items() if self.policy[s] != local}
        for state in changed:
            self.policy[state] = choice[state]
        row = 0
        for i, support in enumerate(self.supports):
            width = 1 if self.program.tolerance == 0 else 2
            if not changed.isdisjoint(support):
                for k, (sense, indices, coefs, rhs) in enumerate(self._rows(i)):
                    self.session.replace_row(row + k, indices, coefs, sense, rhs)
            row += width

    def states_of(self, rows: Iterable[int]) -> set[int]:
        return {s for row in rows for s in self.supports[self.row_constraint[row]]}

    def pair(self, outcome: LinearOutcome) -> Pair:
        assert outcome.exact
        assert outcome.values is not None
        program = self.program
        states = range(program.mdp.n_states)
        values = [program.nearest_to_zero(state) for state in states]
        for state, variable in self.variable.items():
            values[state] = Fraction(outcome.values[variable])
        pair = Pair.from_fractions(values, self.policy.copy())  # it moves on
        broken = program.violations(pair)
        if broken:
            raise AssertionError(f"an exact solution breaks the program: {broken[0]}")
        return pair


class _Search:
    """The best pair so far, and what proves that no policy seen beats it."""

    def __init__(
        self, program: OliveProgram, choices: Mapping[int, Sequence[int]]
    ) -> None:
        self.lp = _PolicyLp(program, np.zeros(program.mdp.n_states, dtype=np.int32))
        self.choices = choices
        self.states = list(choices)
        self.best: Pair | None = None
        self.best_value: Fraction | None = None
        # partial choices under which no policy beats the best value
        self.proofs: list[frozenset[tuple[int, int]]] = []
        self.solved = self.bounded = self.covered = 0

    def explore(self, choice: dict[int, int]) -> None:
        """Account for every policy that makes some choices in the first states."""
        made = choice.items()
        left = self.states[len(choice) :]
        if any(proof <= made for proof in self.proofs):
            self.covered += math.prod(len(self.choices[s]) for s in left)
        elif not left:
            self._settle(choice)
        else:
            for local in self.choices[left[0]]:
                self.explore({**choice, left[0]: local})

    def _settle(self, choice: Mapping[int, int]) -> None:
        self.lp.move(choice)
        multipliers = self._bounding(self.lp.session.solve())
        if multipliers is not None:
            self.bounded += 1
        else:
            multipliers = self._solve()
            self.solved += 1
        self._learn(choice, multipliers)

    def _bounding(self, outcome: LinearOutcome) -> Sequence[Fraction] | None:
        """Rational multipliers that bound the policy by the best value, if any."""
        if self.best_value is None or outcome.multipliers is None:
            return None
        raw = [Fraction(y) for y in outcome.multipliers]
        # at a vertex multipliers are small fractions: rounding to those makes the
        # bound exact, so that policies as good as the best are bounded, too
        rounded = [y.limit_denominator(_MULTIPLIER_DENOMINATOR) for y in raw]
        for multipliers in (rounded, raw):
            if dual_bound(self.lp.session.model, multipliers) <= self.best_value:
                return multipliers
        return None

    def _solve(self) -> Sequence[Fraction]:
        outcome = self.lp.session.solve(exact=True)
        assert outcome.multipliers is not None
        if outcome.status is Status.OPTIMAL:
            value = outcome.objective
            assert isinstance(value, Fraction)
            if self.best_value is None or value > self.best_value:
                self.best, self.best_value = self.lp.pair(outcome), value
        return [Fraction(y) for y in outcome.multipliers]

    def _learn(
        self, choice: Mapping[int, int], multipliers: Sequence[Fraction]
    ) -> None:
        used = self.lp.states_of(i for i, y in enumerate(multipliers) if y)
        program = self.lp.program
        if self.best_value == program.upper_of(program.mdp.start):
            used = set()  # the range of g(start) alone proves that nothing beats it
        proof = frozenset((s, local) for s, local in choice.items() if s in used)
        if len(proof) < len(choice):
            self.proofs.append(proof)
