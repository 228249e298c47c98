"""What the MILP route believes of engines that are wrong."""

from fractions import Fraction
from itertools import product

from olivine.reduction.family.instance import Instance
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.milp_route import milp_route
from olivine.reduction.verify.route import Settings
from olivine.reduction.verify.verification import combine
from olivine.solvers.outcome import Status

FULL3 = Formula.from_clauses(list(product((1, -1), (2, -2), (3, -3))))
SATISFIABLE = Formula.from_clauses([[1, 2, 3], [-1, -2], [3]])


def milp(monkeypatch, formula, **claims):
    """Result of the MILP route with an engine that claims what it is told to."""
    instance = Instance.of(formula)
    assert milp_route(instance, Settings("strengthened", 60, None)).finished
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
        monkeypatch, FULL3, status=Status.INFEASIBLE, objective=None, values=None
    )
    assert found.status == "infeasible"
    assert combine(instance.family.parameters, {"milp": found}).contradictions
