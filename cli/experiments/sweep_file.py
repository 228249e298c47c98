"""What a sweep file says, in TOML; docs/experiments.md has all keys."""

import difflib
import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from ...algorithms.exact.arrays import check_positive
from ..common.options import (
    DEFAULT_MAX_VARIABLES,
    FormulationName,
    Plan,
    VariantName,
    parse_penalty,
)
from ..common.output import describe
from ..common.reading import Reading, expand, open_regular
from ..verify import Job, RouteName
from .units import FormulaUnit, RandomJob, Unit, cells_of, check_number, learning_units

MOST_CLAUSES = 100_000_000
MOST_LITERALS = 3 * MOST_CLAUSES
LARGEST = 1 << 24  # bytes of a sweep file
_DIGITS = 40


@dataclass(frozen=True)
class Sweep:
    """A sweep, read and checked."""

    kind: str  # "formulas" or "learning"
    units: Sequence[Unit]  # What is to be done, in order; their keys differ
    says: Mapping[str, Any]  # What the rows depend on, as plain values
    files: Sequence[str] = ()  # That are read


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file."""
    try:
        with open_regular(str(path)) as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"{path}: more than {LARGEST} bytes")
        given = tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        if long := re.search(rb"([\w-]*)\s*=[^=]*?\d[\d_]{4299}", text):
            line = text.count(b"\n", 0, long.end()) + 1
            name = long[1].decode()
            place = f"{path}:{line}: {name}"
            raise ValueError(
                f"{place}: an integer of more than {_DIGITS} digits"
            ) from None
        raise ValueError(f"{path}: no TOML: {describe(error)}") from None
    try:
        kind = given.pop("kind", None)
        if kind not in _KINDS:
            raise ValueError(f"kind: {kind!r:.60} is none of {', '.join(_KINDS)}")
        keys, make = _KINDS[kind]
        values = {name: default for name, (_, default) in keys.items()}
        for name, value in given.items():
            if name not in keys:
                near = difflib.get_close_matches(name, keys, 1, 0.5)
                hint = f", did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{name}: unknown{hint}; there are {', '.join(keys)}")
            _refuse_long(name, value)
            values[name] = keys[name][0](name, value)
        units, says, files = make(values, path.parent)
        if not units:
            raise ValueError("nothing is to be done")
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {describe(error)}") from None
    ((twice, count),) = Counter(unit.key for unit in units).most_common(1)
    if count > 1:
        raise ValueError(f"{path}: {twice!r} would be done twice")
    return Sweep(kind, units, {"kind": kind} | says, files)


def _refuse_long(name: str, value: object) -> None:
    """Refuse integers, wherever they stand in a value, that are no sizes or seeds."""
    if isinstance(value, int) and abs(value) >= 10**_DIGITS:
        raise ValueError(f"{name}: an integer of more than {_DIGITS} digits")
    if isinstance(value, dict):
        for key, each in value.items():
            _refuse_long(f"{name}.{key}", each)
    elif isinstance(value, list):
        for each in value:
            _refuse_long(name, each)


Check = Callable[[str, Any], Any]


def _words(name: str, value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(w, str) for w in listed):
        raise ValueError(f"{name}: {value!r:.60} is no list of words")
    return list(dict.fromkeys(listed))


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r:.60} is no word")
    return value


def _chosen(known: Sequence[str]) -> Check:
    def check(name: str, value: Any) -> list[str]:
        words = _words(name, value)
        for word in words:
            if word not in known:
                raise ValueError(f"{name}: {word!r:.60} is none of {', '.join(known)}")
        if not words:
            raise ValueError(f"{name}: none is named; leave it out for the default")
        return words

    return check


def _count(least: int) -> Check:
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}: {value!r:.60} is no integer from {least} on")
        return value

    return check


def _penalty(name: str, value: Any) -> Any:
    import typer

    try:
        return parse_penalty(str(value))
    except typer.BadParameter as error:
        raise ValueError(f"{name}: {error.message}") from None


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: {value!r:.60} is no table")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _each(check: Check) -> Check:
    return lambda name, value: [check(name, each) for each in _list(value)]


_DRAWN: dict[str, tuple[Check, Any]] = {
    "variables": (_count(1), None),
    "ratios": (_each(check_positive), []),
    "clauses": (_each(_count(1)), []),
    "formulas": (_count(1), 1),
    "width": (_count(1), 3),
    "seed": (_count(0), 0),
}  # of each entry of ``random``


def _random(name: str, value: Any) -> list[dict[str, Any]]:
    entries = []
    for entry in _list(value):
        values = {key: default for key, (_, default) in _DRAWN.items()}
        for key, given in _table(name, entry).items():
            if key not in _DRAWN:
                known = ", ".join(_DRAWN)
                raise ValueError(f"{name}.{key}: unknown; there are {known}")
            values[key] = _DRAWN[key][0](f"{name}.{key}", given)
        n, width = values["variables"], values["width"]
        if n is None or width > n:
            raise ValueError(f"{name}.variables: {n}, but clauses have {width} each")
        if n > DEFAULT_MAX_VARIABLES:
            raise ValueError(f"{name}.variables: {n} is above {DEFAULT_MAX_VARIABLES}")
        sizes = [*values["clauses"], *(r * n for r in values.pop("ratios"))]
        if not sizes:
            raise ValueError(f"{name}.ratios: missing (clauses per variable)")
        if max(sizes) > MOST_CLAUSES:
            raise ValueError(f"{name}: more than {MOST_CLAUSES} clauses in a formula")
        sizes = [round(size) for size in sizes]
        if max(sizes) * width > MOST_LITERALS:
            raise ValueError(f"{name}: more than {MOST_LITERALS} literals in a formula")
        values["clauses"] = list(dict.fromkeys(max(1, m) for m in sizes))
        entries.append(values)
    return entries


_FORMULAS: dict[str, tuple[Check, Any]] = {
    "files": (_words, []),
    "random": (_random, []),
    "variants": (_chosen([v.value for v in VariantName]), ["paper"]),
    "routes": (_chosen([r.value for r in RouteName]), None),
    "formulation": (_chosen([f.value for f in FormulationName]), None),
    "penalty": (_penalty, None),
    "time_limit": (check_positive, None),
    "seed": (_count(0), 0),
}
_LEARNING: dict[str, tuple[Check, Any]] = {
    "algorithms": (_words, []),
    "environments": (_words, []),
    "seeds": (_count(1), 10),
    "first_seed": (_count(0), 0),
    "params": (_word, None),
    "classes": (_word, None),
    "epsilon": (check_positive, 0.3),
    "delta": (check_positive, 0.1),
    "settings": (_table, {}),
    "time_limit": (check_positive, 10.0),
}

Made = tuple[Sequence[Unit], dict[str, Any], Sequence[str]]  # units, header, files read


def _formulas(values: dict[str, Any], folder: Path) -> Made:
    from ...reduction.family.variants import chosen_penalty

    formulations = values["formulation"] or [None]
    if len(formulations) > 1:
        raise ValueError("formulation: one at most")
    routes = None if values["routes"] is None else tuple(values["routes"])
    for variant in values["variants"]:
        if values["penalty"] is not None:
            chosen_penalty(variant, values["penalty"], 1)
    says = values | {"formulation": formulations[0]}
    says["penalty"] = None if values["penalty"] is None else str(values["penalty"])
    digests = _digests(values["files"], folder)
    says["files"] = sorted(digest for _, digest in digests)
    drawn = sum(len(e["clauses"]) * e["formulas"] for e in values["random"])
    check_number((len(digests) + drawn) * len(values["variants"]))
    units: list[Unit] = []
    for variant in values["variants"]:
        job = Job(
            Reading(),
            variant,
            values["penalty"],
            formulations[0],
            routes,
            values["time_limit"],
            values["seed"],
        )
        copies: Counter[str] = Counter()
        for file, digest in digests:
            copies[digest] += 1
            own = replace(job, reading=Reading(digest=digest))
            units.append(FormulaUnit(own, file, copies[digest]))
        units += _drawn(job, values["random"])
    return units, says, [file for file, _ in digests]


def _drawn(job: Job, entries: Sequence[Mapping[str, Any]]) -> list[Unit]:
    units: list[Unit] = []
    for entry in entries:
        n, k, draw = entry["variables"], entry["width"], entry["seed"]
        for m, number in product(entry["clauses"], range(entry["formulas"])):
            own = RandomJob(**vars(job), variables=n, clauses=m, width=k, draw=draw)
            name = f"random {k}-SAT, {n} variables, {m} clauses, seed {draw}, {number}"
            units.append(FormulaUnit(own, name))
    return units


def _digests(named: Sequence[str], folder: Path) -> list[tuple[str, str]]:
    """Files, relative to `folder`, and their digests, which make the sweep."""
    found = []
    for file, error in expand(str(folder / name) for name in dict.fromkeys(named)):
        if error is not None:
            raise ValueError(f"files: {error}")
        with open_regular(file) as opened:
            found.append((file, hashlib.file_digest(opened, "sha256").hexdigest()))
    return found


def _learning(values: dict[str, Any], folder: Path) -> Made:
    plan = Plan(
        ",".join(values["algorithms"]) or None,
        ",".join(values["environments"]) or None,
        values["params"],
        values["classes"],
        values["epsilon"],
        values["delta"],
        [f"{k}={v}" for k, v in values["settings"].items()],
        values["first_seed"],
        values["seeds"],
        values["time_limit"],
    )
    cells = cells_of(plan)
    names = {
        "algorithms": list(dict.fromkeys(cell.algorithm for cell in cells)),
        "environments": list(dict.fromkeys(cell.env for cell in cells)),
    }
    return learning_units(cells, plan.each), values | names, ()


_KINDS: dict[str, tuple[Mapping[str, tuple[Check, Any]], Any]] = {
    "formulas": (_FORMULAS, _formulas),
    "learning": (_LEARNING, _learning),
}
