"""Find the least weight of falsified clauses with RC2, in a child process.

RC2 (Ignatiev, Morgado and Marques-Silva, *RC2: an efficient MaxSAT solver*, JSAT
11, 2019) is core-guided: it raises a lower bound core by core until a model meets
it, so what it finishes with is the optimum. Its cost is not taken on trust all the
same; it must be the cost of its model, counted here.

Before RC2 sees them, clauses become sets of literals, tautologies are dropped,
equal soft clauses become one of their total weight and empty ones are counted
(RC2 cannot take those). The hard clauses go through a SAT solver first: RC2 gives
cost 0 and no model where they cannot be satisfied.

Options were chosen by measuring (uuf50 to uuf100, dense and random formulas,
weights 1, 1 to 5 and 1 to 10^6; see benchmarks/maxsat_options.py): Glucose 3 as
the oracle, stratification and core exhaustion always; core minimisation only
where weights differ, since it pays there and costs elsewhere; detection of
at-most-one constraints only for few clauses, since it is quadratic.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.solvers.child import run_in_child
from olivine.solvers.clauses import (
    ClauseArrays,
    Clauses,
    check_clauses,
    clause_lists,
    satisfied,
)
from olivine.solvers.outcome import MaxSatOutcome, SatStatus
from olivine.solvers.sat import pack_model, unpack_model
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
from pysat.solvers import Solver

_ENGINE = "rc2"
_ADAPT_UP_TO = 5_000

# None: hard clauses unsatisfiable; else cost and packed model.
_Answer = tuple[int, bytes] | None


def solve_maxsat(
    clauses: ClauseArrays,
    n_variables: int,
    weights: Sequence[int] | NDArray[np.integer] | None = None,
    *,
    hard: ArrayLike | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> MaxSatOutcome:
    """Find an assignment of least weight falsified.

    Parameters
    ----------
    clauses
        m clauses, `Clauses` or anything alike; empty, tautological and repeated
        clauses are fine and count as often as they occur.
    n_variables
        Number of variables n, used or not.
    weights
        Integers of at least 1, one a clause, of any size; None for all 1. Those
        of hard clauses are not looked at.
    hard
        Booleans, shape (m,): clauses that must hold; None for none.
    time_limit, memory_limit
        Wall seconds, and bytes beyond what the caller holds; see
        `olivine.solvers.child.run_in_child`.

    Returns
    -------
    SATISFIABLE with the optimum, UNSATISFIABLE when no assignment satisfies all
    hard clauses, or UNKNOWN with a reason.

    Raises
    ------
    ValueError
        If the clauses are malformed (see `check_clauses`), or weights or hard
        are not as described.
    RuntimeError
        If RC2 fails, or its model falsifies a hard clause or has another cost
        than it says.
    """
    start = time.monotonic()
    check_clauses(clauses, n_variables)
    m = clauses.offsets.size - 1
    must = _checked_hard(hard, m)
    soft_weights = _checked_weights(weights, must)
    child = run_in_child(
        _solve,
        Clauses(clauses.literals, clauses.offsets),
        n_variables,
        soft_weights,
        must,
        time_limit=time_limit,
        memory_limit=memory_limit,
    )
    child.raise_error(_ENGINE)
    status, cost, model = SatStatus.UNKNOWN, None, None
    if child.status == "done":
        status = SatStatus.UNSATISFIABLE
    if child.value is not None:
        status = SatStatus.SATISFIABLE
        cost, packed = child.value
        model = unpack_model(packed, n_variables)
        _check_cost(cost, satisfied(clauses, model), soft_weights, must)
    seconds = time.monotonic() - start
    return MaxSatOutcome(status, cost, model, seconds, _ENGINE, child.message)


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


def _check_cost(
    cost: int, satisfied: NDArray[np.bool_], weights: list[int], must: NDArray[np.bool_]
) -> None:
    if not satisfied[must].all():
        raise RuntimeError(f"{_ENGINE} gave a model that falsifies a hard clause")
    counted = sum(weights[j] for j in np.flatnonzero(~satisfied).tolist())
    if counted != cost:
        raise RuntimeError(f"{_ENGINE} says cost {cost}, its model has {counted}")


def _solve(
    clauses: Clauses, n_variables: int, weights: list[int], must: NDArray[np.bool_]
) -> _Answer:
    """Run RC2, in the child."""
    gc.disable()
    soft, hard = _normal_form(clauses, weights, must)
    empty = soft.pop((), 0)
    if () in hard:
        return None
    model: list[int] = []
    if hard:
        with Solver(name="cadical153", bootstrap_with=hard) as solver:
            if not solver.solve():
                return None
            model = solver.get_model()
    cost = 0
    if soft:
        cost, model = _run_rc2(soft, hard, n_variables)
    return cost + empty, pack_model(model, n_variables)


def _normal_form(
    clauses: Clauses, weights: list[int], must: NDArray[np.bool_]
) -> tuple[dict[tuple[int, ...], int], list[tuple[int, ...]]]:
    """Soft clauses with their total weights, and hard clauses; all as sets."""
    soft: dict[tuple[int, ...], int] = {}
    hard = []
    rows = zip(clause_lists(clauses), weights, must.tolist(), strict=True)
    for clause, weight, is_hard in rows:
        literals = set(clause)
        if not literals.isdisjoint([-literal for literal in clause]):
            continue
        key = tuple(sorted(literals))
        if is_hard:
            hard.append(key)
        else:
            soft[key] = soft.get(key, 0) + weight
    return soft, hard


def _run_rc2(
    soft: dict[tuple[int, ...], int], hard: list[tuple[int, ...]], n_variables: int
) -> tuple[int, list[int]]:
    formula = WCNF()
    # Not by `extend`, which takes half as long as all the rest. RC2 appends to
    # the lists that it is given.
    formula.hard = [list(clause) for clause in hard]
    formula.soft = [list(clause) for clause in soft]
    formula.wght = list(soft.values())
    formula.nv = n_variables
    solver = RC2Stratified(
        formula,
        solver="glucose3",
        blo="full",
        exhaust=True,
        minz=len(set(soft.values())) > 1,
        adapt=len(soft) <= _ADAPT_UP_TO,
    )
    model = solver.compute()
    _kept.append(solver)  # the process ends: clearing up would only take time
    if model is None:
        raise RuntimeError("no model although the hard clauses are satisfiable")
    return solver.cost, model


_kept: list[object] = []
