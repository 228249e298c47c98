"""A wrong constraint or constant in the code refutes the ledger's entries about it."""

import dataclasses
from fractions import Fraction
from functools import cached_property

import pytest
from olivine.algorithms.global_policy.parameters import GlobalPolicyParameters
from olivine.algorithms.olive_program import tiebreak
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.algorithms.two_sample.parameters import TwoSampleParameters
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, ValorParameters
from olivine.claims import (
    global_policy,
    load,
    olive,
    tolerance,
    two_sample,
)
from olivine.reduction.family.family import Family
from olivine.reduction.family.variants import DECLARATIONS, Ranges, Rewards, Variant
from olivine.reduction.run import benign as family_benign

pytestmark = pytest.mark.usefixtures("fewer_runs")  # they can refute, too
CLAIMS = {entry.id: entry for entry in load()}
OF_THE_PROGRAM = (
    "theorem-o",
    "theorem-o-paper",
    "theorem-o-normalized",
    "theorem-o-gap",
    "theorem-o-all-levels",
    "theorem-o-strict",
    "polynomially-small-error",
    "four-values",
    "constant-gap",
    "random-assignment-is-sharp",
    "least-affine-penalty",
    "olive-nphard-g-simple",
    "olive-nphard-f-simple",
)


def refuted(name):
    entry = CLAIMS[name]
    return entry.verdict(entry.check()) == "refuted"


@pytest.mark.parametrize("name", OF_THE_PROGRAM)
def test_without_pair_constraints(name, monkeypatch):
    def program(family):
        kept = [d for d in family.distributions() if len(d.states) == 1]
        return OliveProgram(family.mdp(), kept, upper=family.ranges())

    mutated = cached_property(program)
    mutated.__set_name__(Family, "_program")
    monkeypatch.setattr(Family, "_program", mutated)
    assert refuted(name)


@pytest.mark.parametrize("algorithm", [VALOR, CONSTRAINED])
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("n_train", Fraction(1, 8)),  # 16K to 2K
        ("n_test", Fraction(1, 2)),
        ("eps_stat", 64),
        ("eps_stat", 4),
        ("n_exp", Fraction(1, 2)),
        ("n_eval", Fraction(1, 2)),
    ],
)
def test_with_other_constants_of_valor(algorithm, name, factor, monkeypatch):
    formula = ValorParameters.constants

    def mutated(problem):
        found = formula(problem)
        if problem.algorithm != algorithm:
            return found
        value = found[name] * factor
        return found | {name: value if name == "eps_stat" else -int(-value // 1)}

    monkeypatch.setattr(ValorParameters, "constants", staticmethod(mutated))
    assert refuted("valor-constants")


@pytest.mark.parametrize("name", ["n_test", "n_train"])
def test_with_other_constants_of_the_global_policy_algorithm(name, monkeypatch):
    true = global_policy.GlobalPolicyTheoremParameters

    def mutated(*arguments, **options):
        found = vars(true(*arguments, **options))
        return GlobalPolicyParameters(**found | {name: found[name] // 8})

    home = global_policy
    monkeypatch.setattr(home, "GlobalPolicyTheoremParameters", mutated)
    assert refuted("global-policy-constants")


def test_with_other_constants_of_the_two_sample_algorithm(monkeypatch):
    true = two_sample.TwoSampleTheoremParameters

    def mutated(*arguments, **options):
        found = vars(true(*arguments, **options))
        return TwoSampleParameters(**found | {"n_train": found["n_train"] // 8})

    monkeypatch.setattr(two_sample, "TwoSampleTheoremParameters", mutated)
    assert refuted("two-sample-variance")


@pytest.mark.parametrize("name", ["n_est", "n_eval", "n_train"])
def test_with_other_sizes_of_olive(name, monkeypatch):
    true = olive.theorem_parameters

    def mutated(*arguments, **options):
        found = true(*arguments, **options)
        return dataclasses.replace(found, **{name: getattr(found, name) // 8})

    monkeypatch.setattr(olive, "theorem_parameters", mutated)
    assert refuted("olive-sample-sizes")


def test_with_another_ceiling_of_the_tolerance(monkeypatch):
    """(1 − p)/6 to (1 − p)/5."""

    def mutated(parameters):
        p = parameters.penalty
        if parameters.variant is Variant.PAPER:
            return min(p, Fraction(1, 4))
        return min(p / 4, (1 - p) / 5)

    monkeypatch.setattr(tolerance, "tolerance_ceiling", mutated)
    assert refuted("tolerance-ceiling")


def test_with_another_closed_form_of_the_critical_tolerance(monkeypatch):
    true = tolerance.critical_tolerance

    def mutated(family, u, **options):
        found = true(family, u, **options)
        return dataclasses.replace(found, lower=found.lower + Fraction(1, 10**6))

    monkeypatch.setattr(tolerance, "critical_tolerance", mutated)
    assert refuted("critical-tolerance")


TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    "changes",
    [
        {"rewards": lambda _: Rewards(TENTH, TENTH, Fraction(1, 20), Fraction(0))},
        {"ranges": Ranges(Fraction(1), 4 * TENTH, 3 * TENTH, Fraction(0))},
        {"ranges": Ranges(Fraction(1), TENTH, TENTH, Fraction(0))},
    ],
    ids=["try x at 1/20", "literal range 3/10", "clause range 1/10"],
)
def test_with_other_constants_of_strict(changes, monkeypatch):
    mutated = DECLARATIONS[Variant.STRICT]._replace(**changes)
    monkeypatch.setitem(DECLARATIONS, Variant.STRICT, mutated)
    assert refuted("theorem-t")


def test_with_a_top_that_theorem_o_does_not_cover(monkeypatch):
    rewards = Rewards(2 * TENTH, TENTH, Fraction(7, 100), Fraction(0))
    declared = DECLARATIONS[Variant.STRICT]
    mutated = declared._replace(rewards=lambda _: rewards)
    monkeypatch.setitem(DECLARATIONS, Variant.STRICT, mutated)
    with pytest.raises(ValueError, match="none that Theorem O covers"):
        refuted("theorem-t")


def _mean_of_the_policy_itself(mdp, policy, direction, level):
    met = mdp.distribution(policy, level)
    return tiebreak._mean(met.probabilities(), direction), policy


STEPS = {
    "_raised": lambda mdp, policy, direction: mdp.evaluate(policy),
    "_orthogonal": lambda live, taken, met: live,
    "_plan": _mean_of_the_policy_itself,
    "_promising": lambda mdp, pair: pair,
}


@pytest.mark.parametrize("step", STEPS)
def test_with_another_rule_for_benign_ties(step, monkeypatch):
    """Without the change at the level, or without keeping the bound means at 0.

    Or without planning for the means, or without g(s0) = 1.
    """
    monkeypatch.setattr(tiebreak, step, STEPS[step])
    assert refuted("theorem-k")


@pytest.mark.parametrize(
    ("step", "without"),
    [
        ("_behind", lambda moves, j, determined: ()),
        ("_worthless", lambda moves, i: moves.layout.literal_state(i, moves.member[i])),
    ],
)
def test_with_another_rule_for_benign_ties_on_the_family(step, without, monkeypatch):
    monkeypatch.setattr(family_benign._Moves, step, without)
    assert refuted("olive-benign-ties")


def test_with_other_thresholds_of_the_noise(monkeypatch):
    """1/20, the least error of the run, to 1/21."""
    monkeypatch.setattr(tolerance, "_TWENTIETH", Fraction(1, 21))
    assert refuted("strict-noise")


@pytest.mark.parametrize("name", ["strict-noise", "stated-run-noise"])
def test_with_less_noise_than_said(name, monkeypatch):
    """Then nothing goes wrong at the threshold."""
    search, run = tolerance.Noise, tolerance._Adverse
    monkeypatch.setattr(
        tolerance, "Noise", lambda eta, phi, stop: search(eta / 2, phi, stop)
    )
    monkeypatch.setattr(
        tolerance, "_Adverse", lambda program, eta: run(program, eta / 2)
    )
    assert refuted(name)
