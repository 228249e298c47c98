"""The text of program files, written entry by entry: what the streams must equal."""

from __future__ import annotations

from olivine.solvers.model.integer_form import IntegerForm

_LP = {"<=": "<=", ">=": ">=", "==": "="}
_MPS = {"<=": "L", ">=": "G", "==": "E"}


def _title(form: IntegerForm, title: str) -> str:
    what = "minimise the negative of the objective" if form.negated else "minimise"
    return f"{' '.join(title.split())}: {what}"


def _wrapped(head: str, words: list[str]) -> str:
    lines, line = [], head
    for word in words:
        if len(line) + len(word) >= 200:
            lines.append(line)
            line = ""
        line += f" {word}"
    return "\n".join([*lines, line]) + "\n"


def plain_lp(form: IntegerForm, title: str, *remarks: str) -> str:
    """The LP file."""

    def terms(pairs) -> list[str]:
        return [
            f"{'-' if c < 0 else '+'} {abs(c)} {form.variables[j].name}"
            for j, c in pairs
        ]

    used = {*form.objective, *(j for row in form.rows for j in row.indices)}
    idle = [f"+ 0 {v.name}" for j, v in enumerate(form.variables) if j not in used]
    text = "".join(f"\\ {line}\n" for line in (_title(form, title), *remarks))
    text += "Minimize\n"
    text += _wrapped(" obj:", terms(form.objective.items()) + idle) + "Subject To\n"
    for row in form.rows:
        words = terms(zip(row.indices, row.coefficients, strict=True))
        text += _wrapped(f" {row.name}:", [*words, f"{_LP[row.sense]} {row.rhs}"])
    text += "Bounds\n"
    sections: dict[str, list[str]] = {"Generals": [], "Binaries": []}
    for v in form.variables:
        binary = v.integer and (v.lower, v.upper) == (0, 1)
        if v.integer:
            sections["Binaries" if binary else "Generals"].append(v.name)
        if v.lower == v.upper:
            text += f" {v.name} = {v.lower}\n"
        elif not binary:
            text += f" {v.lower} <= {v.name} <= {v.upper}\n"
    for section, members in sections.items():
        if members:
            text += f"{section}\n" + _wrapped("", members)
    return text + "End\n"


def plain_mps(form: IntegerForm, title: str, *remarks: str) -> str:
    """The MPS file, of numbers and names that the fixed columns hold."""
    text = "".join(f"* {line}\n" for line in (_title(form, title), *remarks))
    text += "NAME          model\nROWS\n N  obj\n"
    text += "".join(f" {_MPS[row.sense]}  {row.name}\n" for row in form.rows)
    text += "COLUMNS\n"
    within = False
    for j, v in enumerate(form.variables):
        if v.integer != within:
            within = v.integer
            text += _marker("INTORG" if within else "INTEND")
        entries = [("obj", form.objective[j])] if j in form.objective else []
        for row in form.rows:
            entries += [
                (row.name, c)
                for i, c in zip(row.indices, row.coefficients, strict=True)
                if i == j
            ]
        for name, c in entries or [("obj", 0)]:
            text += f"    {v.name:<8}  {name:<8}  {c:>12}\n"
    if within:
        text += _marker("INTEND")
    text += "RHS\n"
    for row in form.rows:
        text += f"    RHS       {row.name:<8}  {row.rhs:>12}\n" if row.rhs else ""
    text += "BOUNDS\n"
    for v in form.variables:
        bounds = [("LO", v.lower), ("UP", v.upper)]
        for kind, end in [("FX", v.lower)] if v.lower == v.upper else bounds:
            text += f" {kind} BND       {v.name:<8}  {end:>12}\n"
    return text + "ENDATA\n"


def _marker(kind: str) -> str:
    return f"    MARKER    'MARKER'                 '{kind}'\n"
