"""A wrong constraint or constant in the code refutes the ledger's entries about it."""

import dataclasses
from fractions import Fraction
from functools import cached_property

import pytest
from olivine.algorithms.olive_program import tiebreak
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.algorithms.oracles.lp import lp
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, ValorParameters
from olivine.claims import hard_run, oracles, strengths, tolerance, two_sample
from olivine.reduction.family.family import Family
from olivine.reduction.family.variants import (
    DECLARATIONS,
    Parameters,
    Ranges,
    Rewards,
    Variant,
    forced,
)
from olivine.reduction.run import benign as family_benign
from olivine.reduction.run.every_tie import Noise
from olivine.solvers import treewidth

from tests.support.depth import with_rows
from tests.support.mutants import Mutant, refuted

pytestmark = pytest.mark.usefixtures("fewer_runs")  # they can refute, too
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
@with_rows(
    "name, factor",
    ("n_train", Fraction(1, 8)),  # 16K to 2K
    ("n_test", Fraction(1, 2)),
    ("eps_stat", 64),
    ("eps_stat", 4),
    ("n_exp", Fraction(1, 2)),
    ("n_eval", Fraction(1, 2)),
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


FACES = "reduction.run.every_tie:Faces.maximisers"
PROGRAM = "algorithms.olive_program.program"
CEILING = "reduction.program.tolerance:tolerance_ceiling"
BOUNDS = "reduction.program.tolerance:tolerance_bounds"
HIDDEN = "reduction.hidden:HiddenFamily"
PROGRAM_ROUNDS = "algorithms.olive_program.rounds:_constrain"
OLIVE_SIZES = "algorithms.olive.parameters:theorem_parameters"
METAALG = "algorithms.learning.metaalg:metaalg"
VALOR_NUMBERS = "algorithms.valor.parameters:ValorParameters"
VALOR_STEPS = "algorithms.valor.algorithm"
TWO_SAMPLE_NUMBERS = "algorithms.two_sample.parameters:TwoSampleParameters"
TWO_SAMPLE_VISIT = "algorithms.two_sample.algorithm:TwoSampleLearner.dfslearn"
GLOBAL_NUMBERS = "algorithms.global_policy.parameters:GlobalPolicyParameters"
GLOBAL_STEPS = "algorithms.global_policy.algorithm:GlobalPolicyRun"
LSVEE_NUMBERS = "algorithms.lsvee.parameters"
LSVEE_SIZES = f"{LSVEE_NUMBERS}:LsveeTheorem.__init__"
LSVEE_TOLERANCE = f"{LSVEE_NUMBERS}:LsveeParameters.tolerance"
LSVEE_STEPS = "algorithms.lsvee.algorithm:Survivors"
BACKWARDS = "algorithms.baselines.backwards"
RMAX = "algorithms.baselines.rmax"

# Function, its text, the text in its place, the entries that are refuted.
MUTANTS = [
    (FACES, "session in faces:", "session in faces[-1:]:", "theorem-t strict-noise"),
    ("reduction.run.replay:allowed_levels",
     "[h for h in positive if errors[h - 1] == max(errors)]", "positive[-1:]",
     "theorem-t"),
    ("algorithms.olive_program.tiebreak:_best_roll_in", "(1, -1)", "(1,)", "theorem-k"),
    ("solvers.treewidth:_eliminate", "entries += table.size\n        for",
     "entries += 9 * table.size\n        for", "olive-program-fixed-parameter"),
    ("solvers.treewidth:_eliminate", "entries += table.size\n        for",
     "entries += table.size * (9 if table.ndim > 9 else 1)\n        for",
     "olive-program-fixed-parameter"),
    (CEILING, "(parameters.penalty)",
     "(parameters.penalty) * (2 if parameters.variant is Variant.STRICT else 1)",
     "tolerance-ceiling"),
    (CEILING, "(parameters.penalty)", "(parameters.penalty) * 6 / 5",
     "tolerance-ceiling"),
    (BOUNDS, "_closed_form(parameters).solve(parameters, u)",
     "Fraction(u, 3 * total + 14 * u) if parameters.variant is Variant.PAPER else "
     "_closed_form(parameters).solve(parameters, u)", "critical-tolerance"),
    (BOUNDS, "return least,", "return least + Fraction(1, 10**6),",
     "critical-tolerance"),
    (BOUNDS, "return least,", "least *= Fraction(740, 739)\n    return least,",
     "strict-tolerance-optimum"),
    ("reduction.program.tolerance:optimum_within", "slope * tolerance",
     "(slope - Fraction(1, 3)) * tolerance",
     "strict-tolerance-optimum constant-accuracy approximate-optima"),
    ("reduction.run.honest:honest_run", "mdp.optimal_values().value(mdp.start)",
     "Fraction(2)", "olive-meets-hard-program"),
    (f"{PROGRAM}:OliveProgram.extended", "*distributions]", "]", "room-of-side-states"),
    (f"{PROGRAM}:average_bellman_errors", "pair), met)", "pair), met)[::-1]",
     "ranges-lemma-0"),
    ("algorithms.mdp.tabular:TwoActions.constraints", "(s)[1:]", "(s)[1:0]",
     "two-actions"),
    # Without r + c_x′ <= c_x what is unbound can be too good to be true.
    ("claims.strengths:_draw_deterministic", "int(rng.integers(5))",
     "3 * int(rng.integers(5))", "deterministic-programs-are-easy"),
    (f"{HIDDEN}._levels", "CLAUSE * (a in own)", "CLAUSE * (a % 2)",
     "hidden-dynamics-optimum"),
    (f"{HIDDEN}.optimum", "Fraction(1, 4)", "Fraction(1, 3)",
     "hidden-dynamics-optimum"),
    (f"{HIDDEN}.back", "weight if a % 2 else -weight", "1 if a % 2 else -1",
     "hidden-dynamics-optimum"),
    # A wrong bit that costs nothing: a literal is bound alone.
    (f"{HIDDEN}._levels", "[PAIR * (1 - b), PAIR * b]", "[PAIR, PAIR]",
     "hidden-dynamics-every-run"),
    (f"{HIDDEN}.ranges", "LITERAL if level == 3 else Fraction(1)", "Fraction(1)",
     "hidden-dynamics-every-run"),
    (f"{VALOR_STEPS}:LocalValues._test", "(optimistic + pessimistic) / 2",
     "0 * optimistic", "hidden-dynamics-are-valors"),
    (OLIVE_SIZES, "5 * epsilon / 8", "8 * 5 * epsilon / 8", "olive-sampled-pac"),
    (OLIVE_SIZES, "5 * epsilon / 8", "5 * epsilon / 4", "olive-sampled-pac"),
    (OLIVE_SIZES, "(12 * h * math.sqrt(m))", "(3 * h * math.sqrt(m))",
     "olive-constants"),
    (OLIVE_SIZES, "size(32,", "size(4,", "olive-sample-sizes"),
    (OLIVE_SIZES, "size(288 *", "size(36 *", "olive-sample-sizes"),
    (OLIVE_SIZES, "size(4608 *", "size(576 *", "olive-sample-sizes"),
    ("algorithms.olive.parameters:rounds_of_a_level", "math.log(5 / 3)",
     "math.log(50 / 3)", "olive-constants"),
    (PROGRAM_ROUNDS, "error * horizon >= stop", "error >= 0", "olive-sampled-pac"),
    (PROGRAM_ROUNDS, "error > tolerance", "True",
     "olive-tabular-one-constraint-a-state"),
    (METAALG, "parameters.eps / 2", "parameters.eps * 2", "valor-iterations"),
    (METAALG, "parameters.eps / 2", "parameters.eps / 64", "valor-iterations"),
    (METAALG, "first=parameters.n_exp", "first=1", "valor-iterations"),
    (METAALG, "range(1, environment.horizon)", "range(2, environment.horizon)",
     "valor-on-demand"),
    (f"{VALOR_NUMBERS}.phi", "6 * self.eps_stat", "3 * self.eps_stat",
     "valor-accuracy"),
    (f"{VALOR_NUMBERS}.phi", "(self.H - level + 1)", "(self.H - level + 2)",
     "valor-accuracy"),
    (f"{VALOR_NUMBERS}.consensus", "2 * scale", "scale", "valor-event-e"),
    (f"{VALOR_NUMBERS}.consensus", "2 * scale", "4 * scale", "valor-accuracy"),
    (f"{VALOR_NUMBERS}.consensus", "4 * self.eps_stat", "2 * self.eps_stat",
     "valor-accuracy"),
    (f"{VALOR_NUMBERS}.constants", "share * p.H**2", "share * p.H", "valor-constants"),
    (f"{VALOR_NUMBERS}.constants", "12 * p.K * p.H * calls", "p.H * calls",
     "valor-constants"),
    (f"{VALOR_STEPS}:LocalValues._test", "(optimistic + pessimistic) / 2",
     "optimistic", "valor-accuracy"),
    (f"{VALOR_STEPS}:LocalValues._test", "(optimistic + pessimistic) / 2",
     "pessimistic", "valor-accuracy"),
    (f"{VALOR_STEPS}:constrained_step", "2 * p.phi(level)", "p.phi(level)",
     "valor-pooling-sacrifices"),
    (f"{TWO_SAMPLE_NUMBERS}.constants", "2**8 * 3**4", "2**4 * 3**4",
     "two-sample-constants"),
    (f"{TWO_SAMPLE_NUMBERS}.constants", "2**7 * 3**2", "2**3 * 3**2",
     "two-sample-constants"),
    (f"{TWO_SAMPLE_NUMBERS}.constants", "16 * p.K", "2 * p.K", "two-sample-variance"),
    (f"{TWO_SAMPLE_NUMBERS}.level_error", "self.tau * (8", "self.tau * (2",
     "two-sample-constants"),
    (TWO_SAMPLE_VISIT, "2 * self.parameters.tau", "8 * self.parameters.tau",
     "two-sample-event-e"),
    (TWO_SAMPLE_VISIT, "2 * self.parameters.tau", "self.parameters.tau / 4",
     "two-sample-event-e"),
    (TWO_SAMPLE_VISIT, "not (alike and recursive)", "not alike", "two-sample-metaalg"),
    (f"{GLOBAL_NUMBERS}.constants", ") / 12", ") / 6", "global-policy-worst-case"),
    (f"{GLOBAL_NUMBERS}.constants", "2 * tau**2", "16 * tau**2",
     "global-policy-constants"),
    (f"{GLOBAL_NUMBERS}.constants", "16 * p.K", "2 * p.K", "global-policy-constants"),
    (f"{GLOBAL_NUMBERS}.phi", "4 * self.tau_pol", "2 * self.tau_pol",
     "global-policy-worst-case"),
    (f"{GLOBAL_NUMBERS}.identity", "4 * self.tau_val", "16 * self.tau_val",
     "global-policy-tested"),
    (f"{GLOBAL_NUMBERS}.identity", "4 * self.tau_val", "self.tau_val",
     "global-policy-termination"),
    (f"{GLOBAL_NUMBERS}.excess", "2 * self.tau_val", "8 * self.tau_val",
     "global-policy-tested"),
    (f"{GLOBAL_STEPS}._compare", "2 * p.tau_val", "8 * p.tau_val",
     "global-policy-tested"),
    (f"{GLOBAL_STEPS}._fit", "2 * p.tau_pol", "8 * p.tau_pol", "global-policy-fit"),
    (f"{GLOBAL_STEPS}._fit", "2 * p.tau_pol", "p.tau_pol", "global-policy-fit"),
    (f"{GLOBAL_STEPS}.dfslearn", "q in self.pruned[h - 1] and", "False and",
     "global-policy-listing"),
    (LSVEE_TOLERANCE, "(self.H - level", "100 * (self.H - level",
     "lsvee-consensus lsvee-constants"),
    (LSVEE_SIZES, "2 * square + 22 * rate", "square / 8", "lsvee-constants"),
    (LSVEE_SIZES, "2 * square + 22 * rate", "200 * square", "lsvee-constants"),
    (LSVEE_SIZES, "24 * fits", "3 * fits", "lsvee-constants"),
    (LSVEE_SIZES, "2 * log(2 * N", "log(2 * N", "lsvee-constants"),
    (LSVEE_SIZES, "32 * log(12", "4 * log(12", "lsvee-constants"),
    (f"{LSVEE_STEPS}.choose", "self.members[0]", "self.members[-1]", "lsvee-on-demand"),
    (f"{LSVEE_STEPS}._dfs_learn", "if not test.agreed", "if False", "lsvee-consensus"),
    ("claims.instances:one_sample_risks", "errors * errors", "0 * errors",
     "lsvee-average-successor"),
    ("algorithms.environments.finite:FiniteTruth.optimal_policies",
     "TabularPolicy(self.policy(h))", "TabularPolicy(0 * self.policy(h))",
     "optimal-policy-is-best"),
    (f"{BACKWARDS}:theorem_parameters", "accuracy / (4 * factor)", "accuracy / factor",
     "baseline-constants"),
    (f"{BACKWARDS}:theorem_parameters", "tau / 4", "8 * tau", "baseline-constants"),
    (f"{BACKWARDS}:theorem_parameters", "square / (8 * M)", "4 * square",
     "baseline-constants"),
    (f"{RMAX}:rmax_theorem", "64 * H**2", "16 * H**2", "baseline-constants"),
    (f"{BACKWARDS}:concentrability", "K**h", "1", "baseline-constants"),
    (f"{RMAX}:RmaxParameters.patience", "/ 4", "* 4", "rmax-guarantee"),
    (f"{BACKWARDS}:uniform_rollouts", "list(later)", '["uniform"] * len(later)',
     "psdp-concentrability"),
    (f"{BACKWARDS}:backup", "next_values(data, ahead), p",
     "0 * next_values(data, ahead), p", "backup-algorithm"),
    (f"{BACKWARDS}:fqi", "(actions == b)", "(actions != b)", "fqi-propagation"),
]  # fmt: skip
LONG = {"strict-noise"}


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(m, id=str(m), marks=pytest.mark.long if m.entry in LONG else ())
        for *change, entries in MUTANTS
        for m in (Mutant(*change, entry) for entry in entries.split())
    ],
)
def test_with_a_changed_function(mutant, monkeypatch):
    mutant.apply(monkeypatch)
    assert refuted(mutant.entry)


TENTH = Fraction(1, 10)


def paying(reward):
    """Change what a try of a variable pays in strict."""
    rewards = Rewards(TENTH, TENTH, reward, Fraction(0))
    return {"rewards": lambda _: rewards}


# Without the spare state beside a side, and with literals worth nothing
NO_ROOM = forced().sides._replace(beside=Fraction(0), false=Fraction(0))
DECLARED = {
    Variant.STRICT: DECLARATIONS[Variant.STRICT]._replace,
    Variant.FORCED: lambda **changes: (
        forced()._replace(**changes) if "sides" in changes else forced(**changes)
    ),
}


@with_rows(
    "entry, variant, changes",
    ("theorem-t", Variant.STRICT, paying(Fraction(1, 20))),
    ("theorem-t", Variant.STRICT, {"ranges": Ranges(1, 4 * TENTH, 3 * TENTH, 0)}),
    ("theorem-t", Variant.STRICT, {"ranges": Ranges(1, TENTH, TENTH, 0)}),
    ("approximate-maximisers", Variant.STRICT, paying(Fraction(71, 1000))),
    ("sizes-of-the-families", Variant.FORCED, {"copies": 3}),
    ("theorem-r", Variant.FORCED, {"copies": 1}),
    # [solve] above [rest] before all is bound
    ("theorem-r", Variant.FORCED, {"side": Fraction(8, 100)}),
    # "largest" binds literals twice
    ("theorem-r", Variant.FORCED, {"reach": Fraction(1, 2)}),
    # runs stop at a try
    ("theorem-r", Variant.FORCED, {"solve": Fraction(1, 100)}),
    ("forced-noise", Variant.FORCED, {"end": Fraction(1, 4000)}),
    ("forced-noise", Variant.FORCED, {"top": TENTH / 9}),
    ("equations-behind-clauses-are-void", Variant.FORCED, {"sides": NO_ROOM}),
    ("forced-can-be-avoided", Variant.FORCED, {"sides": NO_ROOM}),
)
def test_with_other_constants_of_a_family(entry, variant, changes, monkeypatch):
    monkeypatch.setitem(DECLARATIONS, variant, DECLARED[variant](**changes))
    monkeypatch.setattr(Parameters, "_check_theorem", lambda _: None)
    assert refuted(entry)


@pytest.mark.parametrize(
    "name", ["theorem-o", "theorem-o-gap", "possible-optima", "olive-nphard-g-simple"]
)
def test_with_an_optimum_that_the_statement_does_not_say(name, monkeypatch):
    """Half of gap's rewards: 1/2 − u/(8m), and all routes of the code agree on it."""
    declared = DECLARATIONS[Variant.GAP]
    half = Rewards(*(value / 2 for value in declared.rewards(Fraction(1, 4))))
    eighth = Fraction(1, 8)
    changes = {"rewards": lambda _: half, "default_penalty": lambda _: eighth}
    mutated = declared._replace(**changes, fixed_penalty=eighth)
    monkeypatch.setitem(DECLARATIONS, Variant.GAP, mutated)
    assert refuted(name)


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


@with_rows(
    "step, without",
    ("_behind", lambda moves, j, determined: ()),
    ("_worthless", lambda moves, i: moves.layout.literal_state(i, moves.member[i])),
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


def test_with_an_iteration_more_than_the_lemma_allows(monkeypatch):
    made = two_sample._runs()
    run = made[-1]
    result = dataclasses.replace(run.result, iterations=run.parameters.iterations + 1)
    more = (*made[:-1], dataclasses.replace(run, result=result))
    monkeypatch.setattr(two_sample, "_runs", lambda: more)
    assert refuted("two-sample-metaalg")


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


def test_where_programs_are_solved_the_other_way(monkeypatch):
    def other(*given, maximise, **accuracy):
        return lp(*given, maximise=not maximise, **accuracy)

    monkeypatch.setattr(oracles, "lp", other)
    assert refuted("oracle-lp")
