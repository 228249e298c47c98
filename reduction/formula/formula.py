"""Formulas in conjunctive normal form: immutable, flat arrays, exact weights.

A formula is a multiset of clauses as written: clauses may be empty, tautological,
repeated or repeat a literal, and variables may be unused. The checks of what it is made
from give an array of its own, or a ValueError that names the clause, from 0.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import as_integers, check_count, check_type, exact_sum
from ...solvers.sat.clauses import clause_lists, satisfied
from .three_sat import three_literal_clauses

MAX_VARIABLE = 2**31 - 1
"""Greatest variable: what a literal in int32, and DIMACS solvers, can hold."""

MAX_WEIGHT = 2**63 - 1
"""Greatest weight of one clause; totals are Python integers."""


def checked_offsets(values: Any) -> NDArray[np.int64]:
    """Offsets from 0 that never fall, as a copy in int64."""
    offsets = as_integers("offsets", values, np.int64)
    if not len(offsets) or offsets[0] != 0:
        raise ValueError("offsets must start with 0")
    falls = np.diff(offsets) < 0
    if falls.any():
        j = int(np.argmax(falls))
        raise ValueError(f"clause {j}: offsets fall to {offsets[j + 1]}")
    return np.array(offsets)


def checked_literals(
    values: Any, n: int, offsets: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Nonzero literals of n variables laid end to end, as int32."""
    literals = np.asarray(values)
    if literals.shape != (offsets[-1],):
        raise ValueError(
            f"literals of shape {literals.shape}; the offsets ask for ({offsets[-1]},)"
        )
    if not len(literals):
        return np.zeros(0, dtype=np.int32)
    if literals.dtype.kind in "iu":
        bad = (literals == 0) | (literals > n) | (literals < -n)
    else:
        bad = np.array([not _is_integer(v, -n, n) or v == 0 for v in values])
    if bad.any():
        position = int(np.argmax(bad))
        j = int(np.searchsorted(offsets, position, side="right")) - 1
        found = np.asarray(values, dtype=object)[position]
        raise ValueError(f"clause {j}: {found!r} is no literal of {n} variables")
    return literals.astype(np.int32)


def checked_hard(values: Any, m: int) -> NDArray[np.bool_] | None:
    """One bool a clause; None if no clause is hard."""
    if values is None or (m == 0 and len(values) == 0):
        return None
    hard = np.asarray(values)
    if hard.shape != (m,) or hard.dtype != np.bool_:
        raise ValueError(
            f"hard of shape {hard.shape} and type {hard.dtype}; expected "
            f"({m},) and bool"
        )
    return hard.copy() if hard.any() else None


def checked_weights(
    values: Any, hard: NDArray[np.bool_] | None, m: int
) -> NDArray[np.int64] | None:
    """Weights in int64, from 1 for soft clauses and 0 for hard; None if plain."""
    if values is None and hard is None:
        return None
    if values is None:
        values = np.ones(m, dtype=np.int64)
    weights = np.asarray(values)
    if weights.shape != (m,):
        raise ValueError(f"weights of shape {weights.shape}; expected ({m},)")
    if weights.dtype.kind in "iu":
        bad = (weights < 1) | (weights > MAX_WEIGHT)
    else:
        bad = np.array([not _is_integer(v, 1, MAX_WEIGHT) for v in values])
    if hard is not None:
        bad &= ~hard
    if bad.any():
        j = int(np.argmax(bad))
        found = np.asarray(values, dtype=object)[j]
        raise ValueError(f"clause {j}: weight {found!r} is not in 1..{MAX_WEIGHT}")
    if hard is not None:
        weights = np.where(hard, 0, weights)
    return weights.astype(np.int64)


def checked_assignment(assignment: ArrayLike, n_variables: int) -> NDArray[np.bool_]:
    """Array of n booleans; entry i-1 is variable i."""
    values = np.asarray(assignment)
    if values.shape != (n_variables,):
        raise ValueError(
            f"assignment of shape {values.shape} where {n_variables} variables "
            f"need ({n_variables},)"
        )
    if values.dtype != np.bool_ and n_variables:
        raise ValueError(f"assignment of {values.dtype} where booleans are needed")
    checked: NDArray[np.bool_] = values.astype(np.bool_, copy=False)
    return checked


def literal_truth(
    literals: NDArray[np.int32], assignment: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Truth of each literal (nonzero, of the assignment's variables); same shape."""
    if not literals.size:
        return np.zeros(literals.shape, dtype=np.bool_)
    return np.asarray(assignment[np.abs(literals) - 1] == (literals > 0))


def _is_integer(value: object, low: int, high: int) -> bool:
    integral = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return integral and low <= int(value) <= high  # type: ignore[call-overload]


__all__ = ["MAX_VARIABLE", "MAX_WEIGHT", "Formula", "ThreeSat"]


class _Clauses:
    """What both forms of a formula share: they differ in how clauses are kept."""

    n_variables: int
    weights: NDArray[np.int64] | None

    def __len__(self) -> int:
        raise NotImplementedError

    def _satisfied(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        raise NotImplementedError

    @property
    def n_clauses(self) -> int:
        return len(self)

    @property
    def is_weighted(self) -> bool:
        """Whether the clauses have weights (be they all 1)."""
        return self.weights is not None

    @property
    def total_weight(self) -> int:
        """Sum W of the weights of the soft clauses; their number if plain."""
        return self.n_clauses if self.weights is None else exact_sum(self.weights)

    def satisfied(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Which clauses an assignment satisfies.

        `assignment`: booleans, shape (n,); entry i-1 is variable i.
        """
        return self._satisfied(checked_assignment(assignment, self.n_variables))

    def unsatisfied_weight(self, assignment: ArrayLike) -> int:
        """Total weight of the soft clauses left unsatisfied; their number if plain."""
        unsatisfied = ~self.satisfied(assignment)
        if self.weights is None:
            return int(np.count_nonzero(unsatisfied))
        return exact_sum(self.weights[unsatisfied])


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Formula(_Clauses):
    """A plain, weighted or partial formula over the variables 1..n.

    Equality, hash and `digest` go by content. Two formulas are equal only if
    both are plain or both weighted, whatever the weights are.

    Parameters
    ----------
    n_variables, literals, offsets, weights, hard
        The attributes, or anything that converts to them; copied and checked.

    Attributes
    ----------
    n_variables
        n, from 0 to 2^31-1; variables need not be used.
    literals
        int32, the clauses laid end to end; i or -i for variable i, 1 <= i <= n.
    offsets
        int64, shape (m+1,); clause j is ``literals[offsets[j]:offsets[j+1]]``.
    weights
        int64, shape (m,), from 1 to 2^63-1, the weight of each soft clause; 0
        where the clause is hard, whatever was given there. None for a plain
        formula, in which every clause counts 1.
    hard
        bool, shape (m,), which clauses are hard; None if none is. A formula
        with hard clauses has weights, 1 each if none were given.

    Raises
    ------
    ValueError
        For anything else. The message names the clause, counted from 0.
    """

    n_variables: int
    literals: NDArray[np.int32]
    offsets: NDArray[np.int64]
    weights: NDArray[np.int64] | None
    hard: NDArray[np.bool_] | None

    def __init__(
        self,
        n_variables: int,
        literals: ArrayLike,
        offsets: ArrayLike,
        weights: ArrayLike | None = None,
        hard: ArrayLike | None = None,
    ) -> None:
        n = check_count("n_variables", n_variables, least=0, most=MAX_VARIABLE)
        bounds = checked_offsets(offsets)
        m = len(bounds) - 1
        hard_clauses = checked_hard(hard, m)
        fields: dict[str, NDArray[Any] | None] = {
            "literals": checked_literals(literals, n, bounds),
            "offsets": bounds,
            "weights": checked_weights(weights, hard_clauses, m),
            "hard": hard_clauses,
        }
        object.__setattr__(self, "n_variables", n)
        for name, array in fields.items():
            if array is not None:
                array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def from_clauses(
        cls,
        clauses: Iterable[Iterable[int]],
        n_variables: int | None = None,
        weights: Iterable[int] | None = None,
        hard: Iterable[bool] | None = None,
    ) -> Formula:
        """Make a formula of clauses given as collections of literals.

        Parameters
        ----------
        clauses
            One collection of nonzero integers a clause.
        n_variables
            Number of variables; the largest one used if None.
        weights, hard
            One entry a clause, as in the class; None for a plain formula.

        Raises
        ------
        ValueError
            As the class does.

        Examples
        --------
        >>> formula = Formula.from_clauses([(1, -2), ()], n_variables=3)
        >>> formula
        <Formula: 3 variables, 2 clauses>
        >>> formula.satisfied([True, True, False])
        array([ True, False])
        """
        check_type("clauses", clauses, Iterable, "list of clauses")
        rows = [tuple(clause) for clause in clauses]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in rows], out=offsets[1:])
        listed = list(itertools.chain.from_iterable(rows))
        literals = np.array(listed)
        integral = literals.dtype.kind == "i"
        if n_variables is None:
            n_variables = _largest_variable(literals) if listed else 0
        return cls(
            n_variables,
            literals if integral else listed,
            offsets,
            None if weights is None else list(weights),
            None if hard is None else list(hard),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def widths(self) -> NDArray[np.int64]:
        """Number of literals of each clause as written, shape (m,)."""
        return np.diff(self.offsets)

    def clause(self, j: int) -> tuple[int, ...]:
        """Literals of clause j, 0 <= j < m; else IndexError."""
        if not 0 <= j < self.n_clauses:
            raise IndexError(f"no clause {j} among {self.n_clauses}")
        return tuple(self.literals[self.offsets[j] : self.offsets[j + 1]].tolist())

    def clauses(self) -> Iterator[tuple[int, ...]]:
        """Give the clauses as tuples of integers, one after the other."""
        return map(tuple, clause_lists(self))

    def _satisfied(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return satisfied(self, values)

    def three_sat(self) -> ThreeSat:
        """Bring the formula into 3-SAT form; see `olivine.reduction.formula.three_sat`.

        ValueError if a clause is hard, or the fresh variables exceed 2^31-1.
        """
        if self.hard is not None:
            j = int(np.argmax(self.hard))
            raise ValueError(
                f"clause {j} is hard; the 3-SAT form needs all clauses soft"
            )
        n, clauses, source = three_literal_clauses(
            self.n_variables, self.widths, self.literals
        )
        weights = self.weights
        if weights is not None:
            weights = weights[source] if self.n_clauses else np.ones(1, dtype=np.int64)
        for array in (clauses, weights, source):
            if array is not None:
                array.setflags(write=False)
        return ThreeSat(n, clauses, weights, source, self)

    def digest(self) -> str:
        """SHA-256 of the content, in hexadecimal; the same on every machine.

        The bytes hashed are the ASCII line ``olivine formula 1``; then n, m, the number
        of literals and the flags (1: weighted, 2: some clause hard) as 64-bit integers;
        then offsets (64 bits), literals (32 bits), weights (64 bits) and hard (a byte
        each) as far as there are any. All are signed and little-endian.
        """
        return self._digest

    @functools.cached_property
    def _digest(self) -> str:
        import hashlib  # loads OpenSSL, which deciding a formula does not need

        flags = (self.weights is not None) + 2 * (self.hard is not None)
        sizes = (self.n_variables, self.n_clauses, len(self.literals), flags)
        parts = [
            b"olivine formula 1\n" + struct.pack("<4q", *sizes),
            self.offsets.astype("<i8", copy=False).tobytes(),
            self.literals.astype("<i4", copy=False).tobytes(),
        ]
        if self.weights is not None:
            parts.append(self.weights.astype("<i8", copy=False).tobytes())
        if self.hard is not None:
            parts.append(self.hard.astype("u1").tobytes())
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether variables, clauses in order, weights and hardness are equal."""
        if not isinstance(other, Formula):
            return NotImplemented
        return (
            self.n_variables == other.n_variables
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.literals, other.literals)
            and _equal(self.weights, other.weights)
            and _equal(self.hard, other.hard)
        )

    def __hash__(self) -> int:
        """Hash of the content, from `digest`."""
        return hash(self._digest)

    def __repr__(self) -> str:
        parts = [f"{self.n_variables} variables", f"{self.n_clauses} clauses"]
        if self.weights is not None:
            parts.append(f"total weight {self.total_weight}")
        if self.hard is not None:
            parts.append(f"{np.count_nonzero(self.hard)} hard")
        return f"<Formula: {', '.join(parts)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor: unpickled arrays would be writable."""
        fields = (self.n_variables, self.literals, self.offsets)
        return Formula, (*fields, self.weights, self.hard)


@dataclass(frozen=True, eq=False)
class ThreeSat(_Clauses):
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
        int64, shape (m,), nondecreasing: index of the clause of `original`, the formula
        before, that each comes from; `NO_SOURCE` if that has none.
    """

    n_variables: int
    clauses: NDArray[np.int32]
    weights: NDArray[np.int64] | None
    source: NDArray[np.int64]
    original: Formula

    def __len__(self) -> int:
        return len(self.clauses)

    @property
    def n_fresh(self) -> int:
        """Number of variables that the original does not have."""
        return self.n_variables - self.original.n_variables

    def _satisfied(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        truth = literal_truth(self.clauses, values)
        return np.asarray(truth[:, 0] | truth[:, 1] | truth[:, 2])

    def extend(self, assignment: ArrayLike) -> NDArray[np.bool_]:
        """Choose the fresh variables as well as they can be chosen.

        From booleans of shape (original.n_variables,) to (n,); they leave exactly the
        weight unsatisfied that `assignment` leaves unsatisfied in the original.
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

        From booleans of shape (n,) to (original.n_variables,); they leave no more
        weight of the original unsatisfied than `assignment` does here.
        """
        values = checked_assignment(assignment, self.n_variables)
        return values[: self.original.n_variables].copy()

    def as_formula(self) -> Formula:
        """Return the same clauses as a `Formula` of n variables."""
        offsets = np.arange(self.n_clauses + 1) * 3
        return Formula(self.n_variables, self.clauses.ravel(), offsets, self.weights)

    def __repr__(self) -> str:
        return f"<ThreeSat: {self.n_variables} variables, {self.n_clauses} clauses>"


def _largest_variable(literals: NDArray[Any]) -> int:
    """Largest variable used; where not all are integers, as large as can be."""
    if literals.dtype.kind != "i":
        return MAX_VARIABLE  # so that the check names the one that is not
    return min(max(int(literals.max()), -int(literals.min())), MAX_VARIABLE)


def _equal(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)
