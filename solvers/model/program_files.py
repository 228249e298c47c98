r"""Write models as LP and MPS files that mean exactly what the model means.

PuLP has writers too; `olivine.solvers.milp.milp.to_pulp` gives the problem to use them
on. They round to 12 (LP) and 13 (MPS) digits, leave out the objective's constant, and
differ between PuLP 3 and 4. These write the integer form
(`olivine.solvers.model.integer_form`), so every number is a whole one of at most 15
digits, printed in full; the same bytes on every version. A maximisation is written as
the minimisation of the negative, since readers disagree on how MPS says it.

The LP format is CPLEX's. The MPS format keeps to the columns of the fixed one,
which readers of the free one take as well (old CBC misreads the free one);
integer columns stand between markers, and both bounds are always written, since
readers disagree on the defaults. Only a number of more than 12 characters, or a
name of more than 8, breaks the columns; the file's second line then says that it is
free. A variable that nothing uses gets the coefficient 0 in the objective, because a
column must have an entry; HiGHS warns of it. The tests read everything back with
HiGHS and CBC.

>>> from fractions import Fraction
>>> model = LinearModel("tiny")
>>> x = model.add_variable("x+", 0, 5, integer=True)
>>> row = model.add_row([x], [Fraction(1, 3)], "<=", 1, "third")
>>> model.set_objective([x], [1], maximise=True)
>>> print("".join(lp_lines(FlatForm(model), model.name)), end="")
\ tiny: minimise the negative of the objective
Minimize
 obj: - 1 x0
Subject To
 c0: + 1 x0 <= 3
Bounds
 0 <= x0 <= 5
Generals
 x0
End
"""

from __future__ import annotations

import itertools
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import write_text
from .bulk_text import NumberedText, merged, text_of, words
from .flat_form import FlatForm
from .flat_model import BLOCK, Block, Group, Shape
from .model import LinearModel
from .mps_columns import Columns, padded
from .name_map import NameMap

_LINE = 200
"""Longest line begun, in characters; CPLEX's LP format allows 560."""

_BYTES = 1 << 21
"""Bytes of text that are put together at a time."""

_LP_SENSES = {"<=": "<=", ">=": ">=", "==": "="}
_MPS_SENSES = {"<=": "L", ">=": "G", "==": "E"}


def write_lp(model: LinearModel, path: str | os.PathLike[str]) -> NameMap:
    """Write a model as an LP file.

    The file appears whole or not at all: it is written beside `path` under
    another name and then renamed. It is a stream: at no time is more than a small
    part of the text in memory.
    """
    form = FlatForm(model)
    write_text(path, lp_lines(form, model.name))
    return form.names


def write_mps(model: LinearModel, path: str | os.PathLike[str]) -> NameMap:
    """Write a model as an MPS file; otherwise as `write_lp`."""
    form = FlatForm(model)
    write_text(path, mps_lines(form, model.name))
    return form.names


def lp_lines(form: FlatForm, title: str) -> Iterator[str]:
    """Yield the text of an LP file in parts; `title` goes into a comment."""
    yield f"\\ {_title(form, title)}\n"
    yield "Minimize\n"
    places = np.array([*form.objective], dtype=np.int64)
    costs = np.array([*form.objective.values()], dtype=np.int64)
    yield from _wrapped(" obj:", _terms(form, places, costs))
    yield "Subject To\n"
    yield from _LpRows(form).parts()
    yield "Bounds\n"
    kinds = form.variables.kinds
    binary = np.array([kind == (0, 1, True) for kind in kinds] + [False])
    general = np.array([kind[2] for kind in kinds] + [False]) & ~binary
    yield from _by_variable(form, [_lp_bound(*kind) for kind in kinds])
    codes = form.variables.codes()
    for section, chosen in (("Generals", general), ("Binaries", binary)):
        members = np.flatnonzero(chosen[codes])
        if len(members):
            yield f"{section}\n"
            parts = range(0, len(members), BLOCK)
            names = (form.variable_names(members[k : k + BLOCK]) for k in parts)
            yield from _wrapped("", names)
    yield "End\n"


def mps_lines(form: FlatForm, title: str) -> Iterator[str]:
    """Yield the text of an MPS file in parts; `title` goes into a comment."""
    yield f"* {_title(form, title)}\n"
    if not _is_fixed(form):
        yield "* free MPS: some numbers or names are too long for fixed columns\n"
    yield "NAME          model\n"
    yield "ROWS\n"
    yield " N  obj\n"
    yield from _by_row(form, lambda s: f" {_MPS_SENSES[s.sense]}  {s.label}\n")
    yield "COLUMNS\n"
    yield from Columns(form).parts()
    yield "RHS\n"
    yield from _by_row(
        form, lambda s: f"    RHS       {padded(s.label)}  {s.rhs:>12}\n" * bool(s.rhs)
    )
    yield "BOUNDS\n"
    yield from _by_variable(form, [_mps_bound(*k) for k in form.variables.kinds])
    yield "ENDATA\n"


# --------------------------------------------------------------- text in bulk


@dataclass(frozen=True)
class _Template:
    """Text of an item with places for numbers, and where each number is found."""

    text: str  # For ``%``
    # For each number: a variable of the item, or behind these a row of it
    places: list[int]

    def numbers(self, group: Group) -> NDArray[np.int64]:
        """Numbers of each item of a group, shape (items, places)."""
        rows = group.first_rows[:, None] + np.arange(len(group.shapes))
        return np.concatenate([group.variables, rows], axis=1)[:, self.places]


def _filled(
    form: FlatForm,
    block: Block,
    templates: Sequence[_Template],
    slow: NDArray[np.bool_] | None = None,
    spelled: Callable[[Group, int], Iterator[str]] | None = None,
) -> Iterator[str]:
    """Yield the text of the items of a block, in order and many at a time.

    Each is made by the template of its kind, but for `slow` ones by `spelled`.
    """
    n, rows = len(block.kinds), form.rows
    slow = np.zeros(n, dtype=np.bool_) if slow is None else slow
    apart: dict[int, tuple[Group, int]] = {}
    bulk: list[tuple[NDArray[np.int64], NDArray[np.int64], NumberedText]] = []
    for group in rows.groups(block):
        chosen = slow[group.items]
        apart |= {
            int(group.items[k]): (group, k) for k in np.flatnonzero(chosen).tolist()
        }
        if not chosen.all():
            template = templates[group.kind]
            numbers = template.numbers(group)[~chosen]
            text = NumberedText(template.text, form.digits)
            bulk.append((group.items[~chosen], numbers, text))
    width = max((text.width for _, _, text in bulk), default=1)
    places = np.flatnonzero(slow)
    most = max(1, min(BLOCK, _BYTES // max(1, width)))
    cuts = np.unique([*range(0, n, most), *places, *(places + 1), n]).tolist()
    for low, high in itertools.pairwise(cuts):
        if spelled and low in apart:
            yield from spelled(*apart[low])
            continue
        lines = []
        for items, numbers, text in bulk:
            first, last = np.searchsorted(items, (low, high))
            lines.append((items[first:last] - low, text.lines(numbers[first:last])))
        yield text_of(merged(high - low, lines))


def _number_of(shape: Shape, row: int, width: int) -> list[int]:
    """Place of the number in the name of an item's row, if there is one."""
    if "%" not in shape.label:
        return []
    return [width + row if shape.numbered < 0 else shape.numbered]


def _by_row(form: FlatForm, line: Callable[[Shape], str]) -> Iterator[str]:
    """Yield a line for each row, made of its shape; its number is filled in."""
    templates = []
    for kind in form.rows.kinds:
        lines = [line(shape) for shape in kind.shapes]
        places = [
            place
            for row, shape in enumerate(kind.shapes)
            if lines[row]
            for place in _number_of(shape, row, kind.width)
        ]
        templates.append(_Template("".join(lines), places))
    for block in form.rows.blocks:
        yield from _filled(form, block, templates)


def _by_variable(form: FlatForm, templates: list[str]) -> Iterator[str]:
    """Yield the text for each variable, by its kind; its name is filled in."""
    codes, own = form.variables.codes(), form.own_variables
    texts = [
        NumberedText(t.replace("%s", "x%d").replace("%-8s", "x%-7d"), form.digits)
        for t in templates
    ]
    for k in range(0, own, BLOCK):
        part, lines = codes[k : min(k + BLOCK, own)], []
        for code in np.unique(part).tolist():
            chosen = np.flatnonzero(part == code)
            numbers = np.tile(chosen[:, None] + k, texts[code].places)
            lines.append((chosen, texts[code].lines(numbers)))
        yield text_of(merged(len(part), lines))
    for name, code in zip(form.added, codes[own:].tolist(), strict=True):
        template = templates[code]
        yield template % ((name,) * template.count("%"))


def _terms(
    form: FlatForm, indices: NDArray[Any], coefficients: NDArray[np.int64]
) -> Iterator[NDArray[np.uint8]]:
    """Yield coefficients with their variables as `words`, a block at a time."""
    for k in range(0, len(indices), BLOCK):
        different, places = np.unique(coefficients[k : k + BLOCK], return_inverse=True)
        signed = [f"{'-' if c < 0 else '+'} {abs(c)} " for c in different.tolist()]
        yield np.hstack(
            [words(signed)[places], form.variable_names(indices[k : k + BLOCK])]
        )


def _wrapped(head: str, blocks: Iterable[NDArray[np.uint8]]) -> Iterator[str]:
    """Join `words` by blanks, on lines that a blank continues; yield a block's each."""
    size = len(head)
    yield head
    for block in blocks:
        ends = [0, *np.cumsum((block != 0).sum(axis=1) + 1).tolist()]
        starts, first = [], 0
        while first < len(block):
            last = bisect_right(ends, _LINE - size + ends[first], first) - 1
            last = max(last, first + (size == 0))  # a new line has a word
            size += ends[last] - ends[first]
            first = last
            if first < len(block):
                starts.append(first)
                size = 0
        lines = np.zeros((len(block), 2 + block.shape[1]), dtype=np.uint8)
        lines[starts, 0], lines[:, 1] = ord("\n"), ord(" ")
        lines[:, 2:] = block
        yield text_of(lines)
    yield "\n"


def _title(form: FlatForm, title: str) -> str:
    what = "minimise the negative of the objective" if form.negated else "minimise"
    return f"{' '.join(title.split())}: {what}"


# ------------------------------------------------------------------------- LP


def _lp_bound(low: int, high: int, integer: bool) -> str:
    if low == high:
        return f" %s = {low}\n"
    if integer and (low, high) == (0, 1):
        return ""
    return f" {low} <= %s <= {high}\n"


class _LpRows:
    """The rows in LP format: short ones by templates, long ones word by word."""

    def __init__(self, form: FlatForm) -> None:
        self._form = form
        self._templates = [
            self._template(kind.shapes, kind.width, form.digits)
            for kind in form.rows.kinds
        ]

    def _template(
        self, shapes: tuple[Shape, ...], width: int, digits: int
    ) -> _Template | None:
        """Template of an item; None if a line of it might have to be broken."""
        lines, places = [], []
        for row, s in enumerate(shapes):
            if 8 * len(s.places) > _LINE:  # not worth the trying
                return None
            terms = [f"{'-' if c < 0 else '+'} {abs(c)} x%d" for c in s.coefficients]
            words = [f" {s.label}:", *terms, f"{_LP_SENSES[s.sense]} {s.rhs}"]
            line = " ".join(words)
            if len(line) + line.count("%d") * (digits - 2) > _LINE:
                return None
            lines.append(f"{line}\n")
            places += [*_number_of(s, row, width), *s.places]
        return _Template("".join(lines), places)

    def parts(self) -> Iterator[str]:
        """Yield the text of all rows."""
        rows, own = self._form.rows, self._form.own_variables
        templates = [t or _Template("", []) for t in self._templates]
        long = np.array([t is None for t in self._templates], dtype=np.bool_)
        for block in rows.blocks:
            slow = long[block.kinds]
            if (block.variables >= own).any():  # these have names of their own
                slow[:] = True
            yield from _filled(self._form, block, templates, slow, self._spelled)

    def _spelled(self, group: Group, item: int) -> Iterator[str]:
        """Yield the lines of an item."""
        variables = group.variables[item]
        for row, s in enumerate(group.shapes):
            of_row = group.first_rows[item] + row
            number = of_row if s.numbered < 0 else variables[s.numbered]
            label = s.label % int(number) if "%" in s.label else s.label
            indices = variables[np.asarray(s.places, dtype=np.int64)]
            coefficients = np.array(s.coefficients, dtype=np.int64)
            terms = _terms(self._form, indices, coefficients)
            end = words([f"{_LP_SENSES[s.sense]} {s.rhs}"])
            yield from _wrapped(f" {label}:", itertools.chain(terms, [end]))


# ------------------------------------------------------------------------ MPS


def _mps_bound(low: int, high: int, _: bool) -> str:
    if low == high:
        return f" FX BND       %-8s  {low:>12}\n"
    return f" LO BND       %-8s  {low:>12}\n UP BND       %-8s  {high:>12}\n"


def _is_fixed(form: FlatForm) -> bool:
    """Whether all names have 8 characters at most, and all numbers 12."""
    numbers = itertools.chain(
        form.objective.values(),
        *((low, high) for low, high, _ in form.variables.kinds),
        *((*s.coefficients, s.rhs) for kind in form.rows.kinds for s in kind.shapes),
    )
    largest = max(form.own_variables, form.own_rows) - 1
    return len(str(largest)) <= 7 and all(-(10**11) < c < 10**12 for c in numbers)
