"""Changes that refute Theorem R and the claim on two actions."""

from fractions import Fraction

import pytest
from olivine.algorithms.mdp.two_actions import TwoActions
from olivine.claims import load, ranges
from olivine.reduction.family.variants import DECLARATIONS, Parameters, Variant, forced

pytestmark = pytest.mark.usefixtures("fewer_runs")  # they can refute, too
TENTH = Fraction(1, 10)
CLAIMS = {entry.id: entry for entry in load()}


def refuted(name):
    entry = CLAIMS[name]
    return entry.verdict(entry.check()) == "refuted"


@pytest.mark.parametrize(
    "changes",
    [
        {"copies": 1},
        {"side": Fraction(8, 100)},  # [solve] above [rest] before all is bound
        {"reach": Fraction(1, 2)},  # "largest" binds literals twice
        {"solve": Fraction(1, 100)},  # runs stop at a try
    ],
    ids=["one copy", "R = 8T", "q = 1/2", "a = 1/100"],
)
def test_with_other_constants_of_forced(changes, monkeypatch):
    monkeypatch.setitem(DECLARATIONS, Variant.FORCED, forced(**changes))
    monkeypatch.setattr(Parameters, "_check_theorem", lambda _: None)
    assert refuted("theorem-r")


@pytest.mark.parametrize("changes", [{"end": Fraction(1, 4000)}, {"top": TENTH / 9}])
def test_with_other_bounds_of_its_noise(changes, monkeypatch):
    monkeypatch.setitem(DECLARATIONS, Variant.FORCED, forced(**changes))
    assert refuted("forced-noise")


@pytest.mark.parametrize(
    "name", ["equations-behind-clauses-are-void", "forced-can-be-avoided"]
)
def test_where_a_side_state_has_no_room(name, monkeypatch):
    """Without the spare state beside a side, and with literals worth nothing."""
    sides = forced().sides._replace(beside=Fraction(0), false=Fraction(0))
    monkeypatch.setitem(DECLARATIONS, Variant.FORCED, forced()._replace(sides=sides))
    monkeypatch.setattr(Parameters, "_check_theorem", lambda _: None)
    assert refuted(name)


def test_with_another_first_value_of_lemma_0(monkeypatch):
    true = ranges.average_bellman_errors
    monkeypatch.setattr(
        ranges, "average_bellman_errors", lambda *given: true(*given)[::-1]
    )
    assert refuted("ranges-lemma-0")


def test_where_nodes_below_the_roots_are_not_bound(monkeypatch):
    whole = TwoActions.constraints
    monkeypatch.setattr(TwoActions, "constraints", lambda *given: whole(*given)[:1])
    entry = CLAIMS["two-actions"]
    assert entry.verdict(entry.check()) == "refuted"
