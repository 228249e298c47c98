"""MaxSAT from below: RC2, which tells its bounds and its models while it runs.

RC2 (Ignatiev, Morgado and Marques-Silva, *RC2: an efficient MaxSAT solver*, JSAT
11, 2019) is core-guided: it raises a lower bound core by core until a model meets
it. With strata a model ends each stratum, and its cost is an upper bound.

Options were chosen by measuring (uuf50 to uuf100, dense and random formulas,
weights 1, 1 to 5 and 1 to 10^6; see benchmarks/maxsat_options.py): Glucose 3 as
the oracle, stratification and core exhaustion always; core minimisation only
where weights differ, since it pays there and costs elsewhere; detection of
at-most-one constraints only for few clauses, since it is quadratic.
"""

from __future__ import annotations

import gc
from typing import Any

from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from .partial import Problem, Report

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
