"""What a sweep file says: formulas in variants by routes, or runs of algorithms.

TOML, read by the standard library; docs/experiments.md has all keys.
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ..common.options import FormulationName, VariantName, parse_penalty
from ..common.output import describe
from ..common.reading import Reading, expand
from ..verify import Job, RouteName
from .comparison import Plan
from .units import FormulaUnit, RandomJob, Unit, learning_units

MOST_UNITS = 10_000_000
MOST_CLAUSES = 100_000_000


@dataclass(frozen=True)
class Sweep:
    """A sweep, read and checked."""

    kind: str  # "formulas" or "learning"
    units: Sequence[Unit]  # What is to be done, in order; their keys differ
    # What the rows depend on, as plain values; rows of another sweep differ there
    says: Mapping[str, Any]


def read_sweep(path: Path) -> Sweep:
    """Read a sweep file."""
    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no TOML: {describe(error)}") from None
    try:
        kind = given.pop("kind", None)
        if kind not in _KINDS:
            raise ValueError(f"kind: {kind!r} is none of {', '.join(_KINDS)}")
        keys, make = _KINDS[kind]
        values = {name: default for name, (_, default) in keys.items()}
        for name, value in given.items():
            if name not in keys:
                near = difflib.get_close_matches(name, keys, 1, 0.5)
                hint = f", did you mean {near[0]!r}?" if near else ""
                raise ValueError(f"{name}: unknown{hint}; there are {', '.join(keys)}")
            values[name] = keys[name][0](name, value)
        units, says = make(values, path.parent)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {describe(error)}") from None
    if not 0 < len(units) <= MOST_UNITS:
        what = "nothing is to be done" if not units else f"{len(units)} are too many"
        raise ValueError(f"{path}: {what}")
    ((twice, count),) = Counter(unit.key for unit in units).most_common(1)
    if count > 1:
        raise ValueError(f"{path}: {twice!r} would be done twice")
    return Sweep(kind, units, {"kind": kind} | says)


# ------------------------------------------------------------ values of keys

Check = Callable[[str, Any], Any]


def _words(name: str, value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(w, str) for w in listed):
        raise ValueError(f"{name}: {value!r} is no list of words")
    return list(dict.fromkeys(listed))


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: {value!r} is no word")
    return value


def _chosen(known: Sequence[str]) -> Check:
    def check(name: str, value: Any) -> list[str]:
        words = _words(name, value)
        for word in words:
            if word not in known:
                raise ValueError(f"{name}: {word!r} is none of {', '.join(known)}")
        if not words:
            raise ValueError(f"{name}: none is named; leave it out for the default")
        return words

    return check


def _count(least: int) -> Check:
    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}: {value!r} is no integer from {least} on")
        return value

    return check


def _positive(name: str, value: Any) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not good or not 0 < value < float("inf"):
        raise ValueError(f"{name}: {value!r} is no positive number")
    return float(value)


def _penalty(name: str, value: Any) -> Any:
    import typer

    try:
        return parse_penalty(str(value))
    except typer.BadParameter as error:
        raise ValueError(f"{name}: {error.message}") from None


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: {value!r} is no table")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _each(check: Check) -> Check:
    return lambda name, value: [check(name, each) for each in _list(value)]


_DRAWN: dict[str, tuple[Check, Any]] = {
    "variables": (_count(1), None),
    "ratios": (_each(_positive), []),
    "clauses": (_each(_count(1)), []),
    "formulas": (_count(1), 1),
    "width": (_count(1), 3),
    "seed": (_count(0), 0),
}
"""Of each entry of ``random``."""


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
        if not values["ratios"] and not values["clauses"]:
            raise ValueError(f"{name}.ratios: missing (clauses per variable)")
        sizes = [*values["clauses"], *(round(r * n) for r in values.pop("ratios"))]
        if max(sizes) > MOST_CLAUSES:
            raise ValueError(f"{name}: more than {MOST_CLAUSES} clauses in a formula")
        values["clauses"] = list(dict.fromkeys(max(1, m) for m in sizes))
        entries.append(values)
    return entries


# ------------------------------------------------------------------ the kinds

_FORMULAS: dict[str, tuple[Check, Any]] = {
    "files": (_words, []),
    "random": (_random, []),
    "variants": (_chosen([v.value for v in VariantName]), ["paper"]),
    "routes": (_chosen([r.value for r in RouteName]), None),
    "formulation": (_chosen([f.value for f in FormulationName]), None),
    "penalty": (_penalty, None),
    "time_limit": (_positive, None),
    "seed": (_count(0), 0),
}
_LEARNING: dict[str, tuple[Check, Any]] = {
    "algorithms": (_words, []),
    "environments": (_words, []),
    "seeds": (_count(1), 10),
    "first_seed": (_count(0), 0),
    "params": (_word, None),
    "classes": (_word, None),
    "epsilon": (_positive, 0.3),
    "delta": (_positive, 0.1),
    "settings": (_table, {}),
    "time_limit": (_positive, 10.0),
}

Made = tuple[Sequence[Unit], dict[str, Any]]


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
    files, says["files"] = _digests(values["files"], folder)
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
        units += [FormulaUnit(job, file) for file in files]
        units += _drawn(job, values["random"])
    return units, says


def _drawn(job: Job, entries: Sequence[Mapping[str, Any]]) -> list[Unit]:
    """Units of random formulas."""
    units: list[Unit] = []
    for entry in entries:
        n, k, draw = entry["variables"], entry["width"], entry["seed"]
        for m, number in product(entry["clauses"], range(entry["formulas"])):
            own = RandomJob(**vars(job), variables=n, clauses=m, width=k, draw=draw)
            name = f"random {k}-SAT, {n} variables, {m} clauses, seed {draw}, {number}"
            units.append(FormulaUnit(own, name))
    return units


def _digests(named: Sequence[str], folder: Path) -> tuple[list[str], list[list[str]]]:
    """Files, folders replaced by theirs, as they are found; names with digests.

    Names are relative to the sweep file's folder; a file that has changed makes
    another sweep.
    """
    files, digests = [], []
    for file, error in expand(str(folder / name) for name in named):
        if error is not None:
            raise ValueError(f"files: {error}")
        with open(file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        files.append(file)
        digests.append([file, digest])
    return files, digests


def _learning(values: dict[str, Any], folder: Path) -> Made:
    plan = Plan(
        tuple(values["environments"]),
        values["params"],
        values["epsilon"],
        values["delta"],
        values["seeds"],
        values["first_seed"],
        values["time_limit"],
        algorithms=tuple(values["algorithms"]),
        classes=values["classes"],
        settings=tuple(f"{k}={_setting(v)}" for k, v in values["settings"].items()),
    )
    units = learning_units(plan)
    return units, values | {
        "algorithms": list(dict.fromkeys(unit.run.algorithm for unit in units)),
        "environments": list(dict.fromkeys(unit.run.env for unit in units)),
    }


def _setting(value: Any) -> str:
    """Write a value as ``--set`` reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_KINDS: dict[str, tuple[Mapping[str, tuple[Check, Any]], Any]] = {
    "formulas": (_FORMULAS, _formulas),
    "learning": (_LEARNING, _learning),
}
