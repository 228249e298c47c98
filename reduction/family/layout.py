"""How the states and actions of a family are numbered and named.

States: s0; C_1..C_m; X_1..X_n (not in `paper`); x_1^0, x_1^1, x_2^0, ...; bottom
(`all-levels`), or bottom and a bottom2 that leads to it (`strict`, `forced`); in
`forced` then z_1..z_n beside the literals, and for each side state j.k of C_j the state
Y that tries it, the side state y and its spare state z. Actions: at s0 [try x_1]..,
[try C_1].. (in `forced` [try y_1.1], ...), [solve] (and [rest]); at a clause state 001,
..., 111 and [quit] (`all-levels`), in `forced` 001.1, ..., 111.1, 001.2, ...; one [go]
everywhere else. Indices are 0-based, names 1-based and made when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from .variants import Declaration, Variant, as_variant

CLAUSE_BITS: NDArray[np.int8] = np.array(
    [[v >> 2 & 1, v >> 1 & 1, v & 1] for v in range(1, 8)], dtype=np.int8
)  # Shape (7, 3): the bits (b1, b2, b3) of each clause action, as printed

MAX_STATES = 2**31 - 1  # Greatest number of states; their numbers are int32

_PART = 1 << 12  # Names that are made at a time where all are asked for

QUIT = 7  # Local index of [quit] at a clause state of `all-levels`


@dataclass(frozen=True)
class Layout:
    """Numbering of the states and actions of a family."""

    variant: Variant  # The variant
    # n_variables, n_clauses: n >= 1 and m >= 1 of the 3-SAT form
    n_variables: int
    n_clauses: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "variant", as_variant(self.variant))
        if self.n_variables < 1 or self.n_clauses < 1:
            raise ValueError(
                "the family needs at least one variable and one clause, got "
                f"{self.n_variables} and {self.n_clauses}"
            )
        if self.n_states > MAX_STATES:
            raise ValueError(f"{self.n_states} states, more than int32 can number")

    @cached_property
    def declaration(self) -> Declaration:
        """What sets the variant apart."""
        return self.variant.declaration

    @property
    def start(self) -> int:
        """The state s0."""
        return 0

    def clause_state(self, j: int) -> int:
        """State C_{j+1}, for j in 0..m-1."""
        return 1 + _checked(j, self.n_clauses, "clause")

    @property
    def first_variable_state(self) -> int:
        """State X_1."""
        if not self.declaration.variable_states:
            raise ValueError(f"variant {self.variant} has no states X_i")
        return 1 + self.n_clauses

    def variable_state(self, i: int) -> int:
        """State X_{i+1}, for i in 0..n-1; ValueError in `paper`."""
        return self.first_variable_state + _checked(i, self.n_variables, "variable")

    @cached_property
    def first_literal_state(self) -> int:
        """State x_1^0; x_{i+1}^b is 2i+b further on."""
        between = self.n_variables if self.declaration.variable_states else 0
        return 1 + self.n_clauses + between

    def literal_state(self, i: int, b: int) -> int:
        """State x_{i+1}^b, for i in 0..n-1 and b in {0, 1}."""
        i = _checked(i, self.n_variables, "variable")
        return self.first_literal_state + 2 * i + _checked(b, 2, "truth value")

    @property
    def bottom_state(self) -> int:
        """The worthless state of level 3; ValueError in a variant without one."""
        if not self.declaration.n_bottom:
            raise ValueError(f"variant {self.variant} has no bottom state")
        return self.first_literal_state + 2 * self.n_variables

    @property
    def second_bottom_state(self) -> int | None:
        """The worthless state of level 2, behind [solve] in `strict`; else None."""
        return self.bottom_state + 1 if self.declaration.n_bottom > 1 else None

    @cached_property
    def n_sides(self) -> int:
        """Number of side states, 0 but in `forced`."""
        sides = self.declaration.sides
        return sides.per_clause * self.n_clauses if sides else 0

    @cached_property
    def first_spare_state(self) -> int:
        """State z_1 of `forced`; what follows the literals and worthless states."""
        behind = 2 * self.n_variables + self.declaration.n_bottom
        return self.first_literal_state + behind

    @cached_property
    def first_side_state(self) -> int:
        """State y_1.1 of `forced`; its Y is `n_sides` before it, its z after it."""
        return self.first_spare_state + self.n_variables + self.n_sides

    def side_state(self, j: Any, action: Any) -> Any:
        """Side states behind local actions of C_{j+1}; numbers or arrays."""
        sides = self.declaration.sides
        if sides is None:
            raise ValueError(f"variant {self.variant} has no side states")
        first = self.first_side_state + sides.per_clause * j
        return first + (action // 7 if sides.shared else action)

    @cached_property
    def n_states(self) -> int:
        """Number of states."""
        if self.declaration.sides is None:
            return self.first_spare_state
        return self.first_side_state + 2 * self.n_sides

    def literal_states(self, clauses: NDArray[np.int32]) -> NDArray[np.int32]:
        """States o^1 of signed 1-based literals, an array of the same shape."""
        states = np.abs(clauses)
        states *= 2
        states += clauses > 0
        states += np.int32(self.first_literal_state - 2)
        return states

    @property
    def horizon(self) -> int:
        """Greatest number of actions in an episode."""
        return 3

    @property
    def literal_level(self) -> int:
        """Where [try x_i] meets literals: 2 in `paper` (docs/errata.md, 4), else 3."""
        return 3 if self.declaration.variable_states else 2

    def state_name(self, state: int) -> str:
        """Name of a state: "s0", "C1", "X1", "x1^0", "bottom"."""
        state = _checked(state, self.n_states, "state")
        if state == 0:
            return "s0"
        if state <= self.n_clauses:
            return f"C{state}"
        if state < self.first_literal_state:
            return f"X{state - self.n_clauses}"
        i, b = divmod(state - self.first_literal_state, 2)
        if i < self.n_variables:
            return f"x{i + 1}^{b}"
        if state < self.first_spare_state:
            return "bottom2" if b else "bottom"
        i = state - self.first_spare_state
        if i < self.n_variables:
            return f"z{i + 1}"
        kind, side = divmod(i - self.n_variables, self.n_sides)
        return "Yyz"[kind] + self._side_name(side)

    def _side_name(self, side: int) -> str:
        j, k = divmod(side, self.n_sides // self.n_clauses)
        return f"{j + 1}.{k + 1}"

    @cached_property
    def clause_actions(self) -> int:
        """Number of actions at a clause state: 7, 8 with [quit], or copies of 7."""
        sides = self.declaration.sides
        return 7 * sides.copies if sides else 7 + self.declaration.quit

    def try_variable(self, i: int) -> int:
        """Local index at s0 of [try x_{i+1}]."""
        return _checked(i, self.n_variables, "variable")

    def try_clause(self, j: int) -> int:
        """Local index at s0 of [try C_{j+1}]; ValueError in `forced`."""
        if self.declaration.sides:
            raise ValueError(f"variant {self.variant} has no [try C]")
        return self.n_variables + _checked(j, self.n_clauses, "clause")

    @cached_property
    def solve(self) -> int:
        """Local (and global) index at s0 of [solve]; in `forced` [rest] is the next."""
        return self.n_variables + (self.n_sides or self.n_clauses)

    @cached_property
    def first_clause_action(self) -> int:
        """Global index of 001 at C_1, the number of actions of s0."""
        return self.solve + (2 if self.declaration.sides else 1)

    @cached_property
    def first_literal_action(self) -> int:
        """Global index of [go] at x_1^0; one action a state from there on."""
        between = self.first_literal_state - 1 - self.n_clauses
        return self.first_clause_action + self.clause_actions * self.n_clauses + between

    @cached_property
    def n_actions(self) -> int:
        """Number of actions, counted state by state."""
        rest = self.n_states - self.first_literal_state
        return self.first_literal_action + rest

    def action_name(self, action: int) -> str:
        """Name of a global action: "[try x1]", "[solve]", "011", "[quit]", "[go]"."""
        action = _checked(action, self.n_actions, "action")
        if action < self.n_variables:
            return f"[try x{action + 1}]"
        if action < self.solve:
            k = action - self.n_variables
            return f"[try y{self._side_name(k)}]" if self.n_sides else f"[try C{k + 1}]"
        if action < self.first_clause_action:
            return "[solve]" if action == self.solve else "[rest]"
        j, k = divmod(action - self.first_clause_action, self.clause_actions)
        if j >= self.n_clauses:
            return "[go]"
        if self.n_sides:
            return f"{k % 7 + 1:03b}.{k // 7 + 1}"
        return "[quit]" if k == QUIT else f"{k + 1:03b}"

    def state_names(self) -> Names:
        """All state names, made on demand."""
        return Names(self, "state")

    def action_names(self) -> Names:
        """All action names, made on demand."""
        return Names(self, "action")


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """The names of a layout as a sequence that stores none of them."""

    layout: Layout
    kind: str

    def __len__(self) -> int:
        if self.kind == "state":
            return self.layout.n_states
        return self.layout.n_actions

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            first, last, step = index.indices(len(self))
            if step != 1:
                return [self._name(i) for i in range(first, last, step)]
            return self._span(first, last)
        size = len(self)
        if not -size <= index < size:
            raise IndexError(f"{self.kind} {index} of {size}")
        return self._name(index % size)

    def __iter__(self) -> Iterator[str]:
        starts = range(0, len(self), _PART)
        return chain.from_iterable(self[k : k + _PART] for k in starts)

    def _span(self, first: int, last: int) -> list[str]:
        """Names first..last-1: those of one kind many at a time."""
        found: list[str] = []
        at = first
        for start, end, many in self._kinds():
            low, high = max(at, start), min(end, last)
            if low < high:
                found += [self._name(i) for i in range(at, low)]
                found += many(low - start, high - start)
                at = high
        return found + [self._name(i) for i in range(at, last)]

    def _kinds(self) -> Iterator[tuple[int, int, Callable[[int, int], list[str]]]]:
        """Yield ranges whose names are alike, with what makes those from i to j - 1."""
        own = self.layout
        if self.kind == "state":
            m, first = own.n_clauses, own.first_literal_state
            yield 1, 1 + m, lambda i, j: [f"C{k + 1}" for k in range(i, j)]
            yield 1 + m, first, lambda i, j: [f"X{k + 1}" for k in range(i, j)]
            pairs = range(first, first + 2 * own.n_variables)
            yield (
                pairs.start,
                pairs.stop,
                lambda i, j: [f"x{k // 2 + 1}^{k % 2}" for k in range(i, j)],
            )
            return
        n, solve, each = own.n_variables, own.solve, own.clause_actions
        yield 0, n, lambda i, j: [f"[try x{k + 1}]" for k in range(i, j)]
        if not own.n_sides:
            yield n, solve, lambda i, j: [f"[try C{k + 1}]" for k in range(i, j)]
        first = own.first_clause_action
        end = first + each * own.n_clauses
        names = [self._name(first + k) for k in range(each if own.n_clauses else 0)]

        def clauses(i: int, j: int) -> list[str]:
            return (names * (2 + (j - i) // each))[i % each : i % each + j - i]

        yield first, end, clauses
        yield end, own.n_actions, lambda i, j: ["[go]"] * (j - i)

    def _name(self, index: int) -> str:
        if self.kind == "state":
            return self.layout.state_name(index)
        return self.layout.action_name(index)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names) and other.layout == self.layout:
            return other.kind == self.kind
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __hash__(self) -> int:
        return hash(tuple(self))


def _checked(index: int, size: int, what: str) -> int:
    if not 0 <= index < size:
        raise ValueError(f"no {what} with index {index}: there are {size}")
    return int(index)
