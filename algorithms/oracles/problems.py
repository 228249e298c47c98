"""Random oracle problems, solved in rationals without the oracles; operations, counted.

They are counted at an oracle's data and not by its own word: the arrays that it is
given count what is done with them and with all that is computed from them: an entry of
each operand and result of each NumPy call, n log n for a sort, one for each entry read
or iterated over. What is done after ``tolist()`` or in another language is seen only as
reading. ``np.asarray`` and ``np.array`` keep counting, for which NumPy's functions are
replaced during the call: for tests only, one thread.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.protocols import Policy, ValueFunction
from ..exact.arrays import check_actions
from ..exact.data import EmpiricalMeasure
from .ledger import Ledger
from .results import Constraint, Functional


@dataclass(frozen=True, eq=False)
class CscProblem:
    """Cost-sensitive classification over codes."""

    # n_observations, n_actions: |X| and K
    n_observations: int
    n_actions: int
    data: EmpiricalMeasure  # Observations below |X|, weighted
    costs: NDArray[np.float64]  # float64, shape (n, K)


@dataclass(frozen=True, eq=False)
class LeastSquaresProblem:
    """Least squares over codes."""

    n_observations: int  # |X|
    data: EmpiricalMeasure  # Observations below |X|, weighted
    targets: NDArray[np.float64]  # float64, shape (n,)


@dataclass(frozen=True)
class LpProblem:
    """A linear program over functions of codes."""

    n_observations: int  # |X|
    # objective, constraints, maximise: as for `olivine.algorithms.oracles.lp.lp`
    objective: Functional
    constraints: tuple[Constraint, ...]
    maximise: bool


def random_csc(
    rng: np.random.Generator, n: int, n_observations: int, n_actions: int
) -> CscProblem:
    """Draw observations uniformly, weights from 1 to 9, costs from [-1, 1]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    costs = rng.uniform(-1, 1, (n, n_actions))
    return CscProblem(n_observations, n_actions, data, costs)


def random_least_squares(
    rng: np.random.Generator, n: int, n_observations: int
) -> LeastSquaresProblem:
    """Draw observations uniformly, weights from 1 to 9, targets from [-1/2, 3/2]."""
    data = EmpiricalMeasure(
        rng.integers(0, n_observations, n), weights=rng.integers(1, 10, n)
    )
    return LeastSquaresProblem(n_observations, data, rng.uniform(-0.5, 1.5, n))


def random_lp(
    rng: np.random.Generator, n_observations: int, n_constraints: int
) -> LpProblem:
    """Draw a program like VALOR's: |V - E_D[g]| ≤ 1/100 around a hidden g."""
    hidden = rng.random(n_observations)
    codes = np.arange(n_observations)

    def expectation() -> Functional:
        weights = rng.integers(1, 100, n_observations)
        return Functional.expectation(EmpiricalMeasure(codes, weights=weights))

    constraints = []
    for _ in range(n_constraints):
        functional = expectation()
        value = float(functional.coefficients @ hidden)
        constraints.append(Constraint.near(functional, value, 0.01))
    return LpProblem(n_observations, expectation(), tuple(constraints), True)


def fitted_exponent(sizes: Sequence[int], counts: Sequence[int]) -> float:
    """Slope of a least-squares line through log counts over log sizes."""
    slope: Any = np.polyfit(np.log(sizes), np.log(counts), 1)[0]
    return float(slope)


def exact_cost(
    policy: Policy, data: EmpiricalMeasure, costs: NDArray[Any] | Sequence[Any]
) -> Fraction:
    """Average cost in rationals; ValueError for an action beyond the costs."""
    table = np.asarray(costs)
    actions = check_actions(policy(data.observations), table.shape[1])
    picked = table[np.arange(len(data)), actions]
    return data.expectation_exact(picked)


def exact_loss(
    function: ValueFunction, data: EmpiricalMeasure, targets: NDArray[Any]
) -> Fraction:
    """Average squared loss in rationals, at the function's float values."""
    values = function(data.observations).tolist()
    pairs = zip(values, targets.tolist(), strict=True)
    return data.expectation_exact([(Fraction(g) - Fraction(v)) ** 2 for g, v in pairs])


def _keys(data: EmpiricalMeasure) -> list[Any]:
    """Give one hashable value for each row: a code, or its features."""
    rows = data.observations.tolist()
    return rows if data.is_finite else list(map(tuple, rows))


def least_cost(data: EmpiricalMeasure, costs: NDArray[Any]) -> Fraction:
    """Least average cost over all functions of the observations, in rationals."""
    totals: dict[Any, list[Fraction]] = {}
    rows = zip(_keys(data), data.weights.tolist(), costs.tolist(), strict=True)
    for code, weight, vector in rows:
        sums = totals.setdefault(code, [Fraction(0)] * len(vector))
        totals[code] = [
            s + weight * Fraction(c) for s, c in zip(sums, vector, strict=True)
        ]
    return sum(map(min, totals.values()), Fraction(0)) / data.total_weight


def least_loss(data: EmpiricalMeasure, targets: NDArray[Any]) -> Fraction:
    """Least average squared loss over all functions to [0, 1], in rationals."""
    groups: dict[Any, list[tuple[int, Fraction]]] = {}
    rows = zip(_keys(data), data.weights.tolist(), targets.tolist(), strict=True)
    for code, weight, target in rows:
        groups.setdefault(code, []).append((weight, Fraction(target)))
    total = Fraction(0)
    for pairs in groups.values():
        mass = sum(w for w, _ in pairs)
        if mass:
            mean = sum((w * v for w, v in pairs), Fraction(0)) / mass
            best = min(max(mean, Fraction(0)), Fraction(1))
            total += sum((w * (best - v) ** 2 for w, v in pairs), Fraction(0))
    return total / data.total_weight


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
