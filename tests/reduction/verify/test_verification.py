import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.instance import Instance
from olivine.reduction.family.variants import Parameters, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.program.witness import certify
from olivine.reduction.verify.agreement import combine
from olivine.reduction.verify.milp_route import milp_route
from olivine.reduction.verify.route import ROUTES, RouteResult, Settings
from olivine.reduction.verify.routes import (
    best_assignment,
)
from olivine.reduction.verify.verification import verify
from olivine.solvers import maxsat
from olivine.solvers.outcome import Status
from olivine.solvers.treewidth import Elimination

from tests.support.depth import deep, spread

VARIANTS = list(Variant)
FULL3 = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))))
FULL3_FOUR_TIMES = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))) * 4)
SATISFIABLE = Formula.from_clauses([[1, 2, 3], [-1, -2], [3]])

# --------------------------------------------------------------- combination

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


def test_nothing_proves_nothing() -> None:
    found = combine(PAPER8, {})
    assert (found.satisfiable, found.unsatisfied, found.optimum) == (None, None, None)
    assert found.optimum_by == found.contradictions == ()


def test_a_verdict_and_a_witness_prove_an_optimum_together() -> None:
    value = theorem_o(PAPER8, 1)
    found = combine(PAPER8, {"sat": unsatisfiable(), "witness": witness(value)})
    assert found.satisfiable is False
    assert found.unsatisfied == 1
    assert found.optimum == value
    assert found.optimum_by == ("sat", "witness")


def test_a_verdict_alone_leaves_the_optimum_open() -> None:
    found = combine(PAPER8, {"sat": unsatisfiable()})
    assert found.satisfiable is False
    assert found.optimum is None
    assert found.optimum_by == ()


def test_a_worse_witness_leaves_the_optimum_open() -> None:
    worse = witness(theorem_o(PAPER8, 2))
    found = combine(PAPER8, {"sat": unsatisfiable(), "witness": worse})
    assert found.satisfiable is False
    assert found.optimum is None


def test_a_verdict_proves_the_only_optimum_there_is_below_one() -> None:
    capped = Parameters(Variant.PAPER, Fraction(1, 1000), 8)
    found = combine(capped, {"sat": unsatisfiable(capped)})
    assert found.optimum == Fraction(999, 1000)
    assert found.optimum_by == ("sat",)
    assert found.unsatisfied is None  # the cap hides it
    seen = combine(
        capped, {"sat": unsatisfiable(capped), "witness": witness(ONE / 2, attained=1)}
    )
    assert seen.unsatisfied == 1


def test_a_milp_proves_one_but_nothing_below() -> None:
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


@pytest.mark.parametrize(
    "results",
    [
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
    ],
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


# -------------------------------------------------------------------- verify


@st.composite
def formulas(draw):
    n = draw(st.integers(0, 4))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))
    clause = st.lists(literal, max_size=4) if n else st.just([])
    clauses = draw(st.lists(clause, max_size=6))
    count = len(clauses)
    weights = st.lists(st.integers(1, 9), min_size=count, max_size=count)
    return Formula.from_clauses(clauses, n, draw(st.none() | weights))


def least_unsatisfied(formula: Formula) -> int:
    return min(
        formula.unsatisfied_weight(np.array(bits, dtype=np.bool_))
        for bits in product([False, True], repeat=formula.n_variables)
    )


@given(formulas(), st.sampled_from(VARIANTS), st.fractions(0, 1, max_denominator=40))
@settings(max_examples=deep(15, 3))  # every route each
def test_all_routes_agree_with_going_through_all_assignments(
    formula, variant, penalty
) -> None:
    usable = 0 < penalty < 1 and variant.declaration.fixed_penalty is None
    answer = verify(
        formula,
        variant,
        penalty if usable else None,
        routes=ROUTES,
        time_limit=60,
    )
    u = least_unsatisfied(formula)
    family = Instance.of(formula, variant, penalty if usable else None).family
    assert answer.agree is True, answer.contradictions
    assert answer.satisfiable is (u == 0)
    assert answer.unsatisfied == u
    assert answer.optimum == theorem_o(family.parameters, u)
    assert set(answer.routes) == set(ROUTES)
    assert all(result.finished for result in answer.routes.values())


@pytest.mark.parametrize("route", ROUTES)
def test_each_route_alone_on_a_satisfiable_formula(route) -> None:
    answer = verify(SATISFIABLE, routes=[route])
    assert list(answer.routes) == [route]
    assert answer.agree is None
    assert answer.satisfiable is True
    assert answer.unsatisfied == 0
    assert answer.optimum == 1
    assert answer.optimum_by == (route,)


@pytest.mark.parametrize(
    ("route", "variant"),
    spread(product(["maxsat", "brute", "treewidth"], VARIANTS), 5),
)
def test_each_exact_route_alone_on_an_unsatisfiable_formula(route, variant) -> None:
    answer = verify(FULL3, variant, routes=[route])
    known = {"paper": "23/24", "gap": "31/32", "strict": "71/480"}
    expected = known.get(variant, "185/192")
    assert str(answer.optimum) == expected
    assert answer.satisfiable is False
    assert answer.unsatisfied == 1
    assert answer.optimum_by == (route,)


@pytest.mark.parametrize(
    ("formulation", "formula", "optimum"),
    [
        ("faithful", Formula.from_clauses([[1], [-1]]), Fraction(5, 6)),
        ("strengthened", FULL3, Fraction(23, 24)),
        ("projected", FULL3, Fraction(23, 24)),
    ],
)
def test_a_milp_alone_proves_nothing_below_one(formulation, formula, optimum) -> None:
    answer = verify(formula, formulation=formulation, routes=["milp"], time_limit=60)
    found = answer.routes["milp"]
    assert found.details["formulation"] == formulation
    assert found.finished
    assert found.value == optimum
    assert answer.optimum is answer.satisfiable is answer.agree is None
    assert not answer.decided


def test_sat_and_witness_prove_an_optimum_without_maxsat() -> None:
    answer = verify(FULL3, routes=["sat", "witness"])
    assert answer.optimum == Fraction(23, 24)
    assert answer.optimum_by == ("sat", "witness")
    assert answer.unsatisfied == 1
    assert answer.agree is True


def test_the_cap_of_the_penalty_hides_u_from_the_optimum_only() -> None:
    answer = verify(FULL3_FOUR_TIMES)
    assert answer.optimum == Fraction(31, 32)
    assert answer.unsatisfied == 4
    alone = verify(FULL3_FOUR_TIMES, routes=["brute"])
    assert alone.optimum == Fraction(31, 32)
    assert alone.unsatisfied is None


def test_weights_count() -> None:
    formula = Formula.from_clauses([[1], [-1], [2]], weights=[5, 3, 2])
    answer = verify(formula, "gap")
    assert answer.unsatisfied == 3
    assert answer.optimum == 1 - Fraction(3, 40)
    assert answer.agree is True


def test_hard_clauses_are_refused() -> None:
    formula = Formula.from_clauses([[1], [-1]], weights=[1, 1], hard=[True, False])
    with pytest.raises(ValueError, match="hard"):
        verify(formula)


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "other"},
        {"penalty": Fraction(2)},
        {"penalty": Fraction(0)},
        {"variant": "gap", "penalty": Fraction(1, 3)},
        {"variant": "normalized", "penalty": Fraction(1)},
        {"routes": ["sat", "oracle"]},
        {"formulation": "other", "routes": ["milp"]},
    ],
)
def test_bad_options_are_refused(options) -> None:
    with pytest.raises(ValueError):
        verify(SATISFIABLE, **options)


@pytest.mark.children
def test_a_limit_reached_is_unknown_and_no_fault() -> None:
    routes = ["sat", "maxsat", "brute", "treewidth"]
    answer = verify(FULL3, routes=routes, time_limit=1e-9)
    found = {name: r.status for name, r in answer.routes.items()}
    assert found.pop("maxsat") == "feasible"  # a local search has an assignment
    assert set(found.values()) == {"unknown"}
    assert all(r.reason for r in answer.routes.values())
    assert answer.agree is answer.satisfiable is answer.optimum is None
    assert not answer.decided


def test_too_many_members_are_unknown_at_once() -> None:
    formula = Formula.from_clauses([[1, 2, 40]])
    answer = verify(formula, routes=["brute"])
    assert answer.routes["brute"].status == "unknown"
    assert "2^40" in answer.routes["brute"].reason


def test_a_wide_formula_is_unknown_with_its_width() -> None:
    pairs = [[i, j] for i in range(1, 33) for j in range(1, i)]
    answer = verify(Formula.from_clauses(pairs), routes=["treewidth"])
    assert answer.routes["treewidth"].status == "unknown"
    assert "width 31 or more" in answer.routes["treewidth"].reason
    assert not answer.decided


def test_treewidth_runs_only_where_it_is_named() -> None:
    assert "treewidth" not in verify(SATISFIABLE).routes
    found = verify(FULL3, routes=["treewidth"]).routes["treewidth"]
    assert found.to_json()["width"] == 2
    assert (found.unsatisfied, found.attained) == (1, 1)


def test_a_false_count_of_the_dynamic_programming_is_an_error(monkeypatch) -> None:
    monkeypatch.setattr(
        "olivine.reduction.verify.routes.solve_by_treewidth",
        lambda clauses, n, weights: Elimination(0, np.zeros(n, np.bool_), 2),
    )
    found = verify(FULL3, routes=["treewidth"]).routes["treewidth"]
    assert (found.status, found.value) == ("error", None)
    assert "claims 0 unsatisfied, its assignment leaves 1" in found.reason


def test_large_formulas_choose_their_routes() -> None:
    rng = np.random.default_rng(1)
    formula = Formula.from_clauses(
        rng.choice([-1, 1], size=(2000, 3)) * rng.integers(1, 1500, size=(2000, 3))
    )
    answer = verify(formula)
    assert list(answer.routes) == ["sat", "maxsat", "witness"]
    assert answer.agree is True


def test_the_same_seed_gives_the_same_answer() -> None:
    def one():
        answer = verify(SATISFIABLE, routes=["witness"], seed=5).to_json()
        del answer["seconds"], answer["routes"]["witness"]["seconds"]
        return answer

    assert one() == one()
    assert one()["seed"] == 5


# ----------------------------------------------------- engines that are wrong


def lying(outcome):
    return lambda model, **options: outcome


def milp(monkeypatch, formula, **claims):
    """Result of the MILP route with an engine that claims what it is told to."""
    instance = Instance.of(formula)
    honest = milp_route(instance, Settings("strengthened", 60, None))
    assert honest.finished
    import olivine.reduction.verify.milp_route as routes

    real = routes.solve_program

    def solve(built, **options):
        return real(built, **options)._replace(**claims)

    monkeypatch.setattr(routes, "solve_program", solve)
    return instance, milp_route(instance, Settings("strengthened", 60, None))


def test_a_claimed_optimum_must_be_attained(monkeypatch) -> None:
    _, found = milp(monkeypatch, FULL3, objective=1.0)
    assert not found.finished
    assert found.lower == Fraction(23, 24)
    assert "attains 23/24 exactly" in found.reason


def test_a_false_claim_of_optimality_is_a_contradiction(monkeypatch) -> None:
    instance, found = milp(monkeypatch, FULL3, objective=22 / 24)
    assert combine(instance.family.parameters, {"milp": found}).contradictions


def test_an_objective_that_is_no_possible_optimum_is_no_answer(monkeypatch) -> None:
    _, found = milp(monkeypatch, FULL3, objective=0.9)
    assert found.status == "unknown"
    assert "no possible optimum" in found.reason


def test_a_feasible_solution_is_a_lower_bound(monkeypatch) -> None:
    _, found = milp(monkeypatch, FULL3, status=Status.FEASIBLE)
    assert found.status == "feasible"
    assert not found.finished
    assert found.lower == Fraction(23, 24)


def test_a_solution_of_value_one_needs_no_claim(monkeypatch) -> None:
    _, found = milp(monkeypatch, SATISFIABLE, status=Status.FEASIBLE)
    assert found.finished
    assert found.value == found.upper == 1
    assert found.satisfiable is True


def test_an_engine_that_calls_the_program_infeasible_is_contradicted(
    monkeypatch,
) -> None:
    instance, found = milp(
        monkeypatch,
        FULL3,
        status=Status.INFEASIBLE,
        objective=None,
        values=None,
    )
    assert found.status == "infeasible"
    assert combine(instance.family.parameters, {"milp": found}).contradictions


@given(formulas(), st.sampled_from(VARIANTS), st.integers(0, 2**16))
@settings(max_examples=60)
def test_certificates_are_worth_what_theorem_o_says(formula, variant, bits) -> None:
    family = Instance.of(formula, variant).family
    n = family.n_variables
    assignment = np.array([bits >> i % 16 & 1 for i in range(n)], dtype=np.bool_)
    left = family.three_sat.unsatisfied_weight(assignment)
    if left <= family.total_weight // 2:
        assert certify(family, assignment) == theorem_o(family.parameters, left)


def test_the_best_assignment_is_taken() -> None:
    good, bad = np.array([True]), np.array([False])
    results = {
        "sat": RouteResult("unknown", 0.0),
        "maxsat": RouteResult("feasible", 0.0, assignment=bad, attained=3),
        "milp": RouteResult("feasible", 0.0, assignment=good, attained=1),
    }
    assert best_assignment(results) is good
    assert best_assignment({}) is None


def test_the_example_of_the_module_holds() -> None:
    import doctest

    import olivine.reduction.verify.verification

    found = doctest.testmod(olivine.reduction.verify.verification)
    assert found.failed == 0
    assert found.attempted > 0


def test_one_route_by_its_name() -> None:
    answer = verify(Formula.from_clauses([[1], [-1]]), routes="maxsat")
    assert list(answer.routes) == ["maxsat"]
    with pytest.raises(ValueError, match=r"unknown route 'oracle': choose from sat, "):
        verify(Formula.from_clauses([[1]]), routes="oracle")


@pytest.mark.children
def test_maxsat_tells_bounds_when_time_runs_out() -> None:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], (1500, 3))
    rows = (1 + rng.permuted(np.tile(np.arange(60), (1500, 1)), axis=1)[:, :3]) * signs
    answer = verify(
        Formula.from_clauses(rows.tolist()), routes=["maxsat"], time_limit=1
    )
    found = answer.routes["maxsat"]
    bounds = found.details["at_least"], found.details["at_most"]
    assert found.status == "feasible"
    assert found.reason == "time limit of 1 s reached"
    assert 3 < bounds[0] < bounds[1] == found.attained
    assert answer.unsatisfied is None
    # The penalty caps the optimum from 3 on, so the bounds prove it.
    assert answer.optimum == found.lower == found.upper == Fraction(1499, 1500)


@pytest.mark.children
def test_maxsat_refutes_where_rc2_is_kept_out(monkeypatch) -> None:
    """The refutation alone finds the optimum of each dense case."""
    monkeypatch.setattr(maxsat, "minimise", lambda *_: time.sleep(600))
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
