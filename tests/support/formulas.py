"""Hypothesis strategies for formulas, and brute force over their assignments.

The strategies lean to what breaks code: no variable, no clause, empty and unit
clauses, tautologies, repeated literals and clauses, unused variables.
"""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from olivine.reduction.formula.formula import MAX_WEIGHT, Formula


def literals(n_variables: int) -> st.SearchStrategy[int]:
    """Nonzero literals of at least one variable."""
    variables = st.integers(1, n_variables)
    return st.builds(
        lambda v, positive: v if positive else -v, variables, st.booleans()
    )


def clauses(n_variables: int, max_width: int = 6) -> st.SearchStrategy[list[int]]:
    """Clauses of any width up to `max_width`; only the empty one if n is 0."""
    if n_variables == 0:
        return st.just([])
    return st.lists(literals(n_variables), max_size=max_width)


def weights(*, large: bool = True) -> st.SearchStrategy[int]:
    """Weights of a clause: small ones, equal ones, and the largest possible."""
    choices = [st.just(1), st.integers(1, 5), st.integers(1, 10**6)]
    if large:
        choices += [st.just(MAX_WEIGHT), st.integers(2**53, MAX_WEIGHT)]
    return st.one_of(choices)


@st.composite
def formulas(
    draw: st.DrawFn,
    *,
    max_variables: int = 4,
    max_clauses: int = 7,
    max_width: int = 6,
    weighted: bool | None = None,
    large_weights: bool = True,
    hard: bool = False,
) -> Formula:
    """Any formula within the sizes.

    Parameters
    ----------
    weighted
        True or False to have only weighted or only plain formulas.
    large_weights
        Whether weights near 2^63 occur.
    hard
        Whether weighted formulas may have hard clauses.
    """
    n = draw(st.integers(0, max_variables))
    rows = draw(st.lists(clauses(n, max_width), max_size=max_clauses))
    if rows and draw(st.booleans()):
        rows.append(draw(st.sampled_from(rows)))
    if weighted is None:
        weighted = draw(st.booleans())
    if not weighted:
        return Formula.from_clauses(rows, n)
    each = weights(large=large_weights)
    drawn = draw(st.lists(each, min_size=len(rows), max_size=len(rows)))
    marks = [draw(st.booleans()) for _ in rows] if hard else None
    return Formula.from_clauses(rows, n, drawn, marks)


@st.composite
def formulas_with_assignments(
    draw: st.DrawFn, **sizes: object
) -> tuple[Formula, NDArray[np.bool_]]:
    """A formula (see `formulas`) and an assignment of its variables."""
    formula = draw(formulas(**sizes))  # type: ignore[arg-type]
    return formula, draw(assignments(formula.n_variables))


def assignments(n_variables: int) -> st.SearchStrategy[NDArray[np.bool_]]:
    """Any assignment of n variables."""
    bits = st.lists(st.booleans(), min_size=n_variables, max_size=n_variables)
    return bits.map(lambda values: np.array(values, dtype=np.bool_))


def least_unsatisfied(
    rows: list[tuple[int, ...]], weights: list[int], n_variables: int
) -> int:
    """Least total weight of clauses that any assignment leaves unsatisfied.

    By the definition, in plain Python, so that it shares no code with what it
    tests.
    """
    least = sum(weights)
    for code in range(2**n_variables):
        cost = 0
        for row, weight in zip(rows, weights, strict=True):
            if not any((code >> (abs(x) - 1) & 1) == (x > 0) for x in row):
                cost += weight
        least = min(least, cost)
    return least
