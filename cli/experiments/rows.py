"""The file of a sweep's rows, from which a killed sweep resumes; rows as tables.

A header line, then a line per row. One process writes each by one call, under a lock,
so a kill cuts the last line at most: its unit is done again, as are failures, which
have no row. A row ends in a digest of what stands before it: an edit of any kind shows.
"""

import hashlib
import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from ... import __version__
from .units import Row

FORMAT = 3
_MARK = "olivine-sweep"
_SEAL = ', "sha256": "%s"}'
SYNC = 1.0  # seconds between calls of fsync, for crashes of the machine


class RowFile:
    """Rows by key, in the file's order; `remark`: what was found cut off, or ""."""

    def __init__(self, descriptor: int, rows: dict[str, Row], remark: str) -> None:
        self.rows, self.remark = rows, remark
        self._descriptor = descriptor
        self._synced = time.monotonic()

    def append(self, row: Row) -> None:
        """Write a row, whole, and keep it."""
        self.rows[row["key"]] = row
        _write(self._descriptor, _with_seal(_line(row)[:-1]))
        if time.monotonic() - self._synced > SYNC:
            self.sync()

    def sync(self) -> None:
        """Have the system write what it holds back."""
        os.fsync(self._descriptor)
        self._synced = time.monotonic()


@contextmanager
def open_rows(
    path: Path, sweep: Mapping[str, Any], keys: Collection[str]
) -> Iterator[RowFile]:
    """Open or begin a sweep's rows, which have some of the keys."""
    header = {_MARK: FORMAT, "version": __version__, "sweep": sweep}
    header = json.loads(json.dumps(header))
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        _lock(descriptor, path)
        whole, torn = _lines(descriptor)
        rows = _read(path, whole, torn, header, keys)
        remark = ""
        if torn:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(torn))
            remark = (
                f"{path}: line {len(whole) + 1} was cut off in its middle; it is left "
                "out, and what it was of is done again"
            )
        if not whole:
            _write(descriptor, _line(header))
        file = RowFile(descriptor, rows, remark)
        yield file
        file.sync()
    finally:
        os.close(descriptor)


def _lines(descriptor: int) -> tuple[list[bytes], bytes]:
    """All lines that ended, and what stands after the last end."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        *whole, torn = file.read().split(b"\n")
    return whole, torn


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False).encode("ascii")


def _with_seal(text: bytes) -> bytes:
    return text + (_SEAL % hashlib.sha256(text).hexdigest()).encode("ascii")


def _write(descriptor: int, line: bytes) -> None:
    """Append one line; all of it or, where the disk is full, nothing."""
    line += b"\n"
    before = os.fstat(descriptor).st_size
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(descriptor, left) :]
    except OSError:
        os.ftruncate(descriptor, before)
        raise


def _lock(descriptor: int, path: Path) -> None:
    """Refuse, with a ValueError, a file that another sweep writes to."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"{path}: another sweep is writing to it") from None


def _read(
    path: Path,
    whole: list[bytes],
    torn: bytes,
    header: Mapping[str, Any],
    keys: Collection[str],
) -> dict[str, Row]:
    if not whole:
        begun = json.dumps(header).encode("ascii")
        if not begun.startswith(torn):
            raise ValueError(f"{path}: not the rows of a sweep")
        return {}
    _check_header(path, _parsed(path, 1, whole[0]), header)
    rows: dict[str, Row] = {}
    for number, line in enumerate(whole[1:], 2):
        row = _parsed(path, number, line)
        key = row.get("key")
        if not isinstance(key, str) or key not in keys:
            raise ValueError(f"{path}:{number}: {key!r} is no unit of this sweep")
        if key in rows:
            raise ValueError(f"{path}:{number}: a second row of {key!r}")
        if line != _with_seal(line.rpartition(b', "sha256": "')[0]):
            raise ValueError(f"{path}:{number}: damaged: it is not as it was written")
        del row["sha256"]
        rows[key] = row
    return rows


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}:{number}: damaged: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}:{number}: damaged: no JSON object")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _check_header(
    path: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> None:
    if _MARK not in found:
        raise ValueError(f"{path}: not the rows of a sweep")
    ours = wanted[_MARK], wanted["version"]
    theirs = found[_MARK], found.get("version")
    if theirs != ours:
        raise ValueError(
            f"{path}: written by olivine {theirs[1]} in format {theirs[0]}; this is "
            f"olivine {ours[1]}, format {ours[0]}. Its rows may be other than ours "
            "would be, so take a new file"
        )
    said, says = found.get("sweep"), wanted["sweep"]
    if found == wanted:
        return
    if not isinstance(said, dict) or said == says:
        raise ValueError(f"{path}:1: damaged: not a header")
    names = [k for k in {**says, **said} if says.get(k) != said.get(k)]
    raise ValueError(
        f"{path}: rows of another sweep, which differs in {', '.join(names)}; "
        "take a new file"
    )


SUFFIXES = (".jsonl", ".parquet")
_WHOLE = ("monitors", "parameters", "settings")  # JSON in one column: names differ
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
            f"{path}: Parquet needs pyarrow: pip install pyarrow ({error})"
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
    if not isinstance(value, str):
        return json.dumps(value, allow_nan=False)
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
