"""Linear programs from arrays, against the session in rationals."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.lp.highs import TOLERANCE, ArrayLp
from olivine.solvers.lp.lp import LpSession
from olivine.solvers.model.model import LinearModel
from olivine.solvers.outcome import Status
from scipy.sparse import csr_matrix

entries = st.integers(-4, 4)


@st.composite
def array_programs(draw):
    n = draw(st.integers(1, 4))
    m = draw(st.integers(0, 4))
    row = st.lists(entries, min_size=n, max_size=n)
    matrix = np.array(draw(st.lists(row, min_size=m, max_size=m))).reshape(m, n)
    low = [draw(st.sampled_from([-np.inf, -2.0, 0.0, 1.0])) for _ in range(m)]
    high = [draw(st.sampled_from([np.inf, 0.0, 1.0, 3.0])) for _ in range(m)]
    high = [max(a, b) for a, b in zip(low, high, strict=True)]
    return matrix.astype(float), np.array(low), np.array(high), np.array(draw(row))


def in_rationals(matrix, low, high, costs, maximise):
    model = LinearModel()
    for j in range(len(costs)):
        model.add_variable(f"x{j}", -1, 2)
    columns = list(range(len(costs)))
    for row, lower, upper in zip(matrix, low, high, strict=True):
        coefficients = [Fraction(v) for v in row]
        if np.isfinite(lower):
            model.add_row(columns, coefficients, ">=", Fraction(lower))
        if np.isfinite(upper):
            model.add_row(columns, coefficients, "<=", Fraction(upper))
    model.set_objective(columns, [Fraction(int(c)) for c in costs], maximise=maximise)
    return LpSession(model).solve(exact=True)


@given(array_programs(), st.booleans())
def test_values_and_multipliers(program, maximise):
    matrix, low, high, costs = program
    engine = ArrayLp(np.full(len(costs), -1.0), np.full(len(costs), 2.0))
    for i in range(len(matrix)):  # one by one, solving in between
        engine.add_rows(csr_matrix(matrix[i : i + 1]), low[i : i + 1], high[i : i + 1])
        engine.solve(costs.astype(float), maximise=not maximise)
    found = engine.solve(costs.astype(float), maximise=maximise)
    truth = in_rationals(matrix, low, high, costs, maximise)
    if truth.status is Status.INFEASIBLE:
        assert found.status is not Status.OPTIMAL
        assert found.values is None
        return
    assert found.status is Status.OPTIMAL
    assert costs @ found.values == pytest.approx(float(truth.objective), abs=1e-6)
    # Weak duality with the multipliers gives the optimum from the other side.
    sign = 1.0 if maximise else -1.0
    y = sign * found.multipliers
    side = np.where(y > 0, high, low)
    y, side = np.where(np.isfinite(side), y, 0), np.where(np.isfinite(side), side, 0)
    reduced = sign * costs - matrix.T @ y
    bound = y @ side + np.maximum(-reduced, 2 * reduced).sum()
    assert bound == pytest.approx(sign * float(truth.objective), abs=1e-6)


def test_data_that_highs_refuses_fail_loudly():
    engine = ArrayLp(np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="refuses"):
        engine.add_rows(csr_matrix([[1.0, 1.0]]), np.zeros(1), np.ones(1))


def test_the_tolerance_asked_of_engines_is_the_one_on_the_page():
    page = Path(__file__).parents[2] / "docs" / "oracles.md"
    (named,) = re.findall(r"HiGHS's tolerance of (\S+)", page.read_text("utf-8"))
    assert float(named) == TOLERANCE
