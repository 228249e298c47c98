r"""Text of many numbered lines at a time, put together in arrays of bytes.

>>> lines = NumberedText("c%d: + 3 x%d\n", 2).lines(np.array([[0, 7], [10, 42]]))
>>> print(text_of(lines), end="")
c0: + 3 x7
c10: + 3 x42
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"%-?([0-9]*)d")

_Filled = tuple[int, int, int]
"""A number that blanks fill up: its place, where these start, and how many."""

_FEW = 8
"""Fewer lines than these are made faster one by one."""


class NumberedText:
    """Text with places for numbers.

    `width`: Most bytes of a line. `places`: How many numbers a line has.
    """

    def __init__(self, template: str, digits: int) -> None:
        self._template, self._digits = template, digits
        fills = [int(width or 0) for width in _NUMBER.findall(template)]
        self.places = len(fills)
        self.width = len(template) + digits * len(fills) + sum(fills)

    @cached_property
    def _layout(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], list[_Filled]]:
        """A line without numbers, the columns of their digits, and which are filled."""
        first, *others = _NUMBER.split(self._template)
        blank = first.encode("ascii")
        starts: list[int] = []
        filled: list[_Filled] = []
        for width, piece in zip(others[::2], others[1::2], strict=True):
            fill = int(width or 0)
            if fill:
                filled.append((len(starts), len(blank) + self._digits, fill))
            starts.append(len(blank))
            blank += b"\0" * (self._digits + fill) + piece.encode("ascii")
        columns = np.array(starts, dtype=np.int64)[:, None] + np.arange(self._digits)
        return np.frombuffer(blank, dtype=np.uint8), columns.ravel(), filled

    def lines(self, numbers: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Fill in numbers from 0 to 2^32 - 1, shape (n, places).

        Gives shape (n, at most width); a byte 0 stands for nothing, see `text_of`.
        """
        if len(numbers) < _FEW:
            rows = map(tuple, numbers.tolist())
            return words([self._template % row for row in rows])
        blank, columns, filled = self._layout
        text = np.empty((len(numbers), len(blank)), dtype=np.uint8)
        text[:] = blank
        found = np.empty((*numbers.shape, self._digits), dtype=np.uint8)
        left = numbers.astype(np.uint32)
        for place in reversed(range(self._digits)):
            rest = left // 10
            found[..., place] = left - 10 * rest + ord("0")
            if place < self._digits - 1:
                found[..., place][left == 0] = 0
            left = rest
        text[:, columns] = found.reshape(len(numbers), len(columns))
        for number, start, width in filled:
            free = width - (found[:, number] != 0).sum(axis=1)
            blanks = np.arange(width) < free[:, None]
            text[:, start : start + width] = np.where(blanks, ord(" "), 0)
        return text


_PAIRS = 1 << 14
"""Pairs that are written at a time."""


def json_pairs(pairs: Iterable[tuple[str, object]], before: str) -> Iterator[str]:
    """Yield the text of pairs as in a JSON object, each after `before`; many at a time.

    The second of each is a string, a number, a truth value or None.
    """
    rest = iter(pairs)
    while part := [*chain.from_iterable(islice(rest, _PAIRS))]:
        text = json.dumps(part, allow_nan=False, separators=("\n", ":"))
        entries = text[1:-1].split("\n")  # JSON has no line feed within a string
        both = map(": ".join, zip(entries[::2], entries[1::2], strict=True))
        yield "".join([before + pair for pair in both])


def words(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Lay ASCII texts out in rows, shape (number, longest); see `text_of`."""
    found = np.array(texts, dtype=np.bytes_)
    return found.view(np.uint8).reshape(len(texts), found.itemsize)


def merged(
    n: int, parts: Sequence[tuple[NDArray[Any], NDArray[np.uint8]]]
) -> NDArray[np.uint8]:
    """Put n lines together; of each part there are given their places and the lines."""
    width = max((lines.shape[1] for _, lines in parts), default=0)
    found = np.zeros((n, width), dtype=np.uint8)
    for places, lines in parts:
        found[places, : lines.shape[1]] = lines
    return found


def text_of(lines: NDArray[np.uint8]) -> str:
    """Join lines, leaving out each byte 0."""
    return lines.tobytes().translate(None, b"\0").decode("ascii")
