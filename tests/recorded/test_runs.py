"""Runs of OLIVE on the families, searches and barriers are as recorded."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from olivine import make
from olivine.algorithms import classes
from olivine.algorithms.barriers import average, backup, square_loss
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.algorithms.two_sample import deviations
from olivine.reduction.family.family import Family
from olivine.reduction.formula.formula import Formula
from olivine.reduction.run.benign import benign_run
from olivine.reduction.run.every_tie import every_tie
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.schedule import q_functions, schedule

from tests.support.recorded import fields, recorded

VARIANTS = "paper", "normalized", "gap", "all-levels", "strict", "forced"
FORMULAS = [[1, 2], [-1]], [[1, 2, 3], [-1, -2, 3], [-3]]
OF_A_VARIANT = "stated", "benign", "policies"
KEYS = [
    *(f"{name} {what}" for name in VARIANTS for what in OF_A_VARIANT),
    "every tie",
    "barriers of averages",
    "barriers of backups",
    "barriers of losses",
    "deviations",
]


def families(variant):
    """Formulas with a unit clause, and with one that no model leaves satisfied."""
    for clauses in FORMULAS:
        yield Family(Formula.from_clauses(clauses).three_sat(), variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_of_a_variant(variant) -> None:
    stated, benign = [], []
    for family in families(variant):
        stated.append([fields(move) for move in schedule(family)])
        values = [q.pair(family).values() for _, q in q_functions(family)]
        stated.append([str(v) for v in itertools.chain(*values)])
        stated.append(fields(adversarial_run(family)))
        if variant != "all-levels":
            y = np.arange(family.n_variables) % 2 == 0
            benign.append(fields(benign_run(family, y)))
    program = next(families(variant)).program()
    recorded("runs", f"{variant} stated", {"runs": stated})
    recorded("runs", f"{variant} benign", {"runs": benign})
    recorded("runs", f"{variant} policies", fields(enumerate_policies(program)))


def test_every_tie() -> None:
    found = {}
    for clauses in ([[1, 1, 1]],):
        family = Family(Formula.from_clauses(clauses), "forced")
        for levels in "lowest", "all":
            rng = np.random.default_rng(1)
            result = every_tie(family, levels=levels, rng=rng, runs=3)
            found[f"{clauses} {levels}"] = fields(result)
    recorded("runs", "every tie", found)


def test_barriers() -> None:
    averages, backups, losses = {}, {}, {}
    for m in 2, 4:
        barrier = average.AverageBarrier(m)
        rng = np.random.default_rng(m)
        averages[str(m)] = {
            "balanced": [average.balanced_policies(m), barrier.balanced()],
            "run": fields(average.run_average(barrier)),
            "all": fields(average.run_all(barrier, rng)),
        }
    for H, ratio in itertools.product((1, 2, 4), (2, Fraction(3, 2))):
        barrier = backup.BackupBarrier(H, Fraction(1, 8), ratio)
        own = {
            name: getattr(barrier, name)
            for name in ("threshold", "sample_limit", "has_ties")
        }
        own["excess"] = [barrier.excess(h) for h in range(1, H + 1)]
        for ties in "against", "for":
            for n in 1, 2, 7:
                chance = backup.failure_probability(barrier, n, ties)
                own[f"{ties} {n}"] = fields(chance), chance.middle
        own["slud"] = backup.slud_bound(barrier, 7)
        for mean in Fraction(1, 4), Fraction(1, 2), Fraction(5, 8):
            own[f"mean {mean}"] = fields(backup.replay(barrier, mean))
        drawn = backup.simulate(barrier, 5, 40, np.random.default_rng(H))
        own["drawn"] = drawn.failures, drawn.runs, drawn.interval(0.9)
        backups[f"{H} {ratio}"] = own
    for epsilon in Fraction(1, 4), Fraction(1, 16), Fraction(1, 100):
        barrier = square_loss.SquareLossBarrier(epsilon)
        policies = [*itertools.product((0, 1), repeat=2)]
        losses[str(epsilon)] = {
            "chances": barrier.chances,
            "values": [barrier.value(policy) for policy in policies],
            "losses": [
                str(barrier.square_loss(g, policy))
                for g in barrier.functions.values()
                for policy in policies
            ],
            "biases": [str(barrier.bias(g)) for g in barrier.functions.values()],
            "kept": [barrier.kept(Fraction(k, 400)) for k in (0, 1, 4, 25, 100)],
            "bad": [barrier.bad_fits_better(n) for n in (1, 2, 10, 1000)],
        }
    recorded("runs", "barriers of averages", averages)
    recorded("runs", "barriers of backups", backups)
    recorded("runs", "barriers of losses", losses)


def test_deviations() -> None:
    """Brackets for classes of each kind, one that is neither finite nor tabular too."""
    found = {}
    rng = np.random.default_rng(5)
    for seed in range(3):
        env = make("random-finite", seed, states=3, actions=2, horizon=2)
        path = (1,) if seed == 2 else ()
        data = env.draw((*path, "uniform"), 30, np.random.default_rng(seed))
        made = deviations.differences(data, env.truth, path, 2)
        size = made.c.shape[2]
        policies = (
            classes.TabularPolicyClass(len(made.r), 2),
            classes.FinitePolicyClass(rng.integers(0, 2, (3, len(made.r))), 2),
        )
        features = np.eye(max(size, len(made.r)))
        values = (
            classes.TabularValueClass(max(size, len(made.r))),
            classes.FiniteValueClass(rng.integers(0, 5, (3, len(features))) / 4),
            classes.LinearValueClass(features, bound=1),
        )
        for i, policy_class in enumerate(policies):
            for j, ahead in enumerate(values):
                first = deviations.policy_value_deviation(made, policy_class, ahead)
                found[f"{seed} {i} {j}"] = [fields(first)] + [
                    fields(
                        deviations.squared_loss_deviation(
                            made, own, policy_class, ahead
                        )
                    )
                    for own in values
                ]
    recorded("runs", "deviations", found)
