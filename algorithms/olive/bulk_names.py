"""What states that were modelled in bulk are called, and where their variables are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..mdp.tabular import TabularMDP

Ints = NDArray[np.int64]
Key = TypeVar("Key")
Value = TypeVar("Value")

_PART = 1 << 12
"""Names that are made at a time: a state may have a million actions."""


class Late(MutableMapping[Key, Value]):
    """A dictionary that is made when it is first read."""

    def __init__(self, make: Callable[[], dict[Key, Value]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> dict[Key, Value]:
        return self._make()

    def __getitem__(self, key: Key) -> Value:
        return self._made[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        self._made[key] = value

    def __delitem__(self, key: Key) -> None:
        del self._made[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


@dataclass(frozen=True, eq=False)
class Choices:
    """States with a choice that were modelled together, and what they are called."""

    # state_names, action_names: of the MDP
    state_names: Sequence[str]
    action_names: Sequence[str]
    # states, counts: the states in order, and how many distinct actions each has, shape
    # (k,)
    states: Ints
    counts: Ints
    # The distinct actions of all, globally numbered; neighbours as a range
    actions: Ints | range
    first: Ints  # Number of each state's first variable, shape (k,)
    backed: NDArray[np.bool_]  # Which states have a variable for their backup
    with_q: bool  # Whether each action has a variable f(x,a)
    # kinds, texts: kind of each item of rows, and what the rows of each kind are called
    kinds: NDArray[Any]
    texts: dict[int, tuple[str, ...]]

    def _labels(self) -> Iterator[tuple[str, list[str], bool]]:
        """Yield the name of each state, the names of its actions, if it is backed."""
        start, names = 0, _taken(self.action_names, self.actions)
        places = _taken(self.state_names, self.states)
        rest = zip(self.counts.tolist(), self.backed.tolist(), strict=True)
        for place, (count, backed) in zip(places, rest, strict=True):
            yield place, names[start : start + count], backed
            start += count

    def variable_names(self) -> Iterator[str]:
        """Yield the names of the variables of all states."""
        for place, actions, backed in self._labels():
            if self.with_q:
                yield from _called("f", place, actions)
            yield from _called("pi", place, actions)
            if backed:
                yield f"backup({place})"

    def row_names(self) -> Iterator[str]:
        """Yield the names of the rows of all items; those of s0 are many."""
        kinds, texts = iter(self.kinds.tolist()), self.texts
        for place, actions, backed in self._labels():
            next(kinds)
            yield f"choice({place})"
            for _ in range(self.with_q + backed):
                for action in actions:
                    for text in texts[next(kinds)]:
                        yield f"{text}{place},{action})"

    def policies(self, mdp: TabularMDP) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield each state with the binaries of its actions, by local index."""
        for state, actions, first in self._each(mdp):
            shift = first + len(actions) * self.with_q
            yield state, {a: shift + k for k, a in enumerate(actions)}

    def q_values(self, mdp: TabularMDP) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield each state with the variables f(x,a), by local index."""
        for state, actions, first in self._each(mdp):
            yield state, {a: first + k for k, a in enumerate(actions)}

    def backups(self) -> Iterator[tuple[int, int]]:
        """Yield the states that have one with the variable of the backup."""
        last = self.first + (1 + self.with_q) * self.counts
        backed = self.backed
        yield from zip(self.states[backed].tolist(), last[backed].tolist(), strict=True)

    def _each(self, mdp: TabularMDP) -> Iterator[tuple[int, list[int], int]]:
        start, first = 0, self.first.tolist()
        actions = list(self.actions)
        counts = self.counts.tolist()
        for k, state in enumerate(self.states.tolist()):
            base = int(mdp.action_offset[state])
            own = actions[start : start + counts[k]]
            start += counts[k]
            yield state, [int(a) - base for a in own], first[k]


@dataclass(frozen=True)
class StateNames:
    """What the variables of values are called."""

    names: Sequence[str]
    states: Ints

    def __call__(self) -> list[str]:
        """Make the names."""
        return [f"g({name})" for name in _taken(self.names, self.states)]


def _called(letter: str, state: str, actions: list[str]) -> Iterator[str]:
    """Yield what the variables of a state's actions are called, some at a time."""
    for k in range(0, len(actions), _PART):
        part = actions[k : k + _PART]
        yield from [f"{letter}({state},{action})" for action in part]


def _taken(names: Sequence[str], indices: NDArray[Any] | range) -> list[str]:
    """Choose names; those of neighbours are asked for together."""
    if isinstance(indices, range):
        return list(names[indices.start : indices.stop])
    first, last = int(indices[0]), int(indices[-1]) + 1
    if last - first > 2 * len(indices):
        return [names[i] for i in indices.tolist()]
    near = names[first:last]
    if len(near) == len(indices):
        return list(near)
    return [near[i] for i in (indices - first).tolist()]
