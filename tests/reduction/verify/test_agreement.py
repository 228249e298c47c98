"""What the answers of several routes prove together, and when they contradict."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.family.variants import Parameters, Variant
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.verify.route import ROUTES, RouteResult
from olivine.reduction.verify.verification import combine

from tests.support.depth import with_rows

PAPER8 = Parameters(Variant.PAPER, Fraction(1, 8), 8)  # as full3 has it
ONE = Fraction(1)


def proved(value, **more) -> RouteResult:
    given = {"satisfiable": value == 1, "lower": value, "upper": value}
    return RouteResult("optimal", 0.0, finished=True, value=value, **(given | more))


def unsatisfiable(parameters=PAPER8) -> RouteResult:
    return RouteResult(
        "unsatisfiable",
        0.0,
        finished=True,
        satisfiable=False,
        lower=1 - parameters.penalty,
        upper=theorem_o(parameters, 1),
    )


def witness(value, **more) -> RouteResult:
    return RouteResult("feasible", 0.0, value=value, lower=value, **more)


def vote(value) -> RouteResult:
    return RouteResult("optimal", 0.0, finished=True, value=value, lower=value)


def test_a_verdict_without_a_good_witness_leaves_the_optimum_open():
    found = combine(PAPER8, {})
    assert (found.satisfiable, found.unsatisfied, found.optimum) == (None, None, None)
    assert found.optimum_by == found.contradictions == ()
    found = combine(PAPER8, {"sat": unsatisfiable()})
    assert found.satisfiable is False
    assert found.optimum is None
    assert found.optimum_by == ()
    worse = witness(theorem_o(PAPER8, 2))
    found = combine(PAPER8, {"sat": unsatisfiable(), "witness": worse})
    assert found.satisfiable is False
    assert found.optimum is None


def test_what_proves_an_optimum():
    value = theorem_o(PAPER8, 1)
    found = combine(PAPER8, {"sat": unsatisfiable(), "witness": witness(value)})
    assert found.satisfiable is False
    assert found.unsatisfied == 1
    assert found.optimum == value
    assert found.optimum_by == ("sat", "witness")
    capped = Parameters(Variant.PAPER, Fraction(1, 1000), 8)
    found = combine(capped, {"sat": unsatisfiable(capped)})
    assert found.optimum == Fraction(999, 1000)
    assert found.optimum_by == ("sat",)
    assert found.unsatisfied is None  # the cap hides it
    seen = combine(
        capped, {"sat": unsatisfiable(capped), "witness": witness(ONE / 2, attained=1)}
    )
    assert seen.unsatisfied == 1
    found = combine(PAPER8, {"milp": proved(ONE)})
    assert (found.satisfiable, found.unsatisfied, found.optimum) == (True, 0, ONE)
    assert found.optimum_by == ("milp",)
    found = combine(PAPER8, {"milp": vote(theorem_o(PAPER8, 1))})
    assert (found.satisfiable, found.unsatisfied, found.optimum) == (None, None, None)


@pytest.mark.parametrize("u", [0, 2])
def test_a_wrong_vote_contradicts_but_leaves_the_proofs(u: int) -> None:
    results = {
        "maxsat": proved(theorem_o(PAPER8, 1), unsatisfied=1),
        "milp": vote(theorem_o(PAPER8, u)),
    }
    found = combine(PAPER8, results)
    assert found.contradictions
    if u == 2:
        assert found.optimum == theorem_o(PAPER8, 1)
        assert found.unsatisfied == 1
    else:
        assert found.optimum is None  # a witness of value 1 is no mere vote


@with_rows(
    "results",
    {"sat": proved(ONE, unsatisfied=0), "maxsat": proved(Fraction(23, 24))},
    {"sat": unsatisfiable(), "maxsat": proved(ONE, unsatisfied=0)},
    {"sat": unsatisfiable(), "brute": proved(ONE)},
    {"sat": unsatisfiable(), "witness": witness(ONE)},
    {"maxsat": proved(Fraction(23, 24)), "brute": proved(Fraction(22, 24))},
    {"maxsat": proved(Fraction(22, 24)), "witness": witness(Fraction(23, 24))},
    {"maxsat": proved(Fraction(23, 24), unsatisfied=2)},
    {"milp": replace(vote(Fraction(22, 24)), lower=Fraction(23, 24))},
    {"milp": RouteResult("infeasible", 0.0, finished=True)},
    {"sat": unsatisfiable(), "milp": proved(ONE)},
    {"sat": unsatisfiable(), "milp": vote(Fraction(20, 24))},
)
def test_answers_that_exclude_each_other_are_contradictions(results) -> None:
    found = combine(PAPER8, results)
    assert found.contradictions
    assert found.optimum is None


@given(st.integers(0, 4), st.data())
def test_consistent_answers_never_contradict(u, data) -> None:
    value = theorem_o(PAPER8, u)
    sat = proved(ONE, unsatisfied=0) if u == 0 else unsatisfiable()
    worse = theorem_o(PAPER8, data.draw(st.integers(u, 4)))
    results = {
        "sat": sat,
        "maxsat": proved(value, unsatisfied=u),
        "milp": vote(value) if u else proved(ONE),
        "brute": proved(value),
        "treewidth": proved(value, unsatisfied=u),
        "witness": witness(worse),
    }
    chosen = data.draw(st.sets(st.sampled_from(ROUTES)))
    found = combine(PAPER8, {r: results[r] for r in ROUTES if r in chosen})
    assert found.contradictions == ()
    assert found.optimum in (None, value)
    assert found.satisfiable in (None, u == 0)
    assert found.unsatisfied in (None, u)
    if chosen & {"maxsat", "brute", "treewidth"}:
        assert found.optimum == value
