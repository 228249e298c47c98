r"""Write models as LP and MPS files that mean exactly what the model means.

PuLP has writers too; `olivine.solvers.milp.to_pulp` gives the problem to use them on.
They round to 12 (LP) and 13 (MPS) digits, leave out the objective's constant,
and differ between PuLP 3 and 4. These write the integer form
(`olivine.solvers.integer_form`), so every number is a whole one of at most 15 digits,
printed in full; the same bytes on every version. A maximisation is written as
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
>>> print(lp_text(integer_form(model), model.name), end="")
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
from collections.abc import Iterable, Iterator

from olivine.solvers.files import write_text
from olivine.solvers.integer_form import IntegerForm, integer_form
from olivine.solvers.model import LinearModel

_LINE = 200
"""Longest line begun, in characters; CPLEX's LP format allows 560."""

_LP_SENSES = {"<=": "<=", ">=": ">=", "==": "="}
_MPS_SENSES = {"<=": "L", ">=": "G", "==": "E"}


def write_lp(model: LinearModel, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write a model as an LP file.

    The file appears whole or not at all: it is written beside `path` under
    another name and then renamed.

    Returns
    -------
    dict
        The model's names of variables and rows by the short names in the file;
        for what the file has beyond the model, a description.

    Raises
    ------
    ValueError
        If a number has more than 15 digits when scaled to integers; says where.
    OSError
        If the file cannot be written, or there is something that is no regular
        file; nothing is left behind.
    """
    form = integer_form(model)
    write_text(path, lp_lines(form, model.name))
    return form.names


def write_mps(model: LinearModel, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write a model as an MPS file; otherwise as `write_lp`."""
    form = integer_form(model)
    write_text(path, mps_lines(form, model.name))
    return form.names


def lp_text(form: IntegerForm, title: str) -> str:
    """Return the LP file of a form."""
    return "".join(lp_lines(form, title))


def mps_text(form: IntegerForm, title: str) -> str:
    """Return the MPS file of a form."""
    return "".join(mps_lines(form, title))


def lp_lines(form: IntegerForm, title: str) -> Iterator[str]:
    """Yield the lines of an LP file; `title` goes into a comment."""
    names = [v.name for v in form.variables]
    yield f"\\ {_title(form, title)}\n"
    yield "Minimize\n"
    yield _wrapped(" obj:", _terms(names, form.objective.items()))
    yield "Subject To\n"
    for row in form.rows:
        terms = _terms(names, zip(row.indices, row.coefficients, strict=True))
        end = f"{_LP_SENSES[row.sense]} {row.rhs}"
        yield _wrapped(f" {row.name}:", [*terms, end])
    binary = [
        v.name for v in form.variables if v.integer and _is_unit(v.lower, v.upper)
    ]
    known = set(binary)
    yield "Bounds\n"
    for v in form.variables:
        if v.lower == v.upper:
            yield f" {v.name} = {v.lower}\n"
        elif v.name not in known:
            yield f" {v.lower} <= {v.name} <= {v.upper}\n"
    general = [v.name for v in form.variables if v.integer and v.name not in known]
    for section, members in (("Generals", general), ("Binaries", binary)):
        if members:
            yield f"{section}\n"
            yield _wrapped("", members)
    yield "End\n"


def mps_lines(form: IntegerForm, title: str) -> Iterator[str]:
    """Yield the lines of an MPS file; `title` goes into a comment."""
    yield f"* {_title(form, title)}\n"
    if not _is_fixed(form):
        yield "* free MPS: some numbers or names are too long for fixed columns\n"
    yield "NAME          model\n"
    yield "ROWS\n"
    yield " N  obj\n"
    for row in form.rows:
        yield f" {_MPS_SENSES[row.sense]}  {row.name}\n"
    yield "COLUMNS\n"
    columns: list[list[tuple[str, int]]] = [[] for _ in form.variables]
    for j, cost in form.objective.items():
        columns[j].append(("obj", cost))
    for row in form.rows:
        for j, coefficient in zip(row.indices, row.coefficients, strict=True):
            columns[j].append((row.name, coefficient))
    within = False
    for v, entries in zip(form.variables, columns, strict=True):
        if v.integer != within:
            yield _marker("INTORG" if v.integer else "INTEND")
            within = v.integer
        for row_name, coefficient in entries or [("obj", 0)]:
            yield f"    {v.name:<8}  {row_name:<8}  {coefficient:>12}\n"
    if within:
        yield _marker("INTEND")
    yield "RHS\n"
    for row in form.rows:
        if row.rhs:
            yield f"    RHS       {row.name:<8}  {row.rhs:>12}\n"
    yield "BOUNDS\n"
    for v in form.variables:
        if v.lower == v.upper:
            yield _bound("FX", v.name, v.lower)
        else:
            yield _bound("LO", v.name, v.lower)
            yield _bound("UP", v.name, v.upper)
    yield "ENDATA\n"


def _is_fixed(form: IntegerForm) -> bool:
    """Whether all names have 8 characters at most, and all numbers 12."""
    numbers = itertools.chain(
        form.objective.values(),
        *((*row.coefficients, row.rhs) for row in form.rows),
        *((v.lower, v.upper) for v in form.variables),
    )
    names = [*(v.name for v in form.variables), *(row.name for row in form.rows)]
    return all(-(10**11) < c < 10**12 for c in numbers) and all(
        len(name) <= 8 for name in names
    )


def _marker(kind: str) -> str:
    return f"    MARKER                 'MARKER'                 '{kind}'\n"


def _bound(kind: str, name: str, bound: int) -> str:
    return f" {kind} BND       {name:<8}  {bound:>12}\n"


def _title(form: IntegerForm, title: str) -> str:
    what = "minimise the negative of the objective" if form.negated else "minimise"
    return f"{' '.join(title.split())}: {what}"


def _is_unit(lower: int, upper: int) -> bool:
    return (lower, upper) == (0, 1)


def _terms(names: list[str], terms: Iterable[tuple[int, int]]) -> list[str]:
    return [f"{'-' if c < 0 else '+'} {abs(c)} {names[j]}" for j, c in terms]


def _wrapped(head: str, words: list[str]) -> str:
    """Join words by blanks, on lines that a blank continues."""
    lines, line = [], head
    for word in words:
        if len(line) + len(word) >= _LINE:
            lines.append(line)
            line = ""
        line += f" {word}"
    lines.append(line)
    return "\n".join(lines) + "\n"
