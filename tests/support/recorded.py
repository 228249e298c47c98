"""Whole results, compared with what tests/recorded has: a file a subject, a row a line.

A change of a result that is meant is recorded by

    python -m tests.support.remake_expected
"""

import dataclasses
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from olivine import __version__

FOLDER = Path(__file__).parents[1] / "recorded"
REMAKING = "OLIVINE_REMAKE"
COMMAND = "python -m tests.support.remake_expected"
CLOCK = {"seconds", "memory", "family.json", "python", "libraries"}
LEFT_OUT = {"family", "seconds"}
_FLEETING = [
    (re.compile(r"\b\d+(\.\d+)?(e-?\d+)? s\b"), "… s"),
    (re.compile(r'": "\d+\.\d+[.\w]*"'), '": "VERSION"'),  # of a library
    (re.compile(r'(family\.json"?:? +)[\d,]+'), r"\1…"),  # which has them
]


def recorded(subject: str, key: str, found: Any, folder: Path | None = None) -> None:
    """Assert that a result is the one of the row `key`; it holds no times or paths."""
    found = plain(found, str(folder) if folder else "\0")
    if REMAKING in os.environ:
        with (FOLDER / f"{subject}.jsonl").open("a", encoding="utf-8") as file:
            row = json.dumps({"key": key} | found, ensure_ascii=False, sort_keys=True)
            file.write(row + "\n")
        return
    rows = _rows(subject)
    hint = f"if it is meant: {COMMAND}"
    assert key in rows, f"tests/recorded/{subject}.jsonl has no row {key!r}; {hint}"
    difference = first_difference(rows[key], found)
    assert not difference, f"{subject}.jsonl, {key}: {difference}; {hint}"


def row(subject: str, key: str, make: Callable[[], Any]) -> Any:
    """What a row has; where rows are remade, what is to be tried for it."""
    return make() if REMAKING in os.environ else _rows(subject)[key]


@cache
def _rows(subject: str) -> dict[str, Any]:
    text = (FOLDER / f"{subject}.jsonl").read_text(encoding="utf-8")
    rows = map(json.loads, text.splitlines())
    return {row.pop("key"): row for row in rows}


def plain(value: Any, folder: str = "\0") -> Any:
    """JSON's values: floats of nine digits, no times, texts without a folder's name."""
    if isinstance(value, Mapping):
        took = value.get("seconds")
        assert not isinstance(took, int | float) or 0 <= took < 3600
        value = {k: v for k, v in value.items() if k not in CLOCK}
        return {str(k): plain(v, folder) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v, folder) for v in value]
    if isinstance(value, float):
        short = float(f"{value:.9g}")
        return short if math.isfinite(short) else str(short)
    if value is None or isinstance(value, bool | int):
        return value
    text = str(value).replace(folder, "FOLDER").replace(__version__, "VERSION")
    for pattern, words in _FLEETING:
        text = pattern.sub(words, text)
    return text


def fields(value: Any, shown: Callable[[Any], Any] = lambda v: v) -> Any:
    """Fields of dataclasses, also inside, without families; what else is as `shown`."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value)]
        own = {name: getattr(value, name) for name in names if name not in LEFT_OUT}
        return fields(own, shown)
    if isinstance(value, dict):
        return {str(k): fields(v, shown) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [fields(v, shown) for v in value]
    return shown(value)


def first_difference(old: Any, new: Any, where: str = "") -> str:
    """Name the first field in which two plain values differ, or say nothing."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            place = f"{where}.{key}".lstrip(".")
            if key not in old or key not in new:
                return f"{place} is {'missing' if key in old else 'new'}"
            if found := first_difference(old[key], new[key], place):
                return found
        return ""
    if isinstance(old, list) and isinstance(new, list):
        for i, (a, b) in enumerate(zip(old, new, strict=False)):
            if found := first_difference(a, b, f"{where}[{i}]"):
                return found
        return "" if len(old) == len(new) else f"{where} has {len(new)}, not {len(old)}"
    if {type(old), type(new)} <= {int, float}:
        same = math.isclose(old, new, rel_tol=1e-8, abs_tol=1e-12)
    else:
        same = old == new and type(old) is type(new)
    return "" if same else f"{where} is {new!r}, was {old!r}"
