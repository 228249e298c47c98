"""Options far out of range: refused by name, value and range, before any work."""

import math

import pytest
from olivine.algorithms.environments import make, names, options
from olivine.cli.experiments.runs import register_environments

from tests.support.depth import with_rows

EXTREMES = [10**18, 10**9, -1, 1e300, 1e-300, math.inf, math.nan, 2**63]
register_environments()


def spellings(value, default) -> set[str]:
    """The value as it was given, and as the type of the option."""
    shown = {str(value), repr(value)}
    if isinstance(default, (int, float)) and math.isfinite(value):
        shown.add(str(type(default)(value)))
    return shown


def refusal(name: str, option: str, value) -> str:
    try:
        make(name, 0, **{option: value})
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", names())
def test_extreme_options_work_or_are_refused_by_name(name: str) -> None:
    refused = 0
    for option, default in options(name).items():
        for value in EXTREMES:
            if reason := refusal(name, option, value):
                refused += 1
                assert option in reason
                assert any(s in reason for s in spellings(value, default)), reason
    assert refused >= 10


@with_rows(
    "name, chosen, reason",
    ("lock", {"horizon": 2000}, "horizon: 2000 with dimension = 2000 makes"),
    ("lock", {"actions": 10**6}, "actions: 1000000 with horizon = 5 makes"),
    ("lock-gaussian", {"dimension": 4000}, "dimension: 4000 with horizon = 5"),
    ("diabolical-lock", {"actions": 10**6}, "actions: 1000000 with horizon = 5"),
    ("diabolical-lock", {"cost": 100}, "reward: 5.0 does not pay for cost: 100"),
    ("random-finite", {"horizon": 10**7}, "horizon: 10000000 with actions = 2"),
    ("threesat", {"clauses": 10**5}, "clauses: 100000 with variables = 3 makes"),
)
def test_sizes_that_do_not_fit_together(name: str, chosen, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make(name, 0, **chosen)
