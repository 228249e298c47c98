"""Telling kinds of actions and states apart: a million at a time, exactly.

Rows of numbers that say all that matters are hashed, and the rows of one hash compared.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import gather
from .backups import Affine, backup_of
from .program import OliveProgram

WIDE = 32
"""Successors of an action from which on it is of no kind but its own."""

Ints = NDArray[np.int64]


class Actions:
    """The kinds of the actions of a program: those with equal terms but for states."""

    def __init__(self, program: OliveProgram) -> None:
        self._program, self._mdp = program, program.mdp
        self.kinds: list[Affine] = []
        self._known: dict[bytes, int] = {}
        _, self._range_of = program.upper_kinds()

    def kinds_of(self, actions: Ints) -> Ints:
        """Kind of each action."""
        mdp = self._mdp
        found = np.empty(len(actions), dtype=np.int64)
        sizes = mdp.transition_offset[actions + 1] - mdp.transition_offset[actions]
        for size in np.unique(sizes).tolist():
            (own,) = np.nonzero(sizes == size)
            chosen = actions[own]
            if size > WIDE:
                found[own] = [self._add(a) for a in chosen.tolist()]
                continue
            entries = mdp.transition_offset[chosen][:, None] + np.arange(size)
            ranges = np.zeros(entries.shape, dtype=np.int64)
            if self._range_of is not None:
                ranges = self._range_of[mdp.transition_target[entries]]
            table = np.column_stack(
                [
                    mdp.reward_index[chosen],
                    mdp.transition_denominator[chosen],
                    mdp.transition_numerator[entries],
                    ranges,
                ]
            )
            first, which = distinct_rows(table)
            numbers = []
            for row in first.tolist():
                key = table[row].tobytes()
                if key not in self._known:
                    self._known[key] = self._add(int(chosen[row]))
                numbers.append(self._known[key])
            found[own] = np.array(numbers, dtype=np.int64)[which]
        return found

    def _add(self, action: int) -> int:
        self.kinds.append(backup_of(self._program, action))
        return len(self.kinds) - 1

    def targets(self, actions: Ints) -> tuple[Ints, Ints]:
        """Successors of actions laid end to end, and their bounds."""
        entries, bounds = gather(self._mdp.transition_offset, actions)
        return self._mdp.transition_target[entries].astype(np.int64), bounds


class Alone:
    """The largest share of each state in a distribution over it alone."""

    def __init__(self, program: OliveProgram) -> None:
        flat = program.distributions
        (single,) = np.nonzero(np.diff(flat.offsets) == 1)
        entries = flat.offsets[single]
        pairs = np.column_stack([flat.numerators[entries], flat.denominators[single]])
        first, which = distinct_rows(pairs)
        shares = [Fraction(int(a), int(b)) for a, b in pairs[first].tolist()]
        self.shares = sorted(set(shares))
        rank = {share: k for k, share in enumerate(self.shares)}
        codes = np.array([rank[share] for share in shares], dtype=np.int64)[which]
        self._codes = np.full(program.mdp.n_states, -1, dtype=np.int64)
        np.maximum.at(self._codes, flat.states[entries], codes)

    def of(self, states: Ints) -> Ints:
        """Find each state's share among `shares`; -1 stands for none."""
        return self._codes[states]


def distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """Place of the first of each kind of row, and the kind of each row."""
    marks = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        marks = mixed(marks) + column.astype(np.uint64)
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    if not (table == table[first][which]).all():  # two kinds with the same mark
        _, first, which = np.unique(
            table, axis=0, return_index=True, return_inverse=True
        )
    return first, which.ravel()


def mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Scatter numbers over 64 bits (SplitMix64's finaliser)."""
    bits = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def ranks(numbers: list[Fraction]) -> Ints:
    """Place of each number among the distinct ones in order."""
    place = {number: k for k, number in enumerate(sorted(set(numbers)))}
    return np.array([place[number] for number in numbers], dtype=np.int64)
