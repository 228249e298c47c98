"""JSON that people can read, written in parts."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...solvers.model.integer_form import NameMap, json_pairs

_PART = 1 << 14  # entries that are written at a time


def pretty_json(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a JSON value's text in parts; lazy maps and arrays stay lazy."""
    if not isinstance(value, Mapping):
        yield from _on_one_line(value)
        return
    if not value:
        yield "{}"
        return
    before, pairs = f",\n{indent}  ", None
    if isinstance(value, NameMap):
        pairs = value.json(before)
    elif all(map(_is_plain, value.values())):
        pairs = json_pairs(value.items(), before)
    if pairs is not None:
        yield f"{{{next(pairs)[1:]}"  # no comma before the first
        yield from pairs
        yield f"\n{indent}}}"
        return
    separator = "{\n"
    for key, entry in value.items():
        yield f"{separator}{indent}  {json.dumps(key)}: "
        yield from pretty_json(entry, indent + "  ")
        separator = ",\n"
    yield f"\n{indent}}}"


def _is_plain(entry: object) -> bool:
    return entry is None or isinstance(entry, str | int | float)


def _on_one_line(value: Any) -> Iterator[str]:
    if _is_plain(value) or isinstance(value, list | tuple):
        yield json.dumps(value, allow_nan=False)
        return
    yield "["
    for k in range(0, len(value), _PART):
        part = value[k : k + _PART]
        entries = part if isinstance(part, list) else part.tolist()
        yield ", " * bool(k) + json.dumps(entries, allow_nan=False)[1:-1]
    yield "]"
