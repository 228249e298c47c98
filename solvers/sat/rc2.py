"""RC2, with its lower bound told while it runs.

RC2 (Ignatiev, Morgado and Marques-Silva, *RC2: an efficient MaxSAT solver*, JSAT
11, 2019) is core-guided: it raises a lower bound core by core until a model meets
it, so what it finishes with is the optimum.

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

import contextlib
import gc
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
from pysat.solvers import Solver

from .clauses import Clauses, clause_lists
from .sat import pack_model

_ADAPT_UP_TO = 5_000


class _Telling(RC2Stratified):  # type: ignore[misc]
    """RC2 that writes each new lower bound to a file."""

    path: Path
    counted: int  # weight of the empty clauses, which RC2 does not see
    _cost = 0

    @property
    def cost(self) -> int:
        """Weight of the cores so far."""
        return self._cost

    @cost.setter
    def cost(self, value: int) -> None:
        if value > self._cost:
            draft = self.path.with_suffix(".new")
            # Only read should time run out: a full disk costs no more than that.
            with contextlib.suppress(OSError):
                draft.write_text(str(value + self.counted), encoding="ascii")
                os.replace(draft, self.path)
        self._cost = value


def lower_bound(path: Path) -> int:
    """Read the bound that a running `minimise` told last; 0 where there is none."""
    try:
        return int(path.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0


def minimise(
    clauses: Clauses,
    n_variables: int,
    weights: list[int],
    must: NDArray[np.bool_],
    bound: Path,
) -> tuple[int, bytes] | None:
    """Run RC2, in a child process."""
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
        cost, model = _run_rc2(soft, hard, n_variables, bound, empty)
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
    soft: dict[tuple[int, ...], int],
    hard: list[tuple[int, ...]],
    n_variables: int,
    bound: Path,
    counted: int,
) -> tuple[int, list[int]]:
    formula = WCNF()
    # Not by `extend`, which takes half as long as all the rest. RC2 appends to
    # the lists that it is given.
    formula.hard = [list(clause) for clause in hard]
    formula.soft = [list(clause) for clause in soft]
    formula.wght = list(soft.values())
    formula.nv = n_variables
    _Telling.path, _Telling.counted = bound, counted
    solver = _Telling(
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
