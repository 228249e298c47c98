"""Multinomial counts of any number of draws, and what makes a run repeatable.

Counts, by chains of binomials, sum to n exactly. A binomial's total variation from the
true law is below 10^-6 up to n = 2^32 (NumPy's sampler) and at most 5·10^-7 beyond
(docs/oracles.md).

>>> counts = multinomial(10**30, [1, 2, 3], np.random.default_rng(0))
>>> sum(counts.tolist()) == 10**30
True
>>> rng = np.random.default_rng(7)
>>> seed = RecordedSeed.of(rng)
>>> first = rng.integers(1000, size=3).tolist()
>>> seed.entropy, first == seed.generator().integers(1000, size=3).tolist()
(7, True)
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import INT64_MAX, check_counts, check_type

_MOST_DRAWS = 10**300
_NUMPY_LIMIT = 2**32
_NORMAL_VARIANCE = 2**14
_WIDE_VARIANCE = 2.0**80
_FRACTION_BITS = 52
_DITHER_BITS = 64
_SCALE_BITS = 32


def binomial(n: int, weight: int, total: int, rng: np.random.Generator) -> int:
    """Draw the number of successes in n trials of probability weight/total."""
    _check_draws("n", n)
    if total < 1 or not 0 <= weight <= total:
        raise ValueError(f"weight: {weight} of {total} is no probability")
    return _binomial(n, weight, total, rng)


def _check_draws(name: str, n: int) -> None:
    if n < 0:
        raise ValueError(f"{name}: {n} is negative")
    if n > _MOST_DRAWS:
        raise ValueError(
            f"{name}: more than 10^300 draws, which floats cannot count; take a larger "
            "epsilon, or smaller samples"
        )


def _binomial(n: int, weight: int, total: int, rng: np.random.Generator) -> int:
    if weight == 0 or n == 0:
        return 0
    if 2 * weight > total:
        return n - _binomial(n, total - weight, total, rng)
    p = weight / total
    if n <= _NUMPY_LIMIT:
        return int(rng.binomial(n, p))
    if float(n) * p * (1 - p) >= _NORMAL_VARIANCE:
        return _normal_step(n, weight, total, rng)
    return _occupied_boxes(n, p, rng)


def _normal_step(n: int, weight: int, total: int, rng: np.random.Generator) -> int:
    mean, rest = divmod(n * weight, total)
    p, z = weight / total, rng.standard_normal()
    variance = float(n) * p * (1 - p)
    if variance < _WIDE_VARIANCE:
        step: int = math.floor(_offset(z, p, variance, rest / total))
        return mean + step
    scale = math.isqrt((n * weight * (total - weight) << 2 * _SCALE_BITS) // total**2)
    quantile = _cornish_fisher(z, p, variance)
    steps = int(quantile * 2.0**_FRACTION_BITS) << _DITHER_BITS
    steps += int(rng.integers(2**_DITHER_BITS, dtype=np.uint64))
    shift = _SCALE_BITS + _FRACTION_BITS + _DITHER_BITS
    return mean + (scale * steps >> shift)


def _offset(z: Any, p: float, variance: float, rest: float) -> Any:
    """Return what to add to the mean, of fraction ``rest``, before rounding down."""
    # Rounding to integers adds a variance of 1/12 (Sheppard).
    deviation = math.sqrt(variance - 1 / 12)
    return deviation * _cornish_fisher(z, p, variance) + rest + 0.5


def _cornish_fisher(z: Any, p: float, variance: float) -> Any:
    """Standardised binomial quantile at the normal quantile z, to order σ^-2."""
    skewness = (1 - 2 * p) / math.sqrt(variance)
    kurtosis = (1 - 6 * p * (1 - p)) / variance
    return (
        z
        + skewness * (z * z - 1) / 6
        + kurtosis * (z**3 - 3 * z) / 24
        - skewness**2 * (2 * z**3 - 5 * z) / 36
    )


def _occupied_boxes(n: int, p: float, rng: np.random.Generator) -> int:
    balls = int(rng.poisson(-float(n) * math.log1p(-p)))
    if n > INT64_MAX:
        return balls
    return len(np.unique(rng.integers(n, size=balls)))


def multinomial(
    n: int, weights: Sequence[int] | ArrayLike, rng: np.random.Generator
) -> NDArray[Any]:
    """Draw counts of n draws from integer weights of any size, shape (cells,)."""
    cells = check_counts(weights, "weights", np.size(weights))
    return np.asarray(multinomial_rows([n], cells[None, :], rng)[0])


def multinomial_rows(
    counts: Sequence[int] | NDArray[Any],
    weights: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Draw one multinomial a row: counts (rows,), weights (rows, cells)."""
    draws = check_counts(counts, "counts", len(weights))
    totals = _row_totals(weights)
    empty = np.asarray((draws > 0) & (totals <= 0), dtype=np.bool_)
    if empty.any():
        raise ValueError(f"weights, row {int(np.argmax(empty))}: none is positive")
    most = max(draws.tolist(), default=0)
    _check_draws("counts", most)
    if most <= _NUMPY_LIMIT:
        return _numpy_rows(draws, weights, totals, rng)
    drawn: NDArray[Any] = np.zeros(weights.shape, dtype=object)
    for row, n in enumerate(draws.tolist()):
        drawn[row] = _chain(n, weights[row].tolist(), rng)
    return drawn if most > INT64_MAX else drawn.astype(np.int64)


def _row_totals(weights: NDArray[Any]) -> NDArray[Any]:
    """Exact sums, shape (rows,): int64, or Python integers where they may not fit."""
    negative = np.asarray(weights < 0, dtype=np.bool_)
    if negative.any():
        row = int(np.argmax(negative.any(axis=1)))
        raise ValueError(f"weights, row {row}: negative weight")
    if weights.dtype != object and weights.size:
        if int(weights.max()) * weights.shape[1] <= INT64_MAX:
            return np.asarray(weights.sum(axis=1))
        weights = weights.astype(object)
    return np.asarray(weights.sum(axis=1))


def _numpy_rows(
    draws: NDArray[Any],
    weights: NDArray[Any],
    totals: NDArray[Any],
    rng: np.random.Generator,
) -> NDArray[Any]:
    """NumPy's multinomial, the heaviest cell last: it takes what rounding leaves."""
    if weights.size == 0:
        return np.zeros(weights.shape, dtype=np.int64)
    if weights.shape[1] == 1:
        return draws.astype(np.int64)[:, None]
    scale = np.maximum(totals, 1)
    shares = np.array(weights / scale[:, None], dtype=np.float64)
    swap = np.arange(len(shares)), shares.argmax(axis=1)
    _swap_with_last(shares, swap)
    drawn = rng.multinomial(draws.astype(np.int64), shares)
    _swap_with_last(drawn, swap)
    return drawn.astype(np.int64, copy=False)


def _swap_with_last(table: NDArray[Any], cells: tuple[Any, Any]) -> None:
    held = table[cells]
    table[cells] = table[:, -1]
    table[:, -1] = held


def _chain(n: int, weights: list[int], rng: np.random.Generator) -> list[int]:
    counts = [0] * len(weights)
    rest, total = n, sum(weights)
    for cell, weight in enumerate(weights):
        if rest == 0:
            break
        counts[cell] = _binomial(rest, weight, total, rng)
        rest -= counts[cell]
        total -= weight
    return counts


def generator(seed: Any) -> np.random.Generator:
    """Give the generator of a seed, or a generator itself; ValueError for others."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        what = "no integer of at least 0 and no Generator"
        raise ValueError(f"seed: {seed!r:.60} is {what}") from None


@dataclass(frozen=True, eq=False)
class RecordedSeed:
    """Where a generator came from, and where it stood."""

    entropy: int | tuple[int, ...] | None  # None without a `SeedSequence`
    spawn_key: tuple[int, ...]  # Which child of that seed it is; () for the seed itself
    state: Mapping[str, Any]  # of the bit generator, when the run began

    @classmethod
    def of(cls, rng: np.random.Generator) -> RecordedSeed:
        """Record a generator as it stands; draws nothing."""
        check_type("rng", rng, np.random.Generator, "numpy.random.Generator")
        sequence = rng.bit_generator.seed_seq
        state = copy.deepcopy(dict(rng.bit_generator.state))
        if not isinstance(sequence, np.random.SeedSequence):
            return cls(None, (), state)
        entropy: Any = sequence.entropy
        if entropy is not None and not isinstance(entropy, int | np.integer):
            entropy = tuple(int(word) for word in entropy)
        elif entropy is not None:
            entropy = int(entropy)
        return cls(entropy, tuple(sequence.spawn_key), state)

    def generator(self) -> np.random.Generator:
        """Give a generator in the recorded state."""
        kind = getattr(np.random, str(self.state["bit_generator"]))
        bits = kind()
        bits.state = self.state
        return np.random.Generator(bits)

    def to_json(self) -> dict[str, Any]:
        """Plain values: the entropy and, for a child, its spawn key."""
        entropy = self.entropy
        found: dict[str, Any] = {
            "entropy": list(entropy) if isinstance(entropy, tuple) else entropy
        }
        return found | ({"spawn_key": list(self.spawn_key)} if self.spawn_key else {})
