r"""Write models as LP and MPS files that mean exactly what the model means.

PuLP's writers round to 12 (LP) and 13 (MPS) digits, leave out the objective's constant,
and differ between PuLP 3 and 4. These write the integer form, so every number is a
whole one of at most 15 digits, the same bytes on every version. A maximisation is
written as the minimisation of the negative, since readers disagree on how MPS says it.

The LP format is CPLEX's. MPS keeps to the columns of the fixed format, which readers of
the free one take as well (old CBC misreads the free one), unless a number of more than
12 characters or a name of more than 8 breaks them, which the second line then says;
integer columns stand between markers, and both bounds are always written, since readers
disagree on the defaults. A variable that nothing uses gets the coefficient 0 in the
objective: a column of MPS must have an entry, and SCIP refuses an LP file that declares
an unused variable.

>>> from fractions import Fraction
>>> model = LinearModel("tiny")
>>> x = model.add_variable("x+", 0, 5, integer=True)
>>> row = model.add_row([x], [Fraction(1, 3)], "<=", 1, "third")
>>> model.set_objective([x], [1], maximise=True)
>>> print("".join(lp_lines(IntegerForm(model), model.name)), end="")
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

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..files import write_text
from . import LinearModel, Sense
from .integer_form import IntegerForm, NameMap
from .large import CHUNK, Ints, narrow

_LINE = 200
"""Longest line begun, in characters; CPLEX's LP format allows 560."""

_LP_SENSES = {"<=": "<=", ">=": ">=", "==": "="}
_MPS_SENSES = {"<=": "L", ">=": "G", "==": "E"}


def write_lp(
    model: LinearModel, path: str | os.PathLike[str], remarks: Iterable[str] = ()
) -> NameMap:
    """Write a model as an LP file, a stream; `remarks` become comments on top.

    The file appears whole or not at all: it is written under another name and renamed.
    """
    form = IntegerForm(model)
    write_text(path, lp_lines(form, model.name, remarks))
    return form.names


def write_mps(
    model: LinearModel, path: str | os.PathLike[str], remarks: Iterable[str] = ()
) -> NameMap:
    """Write a model as an MPS file; otherwise as `write_lp`."""
    form = IntegerForm(model)
    write_text(path, mps_lines(form, model.name, remarks))
    return form.names


def lp_lines(
    form: IntegerForm, title: str, remarks: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the text of an LP file in parts; `title` goes into a comment."""
    yield "".join(f"\\ {line}\n" for line in (_title(form, title), *remarks))
    yield "Minimize\n"
    costs = [f"{_signed(c)}{j}" for j, c in form.objective.items()]
    yield from _wrapped(" obj:", costs + [f"+ 0 x{j}" for j in form.unused().tolist()])
    yield "Subject To\n"
    for first, part, (values, codes, sides, side) in form.scaled():
        heads = [_signed(value) for value in values]
        ends = [f"{_LP_SENSES[sense]} {rhs}" for sense, rhs in sides]
        columns = part.indices.tolist()
        terms = [
            f" {heads[c]}{j}" for c, j in zip(codes.tolist(), columns, strict=True)
        ]
        cuts, lines = part.indptr.tolist(), []
        for k, code in enumerate(side.tolist()):
            own = terms[cuts[k] : cuts[k + 1]]
            line = f" c{first + k}:{''.join(own)} {ends[code]}\n"
            if len(line) > _LINE:
                words = [*(term[1:] for term in own), ends[code]]
                line = "".join(_wrapped(f" c{first + k}:", words))
            lines.append(line)
        yield "".join(lines)
    yield "Bounds\n"
    yield from _by_variable(form, [_lp_bound(*kind) for kind in form.kinds])
    binary = np.array([kind == (0, 1, True) for kind in form.kinds] + [False])
    general = np.array([kind[2] for kind in form.kinds] + [False]) & ~binary
    for section, chosen in (("Generals", general), ("Binaries", binary)):
        members = np.flatnonzero(chosen[form.codes]).tolist()
        if members:
            yield f"{section}\n"
            yield from _wrapped("", (f"x{j}" for j in members))
    yield "End\n"


def mps_lines(
    form: IntegerForm, title: str, remarks: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the text of an MPS file in parts; `title` goes into a comment."""
    matrix, numbers, right = _matrix(form)
    yield f"* {_title(form, title)}\n"
    ends = (rhs for _, sides, _ in right for _, rhs in sides)
    if not _is_fixed(form, [*numbers, *ends]):
        yield "* free MPS: some numbers or names are too long for fixed columns\n"
    yield "".join(f"* {line}\n" for line in remarks)
    yield "NAME          model\nROWS\n N  obj\n"
    for first, sides, side in right:
        heads = [f" {_MPS_SENSES[sense]}  c" for sense, _ in sides]
        codes = enumerate(side.tolist(), first)
        yield "".join([f"{heads[code]}{i}\n" for i, code in codes])
    yield "COLUMNS\n"
    yield from _columns(form, matrix, numbers)
    del matrix
    yield "RHS\n"
    for first, sides, side in right:
        tails = [f"  {rhs:>12}\n" if rhs else "" for _, rhs in sides]
        pairs = ((i, tails[code]) for i, code in enumerate(side.tolist(), first))
        yield "".join([f"    RHS       c{i:<7}{tail}" for i, tail in pairs if tail])
    yield "BOUNDS\n"
    yield from _by_variable(form, [_mps_bound(*kind) for kind in form.kinds])
    yield "ENDATA\n"


def _title(form: IntegerForm, title: str) -> str:
    what = "minimise the negative of the objective" if form.negated else "minimise"
    return f"{' '.join(title.split())}: {what}"


def _signed(value: int) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value)} x"


def _wrapped(head: str, words: Iterable[str]) -> Iterator[str]:
    """Join words by blanks, on lines that a blank continues; yield many at a time."""
    parts, size = [head], len(head)
    for word in words:
        if size + len(word) >= _LINE:
            parts.append("\n")
            size = 0
            if len(parts) > CHUNK:
                yield "".join(parts)
                parts = []
        parts.append(f" {word}")
        size += len(word) + 1
    parts.append("\n")
    yield "".join(parts)


def _by_variable(form: IntegerForm, templates: list[str]) -> Iterator[str]:
    """Yield the text of each variable by its kind, the number filled in."""
    counts = [template.count("%") for template in templates]
    for k in range(0, len(form), CHUNK):
        part = enumerate(form.codes[k : k + CHUNK].tolist(), k)
        yield "".join([templates[c] % ((j,) * counts[c]) for j, c in part if counts[c]])


def _lp_bound(low: int, high: int, integer: bool) -> str:
    if low == high:
        return f" x%d = {low}\n"
    if integer and (low, high) == (0, 1):
        return ""
    return f" {low} <= x%d <= {high}\n"


def _mps_bound(low: int, high: int, _: bool) -> str:
    if low == high:
        return f" FX BND       x%-7d  {low:>12}\n"
    return f" LO BND       x%-7d  {low:>12}\n UP BND       x%-7d  {high:>12}\n"


Right = list[tuple[int, list[tuple[Sense, int]], Ints]]


def _matrix(form: IntegerForm) -> tuple[Any, list[int], Right]:
    """Give the matrix by columns, with codes into a list of numbers; and the sides.

    These are, for each part of the rows, the first one's number, the table and codes.
    """
    from scipy.sparse import csr_matrix  # takes long to load

    data, numbers, right = [], dict[int, int](), Right()
    for first, _, (values, codes, sides, side) in form.scaled():
        places = [numbers.setdefault(value, len(numbers)) for value in values]
        data.append(narrow(np.array(places, dtype=np.int64))[codes])
        right.append((first, sides, narrow(side)))
    blocks = form.table.blocks
    indices = np.concatenate([np.zeros(0, np.int32), *(b.indices for b in blocks)])
    lengths = np.concatenate([[0], *(np.diff(b.indptr) for b in blocks)])
    codes = np.concatenate([np.zeros(0, np.uint8), *data])
    del data
    shape = len(form.table), len(form)
    matrix = csr_matrix((codes, indices, np.cumsum(lengths)), shape=shape)
    return matrix.tocsc(), list(numbers), right


def _columns(form: IntegerForm, matrix: Any, numbers: list[int]) -> Iterator[str]:
    texts = [f"  {number:>12}\n" for number in numbers]
    integral = [kind[2] for kind in form.kinds]
    within = False
    for low in range(0, len(form), CHUNK):
        cuts = matrix.indptr[low : low + CHUNK + 1].tolist()
        own = slice(cuts[0], cuts[-1])
        pairs = zip(
            matrix.indices[own].tolist(), matrix.data[own].tolist(), strict=True
        )
        entries = [f"c{i:<7}{texts[code]}" for i, code in pairs]
        lines = []
        for k, code in enumerate(form.codes[low : low + CHUNK].tolist()):
            j = low + k
            if integral[code] != within:
                within = integral[code]
                lines.append(_marker("INTORG" if within else "INTEND"))
            column = f"    x{j:<7}  "
            found = entries[cuts[k] - cuts[0] : cuts[k + 1] - cuts[0]]
            if j in form.objective or not found:
                lines.append(f"{column}obj       {form.objective.get(j, 0):>12}\n")
            lines += [column + entry for entry in found]
        yield "".join(lines)
    if within:
        yield _marker("INTEND")


def _marker(kind: str) -> str:
    return f"    MARKER    'MARKER'                 '{kind}'\n"


def _is_fixed(form: IntegerForm, numbers: list[int]) -> bool:
    """Whether all names have 8 characters at most, and all numbers 12."""
    ends = (end for low, high, _ in form.kinds for end in (low, high))
    return max(len(form), len(form.table)) <= 10**7 and all(
        -(10**11) < c < 10**12 for c in (*numbers, *form.objective.values(), *ends)
    )
