"""Changes that refute the entries on accuracy, approximate maximisers and oracles."""

import dataclasses
from fractions import Fraction

import pytest
from olivine.claims import hard_run, strengths
from olivine.reduction.family.variants import DECLARATIONS, Rewards, Variant, forced
from olivine.reduction.run.faces import Noise
from olivine.solvers import treewidth

from tests.support.mutants import refuted

pytestmark = pytest.mark.usefixtures("fewer_runs")  # they can refute, too


def test_one_in_739(monkeypatch):
    critical = (Fraction(1, 739),) * 2
    monkeypatch.setattr(strengths, "tolerance_bounds", lambda *_: critical)
    assert refuted("strict-tolerance-optimum")


@pytest.mark.parametrize(
    "name", ["strict-tolerance-optimum", "constant-accuracy", "approximate-optima"]
)
def test_with_another_slope_of_the_optimum(name, monkeypatch):
    from olivine.reduction.program import tolerance as home

    true = home.optimum_within

    def mutated(variant, share, tolerance):
        return true(variant, share, tolerance) - tolerance / 3

    monkeypatch.setattr(home, "optimum_within", mutated)
    monkeypatch.setattr(strengths, "optimum_within", mutated)
    assert refuted(name)


def test_with_another_reward_of_a_try(monkeypatch):
    tenth = Fraction(1, 10)
    rewards = Rewards(tenth, tenth, Fraction(71, 1000), Fraction(0))
    declared = DECLARATIONS[Variant.STRICT]._replace(rewards=lambda _: rewards)
    monkeypatch.setitem(DECLARATIONS, Variant.STRICT, declared)
    assert refuted("approximate-maximisers")


@pytest.mark.parametrize("field", ["gamma", "stop"])
def test_where_the_search_forgets_a_threshold(field, monkeypatch):
    """One that the bounds of T′ are about."""

    def forgetful(*given, **named):
        found = Noise(*given, **named)
        least = 3 * found.phi if field == "stop" else Fraction(0)
        return dataclasses.replace(found, **{field: least})

    monkeypatch.setattr(strengths, "Noise", forgetful)
    assert refuted("approximate-maximisers")


@pytest.mark.parametrize("oracle", ["_ask_csc", "_ask_ls"])
def test_with_an_oracle_that_reads_its_data_many_times(oracle, monkeypatch):
    true = getattr(hard_run, oracle)

    def slow(problem, data, numbers):
        for _ in range(len(data)):
            data.observations.tolist()
        return true(problem, data, numbers)

    monkeypatch.setattr(hard_run, oracle, slow)
    assert refuted("oracles-are-polynomial-in-runs")


def test_with_tables_that_are_made_again_and_again(monkeypatch):
    true = treewidth._eliminate

    def slow(*given):
        for _ in range(6):
            found = true(*given)
        return found

    monkeypatch.setattr(treewidth, "_eliminate", slow)
    assert refuted("treewidth-is-counted")


def test_with_a_copy_more(monkeypatch):
    monkeypatch.setitem(DECLARATIONS, Variant.FORCED, forced(copies=3))
    assert refuted("sizes-of-the-families")


def test_where_ranges_do_not_fit(monkeypatch):
    """Without r + c_x′ <= c_x what is unbound can be too good to be true."""
    true = strengths._draw_deterministic

    def greedy(rng):
        mdp = true(rng)
        return mdp.with_rewards(mdp.reward_index, [3 * r for r in mdp.reward_table])

    monkeypatch.setattr(strengths, "_draw_deterministic", greedy)
    assert refuted("deterministic-programs-are-easy")
