"""The optimum by independent routes: what `verify` answers, and what it refuses."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.family import Instance
from olivine.reduction.family.variants import Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.optimum import certify
from olivine.reduction.program.optimum import optimum as theorem_o
from olivine.reduction.verify.route import ROUTES, RouteResult
from olivine.reduction.verify.routes import best_assignment
from olivine.reduction.verify.verification import verify
from olivine.solvers.treewidth import Elimination

from tests.support.depth import deep, spread, with_rows

VARIANTS = list(Variant)
FULL3 = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))))
FULL3_FOUR_TIMES = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))) * 4)
SATISFIABLE = Formula.from_clauses([[1, 2, 3], [-1, -2], [3]])


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
        formula, variant, penalty if usable else None, routes=ROUTES, time_limit=60
    )
    u = least_unsatisfied(formula)
    family = Instance.of(formula, variant, penalty if usable else None).family
    assert answer.agree is True, answer.contradictions
    assert answer.satisfiable is (u == 0)
    assert answer.unsatisfied == u
    assert answer.optimum == theorem_o(family.parameters, u)
    assert set(answer.routes) == set(ROUTES)
    unfinished = {r for r, found in answer.routes.items() if not found.finished}
    # No member of `forced` attains the optimum.
    assert unfinished == ({"brute"} if variant.declaration.sides else set())


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
    spread(
        [*product(["maxsat", "treewidth"], VARIANTS)]
        + [("brute", v) for v in VARIANTS if not v.declaration.sides],
        5,
    ),
)
def test_each_exact_route_alone_on_an_unsatisfiable_formula(route, variant) -> None:
    answer = verify(FULL3, variant, routes=[route])
    family = Instance.of(FULL3, variant).family
    assert answer.optimum == theorem_o(family.parameters, 1)
    assert answer.satisfiable is False
    assert answer.unsatisfied == 1
    assert answer.optimum_by == (route,)


@with_rows(
    "formulation, formula, optimum",
    ("faithful", Formula.from_clauses([[1], [-1]]), Fraction(5, 6)),
    ("strengthened", FULL3, Fraction(23, 24)),
    ("projected", FULL3, Fraction(23, 24)),
)
def test_a_milp_alone_proves_nothing_below_one(formulation, formula, optimum) -> None:
    answer = verify(formula, formulation=formulation, routes=["milp"], time_limit=60)
    found = answer.routes["milp"]
    assert found.details["formulation"] == formulation
    assert found.finished
    assert found.value == optimum
    assert answer.optimum is answer.satisfiable is answer.agree is None
    assert not answer.decided


def test_sat_and_witness_prove_an_optimum_and_weights_count():
    answer = verify(FULL3, routes=["sat", "witness"])
    assert answer.optimum == Fraction(23, 24)
    assert answer.optimum_by == ("sat", "witness")
    assert answer.unsatisfied == 1
    assert answer.agree is True
    formula = Formula.from_clauses([[1], [-1], [2]], weights=[5, 3, 2])
    answer = verify(formula, "gap")
    assert answer.unsatisfied == 3
    assert answer.optimum == 1 - Fraction(3, 40)
    assert answer.agree is True


def test_the_cap_of_the_penalty_hides_u_from_the_optimum_only() -> None:
    answer = verify(FULL3_FOUR_TIMES)
    assert answer.optimum == Fraction(31, 32)
    assert answer.unsatisfied == 4
    alone = verify(FULL3_FOUR_TIMES, routes=["brute"])
    assert alone.optimum == Fraction(31, 32)
    assert alone.unsatisfied is None


@with_rows(
    "options",
    {"variant": "other"},
    {"penalty": Fraction(2)},
    {"penalty": Fraction(0)},
    {"variant": "gap", "penalty": Fraction(1, 3)},
    {"variant": "normalized", "penalty": Fraction(1)},
    {"routes": ["sat", "oracle"]},
    {"formulation": "other", "routes": ["milp"]},
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


def test_what_is_too_large_for_a_route_is_unknown_with_its_size():
    formula = Formula.from_clauses([[1, 2, 40]])
    answer = verify(formula, routes=["brute"])
    assert answer.routes["brute"].status == "unknown"
    assert "2^40" in answer.routes["brute"].reason
    pairs = [[i, j] for i in range(1, 33) for j in range(1, i)]
    answer = verify(Formula.from_clauses(pairs), routes=["treewidth"])
    assert answer.routes["treewidth"].status == "unknown"
    assert "width 31 or more" in answer.routes["treewidth"].reason
    assert not answer.decided


def test_treewidth_runs_where_it_is_named_and_its_count_is_checked(monkeypatch):
    assert "treewidth" not in verify(SATISFIABLE).routes
    found = verify(FULL3, routes=["treewidth"]).routes["treewidth"]
    assert found.to_json()["width"] == 2
    assert (found.unsatisfied, found.attained) == (1, 1)
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


@given(formulas(), st.sampled_from(VARIANTS), st.integers(0, 2**16))
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


def test_one_route_by_its_name_and_no_hard_clauses():
    answer = verify(Formula.from_clauses([[1], [-1]]), routes="maxsat")
    assert list(answer.routes) == ["maxsat"]
    with pytest.raises(ValueError, match=r"unknown route 'oracle': choose from sat, "):
        verify(Formula.from_clauses([[1]]), routes="oracle")
    formula = Formula.from_clauses([[1], [-1]], weights=[1, 1], hard=[True, False])
    with pytest.raises(ValueError, match="hard"):
        verify(formula)
