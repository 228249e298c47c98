"""The routes one by one, how answers agree, and the fast path beside them."""

import os
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction import multi
from olivine.reduction.family.family import Family, Instance
from olivine.reduction.family.variants import Parameters, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import check
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.verify import decision, optimise, routes
from olivine.reduction.verify.decision import ENGINES, _confirm, decide
from olivine.reduction.verify.optimise import shown
from olivine.reduction.verify.route import ROUTES, RouteResult, Settings
from olivine.reduction.verify.routes import milp_route
from olivine.reduction.verify.verification import combine, verify
from olivine.solvers.outcome import MaxSatOutcome, SatOutcome, SatStatus, Status
from olivine.solvers.sat import maxsat

from tests.support.depth import spread, with_rows

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


FULL3 = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))))
SATISFIABLE = Formula.from_clauses([[1, 2, 3], [-1, -2], [3]])


def milp(formula, **claims):
    """Result of the MILP route with an engine that claims what it is told to."""
    instance = Instance.of(formula)
    assert milp_route(instance, Settings("strengthened", 60, None)).finished
    real = routes.solve_program

    def solve(built, **options):
        return real(built, **options)._replace(**claims)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "solve_program", solve)
        return instance, milp_route(instance, Settings("strengthened", 60, None))


def test_a_claimed_optimum_is_held_against_its_pair():
    _, found = milp(FULL3, objective=1.0)
    assert not found.finished
    assert found.lower == Fraction(23, 24)
    assert "attains 23/24 exactly" in found.reason
    instance, found = milp(FULL3, objective=22 / 24)
    assert combine(instance.family.parameters, {"milp": found}).contradictions
    _, found = milp(FULL3, objective=0.9)
    assert found.status == "unknown"
    assert "no possible optimum" in found.reason


def test_a_feasible_solution_is_a_lower_bound_and_one_needs_no_claim():
    _, found = milp(FULL3, status=Status.FEASIBLE)
    assert found.status == "feasible"
    assert not found.finished
    assert found.lower == Fraction(23, 24)
    _, found = milp(SATISFIABLE, status=Status.FEASIBLE)
    assert found.finished
    assert found.value == found.upper == 1
    assert found.satisfiable is True


def test_an_engine_that_calls_the_program_infeasible_is_contradicted(
    monkeypatch,
) -> None:
    instance, found = milp(FULL3, status=Status.INFEASIBLE, objective=None, values=None)
    assert found.status == "infeasible"
    assert combine(instance.family.parameters, {"milp": found}).contradictions


@st.composite
def formulas(draw):
    n = draw(st.integers(0, 4))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))
    clause = st.lists(literal, min_size=0, max_size=5) if n else st.just([])
    return Formula.from_clauses(draw(st.lists(clause, max_size=8)), n)


def is_satisfiable(formula: Formula) -> bool:
    return any(
        formula.satisfied(np.array(bits, dtype=np.bool_)).all()
        for bits in product([False, True], repeat=formula.n_variables)
    )


@pytest.mark.parametrize("engine", spread(ENGINES, 1))
@given(formula=formulas(), variant=st.sampled_from(list(Variant)))
@settings(max_examples=10)
def test_decisions_are_right_and_certified(engine, formula, variant) -> None:
    instance = Instance.of(formula, variant)
    decision = decide(instance, engine)
    assert decision.satisfiable is is_satisfiable(formula)
    if not decision.satisfiable:
        assert decision.assignment is decision.pair is decision.value is None
        assert decision.decided_by == "sat"
        return
    assert decision.decided_by == engine
    best = instance.family.parameters.best
    assert decision.value == best == check(instance.family, decision.pair)
    assert decision.assignment.shape == (formula.n_variables,)
    assert formula.satisfied(decision.assignment).all()


@pytest.mark.children
def test_a_limit_leaves_it_open() -> None:
    instance = Instance.of(Formula.from_clauses([[1], [-1]]))
    decision = decide(instance, time_limit=0.0)
    assert decision.satisfiable is None
    assert decision.decided_by == ""
    assert "time limit" in decision.remarks[0]


def test_engines_assignments_and_costs_that_are_none_are_refused():
    with pytest.raises(ValueError, match="oracle"):
        decide(Instance.of(Formula.from_clauses([[1]])), "oracle")
    instance = Instance.of(Formula.from_clauses([[1, 2, 3], [-1]]))
    with pytest.raises(RuntimeError, match="3-SAT form gives a pair of value 5/6"):
        _confirm(instance, np.array([True, False, False]))
    # Where the penalty caps the optimum, 3 and 4 have the same.
    instance = Instance.of(Formula.from_clauses([[1]] * 4 + [[-1]] * 4))
    model = np.array([True])
    assert shown(instance, 4, model, "optimal", ()).cost == 4
    with pytest.raises(RuntimeError, match="the pair's assignment has 4, not 3"):
        shown(instance, 3, model, "optimal", ())
    with pytest.raises(RuntimeError, match="weight 2 gives a pair of value 7/8"):
        shown(instance, 2, model, "optimal", ())


@pytest.mark.parametrize(("hard", "words"), [(1, "^1 hard clause: "), (2, "^2 hard c")])
def test_hard_clauses_are_counted_and_refused(hard, words) -> None:
    flags = np.arange(3) < hard
    formula = Formula.from_clauses([[1], [2], [-1]], 2, [1, 1, 1], hard=flags)
    with pytest.raises(ValueError, match=words):
        Instance.of(formula)


def test_a_sat_solver_that_fails_or_lies(monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a wrong model")

    for module in decision, multi:
        monkeypatch.setattr(module, "solve_sat", fail)
    assert decide(Instance.of(SATISFIABLE)).remarks == ("sat: a wrong model",)
    votes = multi.verify_multi_hardness(SATISFIABLE)
    assert (votes.routes["sat"].status, votes.contradictions) == ("error", ())
    lie = SatOutcome(SatStatus.UNSATISFIABLE, None, 0.0, "toy")
    monkeypatch.setattr(multi, "solve_sat", lambda *_, **__: lie)
    (said,) = multi.verify_multi_hardness(SATISFIABLE).contradictions
    assert said.startswith("satisfiable: {'sat': False, 'deterministic': True")


@with_rows(
    "name, fail, reason",
    ("solve_program", lambda *_, **__: os.stat(""), "[Errno 2] No such file"),
    ("back", lambda *_: int("two"), "its solution is no pair: invalid literal"),
)
def test_what_the_routes_of_programs_leave_open(monkeypatch, name, fail, reason):
    monkeypatch.setattr(routes, name, fail)
    found = milp_route(Instance.of(FULL3), Settings("projected", 60, None))
    assert (found.status, found.finished, found.lower) == ("unknown", False, None)
    assert found.reason.startswith(reason)
    found = routes.brute_route(Instance.of(FULL3, "forced"), None)
    assert found.reason == "no member of variant forced attains the optimum"


def test_the_best_member_is_the_first_one_in_parts_too(monkeypatch):
    family = Family(Formula.from_clauses([[1, 2, 3]]).three_sat())
    best = routes.best_member(family)
    assert best.y.tolist() == [True, False, False]
    monkeypatch.setattr(routes, "_CHUNK_BITS", 1)
    assert routes.best_member(family).y.tolist() == best.y.tolist()
