"""Clauses as two flat arrays: the form in which all engines here take them.

Lists of a hundred thousand clauses cost more to walk through than the solver needs to
solve them; arrays are shared with a child process as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bits = NDArray[np.bool_]

MAX_VARIABLES = 2**31 - 1
_BLOCK = 1 << 14


class ClauseArrays(Protocol):
    """Anything that holds clauses as `Clauses` does."""

    @property
    def literals(self) -> NDArray[np.int32]:
        """Literals of all clauses, one clause after another, shape (L,)."""

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Clause j has ``literals[offsets[j]:offsets[j + 1]]``, shape (m + 1,)."""


@dataclass(frozen=True, eq=False)
class Clauses:
    """A multiset of clauses in the order given, each of any width, also 0."""

    # Literals of all clauses, one clause after another, shape (L,): i for variable i
    # (from 1), -i for its negation
    literals: NDArray[np.int32]
    # Clause j has ``literals[offsets[j]:offsets[j + 1]]``, shape (m + 1,)
    offsets: NDArray[np.int64]

    @classmethod
    def from_lists(cls, clauses: Iterable[Sequence[int]]) -> Clauses:
        """Build from clauses given as sequences of literals."""
        lists = list(clauses)
        offsets = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(clause) for clause in lists], out=offsets[1:])
        try:
            flat = np.fromiter(
                chain.from_iterable(lists), dtype=np.int64, count=int(offsets[-1])
            )
        except OverflowError as exc:
            raise ValueError("a literal does not fit 32 bits") from exc
        literals = flat.astype(np.int32)
        if not np.array_equal(literals, flat):
            j, literal = _locate(flat, offsets, literals != flat)
            raise ValueError(f"clause {j}: literal {literal} does not fit 32 bits")
        return cls(literals, offsets)


def check_clauses(clauses: ClauseArrays, n_variables: int) -> None:
    """Check that arrays hold clauses over variables 1 to `n_variables`."""
    if not 0 <= n_variables <= MAX_VARIABLES:
        raise ValueError(f"{n_variables} variables: not within 0 to {MAX_VARIABLES}")
    literals, offsets = clauses.literals, clauses.offsets
    for name, array in (("literals", literals), ("offsets", offsets)):
        if array.ndim != 1 or array.dtype.kind != "i":
            raise ValueError(f"{name} are no flat array of signed integers")
    if not offsets.size or offsets[0] != 0 or offsets[-1] != literals.size:
        raise ValueError(f"offsets do not run from 0 to {literals.size}")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError("offsets decrease")
    if not literals.size:
        return
    if literals.min() < -n_variables or literals.max() > n_variables:
        out = (literals < -n_variables) | (literals > n_variables)
        j, literal = _locate(literals, offsets, out)
        raise ValueError(f"clause {j}: literal {literal} is outside ±{n_variables}")
    if not literals.all():
        j, _ = _locate(literals, offsets, literals == 0)
        raise ValueError(f"clause {j}: 0 is no literal")


def clause_lists(clauses: ClauseArrays) -> Iterator[list[int]]:
    """Yield lists of integers for PySAT, in blocks to save memory."""
    offsets, m = clauses.offsets, len(clauses.offsets) - 1
    for first in range(0, m, _BLOCK):
        bounds = offsets[first : first + _BLOCK + 1]
        literals = clauses.literals[bounds[0] : bounds[-1]]
        width = bounds[1] - bounds[0]
        if width and (np.diff(bounds) == width).all():  # as in 3-SAT; half the time
            yield from literals.reshape(-1, width).tolist()
            continue
        flat = literals.tolist()
        for a, b in pairwise((bounds - bounds[0]).tolist()):
            yield flat[a:b]


def satisfied(clauses: ClauseArrays, assignment: ArrayLike) -> NDArray[np.bool_]:
    """Tell for each clause whether an assignment satisfies it.

    `assignment`: booleans, shape (n,): entry i - 1 is the value of variable i.
    """
    values = np.asarray(assignment)
    if values.ndim != 1 or (values.size and values.dtype != np.bool_):
        raise ValueError("an assignment is a flat array of booleans")
    literals = clauses.literals
    used = max(int(literals.max()), -int(literals.min())) if literals.size else 0
    if used > values.size:
        raise ValueError(f"assignment of {values.size} variables, but {used} is used")
    values = values.astype(np.bool_, copy=False)
    # Entry l is literal l's value; a negative l counts from the end.
    value_of = np.concatenate(([False], values, ~values[::-1]))
    # True literals before each position; empty clauses need no special care.
    # 32 bits where they do: the pages of fresh arrays are what takes the time.
    dtype = np.int32 if literals.size < 2**31 else np.int64
    before: NDArray[np.signedinteger] = np.zeros(literals.size + 1, dtype)
    np.cumsum(value_of[literals], out=before[1:])
    result: NDArray[np.bool_] = (
        before[clauses.offsets[1:]] > before[clauses.offsets[:-1]]
    )
    return result


def _locate(
    literals: NDArray[np.signedinteger],
    offsets: NDArray[np.int64],
    wrong: NDArray[np.bool_],
) -> tuple[int, int]:
    """Clause (from 1) and value of the first wrong literal."""
    position = int(np.argmax(wrong))
    clause = int(np.searchsorted(offsets, position, side="right"))
    return clause, int(literals[position])


def pack_model(model: list[int] | None, n_variables: int) -> bytes:
    """Pack PySAT's model; it may miss variables and have some of its own."""
    true = np.array(model or [], dtype=np.int64)
    true = true[(true > 0) & (true <= n_variables)]
    values = np.zeros(n_variables, dtype=np.bool_)
    values[true - 1] = True
    return np.packbits(values).tobytes()


def unpack_model(packed: bytes, n_variables: int) -> NDArray[np.bool_]:
    """Undo `pack_model`."""
    bits = np.frombuffer(packed, dtype=np.uint8)
    return np.unpackbits(bits, count=n_variables).astype(np.bool_)


Clause = tuple[int, ...]
Message = (
    tuple[Literal["model"], str, bytes]
    | tuple[Literal["bound"], str, int]
    | tuple[Literal["hard"], str, None]
)
"""What an engine says, with its name in the middle: a model, packed; that no assignment
costs less; that the hard clauses have no model."""
Report = Callable[[Message], None]


class Valued(NamedTuple):
    """An assignment that satisfies the hard clauses, and its cost."""

    model: Bits
    cost: int


class NormalForm(NamedTuple):
    """Clauses as sorted sets without tautologies; equal soft clauses are one.

    Opposite soft units are one as well, with what one outweighs the other by.
    """

    hard: list[Clause]
    soft: dict[Clause, int]
    empty: int  # weight that every assignment falsifies


@dataclass(frozen=True, eq=False)
class Problem:
    """Clauses over variables 1 to n, with a weight each (0 where hard)."""

    clauses: Clauses
    n_variables: int
    weights: list[int]
    must: NDArray[np.bool_]

    def valued(self, model: Bits) -> Valued:
        """Count what an assignment falsifies."""
        if model.shape != (self.n_variables,):
            raise ValueError(f"no assignment of {self.n_variables} variables")
        holds = satisfied(self.clauses, model)
        if not holds[self.must].all():
            raise ValueError("the assignment falsifies a hard clause")
        cost = sum(self.weights[j] for j in np.flatnonzero(~holds).tolist())
        return Valued(model, cost)

    def packed(self, literals: list[int]) -> bytes:
        """Pack a model of PySAT, in which variables may be missing or too many."""
        return pack_model(literals, self.n_variables)

    def unpacked(self, packed: bytes) -> Bits:
        """Undo `packed`."""
        return unpack_model(packed, self.n_variables)

    def normal_form(self) -> NormalForm:
        """Bring the clauses to a form that no engine stumbles over."""
        hard, soft = list[Clause](), dict[Clause, int]()
        rows = zip(
            clause_lists(self.clauses), self.weights, self.must.tolist(), strict=True
        )
        for clause, weight, is_hard in rows:
            literals = set(clause)
            if not literals.isdisjoint([-literal for literal in clause]):
                continue
            key = tuple(sorted(literals))
            if is_hard:
                hard.append(key)
            else:
                soft[key] = soft.get(key, 0) + weight
        empty = soft.pop((), 0)
        for positive in [c for c in soft if len(c) == 1 and c[0] > 0]:
            negative = (-positive[0],)
            if negative in soft:
                both = min(soft[positive], soft[negative])
                empty += both
                soft[positive] -= both
                soft[negative] -= both
        return NormalForm(hard, {c: w for c, w in soft.items() if w}, empty)
