"""Random k-CNF: the usual benchmark distributions, uniform and planted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import check_count, check_table, check_type
from .formula import MAX_VARIABLE, Formula, checked_assignment


def random_ksat(
    n: int,
    m: int,
    k: int,
    rng: np.random.Generator,
    *,
    planted: ArrayLike | bool | None = None,
) -> Formula:
    """Draw m independent clauses of k distinct variables out of n.

    Variables and their order are uniform. Signs are fair coins; with a planted
    assignment they are uniform over the 2^k - 1 choices that it satisfies.

    Parameters
    ----------
    n, m, k
        Numbers of variables, clauses and literals a clause: m >= 0 and
        1 <= k <= n <= 2^31-1, else a ValueError.
    rng
        Where all randomness comes from.
    planted
        Booleans, shape (n,), an assignment that every clause shall satisfy; True to
        draw one (before anything else), None for none.

    Examples
    --------
    >>> formula = random_ksat(6, 4, 3, np.random.default_rng(0), planted=[True] * 6)
    >>> formula.satisfied([True] * 6)
    array([ True,  True,  True,  True])
    """
    check_type("rng", rng, np.random.Generator, "numpy.random.Generator")
    n, k = check_count("n", n, least=0), check_count("k", k, least=0)
    m = check_count("m", m, least=0)
    if not 1 <= k <= n <= MAX_VARIABLE:
        raise ValueError(
            f"clauses of {k} distinct variables out of {n}: expected "
            f"1 <= k <= n <= {MAX_VARIABLE}"
        )
    if planted is True:
        planted = rng.random(n) < 0.5
    elif planted is False:
        planted = None
    assignment = None if planted is None else checked_assignment(planted, n)

    variables = _distinct_variables(n, m, k, rng)
    signs = rng.integers(0, 2, size=(m, k), dtype=np.int8) == 1
    if assignment is not None:
        while len(falsified := _falsified(variables, signs, assignment)):
            redrawn = rng.integers(0, 2, size=(len(falsified), k), dtype=np.int8)
            signs[falsified] = redrawn == 1
    literals = np.where(signs, variables + 1, -(variables + 1)).ravel()
    return Formula(n, literals, np.arange(m + 1) * k)


def _distinct_variables(
    n: int, m: int, k: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Uniform sequences of k distinct integers below n, shape (m,k).

    The i-th draw is uniform over the n-i integers not drawn yet, counted past
    those that were: no rejection, so k may be close to n.
    """
    check_table(m * k, MAX_VARIABLE, m=m, k=k)
    drawn = np.empty((m, k), dtype=np.int64)
    for i in range(k):
        value = rng.integers(0, n - i, size=m)
        for taken in np.sort(drawn[:, :i], axis=1).T:
            value += value >= taken
        drawn[:, i] = value
    return drawn


def _falsified(
    variables: NDArray[np.int64],
    signs: NDArray[np.bool_],
    assignment: NDArray[np.bool_],
) -> NDArray[np.int64]:
    return np.flatnonzero(np.all(signs != assignment[variables], axis=1))
