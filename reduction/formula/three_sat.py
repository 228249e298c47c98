"""The 3-SAT form of a formula: exactly three literals in each clause.

Literals of a clause are taken distinct, in the order of first occurrence; a
tautology stays and is counted. Then, with fresh variables n+1, n+2, ... in the
order of the clauses,

- one or two literals: the last one is repeated; three stay;
- k > 3 literals: a chain of k-2 clauses with k-3 fresh variables y,
  (l1 l2 y1) (-y1 l3 y2) ... (-y_{k-3} l_{k-1} l_k);
- the empty clause: one fresh z, (z z z) (-z -z -z);
- no clause at all: a tautology on x1 (fresh if there is no variable).

Every clause made of a weighted one inherits its weight.

Lemma 1. The least weight of unsatisfied clauses is the same before and after:
given the original variables, the best choice of the fresh ones leaves one
clause of a chain unsatisfied if its original is, none otherwise, and no choice
leaves none if the original is unsatisfied. `ThreeSat.extend` makes that choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.exact.columns import exact_sum
from olivine.reduction.formula.assignment import checked_assignment, literal_truth
from olivine.reduction.formula.checks import MAX_VARIABLE

if TYPE_CHECKING:
    from olivine.reduction.formula.formula import Formula

NO_SOURCE = -1
"""`ThreeSat.source` of the tautology that stands for no clause at all."""

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class ThreeSat:
    """A formula in 3-SAT form and the way back; made by `Formula.three_sat`.

    Attributes
    ----------
    n_variables
        Number of variables, fresh ones included; at least 1.
    clauses
        int32, shape (m,3), m >= 1; literals i or -i, i from 1.
    weights
        int64, shape (m,), or None if the original is plain.
    source
        int64, shape (m,), nondecreasing: index of the clause of the original
        that each comes from, `NO_SOURCE` if the original has none.
    original
        The formula before.
    """

    n_variables: int
    clauses: NDArray[np.int32]
    weights: NDArray[np.int64] | None
    source: NDArray[np.int64]
    original: Formula

    @property
    def n_clauses(self) -> int:
        """Number of clauses m."""
        return len(self.clauses)

    @property
    def n_fresh(self) -> int:
        """Number of variables that the original does not have."""
        return self.n_variables - self.original.n_variables

    @property
    def is_weighted(self) -> bool:
        """Whether the clauses have weights."""
        return self.weights is not None

    @property
    def total_weight(self) -> int:
        """Sum W of the weights; m if plain."""
        return self.n_clauses if self.weights is None else exact_sum(self.weights)

    def satisfied(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Which clauses an assignment (booleans, shape (n,)) satisfies, shape (m,)."""
        values = checked_assignment(assignment, self.n_variables)
        truth = literal_truth(self.clauses, values)
        return np.asarray(truth[:, 0] | truth[:, 1] | truth[:, 2])

    def unsatisfied_weight(self, assignment: ArrayLike) -> int:
        """Total weight (number, if plain) of the clauses left unsatisfied; exact."""
        unsatisfied = ~self.satisfied(assignment)
        if self.weights is None:
            return int(np.count_nonzero(unsatisfied))
        return exact_sum(self.weights[unsatisfied])

    def extend(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Choose the fresh variables as well as they can be chosen.

        Parameters
        ----------
        assignment
            Of the original: booleans, shape (original.n_variables,).

        Returns
        -------
        Booleans, shape (n,). The weight left unsatisfied is exactly that which
        `assignment` leaves unsatisfied in the original.
        """
        given = checked_assignment(assignment, self.original.n_variables)
        values = np.zeros(self.n_variables, dtype=np.bool_)
        values[: len(given)] = given
        # A fresh variable links a clause to the next one of its chain. It is
        # true, and so takes the burden off the clauses before it, exactly if
        # no literal of the original in them is true.
        (links,) = np.nonzero(self.clauses[:, 2] > len(given))
        if len(links):
            own = self.clauses[:, :2].copy()
            fresh = np.abs(own) > len(given)
            own[fresh] = 1
            truth = literal_truth(own, values) & ~fresh
            true_before = np.zeros(self.n_clauses + 1, dtype=np.int64)
            np.cumsum(truth[:, 0] | truth[:, 1], out=true_before[1:])
            chain_start = np.searchsorted(self.source, self.source[links])
            burden = true_before[links + 1] == true_before[chain_start]
            values[self.clauses[links, 2] - 1] = burden
        return values

    def restrict(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Drop the fresh variables.

        Parameters
        ----------
        assignment
            Booleans, shape (n,).

        Returns
        -------
        Booleans, shape (original.n_variables,). They leave no more weight of
        the original unsatisfied than `assignment` does here.
        """
        values = checked_assignment(assignment, self.n_variables)
        return values[: self.original.n_variables].copy()

    def as_formula(self) -> Formula:
        """Return the same clauses as a `Formula` of n variables."""
        from olivine.reduction.formula.formula import (
            Formula,  # which imports this module
        )

        offsets = np.arange(self.n_clauses + 1) * 3
        return Formula(self.n_variables, self.clauses.ravel(), offsets, self.weights)

    def __repr__(self) -> str:
        """Show the counts, not the arrays."""
        return f"<ThreeSat: {self.n_variables} variables, {self.n_clauses} clauses>"


def to_three_sat(formula: Formula) -> ThreeSat:
    """Bring a formula into 3-SAT form.

    Parameters
    ----------
    formula
        Any formula without hard clauses.

    Raises
    ------
    ValueError
        If a clause is hard (OLIVE's program has no place for it), or if the
        fresh variables exceed 2^31-1.
    """
    if formula.hard is not None:
        j = int(np.argmax(formula.hard))
        raise ValueError(f"clause {j} is hard; the 3-SAT form needs all clauses soft")
    n, widths, literals = formula.n_variables, formula.widths, formula.literals
    weights = formula.weights
    if not len(widths):
        n_variables = max(n, 1)
        clauses = np.array([[1, -1, -1]])
        source = np.array([NO_SOURCE])
        weights = None if weights is None else np.ones(1, dtype=np.int64)
    elif np.all(widths == 3) and not _any_repeated(literals.reshape(-1, 3)):
        n_variables = n
        clauses = literals.reshape(-1, 3)
        source = np.arange(len(widths))
    else:
        n_variables, clauses, source = _chains(n, *_distinct(n, widths, literals))
        weights = None if weights is None else weights[source]
    return ThreeSat(
        n_variables,
        _frozen(clauses.astype(np.int32, copy=False)),
        None if weights is None else _frozen(weights),
        _frozen(source.astype(np.int64, copy=False)),
        formula,
    )


def _any_repeated(clauses: NDArray[np.int32]) -> bool:
    a, b, c = clauses.T
    return bool(np.any((a == b) | (b == c) | (a == c)))


def _distinct(
    n: int, widths: NDArray[np.int64], literals: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Keep the first occurrence of each literal in each clause: widths, literals."""
    clause = np.repeat(np.arange(len(widths)), widths)
    key = clause * (2 * n + 1) + (literals + np.int64(n))
    ordered = np.sort(key, kind="stable")  # ten times as fast on nearly sorted keys
    repeated = ordered[1:][ordered[1:] == ordered[:-1]] // (2 * n + 1)
    if not len(repeated):
        return widths, literals
    # only clauses with a repeated literal need the slower search for the first
    affected = np.zeros(len(widths), dtype=np.bool_)
    affected[repeated] = True
    (places,) = np.nonzero(affected[clause])
    first = np.unique(key[places], return_index=True)[1]
    kept = ~affected[clause]
    kept[places[first]] = True
    return np.bincount(clause[kept], minlength=len(widths)), literals[kept]


def _chains(
    n: int, widths: NDArray[np.int64], literals: NDArray[np.int32]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Give every clause its three-literal clauses, all clauses at once.

    Returns
    -------
    n_variables, clauses, source
        As in `ThreeSat`.
    """
    n_links = np.where(widths == 0, 1, np.maximum(widths - 3, 0))
    n_variables = n + int(n_links.sum())
    if n_variables > MAX_VARIABLE:
        raise ValueError(
            f"the 3-SAT form needs {n_variables} variables, more than {MAX_VARIABLE}"
        )
    pieces = n_links + 1
    source = np.repeat(np.arange(len(widths)), pieces)
    # piece t = 0, 1, ... of its clause: (-y_t, literal t+1 from 0, y_{t+1}),
    # save at the two ends; y_t is variable y + t
    t = np.arange(len(source)) - (np.cumsum(pieces) - pieces)[source]
    y = (n + np.cumsum(n_links) - n_links)[source]
    start = (np.cumsum(widths) - widths)[source]
    last = np.maximum(widths - 1, 0)[source]
    padded = np.append(literals, np.int32(0))  # an empty clause may be the last one
    clauses = np.empty((len(source), 3), dtype=np.int64)
    clauses[:, 0] = np.where(t == 0, padded[start], -(y + t))
    clauses[:, 1] = padded[start + np.minimum(t + 1, last)]
    clauses[:, 2] = np.where(t < n_links[source], y + t + 1, padded[start + last])
    empty = widths[source] == 0
    clauses[empty] = np.where(t == 0, y + 1, -(y + 1))[empty, np.newaxis]
    return n_variables, clauses, source


def _frozen(array: NDArray[T]) -> NDArray[T]:
    array.setflags(write=False)
    return array
