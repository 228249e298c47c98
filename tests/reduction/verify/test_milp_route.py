"""What the MILP route believes of engines that are wrong."""

from fractions import Fraction
from itertools import product

import pytest
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify import milp_route as routes
from olivine.reduction.verify.milp_route import milp_route
from olivine.reduction.verify.route import Settings
from olivine.reduction.verify.verification import combine
from olivine.solvers.outcome import Status

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
