r"""What the short names of a program file mean, made when it is read.

>>> texts = Numbered(("C%d",), np.array([5, 6]))
>>> print("".join(Called("c", 0, 2, texts).json("\n")))
<BLANKLINE>
"c0": "C5"
"c1": "C6"
"""

from __future__ import annotations

import json
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from .bulk_text import NumberedText, json_pairs, text_of
from .flat_model import Names, Numbered

Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Called:
    """Pairs of neighbours: their short names and what these mean."""

    # letter, first: the short names are the letter and a number, from `first` on
    letter: str
    first: int
    count: int  # How many there are
    names: Names  # Makes the meanings

    def __iter__(self) -> Iterator[tuple[str, str]]:
        short = (f"{self.letter}{self.first + k}" for k in range(self.count))
        return zip(short, self.names(), strict=True)

    def json(self, before: str) -> Iterator[str]:
        """Yield the text of the pairs as `json_pairs`."""
        if not self.count or not isinstance(self.names, Numbered):
            yield from json_pairs(self, before)
            return
        texts, numbers = self.names.texts, self.names.numbers
        short = np.arange(self.first, self.first + self.count)
        meant = np.repeat(np.asarray(numbers, dtype=np.int64), len(texts))
        pairs = np.column_stack([short, meant]).reshape(len(numbers), -1)
        # JSON writes digits as they are, so the text around them can be quoted first.
        key = f"{before}{json.dumps(self.letter + '%d')}: "
        template = "".join([f"{key}{json.dumps(text)}" for text in texts])
        digits = len(str(pairs.max(initial=0)))
        lines = NumberedText(template, digits).lines(pairs)
        yield text_of(lines)


class NameMap(Mapping[str, str]):
    """What short names mean: there may be many millions."""

    def __init__(self, size: int, meanings: Callable[[], Iterator[Pairs]]) -> None:
        self._size, self._meanings = size, meanings

    @cached_property
    def _known(self) -> dict[str, str]:
        return dict(self.items())

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items())

    def __len__(self) -> int:
        return self._size

    def items(self) -> ItemsView[str, str]:
        """Names with their meanings, read without making a dictionary."""
        return _Items(self)

    def json(self, before: str) -> Iterator[str]:
        """Yield the text of the pairs as `json_pairs`."""
        for pairs in self._meanings():
            if isinstance(pairs, Called):
                yield from pairs.json(before)
            else:
                yield from json_pairs(pairs, before)


class _Items(ItemsView[str, str]):
    """The pairs of a `NameMap`."""

    _mapping: NameMap

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return chain.from_iterable(self._mapping._meanings())
