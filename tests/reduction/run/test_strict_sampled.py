"""Honest OLIVE on samples of `strict`: the run goes through, whatever its ties."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.olive.parameters import OliveParameters
from olivine.algorithms.olive.run import TabularEnvironment, olive_sampled
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.claims.strengths import sampled_formulas, sampled_optimum
from olivine.reduction.family.family import Family
from olivine.reduction.formula.random_formula import random_ksat

from tests.support.depth import deep, with_rows
from tests.support.families import as_three_sat, best_assignments

# η = φ = 1/500: 3φ + 6η < S < 1/20 + 2φ − 5η, and φ + η < 1/200 for x, ¬x. The
# deviations of so many draws are below η by far, so no seed is unlucky in practice.
PHI, STOP, DRAWS = Fraction(1, 500), Fraction(1, 40), 10**9


def sampled(family, rng, rule):
    n, m = family.n_variables, family.n_clauses
    rounds = m + 2 * n + 1
    parameters = OliveParameters(PHI, STOP, 10, DRAWS, DRAWS, rounds)
    result = olive_sampled(
        TabularEnvironment(family.mdp(rng.random(n) < 0.5)),
        parameters,
        rng,
        tiebreak=RandomTiebreak(rng, rule),
        upper=family.ranges(),
    )
    assert result.status == "round limit"
    return [family.mdp().distribution(r.pair.policy, r.level) for r in result.rounds]


def check(family, rng, rule):
    stated = [sorted(d.probabilities().items()) for d in family.distributions()]
    met = [sorted(d.probabilities().items()) for d in sampled(family, rng, rule)]
    assert sorted(met) == sorted(stated)


@pytest.mark.parametrize("rule", ["first", "largest"])
@with_rows("clauses", [[1, 1, 1], [-1, -1, -1]], [[1, 2, 3]], keep=1, ids=str)
def test_the_run_meets_exactly_the_hard_program(clauses, rule):
    n = max(abs(x) for row in clauses for x in row)
    check(Family(as_three_sat(clauses, n), "strict"), np.random.default_rng(61), rule)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["first", "largest"])
def test_up_to_six_variables(rule):
    rng = np.random.default_rng(62)
    for n in (4, 5, 6):
        formula = random_ksat(n, 2, 3, rng)
        check(Family(formula.three_sat(), "strict"), rng, rule)


def decided(formulas, epsilon=Fraction(1, 16)):
    """Optima of runs on own samples up to the hard program, and who is satisfiable."""
    for formula in formulas:
        family = Family(formula.three_sat(), "strict")
        last = sampled_optimum(family, epsilon, np.random.default_rng(81))
        yield float(last), best_assignments(family.three_sat)[0] == 0


def test_own_constants_decide_the_eight_clauses_their_twin_and_ten_more():
    # N2: at the constant accuracy 1/16, with n = 10^11 draws a constraint.
    (eight, no), (twin, yes) = decided(itertools.islice(sampled_formulas(), 2))
    assert (no, yes) == (False, True)
    assert (round(eight, 5), round(twin, 5)) == (0.14869, 0.15075)
    formulas = [*sampled_formulas()][2:]
    assert len(formulas) == 10
    assert max(formula.n_variables for formula in formulas) == 4
    for last, satisfiable in decided(spread_of(formulas)):
        assert (last >= 0.15) is satisfiable


def spread_of(formulas):
    return formulas[:: deep(1, 3)]
