"""Operations of an oracle, counted at its data and not by its own word.

The arrays that the oracle is given count what is done with them and with all that is
computed from them: an entry of each operand and result of each NumPy call, n log n for
a sort, one for each entry read or iterated over. What is done after ``tolist()`` or in
another language is seen only as reading. ``np.asarray`` and ``np.array`` keep counting,
for which NumPy's functions are replaced during the call: for tests only, one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.data import EmpiricalMeasure
from .ledger import Ledger

_SORTS = {"argsort", "sort", "lexsort", "unique", "partition", "argpartition"}
_COLUMNS = ("observations", "actions", "rewards", "next_observations", "weights")


class Tally:
    """Operations so far."""

    def __init__(self) -> None:
        self.operations = 0


class CountedArray(np.ndarray[Any, Any]):
    """An array that adds what is done with it to a tally."""

    tally: Tally | None

    def __array_finalize__(self, made_from: Any) -> None:
        self.tally = getattr(made_from, "tally", None)

    def _add(self, count: int) -> None:
        if self.tally is not None:
            self.tally.operations += count

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **options: Any
    ) -> Any:
        given = [_plain(x) for x in inputs]
        if options.get("out") is not None:
            options["out"] = tuple(_plain(x) for x in options["out"])
        found = getattr(ufunc, method)(*given, **options)
        return self._counted(found, inputs, 1)

    def __array_function__(
        self, func: Any, types: Any, args: Any, kwargs: Any
    ) -> Any:  # fmt: skip
        found = func(*_plain(args), **_plain(kwargs))
        size = max((np.size(x) for x in _arrays((args, kwargs))), default=1)
        factor = 1
        if func.__name__ in _SORTS:
            factor = max(1, math.ceil(math.log2(max(size, 2))))
        return self._counted(found, (args, kwargs), factor)

    def _counted(self, found: Any, given: Any, factor: int) -> Any:
        sizes = [np.size(x) for x in _arrays(given)]
        sizes += [np.size(x) for x in _arrays(found)]
        self._add(factor * max(1, sum(sizes)))
        return _wrapped(found, self.tally)

    def __getitem__(self, key: Any) -> Any:
        found = _plain(self)[_plain(key)]
        self._add(max(1, np.size(found)))
        return _wrapped(found, self.tally)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._add(max(1, np.size(_plain(value))))
        _plain(self)[_plain(key)] = _plain(value)

    def __iter__(self) -> Iterator[Any]:
        for row in _plain(self):
            self._add(max(1, np.size(row)))
            yield _wrapped(row, self.tally)

    def tolist(self) -> Any:
        """Give a list, and count its entries."""
        self._add(self.size)
        return _plain(self).tolist()


for _method in ("sum", "mean", "min", "max", "argmin", "argmax", "cumsum", "dot",
                "argsort", "any", "all", "take", "repeat", "prod"):  # fmt: skip

    def _call(self: Any, *args: Any, _name: str = _method, **kwargs: Any) -> Any:
        return getattr(np, _name)(self, *args, **kwargs)

    setattr(CountedArray, _method, _call)


def _plain(value: Any) -> Any:
    if isinstance(value, CountedArray):
        return value.view(np.ndarray)
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return value


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value.view(np.ndarray)  # sizes are asked of it, which must not count
    elif isinstance(value, tuple | list):
        for entry in value:
            yield from _arrays(entry)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _wrapped(value: Any, tally: Tally | None) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_wrapped(entry, tally) for entry in value)
    if not isinstance(value, np.ndarray):
        return value
    array = value.view(CountedArray)
    array.tally = tally
    return array


@contextmanager
def _conversions_count() -> Iterator[None]:
    names = ("asarray", "array", "ascontiguousarray", "copy")
    plain = {name: getattr(np, name) for name in names}

    def keep(name: str) -> Callable[..., Any]:
        def convert(given: Any, *args: Any, **kwargs: Any) -> Any:
            found = plain[name](_plain(given), *args, **kwargs)
            tally = given.tally if isinstance(given, CountedArray) else None
            return found if tally is None else _wrapped(found, tally)

        return convert

    with ExitStack() as stack:
        for name in names:
            stack.callback(setattr, np, name, plain[name])
            setattr(np, name, keep(name))
        yield


@dataclass(frozen=True)
class Counted:
    """What a call of an oracle did."""

    result: Any  # What it returned
    operations: int  # Counted at the arrays
    # Calls of this package's oracles that it made, by kind
    oracle_calls: dict[str, int]


def count_operations(
    oracle: Callable[[EmpiricalMeasure, NDArray[Any]], Any],
    data: EmpiricalMeasure,
    numbers: ArrayLike,
) -> Counted:
    """Run an oracle on data that count."""
    tally = Tally()
    copy = object.__new__(EmpiricalMeasure)
    for name, value in vars(data).items():
        object.__setattr__(copy, name, value)
    # Probabilities are computed once here: they belong to the data.
    object.__setattr__(copy, "probabilities", _wrapped(data.probabilities, tally))
    for name in _COLUMNS:
        object.__setattr__(copy, name, _wrapped(getattr(data, name), tally))
    with Ledger() as ledger, _conversions_count():
        result = oracle(copy, _wrapped(np.array(numbers), tally))
    calls = {kind: count for kind, count in ledger.calls.items() if count}
    return Counted(result, tally.operations, calls)


@contextmanager
def counted_tables(module: Any) -> Iterator[Tally]:
    """Count what a module does on the tables that it makes by ``np.zeros``."""
    tally, plain = Tally(), module.np

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(plain, name)

        def zeros(self, *args: Any, **kwargs: Any) -> Any:
            return _wrapped(plain.zeros(*args, **kwargs), tally)

    module.np = Counting()
    try:
        with _conversions_count():
            yield tally
    finally:
        module.np = plain
