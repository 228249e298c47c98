"""The MaxSAT route when its time is short, or RC2 never ends."""

from fractions import Fraction

import numpy as np
import pytest
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify import optimise
from olivine.reduction.verify.route import Settings
from olivine.reduction.verify.verification import verify
from olivine.solvers.outcome import MaxSatOutcome, SatStatus
from olivine.solvers.sat import maxsat

pytestmark = pytest.mark.children


def test_maxsat_tells_bounds_when_time_runs_out(rng) -> None:
    signs = rng.choice([-1, 1], (1500, 3))
    rows = (1 + rng.permuted(np.tile(np.arange(60), (1500, 1)), axis=1)[:, :3]) * signs
    formula = Formula.from_clauses(rows.tolist())
    for limit in (1, 4, 16):  # a busy machine needs longer for a bound
        answer = verify(formula, routes=["maxsat"], time_limit=limit)
        found = answer.routes["maxsat"]
        bounds = found.details["at_least"], found.details["at_most"]
        assert found.status == "feasible"
        assert found.reason == f"time limit of {limit} s reached"
        assert bounds[0] < bounds[1] == found.attained
        if bounds[0] > 3:
            break
    assert bounds[0] > 3
    assert answer.unsatisfied is None
    # The penalty caps the optimum from 3 on, so the bounds prove it.
    assert answer.optimum == found.lower == found.upper == Fraction(1499, 1500)


def test_maxsat_searches_where_rc2_is_kept_out(monkeypatch) -> None:
    """The search from above alone finds the optimum of each dense case."""
    monkeypatch.setattr(maxsat, "raise_bound", lambda *_: None)
    monkeypatch.setattr(maxsat, "HEAD_START", 0.0)
    for rows, weights, u in (
        ([[1, 2], [1, -2], [-1, 2], [-1, -2]] * 3, None, 3),
        ([[1], [-1], [2], [-2]], [5, 3, 2, 2], 5),
        ([[1], [], [-1], [1, -1]], None, 2),
        ([[1, 2, 3]], None, 0),
    ):
        formula = Formula.from_clauses(rows, weights=weights)
        found = verify(formula, routes=["maxsat"]).routes["maxsat"]
        assert (found.status, found.unsatisfied) == ("optimal", u)


def test_a_search_that_found_no_model_leaves_it_open_and_says_why(monkeypatch) -> None:
    nothing = MaxSatOutcome(SatStatus.UNKNOWN, None, None, 0.0, "none", "out of time")
    monkeypatch.setattr(optimise, "least_unsatisfied", lambda *_, **__: nothing)
    instance = Instance.of(Formula.from_clauses([[1], [-1]]))
    settings = Settings(None, None, np.random.default_rng(0))
    found = optimise.maxsat_route(instance, settings)
    assert (found.status, found.reason) == ("unknown", "out of time")
    assert found.seconds >= 0
    assert found.value is None
