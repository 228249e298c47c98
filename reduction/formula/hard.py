"""Hard clauses, turned into soft ones that outweigh all others together.

Each gets the weight S + 1, S the sum of the soft weights. What the least unsatisfied
weight and the optimum then tell of them is in docs/dimacs.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .checks import MAX_WEIGHT
from .formula import Formula


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
    """Give each hard clause the weight S + 1; None where there is none.

    Examples
    --------
    >>> hard = [True, False, False]
    >>> formula = Formula.from_clauses([[1], [-1], [2]], None, [0, 3, 2], hard)
    >>> without_hard(formula).formula.weights.tolist()
    [6, 3, 2]
    """
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
