"""PySAT's formulas, taken and given: `pysat.formula.CNF` and `WCNF`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...algorithms.exact.arrays import check_type
from ...solvers.sat.clauses import clause_lists
from .formula import Formula

if TYPE_CHECKING:
    from pysat.formula import CNF, WCNF


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
