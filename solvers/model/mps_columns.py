"""The matrix of an MPS file: by columns, of rows that are kept by kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bulk_text import NumberedText, merged, text_of, words
from .flat_form import FlatForm
from .flat_model import BLOCK, Block, Group, Shape

_ENTRIES = 1 << 20
"""Entries of the matrix that are brought into the order of columns at a time."""

_STRETCH = 12

_Entries = tuple[NDArray[Any], ...]
"""Arrays of equal length, with what is known of each entry of the matrix."""


def padded(label: str) -> str:
    """Name of a row in eight columns, its number still to be filled in."""
    head, percent, _ = label.partition("%d")
    return f"{head}%-{8 - len(head)}d" if percent else f"{label:<8}"


class Columns:
    """The matrix by columns: a range of columns at a time, each found in all rows."""

    def __init__(self, form: FlatForm) -> None:
        self._form = form
        self._labels: dict[str, int] = {padded("obj"): 0}
        self._numbers: dict[int, int] = {0: 0}
        objective = np.array(list(form.objective), dtype=np.int64)
        costs = [self._number(c) for c in form.objective.values()]
        self._objective = objective, np.array(costs, dtype=np.int64)
        self._shapes = [self._flat(kind.shapes) for kind in form.rows.kinds]
        # The rows of s0 are one long block, and each range of columns has some of them.
        self._blocks = [
            (part, self._reached(part))
            for block in form.rows.blocks
            for part in form.rows.parts(block)
        ]

    def _reached(self, block: Block) -> NDArray[np.bool_]:
        """Which stretches of 2^_STRETCH columns a block has entries in."""
        found = np.zeros((len(self._form.variables) >> _STRETCH) + 1, dtype=np.bool_)
        found[block.variables >> _STRETCH] = True
        return found

    def _number(self, number: int) -> int:
        return self._numbers.setdefault(number, len(self._numbers))

    def _flat(self, shapes: tuple[Shape, ...]) -> _Entries:
        """Entries of an item: place, row, coefficient, label, place of its number."""
        lengths = np.array([len(s.places) for s in shapes], dtype=np.int64)
        labels = [
            self._labels.setdefault(padded(s.label), len(self._labels)) for s in shapes
        ]
        places = itertools.chain.from_iterable(s.places for s in shapes)
        numbers = itertools.chain.from_iterable(s.coefficients for s in shapes)
        rows = np.arange(len(shapes), dtype=np.int32)
        return (
            np.fromiter(places, dtype=np.int32),
            np.repeat(rows, lengths),
            np.fromiter(map(self._number, numbers), dtype=np.int32),
            np.repeat(np.array(labels, dtype=np.int32), lengths),
            np.repeat(np.array([s.numbered for s in shapes], dtype=np.int32), lengths),
        )

    def parts(self) -> Iterator[str]:
        """Yield the text of all columns, a marker where integral ones begin or end."""
        form = self._form
        kinds = np.array([kind[2] for kind in form.variables.kinds], dtype=np.bool_)
        integral = kinds[form.variables.codes()]
        flips = np.flatnonzero(np.diff(integral, prepend=False))
        labels = [NumberedText(text, form.digits) for text in self._labels]
        numbers = words([f"  {c:>12}\n" for c in self._numbers])
        within = False
        for low, high in itertools.pairwise(self._ranges()):
            entries = self._entries(low, high)
            columns = entries[0]
            marks = np.searchsorted(columns, flips[(flips >= low) & (flips < high)])
            for k in range(0, len(columns), BLOCK):
                part = slice(k, k + BLOCK)
                lines = self._lines([each[part] for each in entries], labels, numbers)
                cuts = marks[(marks >= k) & (marks < k + BLOCK)] - k
                first, *others = np.split(lines, cuts)  # a kind of variable each
                texts = [text_of(first)]
                for other in others:
                    within = not within
                    texts += _marker("INTORG" if within else "INTEND"), text_of(other)
                yield "".join(texts)
        if len(integral) and integral[-1]:
            yield _marker("INTEND")

    def _lines(
        self,
        entries: Sequence[NDArray[Any]],
        labels: Sequence[NumberedText],
        numbers: NDArray[np.uint8],
    ) -> NDArray[np.uint8]:
        """Lines of entries: columns, labels, numbers of rows, codes of values."""
        columns, named, rows, codes = entries
        called = []
        for label in np.unique(named).tolist():
            places, text = np.flatnonzero(named == label), labels[label]
            called.append((places, text.lines(rows[places, None][:, : text.places])))
        blanks = np.full((len(columns), 6), ord(" "), dtype=np.uint8)
        names = self._form.variable_names(columns, 8)
        of_rows = merged(len(columns), called)
        parts = (blanks[:, :4], names, blanks[:, 4:], of_rows, numbers[codes])
        return np.hstack(parts)

    @cached_property
    def _counts(self) -> NDArray[np.int32]:
        """Number of entries of each column."""
        size = len(self._form.variables)
        counts = np.zeros(size, dtype=np.int32)
        one = np.int32(1)  # of the type of counts, for which it is fast
        for block, _ in self._blocks:
            for group in self._form.rows.groups(block):
                columns = group.variables[:, self._shapes[group.kind][0]]
                np.add.at(counts, columns.ravel(), one)
        counts[self._objective[0]] += 1
        return counts

    def _ranges(self) -> list[int]:
        """Find ends of ranges of columns that have few enough entries to sort."""
        ends = [0]
        while ends[-1] < len(self._counts):
            start = ends[-1]
            total = np.cumsum(np.maximum(self._counts[start : start + _ENTRIES], 1))
            end = start + int(np.searchsorted(total, _ENTRIES, side="right"))
            ends.append(max(end, start + 1))
        return ends

    def _entries(self, low: int, high: int) -> _Entries:
        """Entries of some columns in order: column, label, number of row, value."""
        places, costs = self._objective
        own = (places >= low) & (places < high)
        empty = np.flatnonzero(self._counts[low:high] == 0) + low
        heads = np.concatenate([places[own], empty])
        values = np.concatenate([costs[own], np.zeros_like(empty)])
        nothing = np.zeros_like(heads)
        parts: list[_Entries] = [(heads, nothing - 1, nothing, nothing, values)]
        stretches = slice(low >> _STRETCH, (high - 1 >> _STRETCH) + 1)
        for block, reached in self._blocks:
            if not reached[stretches].any():
                continue
            for group in self._form.rows.groups(block, range(low, high)):
                parts.append(self._found(group, low, high))
        # One column may have an entry in most rows.
        columns, order, labels, rows, codes = (
            np.concatenate([each.astype(np.int32, copy=False) for each in found])
            for found in zip(*parts, strict=True)
        )
        del parts
        by_column = np.lexsort((order, columns))
        return tuple([each[by_column] for each in (columns, labels, rows, codes)])

    def _found(self, group: Group, low: int, high: int) -> _Entries:
        """Entries of a group in a range of columns, with the order of their rows."""
        place, row, code, label, numbered = self._shapes[group.kind]
        variables = group.variables
        columns = variables[:, place]
        items, entries = np.nonzero((columns >= low) & (columns < high))
        order = group.first_rows[items] + row[entries]
        named = numbered[entries]
        numbers = np.where(named < 0, order, variables[items, np.maximum(named, 0)])
        return (
            columns[items, entries],
            order.astype(np.int32),
            label[entries],
            numbers.astype(np.int32),
            code[entries],
        )


def _marker(kind: str) -> str:
    return f"    MARKER                 'MARKER'                 '{kind}'\n"
