"""Weighted clauses of which some are hard: costs of assignments, and a normal form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .clauses import Clauses, clause_lists, satisfied
from .sat import pack_model, unpack_model

Bits = NDArray[np.bool_]
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


@dataclass(frozen=True)
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
