"""Find the least weight of falsified clauses, by two engines that race.

RC2 (`olivine.solvers.sat.rc2`) raises a lower bound. Where a caller can say in clauses
that less than some weight is falsified, a SAT solver lowers an upper bound beside it:
it looks for an assignment that falsifies less than the best one known, and when
there is none, that one is best. On uniform formulas of which little is falsified
the refutation is faster, on dense and on weighted ones RC2 is. RC2 has
the machine to itself first, since it needs but milliseconds for most formulas.

No engine's cost is taken on trust; it must be the cost of its model, counted here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pysat.solvers import Solver

from ..child.child import Calls, ChildResult, Running
from ..child.temporary import scratch_folder
from ..outcome import MaxSatOutcome, SatStatus
from .clauses import (
    ClauseArrays,
    Clauses,
    check_clauses,
    satisfied,
)
from .rc2 import lower_bound, minimise
from .sat import pack_model, unpack_model

Answer = TypeVar("Answer")
Bounded = Callable[[int], list[list[int]]]
"""Clauses that hold for some values of further
variables exactly where less than this weight is falsified. ValueError: too large."""
Search = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]
"""From an assignment that satisfies the hard clauses to one that may be better."""

HEAD_START = 0.5
"""Seconds that RC2 has to itself."""
_POLL = 3600.0


def solve_maxsat(
    clauses: ClauseArrays,
    n_variables: int,
    weights: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    hard: ArrayLike | None = None,
    known: NDArray[np.bool_] | None = None,
    bounded: Bounded | None = None,
    search: Search | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> MaxSatOutcome:
    """Find an assignment of least weight falsified.

    `hard`: booleans, shape (m,): clauses that must hold; None for none. `known`: a good
    assignment, bool, shape (n,), that satisfies the hard clauses. `time_limit,
    memory_limit`: wall seconds for all, and bytes beyond what the caller holds for each
    engine; see `olivine.solvers.child.child.run_in_child`.
    """
    start = time.monotonic()
    check_clauses(clauses, n_variables)
    must = _checked_hard(hard, clauses.offsets.size - 1)
    problem = _Problem(
        Clauses(clauses.literals, clauses.offsets),
        n_variables,
        _checked_weights(weights, must),
        must,
    )
    best = None if known is None else problem.valued(known)
    if best is not None and best.cost == 0:
        outcome = MaxSatOutcome(SatStatus.SATISFIABLE, 0, best.model, 0.0, "known")
    else:
        deadline = math.inf if time_limit is None else start + time_limit
        with scratch_folder() as folder, Calls(memory_limit) as calls:
            second = _Second(problem, bounded, search) if best and bounded else None
            race = _Race(calls, folder / "bound", problem, best, second)
            outcome = race.run(deadline, start + HEAD_START)
    if outcome.status is SatStatus.UNKNOWN and not outcome.reason:
        outcome = outcome._replace(reason=f"time limit of {time_limit:g} s reached")
    return outcome._replace(seconds=time.monotonic() - start)


@dataclass(frozen=True)
class _Valued:
    """An assignment that satisfies the hard clauses, and its cost."""

    model: NDArray[np.bool_]
    cost: int


@dataclass(frozen=True)
class _Problem:
    clauses: Clauses
    n_variables: int
    weights: list[int]
    must: NDArray[np.bool_]

    def valued(self, model: NDArray[np.bool_]) -> _Valued:
        """Count what an assignment falsifies."""
        if model.shape != (self.n_variables,):
            raise ValueError(f"no assignment of {self.n_variables} variables")
        holds = satisfied(self.clauses, model)
        if not holds[self.must].all():
            raise ValueError("the assignment falsifies a hard clause")
        cost = sum(self.weights[j] for j in np.flatnonzero(~holds).tolist())
        return _Valued(model, cost)

    def answered(self, engine: str, packed: bytes) -> _Valued:
        """Count what an engine's model falsifies."""
        try:
            return self.valued(unpack_model(packed, self.n_variables))
        except ValueError as error:
            raise RuntimeError(f"{engine} gave a wrong model: {error}") from error


_Refuted = tuple[str, bytes] | Literal[False] | None


@dataclass(frozen=True)
class _Second:
    """Finds a better assignment or that there is none, in a child process."""

    problem: _Problem
    bounded: Bounded
    search: Search | None

    def __call__(self, best: _Valued) -> _Refuted:
        """Return who found a better assignment, and it.

        False where there is none; None where the clauses would be too many.
        """
        if self.search is not None:
            found = self.search(best.model)
            if self.problem.valued(found).cost < best.cost:
                return "search", np.packbits(found).tobytes()
        try:
            clauses = self.bounded(best.cost)
        except ValueError:
            return None
        if not all(clauses):
            return False
        solver = Solver(name="cadical153", bootstrap_with=clauses)
        if solver.solve():
            model = pack_model(solver.get_model(), self.problem.n_variables)
            return "cadical153", model
        return False


class _Race:
    """RC2 from below, and refutations of what is known less one from above."""

    def __init__(
        self,
        calls: Calls,
        bound: Path,
        problem: _Problem,
        best: _Valued | None,
        second: _Second | None,
    ) -> None:
        self.calls, self.bound, self.problem = calls, bound, problem
        self.best, self.second = best, second
        self.refutation: Running[_Refuted] | None = None
        self.reason = ""

    def run(self, deadline: float, second_start: float) -> MaxSatOutcome:
        """Run until one of them is done, the time is over or neither goes on."""
        p = self.problem
        rc2 = self.calls.start(
            minimise, p.clauses, p.n_variables, p.weights, p.must, self.bound
        )
        goes_on = True
        while (goes_on or self.second) and (now := time.monotonic()) < deadline:
            if now >= second_start or not goes_on:
                self._refute()
            is_due = self.second is not None and self.refutation is None
            alarm = min(deadline, second_start) if is_due else deadline
            ended = self.calls.wait(min(alarm - now, _POLL))
            if ended is rc2:
                goes_on, answer = False, self._of_rc2(_result(rc2))
            elif ended is not None:
                answer = self._of_refutation(_result(ended))
            else:
                answer = None
            if answer is not None:
                return answer
        return self._unknown("" if goes_on else self.reason)

    def _refute(self) -> None:
        """Ask for an assignment that falsifies less than the best one."""
        if self.second is not None and self.best is not None and not self.refutation:
            self.refutation = self.calls.start(self.second, self.best)

    def _of_rc2(
        self, result: ChildResult[tuple[int, bytes] | None]
    ) -> MaxSatOutcome | None:
        result.raise_error("rc2")
        if result.status != "done":
            self.reason = result.message
            return None
        if result.value is None:
            if self.best is not None:
                raise RuntimeError("rc2 says that the hard clauses have no model")
            return MaxSatOutcome(SatStatus.UNSATISFIABLE, None, None, 0.0, "rc2")
        cost, packed = result.value
        found = self.problem.answered("rc2", packed)
        if found.cost != cost:
            raise RuntimeError(f"rc2 says cost {cost}, its model has {found.cost}")
        if self.best is not None and self.best.cost < cost:
            raise RuntimeError(f"rc2 says cost {cost}, a model has {self.best.cost}")
        return _optimal(found, "rc2")

    def _of_refutation(self, result: ChildResult[_Refuted]) -> MaxSatOutcome | None:
        """Keep a better model; without one, the best is the optimum."""
        self.refutation = None
        result.raise_error("the refutation")
        assert self.best is not None
        if result.value is None:
            self.second = None
            return None
        if result.value is False:
            return _optimal(self.best, "cadical153")
        engine, packed = result.value
        found = self.problem.answered(engine, packed)
        if found.cost >= self.best.cost:
            raise RuntimeError(f"{engine} gave a model that is not better")
        self.best = found
        return _optimal(found, engine) if found.cost == 0 else None

    def _unknown(self, reason: str) -> MaxSatOutcome:
        lower, best = lower_bound(self.bound), self.best
        cost, model = (None, None) if best is None else (best.cost, best.model)
        if cost is not None and lower > cost:
            raise RuntimeError(f"rc2 says at least {lower}, a model has {cost}")
        if best is not None and lower == best.cost:
            return _optimal(best, "rc2")
        return MaxSatOutcome(SatStatus.UNKNOWN, cost, model, 0.0, "rc2", reason, lower)


def _result(call: Running[Answer]) -> ChildResult[Answer]:
    assert call.result is not None
    return call.result


def _optimal(found: _Valued, engine: str) -> MaxSatOutcome:
    return MaxSatOutcome(
        SatStatus.SATISFIABLE, found.cost, found.model, 0.0, engine, "", found.cost
    )


def _checked_hard(hard: ArrayLike | None, m: int) -> NDArray[np.bool_]:
    if hard is None:
        return np.zeros(m, dtype=np.bool_)
    must = np.asarray(hard)
    if must.shape != (m,) or (m and must.dtype != np.bool_):
        raise ValueError(f"hard is no array of {m} booleans")
    return must.astype(np.bool_, copy=False)


def _checked_weights(
    weights: Sequence[int] | NDArray[np.integer] | None, must: NDArray[np.bool_]
) -> list[int]:
    """One weight a clause as Python integers; 0 for hard clauses."""
    if weights is None:
        return [1 - int(h) for h in must.tolist()]
    if len(weights) != must.size:
        raise ValueError(f"{len(weights)} weights for {must.size} clauses")
    checked = []
    for j, (weight, is_hard) in enumerate(zip(weights, must.tolist(), strict=True), 1):
        try:
            checked.append(0 if is_hard else index(weight))
        except TypeError as exc:
            raise ValueError(f"clause {j}: weight {weight!r} is no integer") from exc
        if not is_hard and checked[-1] < 1:
            raise ValueError(f"clause {j}: weight {weight} is not positive")
    return checked
