"""Rows of results as JSON Lines or as a Parquet table (extra ``parquet``)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from .units import Row

SUFFIXES = (".jsonl", ".parquet")
_WHOLE = ("monitors", "parameters", "settings")
"""Objects that stay JSON in one column: each algorithm has other names there."""
_EXACT = ("optimum", "optimal_value", "penalty", "suboptimality", "value")
"""Rationals as text: a column of floats, NAME.float, stands beside each."""
_INT64 = 2**63


def check_results(path: Path) -> None:
    """Refuse, before any work, a name that no results can be written to."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: a file of results ends in {' or '.join(SUFFIXES)}")
    if suffix == ".parquet":
        _pyarrow(path)


def write_results(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as the name says, whole or not at all; errors as `check_results`."""
    from ...solvers.files import write_bytes, write_text

    if path.suffix.lower() == ".jsonl":
        write_text(path, (json.dumps(row, allow_nan=False) + "\n" for row in rows))
        return
    pyarrow = _pyarrow(path)
    from pyarrow import parquet

    table = pyarrow.table(_columns(pyarrow, rows))
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink)
    write_bytes(path, sink.getvalue().to_pybytes())


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ValueError(
            f"{path}: Parquet needs the extra parquet: pip install "
            f"'olivine[parquet]' ({error})"
        ) from None
    return pyarrow


def _columns(pyarrow: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """One array for each name that some row has, null where a row has not."""
    flat = [_flat(row) for row in rows]
    names = dict.fromkeys(name for row in flat for name in row)
    columns = {}
    for name in names:
        columns[name] = _array(pyarrow, [row.get(name) for row in flat])
        if name in _EXACT:
            floats = [_float(row.get(name)) for row in flat]
            columns[f"{name}.float"] = pyarrow.array(floats, pyarrow.float64())
    return columns


def _float(value: Any) -> float | None:
    return None if value is None else float(Fraction(value))


def _flat(row: Row, before: str = "") -> Row:
    """Objects inside a row become names with dots."""
    found: Row = {}
    for name, value in row.items():
        if isinstance(value, dict) and name not in _WHOLE:
            found |= _flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def _array(pyarrow: Any, values: Sequence[Any]) -> Any:
    """Of the narrowest kind that holds all: integers beyond int64 become floats."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, list) for value in present) and present:
        inside = [entry for value in present for entry in value]
        kind = _kind(pyarrow, inside)
        if kind is not None:
            whole = [
                None if value is None else [_as(kind, pyarrow, v) for v in value]
                for value in values
            ]
            return pyarrow.array(whole, pyarrow.list_(kind))
    kind = _kind(pyarrow, present)
    if kind is None:
        texts = [None if v is None else _text(v) for v in values]
        return pyarrow.array(texts, pyarrow.string())
    return pyarrow.array([_as(kind, pyarrow, value) for value in values], kind)


def _kind(pyarrow: Any, values: Sequence[Any]) -> Any:
    """Find the type of all values that are not None; None: there is no common one."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pyarrow.bool_()
    if kinds == {int} and all(-_INT64 <= v < _INT64 for v in values if v is not None):
        return pyarrow.int64()
    if kinds and kinds <= {int, float}:
        return pyarrow.float64()
    return pyarrow.string() if kinds <= {str} else None


def _as(kind: Any, pyarrow: Any, value: Any) -> Any:
    if value is None:
        return None
    if kind == pyarrow.string():
        return _text(value)
    return float(value) if kind == pyarrow.float64() else value


def _text(value: Any) -> str:
    """Write a value as JSON does, a text as it is; what is no UTF-8 is escaped."""
    if not isinstance(value, str):
        return json.dumps(value, allow_nan=False)
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
