"""Who solves OLIVE's program: engines, exact search, or enumeration of policies.

The pair that OLIVE gets is exact and checked against every constraint. That it is also
a *maximiser* is proved by `BranchAndBound`, and by `Milp` where it attains the upper
end of the range of g; else it is the engine's word. Finite classes:
`sampled_program.FinitePairs`.

`enumerate_policies` tries all policies that differ where the action matters. Each is
settled in rationals, engines only suggesting multipliers: *solved* exactly; *bounded*,
by weak duality, by the best value so far; or *covered* by an earlier policy's
multipliers, which rest on constraints that this one, choosing alike in their states,
has as well.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...solvers.lp import branch_and_bound, dual_bound
from ...solvers.milp.milp import confirm, propose
from ...solvers.model import LinearModel
from ...solvers.outcome import LinearOutcome, Status
from ..mdp.planning import Pair
from .model import PairModel, PolicyLp, program_model
from .program import (
    Answer,
    Form,
    OliveProgram,
    Program,
    distinct_actions,
    support_states,
)
from .sampled_program import SampledProgram


@dataclass(frozen=True)
class LeastTolerance:
    """What `least_tolerance` found."""

    # The tolerance, exact for the pair; None if none up to the ceiling was found
    tolerance: Fraction | None
    pair: Pair | None  # A pair with the demanded objective that needs this tolerance
    # Whether it is proved that no smaller one (or none up to the ceiling) will do
    proved: bool
    seconds: float  # Wall time in the engine
    # Why there is no tolerance, where a limit or the engine is to blame
    reason: str = ""


def least_tolerance(
    program: OliveProgram | SampledProgram,
    value: Fraction | int,
    ceiling: Fraction | int,
    *,
    prove: bool = False,
    engine: str = "highs",
    time_limit: float | None = None,
) -> LeastTolerance:
    """Find the least φ at which some feasible pair has objective `value` or more."""
    if not ceiling > 0:
        raise ValueError(f"ceiling {ceiling} is not positive")
    model, variable, relaxed = _model(program, Fraction(value), Fraction(ceiling))
    if prove:
        outcome = branch_and_bound(model, time_limit=time_limit)
        seconds = outcome.seconds
    else:
        outcome = propose(model, engine, time_limit)
        seconds = outcome.seconds
        if outcome.status is not Status.FEASIBLE:
            outcome = confirm(model, outcome)
    if outcome.values is None or not outcome.exact or outcome.reason:
        proved = outcome.exact and outcome.status is Status.INFEASIBLE
        reason = outcome.reason or f"the engine says {outcome.status.value}"
        return LeastTolerance(None, None, proved, seconds, "" if proved else reason)
    found = [Fraction(v) for v in outcome.values]
    tolerance = found[variable]
    proved = outcome.status is Status.OPTIMAL or tolerance == 0
    return LeastTolerance(
        tolerance, program_model(relaxed).pair(found[:variable]), proved, seconds
    )


def _model(
    program: OliveProgram | SampledProgram, value: Fraction, ceiling: Fraction
) -> tuple[LinearModel, int, OliveProgram | SampledProgram]:
    """Write the model with a variable φ in place of the ceiling of constraints."""
    relaxed = copy(program)
    relaxed.tolerance = ceiling
    built = program_model(relaxed).model
    model = LinearModel("least tolerance", variables=list(built.variables))
    phi = model.add_variable("tolerance", 0, ceiling)
    for row in built.rows:
        if row.name.startswith("bellman("):
            sign = -1 if row.sense == "<=" else 1
            row = replace(
                row,
                indices=(*row.indices, phi),
                coefficients=(*row.coefficients, Fraction(sign)),
                rhs=row.rhs + sign * ceiling,
            )
        model.rows.append(row)
    objective = built.objective
    demanded = value - built.objective_constant
    model.add_row(list(objective), list(objective.values()), ">=", demanded, "value")
    model.set_objective([phi], [1], maximise=False)
    return model, phi, relaxed


_LARGEST_WEIGHT = 100


class _Tabular:
    form: Form
    time_limit: float | None

    def _outcome(self, model: LinearModel) -> tuple[LinearOutcome, float]:
        raise NotImplementedError

    def maximise(self, program: Program) -> Answer:
        return self._solve(program, program_model(program, self.form))

    def another(
        self, program: Program, value: Fraction, rng: np.random.Generator
    ) -> Answer:
        """Maximise random weights over the pairs worth enough: not uniform."""
        built = program_model(program, self.form)
        answer = self._solve(program, _face(built, value, rng))
        return _scattered(program, built, answer, rng)

    def _solve(self, program: Program, built: PairModel) -> Answer:
        began = time.monotonic()
        outcome, engine_seconds = self._outcome(built.model)
        answer = _read(program, built, outcome, began)
        return answer._replace(engine_seconds=engine_seconds)


class Milp(_Tabular):
    """Tabular classes, by a MILP engine: its policy, with exact values for it."""

    def __init__(
        self,
        engine: str = "highs",
        form: Form = "value-policy",
        time_limit: float | None = None,
    ) -> None:
        self.engine, self.form, self.time_limit = engine, form, time_limit

    def _outcome(self, model: LinearModel) -> tuple[LinearOutcome, float]:
        outcome = propose(model, self.engine, self.time_limit)
        engine_seconds = outcome.seconds
        if outcome.status is not Status.FEASIBLE:  # an incumbent decides nothing
            outcome = confirm(model, outcome)
        return outcome, engine_seconds


class BranchAndBound(_Tabular):
    """Tabular classes, solved exactly with a proof; for small programs."""

    def __init__(
        self, form: Form = "value-policy", time_limit: float | None = None
    ) -> None:
        self.form, self.time_limit = form, time_limit

    def _outcome(self, model: LinearModel) -> tuple[LinearOutcome, float]:
        outcome = branch_and_bound(model, time_limit=self.time_limit)
        return outcome, outcome.seconds


def _read(
    program: Program, built: PairModel, outcome: LinearOutcome, began: float
) -> Answer:
    def seconds() -> float:
        return time.monotonic() - began

    if outcome.status is Status.INFEASIBLE:
        return Answer("infeasible", None, None, outcome.exact, seconds())
    if outcome.values is None or not outcome.exact:
        reason = outcome.reason or f"the engine says {outcome.status.value}"
        return Answer("undecided", None, None, False, seconds(), reason=reason)
    if outcome.status is Status.FEASIBLE and outcome.reason:
        return Answer("undecided", None, None, False, seconds(), reason=outcome.reason)
    pair = built.pair([Fraction(v) for v in outcome.values])
    value = program.objective(pair)
    proved = outcome.status is Status.OPTIMAL or value == program.upper
    return Answer("optimal", pair, value, proved, seconds())


def _face(built: PairModel, value: Fraction, rng: np.random.Generator) -> PairModel:
    model = replace(built.model, rows=list(built.model.rows))
    objective = model.objective
    model.add_row(
        list(objective),
        list(objective.values()),
        ">=",
        value - model.objective_constant,
        "optimum",
    )
    drawn = list(built.value_index.values())
    drawn += [j for binaries in built.policy_index.values() for j in binaries.values()]
    weights = rng.integers(-_LARGEST_WEIGHT, _LARGEST_WEIGHT + 1, len(drawn))
    model.set_objective(drawn, weights.tolist(), maximise=True)
    return replace(built, model=model)


def _scattered(
    program: Program, built: PairModel, answer: Answer, rng: np.random.Generator
) -> Answer:
    """Draw what the model leaves free: actions without binaries, unused values."""
    if answer.pair is None:
        return answer
    policy = rng.integers(program.action_counts).astype(np.int32)
    for state in built.policy_index:
        policy[state] = answer.pair.policy[state]
    values = [
        program.upper_of(state) if end else program.lower
        for state, end in enumerate(rng.integers(2, size=len(policy)).tolist())
    ]
    for state in built.value_index:
        values[state] = answer.pair.value(state)
    return answer._replace(pair=Pair.from_fractions(values, policy))


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


class _Search:
    """The best pair so far, and what proves that no policy seen beats it."""

    def __init__(
        self, program: OliveProgram, choices: Mapping[int, Sequence[int]]
    ) -> None:
        self.lp = PolicyLp(program, np.zeros(program.mdp.n_states, dtype=np.int32))
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
