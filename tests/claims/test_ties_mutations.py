"""Changes that refute Theorem F and the claim on two actions."""

from fractions import Fraction

import pytest
from olivine.algorithms.mdp.two_actions import TwoActions
from olivine.claims import load
from olivine.reduction.family import forced

pytestmark = pytest.mark.usefixtures("fewer_runs")  # they can refute, too
CLAIMS = {entry.id: entry for entry in load()}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TRY", Fraction(1, 20)),  # ties with [solve] before the pairs are bound
        ("TOP", Fraction(1, 5)),  # the optimum is another
        ("MIDDLE", Fraction(1, 10)),  # leaves out values that the side states allow
    ],
)
def test_with_other_constants(name, value, monkeypatch):
    monkeypatch.setattr(forced, name, value)
    entry = CLAIMS["theorem-f"]
    assert entry.verdict(entry.check()) == "refuted"


def test_where_nodes_below_the_roots_are_not_bound(monkeypatch):
    whole = TwoActions.constraints
    monkeypatch.setattr(TwoActions, "constraints", lambda *given: whole(*given)[:1])
    entry = CLAIMS["two-actions"]
    assert entry.verdict(entry.check()) == "refuted"
