"""The ledger of oracle calls, and the guard that keeps algorithms oracle-efficient.

"Oracle-efficient" (paper, section 2) bounds oracle calls and basic operations. A
`Ledger` records every oracle call and evaluation of a function inside it.

>>> import numpy as np
>>> from olivine.algorithms.classes import TabularPolicyClass
>>> from olivine.algorithms.exact.data import EmpiricalMeasure
>>> from olivine.algorithms.oracles.csc import csc
>>> with Ledger() as ledger:
...     found = csc(TabularPolicyClass(2, 3), EmpiricalMeasure([0, 1]),
...                 [[1, 0, 2], [0, 0, 1]], epsilon_sub=1e-6)
...     evaluate(found.policy, np.array([1, 0])).tolist()
[0, 1]
>>> ledger.calls["csc"], ledger.evaluations
(1, 1)

An algorithm gets ``guard(policy_class)``: oracles see through the guard, other code
gets an error, and the ledger remembers the attempt.

Operations are counted at an oracle's data, not by its own word (`count_operations`):
the arrays that it is given count what is done with them and with all that is computed
from them: an entry of each operand and result of each NumPy call, n log n for a sort,
one for each entry read or iterated over. What is done after ``tolist()`` or in another
language is seen only as reading. ``np.asarray`` and ``np.array`` keep counting, for
which NumPy's functions are replaced during the call: for tests only, one thread.
"""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sized
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.protocols import Observations
from ..exact.data import EmpiricalMeasure

KINDS = ("csc", "lp", "ls", "multi")
"""Kinds that every record names; a new kind is what a file gives to `oracle`."""


@dataclass(frozen=True)
class Call:
    """One oracle call."""

    kind: str  # Which oracle
    rows: int  # Size of the input: rows of all data and functionals it was given
    # Basic operations that the oracle reports; None where an engine counts none
    operations: int | None
    seconds: float  # Wall time
    # Whether the accuracies asked for were achieved, by the oracle's own certificate
    honoured: bool
    # The oracle that made the call (a "multi" calls "csc"); None: the algorithm
    inside: str | None


@dataclass
class Ledger:
    """Record of oracle calls and evaluations, a context manager; they nest."""

    # Oracle calls in order of completion
    entries: list[Call] = field(default_factory=list)
    # Evaluations of functions outside of oracles, and of observations by them
    evaluations: int = 0
    evaluated_rows: int = 0
    # Attempts to get at a guarded class in another way, as messages
    touches: list[str] = field(default_factory=list)
    _tokens: list[Token[tuple[Ledger, ...]]] = field(default_factory=list, repr=False)

    def __enter__(self) -> Ledger:
        self._tokens.append(_open_ledgers.set((*_open_ledgers.get(), self)))
        return self

    def __exit__(self, *error: object) -> None:
        _open_ledgers.reset(self._tokens.pop())

    @property
    def calls(self) -> Counter[str]:
        """Number of calls a kind, those made by other oracles left out."""
        return Counter(e.kind for e in self.entries if e.inside is None)

    @property
    def inner_calls(self) -> Counter[str]:
        """Number of calls a kind that oracles made to each other."""
        return Counter(e.kind for e in self.entries if e.inside is not None)

    @property
    def operations(self) -> int:
        """Operations reported by the calls of the algorithm itself."""
        return sum(e.operations or 0 for e in self.entries if e.inside is None)

    @property
    def seconds(self) -> float:
        """Wall time of the calls of the algorithm itself."""
        return sum(e.seconds for e in self.entries if e.inside is None)


_open_ledgers: ContextVar[tuple[Ledger, ...]] = ContextVar("open_ledgers", default=())
_running: ContextVar[str | None] = ContextVar("running_oracle", default=None)


class OracleResult(Protocol):
    """What the ledger reads off a result of an oracle."""

    @property
    def operations(self) -> int | None:
        """Basic operations, or None."""

    @property
    def honoured(self) -> bool:
        """Whether the accuracies asked for were achieved."""


P = ParamSpec("P")
R = TypeVar("R", bound=OracleResult)


def oracle(
    kind: str, rows: Callable[..., int], function: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function, whose first argument is the class, an oracle.

    It is recorded, and sees through guards.

    Parameters
    ----------
    kind
        Kind of call, "csc" say: what ledgers and records count it as.
    rows
        Computes the size of the input from the function's arguments.
    function
        Field of the (dataclass) result with the function found; guarded if the class
        was.
    """

    def decorate(solve: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(solve)
        def recorded(*args: P.args, **kwargs: P.kwargs) -> R:
            guarded = isinstance(args[0], OracleOnly) or getattr(
                args[0], "guards_function", False
            )
            given = (unguard(args[0]), *args[1:])
            inside = _running.get()
            token = _running.set(kind)
            start = time.perf_counter()
            try:
                result = solve(*given, **kwargs)
            finally:
                _running.reset(token)
            seconds = time.perf_counter() - start
            if _open_ledgers.get():
                size = rows(*given, **kwargs)
                call = Call(
                    kind, size, result.operations, seconds, result.honoured, inside
                )
                for ledger in _open_ledgers.get():
                    ledger.entries.append(call)
            found = getattr(result, function)
            if guarded and found is not None:
                changed: dict[str, Any] = {function: GuardedFunction(found)}
                return replace(result, **changed)  # type: ignore[type-var]
            return result

        return recorded

    return decorate


def data_rows(target: Any, data: Sized, *args: Any, **kwargs: Any) -> int:
    """Size of the input of an oracle whose second argument is its data."""
    return len(data)


def evaluate(function: Callable[[Observations], Any], observations: Any) -> Any:
    """Evaluate a function, guarded or not, on n observations, and count it."""
    for ledger in _open_ledgers.get():
        ledger.evaluations += 1
        ledger.evaluated_rows += len(observations)
    if isinstance(function, GuardedFunction):
        function = unguard(function)
    return function(observations)


_ALLOWED = frozenset({"at_level", "log_size", "n_actions", "horizon", "__class__"})


class OracleOnly:
    """A class of functions of which only levels, sizes and K can be seen."""

    __slots__ = ("_guarded",)

    def __init__(self, guarded: Any) -> None:
        object.__setattr__(self, "_guarded", guarded)

    def __getattribute__(self, name: str) -> Any:
        """Give what algorithms may know; note in open ledgers, and refuse, the rest."""
        if name not in _ALLOWED:
            raise AttributeError(_touched(f"class attribute {name!r}"))
        if name == "__class__":
            return OracleOnly
        value = getattr(object.__getattribute__(self, "_guarded"), name)
        if name == "at_level":
            return lambda level: guard(value(level))
        return value


class GuardedFunction:
    """A member of a guarded class: it can be evaluated, and nothing else."""

    __slots__ = ("_guarded",)

    def __init__(self, guarded: Any) -> None:
        object.__setattr__(self, "_guarded", guarded)

    def __call__(self, observations: Observations, /) -> Any:
        """Evaluate, counted as by `evaluate`."""
        return evaluate(self, observations)

    def __getattribute__(self, name: str) -> Any:
        """Note the attempt in open ledgers, and refuse it."""
        if name == "__class__":
            return GuardedFunction
        raise AttributeError(_touched(f"function attribute {name!r}"))


def guard(function_class: Any) -> Any:
    """Wrap a class so that only oracles and evaluation get at it."""
    if isinstance(function_class, OracleOnly):
        return function_class
    return OracleOnly(function_class)


def unguard(guarded: Any) -> Any:
    """Unwrap a guarded class or function, for oracles and after a run; others stay."""
    if isinstance(guarded, OracleOnly | GuardedFunction):
        return object.__getattribute__(guarded, "_guarded")
    return guarded


def _touched(what: str) -> str:
    message = f"{what} read outside of oracles and evaluation"
    for ledger in _open_ledgers.get():
        ledger.touches.append(message)
    return message


_SORTS = {"argsort", "sort", "lexsort", "unique", "partition", "argpartition"}
_COLUMNS = ("observations", "actions", "rewards", "next_observations", "weights")


@dataclass
class Tally:
    """Operations so far."""

    operations: int = 0


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
        found = getattr(ufunc, method)(*given, **_plain(options))  # out, where
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
        return wrapped(found, self.tally)

    def __getitem__(self, key: Any) -> Any:
        found = _plain(self)[_plain(key)]
        self._add(max(1, np.size(found)))
        return wrapped(found, self.tally)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._add(max(1, np.size(_plain(value))))
        _plain(self)[_plain(key)] = _plain(value)

    def __iter__(self) -> Iterator[Any]:
        for row in _plain(self):
            self._add(max(1, np.size(row)))
            yield wrapped(row, self.tally)

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


def wrapped(value: Any, tally: Tally | None) -> Any:
    """Let the arrays of a value count."""
    if isinstance(value, tuple | list):
        return type(value)(wrapped(entry, tally) for entry in value)
    if not isinstance(value, np.ndarray):
        return value
    array = value.view(CountedArray)
    array.tally = tally
    return array


@contextmanager
def conversions_count() -> Iterator[None]:
    """Let what NumPy converts go on counting."""
    names = ("asarray", "array", "ascontiguousarray", "copy")
    plain = {name: getattr(np, name) for name in names}

    def keep(name: str) -> Callable[..., Any]:
        def convert(given: Any, *args: Any, **kwargs: Any) -> Any:
            found = plain[name](_plain(given), *args, **kwargs)
            tally = given.tally if isinstance(given, CountedArray) else None
            return found if tally is None else wrapped(found, tally)

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
    object.__setattr__(copy, "probabilities", wrapped(data.probabilities, tally))
    for name in _COLUMNS:
        object.__setattr__(copy, name, wrapped(getattr(data, name), tally))
    with Ledger() as ledger, conversions_count():
        result = oracle(copy, wrapped(np.array(numbers), tally))
    calls = {kind: count for kind, count in ledger.calls.items() if count}
    return Counted(result, tally.operations, calls)
