"""Find the least weight of falsified clauses, by two engines side by side.

RC2 (Ignatiev, Morgado and Marques-Silva, *RC2: an efficient MaxSAT solver*, JSAT 11,
2019) raises a lower bound core by core until a model meets it. Searches for models that
cost less and less lower an upper bound (`.lower`), and take RC2's models: faster where
little is falsified or hard clauses leave few soft ones open. Where a good assignment is
known RC2 has the machine to itself first, since most formulas take it milliseconds. Its
options were chosen by measuring (benchmarks/maxsat_options.py). Each model is held
against the clauses here, and what it falsifies is counted. A bound is an engine's word.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import time
from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from ..child.child import Calls, Running
from ..child.temporary import scratch_folder
from ..outcome import MaxSatOutcome, SatStatus
from .clauses import Bits, ClauseArrays, Clauses, Problem, Report, Valued, check_clauses
from .lower import Search, lower_cost

Better = Callable[[int, Bits], None]
"""Called with cost and model when a better model is found."""

_Engine = tuple[Callable[..., None], tuple[object, ...]]

HEAD_START = 0.5
"""Seconds that RC2 has to itself where an assignment is known."""
_POLL = 3600.0


def solve_maxsat(
    clauses: ClauseArrays,
    n_variables: int,
    weights: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    hard: ArrayLike | None = None,
    known: Bits | None = None,
    search: Search | None = None,
    better: Better = lambda cost, model: None,
    time_limit: float | None = None,
    since: float | None = None,
    memory_limit: int | None = None,
) -> MaxSatOutcome:
    """Find an assignment of least weight falsified.

    `hard`: booleans, shape (m,): clauses that must hold; None for none. `known`: a good
    assignment, bool, shape (n,), that satisfies the hard clauses; `search` may find a
    better one, in a child process. `time_limit, memory_limit`: wall seconds for all,
    `since` a time by `time.monotonic` or from now on, and bytes beyond what the caller
    holds for each engine; see `olivine.solvers.child.child.run_in_child`.
    """
    start = time.monotonic()
    check_clauses(clauses, n_variables)
    must = _checked_hard(hard, clauses.offsets.size - 1)
    problem = Problem(
        Clauses(clauses.literals, clauses.offsets),
        n_variables,
        _checked_weights(weights, must),
        must,
    )
    deadline = (since or start) + (math.inf if time_limit is None else time_limit)
    with scratch_folder() as folder, Calls(memory_limit) as calls:
        race = _Race(problem, better, folder / "hint")
        if known is not None:
            race.hear("known", problem.valued(known))
        outcome = race.run(calls, search, start, deadline)
    if outcome.status is SatStatus.UNKNOWN and not outcome.reason:
        outcome = outcome._replace(reason=f"time limit of {time_limit:g} s reached")
    return outcome._replace(seconds=time.monotonic() - start)


class _Race:
    """What is known from below and from above, and of whom."""

    def __init__(self, problem: Problem, better: Better, hint: Path) -> None:
        self.problem, self.better, self.hint = problem, better, hint
        self.best: Valued | None = None
        self.lower, self.engine = 0, "rc2"
        self.conflicting = False  # whether the hard clauses are

    def run(
        self, calls: Calls, search: Search | None, start: float, deadline: float
    ) -> MaxSatOutcome:
        """Run until the bounds meet, the time is over or no engine goes on."""
        known = None if self.best is None else self.best.model
        below: _Engine = raise_bound, (self.problem,)
        above: _Engine = lower_cost, (self.problem, known, self.hint, search)
        due = [(start, above), (start, below)]
        if known is not None:
            due = [(start, below), (start + HEAD_START, above)]
        running: list[Running[None]] = []
        reason = ""
        while not self._is_decided() and (now := time.monotonic()) < deadline:
            if due and (now >= due[0][0] or not running):
                function, arguments = due.pop(0)[1]
                running.append(calls.start_reporting(function, *arguments))
            elif not running:
                break
            alarm = min(deadline, due[0][0]) if due else deadline
            call = calls.wait(max(0.0, min(alarm - now, _POLL)))
            while call is not None and call.news and not self._is_decided():
                self._hear_message(*call.news.popleft())
            if call is not None and call.result is not None:
                call.result.raise_error("MaxSAT")
                reason = call.result.message or reason
                running.remove(call)
        silent = "" if running or due else "the engines ended without an answer"
        return self._outcome((not running and reason) or silent)

    def hear(self, engine: str, found: Valued) -> None:
        """Keep a model if it is better; leave it to the search from above."""
        if self.best is not None and found.cost >= self.best.cost:
            return
        self.best = found
        if found.cost == 0:
            self.engine = engine
        self.better(found.cost, found.model)
        if engine == "rc2":  # a full disk costs no more than the hint
            with contextlib.suppress(OSError):
                draft = self.hint.with_suffix(".new")
                draft.write_bytes(np.packbits(found.model).tobytes())
                os.replace(draft, self.hint)

    def _hear_message(self, kind: str, engine: str, what: bytes | int | None) -> None:
        if isinstance(what, bytes):
            try:
                found = self.problem.valued(self.problem.unpacked(what))
            except ValueError as error:
                raise RuntimeError(f"{engine} gave a wrong model: {error}") from error
            self.hear(engine, found)
        elif isinstance(what, int):
            if what > self.lower:
                self.lower, self.engine = what, engine
        elif self.best is not None:
            raise RuntimeError(f"{engine} says that the hard clauses have no model")
        else:
            self.conflicting, self.engine = True, engine
        if self.best is not None and self.lower > self.best.cost:
            raise RuntimeError(
                f"{self.engine} says cost at least {self.lower}, a model has "
                f"{self.best.cost}"
            )

    def _is_decided(self) -> bool:
        return self.conflicting or (
            self.best is not None and self.best.cost == self.lower
        )

    def _outcome(self, reason: str) -> MaxSatOutcome:
        status = SatStatus.UNKNOWN
        if self.conflicting:
            status = SatStatus.UNSATISFIABLE
        elif self._is_decided():
            status = SatStatus.SATISFIABLE
        cost, model = (None, None) if self.best is None else self.best[::-1]
        if status is not SatStatus.UNKNOWN:
            reason = ""
        lower = 0 if self.conflicting else self.lower
        return MaxSatOutcome(status, cost, model, 0.0, self.engine, reason, lower)


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


# ---------------------------------------------------------------- from below

_ADAPT_UP_TO = 5_000
_kept: list[object] = []


class _Telling(RC2Stratified):  # type: ignore[misc]
    """RC2 that reports each new lower bound and the model of each stratum."""

    report: Report
    problem: Problem
    counted: int  # weight of the empty clauses, which RC2 does not see
    _cost = 0

    @property
    def cost(self) -> int:
        """Weight of the cores so far."""
        return self._cost

    @cost.setter
    def cost(self, value: int) -> None:
        if value > self._cost:
            self.report(("bound", "rc2", value + self.counted))
        self._cost = value

    def compute_(self) -> Any:
        found = super().compute_()
        if found:
            model = self.problem.packed(self.oracle.get_model())
            self.report(("model", "rc2", model))
        return found


def raise_bound(report: Report, problem: Problem) -> None:
    """Raise the lower bound until a model meets it, in a child process."""
    gc.disable()
    clauses = problem.normal_form()
    if not clauses.soft or () in clauses.hard:
        nothing = () in clauses.hard
        report(("hard", "rc2", None) if nothing else ("bound", "rc2", clauses.empty))
        return
    formula = WCNF()
    # Not by `extend`, which takes half as long as all the rest. RC2 appends to
    # the lists that it is given.
    formula.hard = [list(clause) for clause in clauses.hard]
    formula.soft = [list(clause) for clause in clauses.soft]
    formula.wght = list(clauses.soft.values())
    formula.nv = problem.n_variables
    _Telling.report = staticmethod(report)
    _Telling.problem, _Telling.counted = problem, clauses.empty
    solver = _Telling(
        formula,
        solver="glucose3",
        blo="full",
        exhaust=True,
        minz=len(set(formula.wght)) > 1,
        adapt=len(formula.soft) <= _ADAPT_UP_TO,
    )
    _kept.append(solver)  # the process ends: clearing up would only take time
    if solver.compute() is None:
        report(("hard", "rc2", None))
    else:  # its model has been reported
        report(("bound", "rc2", solver.cost + clauses.empty))
