import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.exact import multinomial as draws
from olivine.algorithms.exact.multinomial import binomial, multinomial, multinomial_rows
from scipy import stats
from scipy.special import ndtr

from tests.support.depth import deep, with_rows
from tests.support.refusals import refused

SIZES = st.one_of(
    st.integers(0, 50),
    st.integers(2**32 - 5, 2**32 + 5),
    st.integers(2**53 - 5, 2**63 + 5),
    st.integers(10**20, 10**45),
)
WEIGHTS = st.lists(
    st.one_of(st.integers(0, 3), st.integers(0, 10**12), st.integers(0, 10**25)),
    min_size=1,
    max_size=6,
).filter(any)


@settings(deadline=None, max_examples=150)
@given(SIZES, WEIGHTS, st.integers(0, 99))
def test_counts_sum_to_n_and_empty_cells_stay_empty(n, weights, seed):
    counts = multinomial(n, weights, np.random.default_rng(seed))
    assert sum(counts.tolist()) == n
    assert min(counts.tolist()) >= 0
    assert all(c == 0 for c, w in zip(counts.tolist(), weights, strict=True) if w == 0)
    assert counts.dtype == (np.int64 if n <= 2**63 - 1 else object)


@given(
    st.lists(st.tuples(SIZES, st.lists(st.integers(0, 9), min_size=3, max_size=3))),
    st.integers(0, 99),
)
def test_rows_sum_to_their_counts(rows, seed):
    rows = [(n if any(w) else 0, w) for n, w in rows]
    weights = np.array([w for _, w in rows], dtype=np.int64).reshape(len(rows), 3)
    drawn = multinomial_rows([n for n, _ in rows], weights, np.random.default_rng(seed))
    assert drawn.shape == weights.shape
    assert [sum(row) for row in drawn.tolist()] == [n for n, _ in rows]
    assert not (drawn[weights == 0] > 0).any()


def step_law(n, weight, total):
    """Exact law of the normal step on integers 9 deviations around the mean."""
    p, (mean, rest) = weight / total, divmod(n * weight, total)
    variance = n * p * (1 - p)
    spread = math.ceil(9 * math.sqrt(variance))
    offsets = np.arange(-spread, spread)
    grid = np.linspace(-9.5, 9.5, 400_001)
    reached = draws._offset(grid, p, variance, rest / total)
    assert (np.diff(reached) > 0).all()
    edges = np.interp(np.append(offsets, spread), reached, grid)
    return mean + offsets, np.diff(ndtr(edges))


@with_rows(
    "n, weight, total", (2**16, 1, 2), (2**18, 1, 7), (2**20, 1, 60), (10**9, 17, 10**6)
)
def test_distance_of_the_normal_step(n, weight, total):
    ks, step = step_law(n, weight, total)
    p = weight / total
    distance = np.abs(step - stats.binom.pmf(ks, n, p)).sum() / 2
    assert n * p * (1 - p) >= 2**14 * 0.98
    assert distance <= (n * p * (1 - p)) ** -1.5


def chi_square(samples, law):
    """p-value of integer samples against a frozen law, tails pooled."""
    edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    cells = np.searchsorted(edges, samples)
    expected = np.diff(np.concatenate([[0], law.cdf(edges), [1]]))
    found = np.bincount(cells, minlength=len(edges) + 1)
    kept = expected > 0
    assert found[~kept].sum() == 0
    return stats.chisquare(found[kept], expected[kept] * len(samples)).pvalue


@with_rows(
    "n, weight, total",
    (30, 1, 3),
    (2**33, 2, 5),  # normal step
    (2**40, 7, 2**40),  # occupied boxes
    (10**12, 999_999_999_998, 10**12),  # by symmetry
)
def test_binomials_have_their_law(n, weight, total):
    rng = np.random.default_rng(5)
    samples = np.array([binomial(n, weight, total, rng) for _ in range(4000)])
    assert chi_square(samples, stats.binom(n, weight / total)) > 1e-3


def test_rare_outcomes_are_poisson_and_occupied_boxes_binomial():
    rng = np.random.default_rng(6)
    for n, weight in ((2**62, 300), (10**30, 3)):
        samples = [binomial(n, weight, n, rng) for _ in range(2000)]
        assert chi_square(np.array(samples), stats.poisson(weight)) > 1e-3
    rng = np.random.default_rng(7)
    samples = [draws._occupied_boxes(40, 0.3, rng) for _ in range(4000)]
    assert chi_square(np.array(samples), stats.binom(40, 0.3)) > 1e-3


@pytest.mark.parametrize("n", [10**26, 10**31, 10**45])
def test_wide_steps_reach_every_integer_and_have_the_right_moments(n):
    rng = np.random.default_rng(8)
    samples = [binomial(n, 1, 3, rng) for _ in range(3000)]
    deviation = math.isqrt(2 * n // 9)
    scores = np.array([float(k - n // 3) / deviation for k in samples])
    assert stats.kstest(scores, "norm").pvalue > 1e-3
    if n == 10**45:  # the bits of the normal end above 1: are the others filled?
        scale = math.isqrt((2 * n << 64) // 9)
        rests = [((k - n // 3 << 84) % scale) / scale for k in samples]
        assert stats.kstest(rests, "uniform").pvalue > 1e-3
    rests = np.bincount([k % 8 for k in samples], minlength=8)
    assert stats.chisquare(rests).pvalue > 1e-3


def test_counts_have_the_law_of_tuples_drawn_one_by_one():
    rng, weights, n = np.random.default_rng(9), np.array([5, 1, 0, 2]), 7
    shares = weights / weights.sum()
    sets = range(deep(5000, 1500))
    one_by_one = [
        np.bincount(rng.choice(4, size=n, p=shares), minlength=4) for _ in sets
    ]
    counts = [multinomial(n, weights, rng) for _ in sets]
    keys = [Counter(map(tuple, side)) for side in (one_by_one, counts)]
    outcomes = sorted(keys[0] | keys[1])
    table = np.array([[side[o] for o in outcomes] for side in keys])
    rare = table.sum(axis=0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_rows_are_independent_multinomials():
    rng = np.random.default_rng(10)
    weights = np.array([[1, 2, 0], [0, 0, 4], [3, 3, 3]])
    sets = range(deep(3000, 1000))
    drawn = np.array([multinomial_rows([6, 5, 0], weights, rng) for _ in sets])
    assert (drawn[:, 1] == [0, 0, 5]).all()
    assert (drawn[:, 2] == 0).all()
    assert chi_square(drawn[:, 0, 1], stats.binom(6, 2 / 3)) > 1e-3


def test_large_counts_stay_within_deviations_of_their_means():
    rng, weights = np.random.default_rng(11), [3, 10**20, 7 * 10**20]
    for n in (10**6, 10**10, 10**19, 10**31):
        counts = multinomial(n, weights, rng).tolist()
        for count, weight in zip(counts, weights, strict=True):
            mean = n * weight // sum(weights)
            assert abs(count - mean) <= 8 * (math.isqrt(mean) + 3)


@with_rows(
    "call, message",
    (lambda rng: multinomial(-1, [1], rng), "counts, row 0: negative"),
    (lambda rng: multinomial(3, [0, 0], rng), "row 0: none is positive"),
    (lambda rng: multinomial(3, [2, -1], rng), "weights, row 1: negative"),
    (lambda rng: multinomial(3, [0.5, 0.5], rng), "no integer count"),
    (lambda rng: multinomial_rows([1, 1], np.array([[1], [0]]), rng), "row 1"),
    (lambda rng: multinomial_rows([1], np.array([[1], [1]]), rng), "shape"),
    (lambda rng: multinomial_rows([1, 1], np.array([[1], [-1]]), rng), "row 1"),
    (lambda rng: binomial(-1, 1, 2, rng), "n: -1"),
    (lambda rng: binomial(1, 3, 2, rng), "3 of 2"),
)
def test_refusals(call, message):
    refused(message, call, np.random.default_rng(0))


def test_counts_are_of_64_bits_where_these_are_enough():
    rng, heavy = np.random.default_rng(1), np.full(3, 2**62)
    for n, kind in ((2**63 - 1, np.int64), (2**63, object)):
        assert multinomial(n, [1, 2], rng).dtype == kind
        assert sum(multinomial(n, heavy, rng).tolist()) == n  # sums beyond 64 bits
    counts = multinomial_rows([3000, 2000], np.array([[2**62] * 3, [0, 0, 1]]), rng)
    assert (abs(counts[0] - 1000) < 150).all()
    assert counts[1].tolist() == [0, 0, 2000]
