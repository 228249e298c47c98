"""What a formula loses before its family is made; and PySAT's formulas.

A hard clause gets the weight S + 1, S the sum of the soft weights, so that it outweighs
all soft ones together; docs/dimacs.md says what the least unsatisfied weight and the
optimum then tell. Variables that occur in no clause change neither satisfiability nor
the optimum, but the family has two states and an action for each, and a header can name
ten million at no cost. Where they are few they stay: a formula and its 3-SAT form then
have the same variables.

>>> from olivine.reduction.formula.formula import Formula
>>> formula = Formula.from_clauses([[7, -90_000]], n_variables=100_000)
>>> used = without_unused(formula)
>>> list(used.formula.clauses()), used.variables.tolist()
([(1, -2)], [7, 90000])
>>> hard = [True, False, False]
>>> formula = Formula.from_clauses([[1], [-1], [2]], None, [0, 3, 2], hard)
>>> without_hard(formula).formula.weights.tolist()
[6, 3, 2]
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import check_type
from ...solvers.sat.clauses import clause_lists
from .formula import MAX_WEIGHT, Formula, checked_assignment

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF


@dataclass(frozen=True, eq=False)
class Hardened:
    """A formula without hard clauses, made of one with them."""

    formula: Formula  # The same clauses in the same order, all soft
    original: Formula  # The formula before
    weight: int  # S + 1, the weight of each clause that was hard

    @property
    def count(self) -> int:
        """Number of hard clauses."""
        assert self.original.hard is not None
        return int(np.count_nonzero(self.original.hard))

    def satisfiable(self, unsatisfied: int | None) -> bool | None:
        """Whether the hard clauses can be satisfied, by u; None where u is None."""
        return None if unsatisfied is None else unsatisfied < self.weight

    def __str__(self) -> str:
        clauses = (
            f"1 hard clause gets weight {self.weight}"
            if self.count == 1
            else f"{self.count} hard clauses get weight {self.weight} each"
        )
        return (
            f"{clauses}, one more than the soft clauses "
            "together: unsatisfied weight from there on means that some hard clause "
            "is unsatisfied"
        )


def without_hard(formula: Formula) -> Hardened | None:
    """Give each hard clause the weight S + 1; None where there is none."""
    if formula.hard is None:
        return None
    assert formula.weights is not None
    weight = formula.total_weight + 1
    if weight > MAX_WEIGHT:
        raise ValueError(
            f"the hard clauses would need the weight {weight}, above 2^63 - 1"
        )
    weights = np.where(formula.hard, np.int64(weight), formula.weights)
    soft = Formula(formula.n_variables, formula.literals, formula.offsets, weights)
    return Hardened(soft, formula, weight)


MOST_UNUSED = 10_000
"""Unused variables stay up to this number, or up to that of the used ones."""


@dataclass(frozen=True, eq=False)
class Used:
    """A formula without its unused variables."""

    formula: Formula  # The same clauses over the variables 1..k, which keep their order
    # int64, shape (k,), increasing: what these are called in the original
    variables: NDArray[np.int64]
    original: Formula  # The formula before

    @property
    def n_left_out(self) -> int:
        """Number of variables left out."""
        return self.original.n_variables - len(self.variables)

    def extend(self, assignment: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Give the variables left out a value, false: from shape (k,) to (n,)."""
        values = np.zeros(self.original.n_variables, dtype=np.bool_)
        values[self.variables - 1] = checked_assignment(assignment, len(self.variables))
        return values

    def __str__(self) -> str:
        kept = len(self.variables)
        return (
            f"{self.n_left_out} of {self.original.n_variables} variables occur in no "
            f"clause and are left out; the other {kept} are numbered 1 to {kept} in "
            "their order"
        )


def without_unused(formula: Formula) -> Used | None:
    """Leave unused variables out; None where they are few enough to stay."""
    n = formula.n_variables
    if n <= MOST_UNUSED:
        return None
    variables = np.abs(formula.literals)
    if n > 4 * len(variables):
        occurring = np.unique(variables)
    else:
        occurs = np.zeros(n + 1, dtype=np.bool_)
        occurs[variables] = True
        occurring = np.flatnonzero(occurs)
    if n - len(occurring) <= max(MOST_UNUSED, len(occurring)):
        return None
    numbers = np.searchsorted(occurring, variables) + 1
    literals = np.where(formula.literals > 0, numbers, -numbers)
    rest = (formula.offsets, formula.weights, formula.hard)
    return Used(
        Formula(len(occurring), literals.astype(np.int32), *rest),
        occurring.astype(np.int64),
        formula,
    )


def as_formula(source: Formula | CNF | WCNF) -> Formula:
    """Take a formula as it is, or PySAT's as one of ours.

    Hard clauses of a WCNF come first, as hard ones; then the soft ones with their
    weights.

    Raises
    ------
    TypeError
        For anything else.
    ValueError
        For cardinality constraints (CNFPlus, WCNFPlus), weights that are not integers
        from 1 to 2^63-1, and literals that are no variables up to 2^31-1.
    """
    if isinstance(source, Formula):
        return source
    given: Any = source
    if getattr(given, "atmosts", None) or getattr(given, "atms", None):
        raise ValueError("cardinality constraints are no clauses: encode them first")
    if hasattr(given, "hard") and hasattr(given, "soft"):
        n_hard, n_soft = len(given.hard), len(given.soft)
        clauses = [*given.hard, *given.soft]
        weights, hard = [0] * n_hard + given.wght, [True] * n_hard + [False] * n_soft
        return Formula.from_clauses(clauses, _variables(given, clauses), weights, hard)
    if hasattr(given, "clauses") and hasattr(given, "nv"):
        return Formula.from_clauses(given.clauses, _variables(given, given.clauses))
    kind = type(source).__name__
    advice = "give a Formula, or PySAT's CNF or WCNF"
    if isinstance(source, (str, bytes, os.PathLike)):
        advice = "olivine.read_dimacs(path).formula reads a file"
    elif isinstance(source, (list, tuple)):
        advice = "olivine.Formula.from_clauses(clauses) makes one"
    raise TypeError(f"{kind} is no formula: {advice}")


def _variables(given: Any, clauses: list[list[int]]) -> int:
    """Variables, used or not; PySAT's count may lag behind its clauses."""
    used = (abs(literal) for clause in clauses for literal in clause)
    return max([int(given.nv), *used])


def to_pysat(formula: Formula) -> CNF | WCNF:
    """Give a formula as PySAT's CNF, or as a WCNF where clauses have weights.

    A WCNF keeps hard and soft clauses apart, each in their order.

    Parameters
    ----------
    formula
        Any formula.

    Examples
    --------
    >>> to_pysat(Formula.from_clauses([[1, -2], [2]])).clauses
    [[1, -2], [2]]
    """
    from pysat.formula import CNF, WCNF

    check_type("formula", formula, Formula, "Formula")
    clauses = list(clause_lists(formula))
    made: Any
    if formula.weights is None:
        made = CNF(from_clauses=clauses)
    else:
        made = WCNF()
        for clause, weight in zip(clauses, formula.weights.tolist(), strict=True):
            made.append(clause, weight=weight or None)
    made.nv = formula.n_variables
    return made
