"""Claims about OLIVE itself, checked on random MDPs with seed 0 on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.mdp.distributions import Distribution
from ..algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from ..algorithms.olive.environment import TabularEnvironment
from ..algorithms.olive.optimisers import BranchAndBound
from ..algorithms.olive.parameters import (
    rounds_of_a_level,
    tabular_log_size,
    theorem_parameters,
)
from ..algorithms.olive.program import OliveProgram
from ..algorithms.olive.run import olive_exact, olive_sampled
from ..algorithms.olive.sampled_program import (
    LevelData,
    SampledConstraint,
    SampledProgram,
)
from ..algorithms.olive.tiebreak import RandomTiebreak, SolverTiebreak
from . import runs
from .claim import (
    EXACT,
    EXHAUSTIVE,
    STATISTICAL,
    Evidence,
    Refuted,
    claim,
)

_MDPS = 10


def _mdp(seed: int) -> TabularMDP:
    return random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=2)


@claim(
    "olive-tabular-one-constraint-a-state",
    "Jiang et al. 2017 (Bellman rank), for tabular MDPs",
    EXHAUSTIVE,
)
def _one_constraint_a_state() -> str:
    """With exact expectations and φ = 0 OLIVE over tabular (g, π) ends with an optimal
    policy after at most one constraint a state, however ties are broken."""
    most, count = 0, runs.instances(_MDPS)
    for seed in range(count):
        mdp = _mdp(seed)
        best = mdp.optimal_values().value(mdp.start)
        for tiebreak in (SolverTiebreak(), RandomTiebreak(np.random.default_rng(seed))):
            result = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=tiebreak)
            added = len(result.constraints)
            most = max(most, added)
            value = None
            if result.policy is not None:
                value = mdp.evaluate(result.policy).value(mdp.start)
            if value != best or added > mdp.n_states or not result.proved:
                raise Refuted(
                    f"seed {seed}: value {value} for {best}, {added} constraints for "
                    f"{mdp.n_states} states"
                )
    return (
        f"{count} random MDPs of {_mdp(0).n_states} states, ties broken by the solver "
        f"and at random: always optimal, at most {most} constraints"
    )


@claim(
    "olive-sample-sizes",
    "Jiang et al. 2017, Theorem 1 and its lemmas (constants recalled)",
    EXACT,
)
def _sample_sizes() -> Evidence:
    """The theorem's sizes are enough: by Hoeffding's inequality n_est and n_eval give
    predicted values within ε/8 and average Bellman errors, of range 3, within ε/(8H),
    and by Bernstein's n (variance 4K, range 3K) those of all pairs within φ, in every
    round together with probability 1 - δ."""
    worst, delta = [0.0] * 4, 0.1
    cases = list(itertools.product((0.01, 0.3), (1, 3, 9), (1, 2, 40), (1, 2, 7)))
    for epsilon, h, k, m in cases:
        p = theorem_parameters(
            epsilon, delta, horizon=h, n_actions=k, rank=m, log_size=8.0
        )
        rounds = rounds_of_a_level(epsilon, horizon=h, rank=m)
        length = rounds * math.log(5 / 3) / m
        inside = (
            math.log(6 / delta) + 8,
            math.log(12 * h**2 * m * length / delta),
            math.log(12 * h * m * length / delta) + 8,
        )
        start = math.sqrt(inside[0] / (2 * p.n_est)) / (epsilon / 8)
        error = 3 * math.sqrt(inside[1] / (2 * p.n_eval)) / (epsilon / (8 * h))
        rate = inside[2] / p.n_train
        spread = math.sqrt(2 * 4 * k * rate) + 3 * k * rate / 3
        failure = 2 * math.exp(8 - inside[0]) + h * rounds * (
            2 * h * math.exp(-inside[1]) + 2 * math.exp(8 - inside[2])
        )
        found = start, error, spread / float(p.tolerance), failure / delta
        worst = list(map(max, worst, found))
    return Evidence(
        max(worst) <= 1 + 1e-6,
        f"{len(cases)} sets of constants: at most {worst[0]:.3g} of ε/8, "
        f"{worst[1]:.3g} of ε/(8H) and {worst[2]:.3g} of φ off, failure at most "
        f"{worst[3]:.3g} δ",
    )


@claim(
    "olive-sampled-pac",
    "Jiang et al. 2017, Theorem 1 (constants recalled)",
    STATISTICAL,
)
def _sampled_olive_is_pac() -> Evidence:
    """With the theorem's parameters sampled OLIVE returns a policy within ε of optimal
    with probability at least 1 − δ. (The probability rests on claim
    `olive-sample-sizes`; what the runs alone show is in the evidence.)"""
    epsilon, delta, worst, failed, drawn = 0.3, 0.1, Fraction(0), 0, 0
    sampled = len(runs.seeds(10))
    for seed in range(sampled):
        mdp = _mdp(seed)
        size = tabular_log_size(mdp.n_states, 2)
        sizes = {"horizon": mdp.horizon, "n_actions": 2, "rank": 2}
        parameters = theorem_parameters(epsilon, delta, **sizes, log_size=size)
        env, rng = TabularEnvironment(mdp), np.random.default_rng(seed)
        result = olive_sampled(env, parameters, rng, optimiser=BranchAndBound())
        drawn = max(drawn, result.trajectories)
        if result.policy is None:
            failed += 1
            continue
        best = mdp.optimal_values().value(mdp.start)
        lost = best - mdp.evaluate(result.policy).value(mdp.start)
        worst = max(worst, lost)
        failed += lost > Fraction(3, 10)
    # 3 failures of 10 have a probability of about 7 % if each has δ
    shown = runs.share(sampled - failed, sampled, "within ε")
    return Evidence(
        10 * failed <= 3 * sampled,
        f"ε = {epsilon}, δ = {delta}: {shown}; at most {float(worst):.3g} lost, up to "
        f"{drawn} trajectories",
    )


@claim(
    "erratum-6-importance-weight",
    "paper, eqn:oliveprobg and its form for Q-functions (eqn:oliveprobf)",
    EXACT,
    erratum="6",
)
def _importance_weight() -> Evidence:
    """The importance-weighted constraint over uniform actions is the conditional
    expectation. Without the factor K, as printed for Q-functions, φ admits K times the
    error."""
    # Compare on data in which every tuple is as frequent as it is probable.
    mdp = TabularMDP.from_lists(
        [("s", 1, [(f"a{k}", Fraction(k, 4), {}) for k in range(3)])]
    )
    data = EmpiricalMeasure(
        [0] * 3,
        actions=range(3),
        rewards=[mdp.reward(k) for k in range(3)],
        next_observations=[-1] * 3,
    )
    constraint = SampledConstraint.of(LevelData(data, 3), mdp.action_counts, 1)
    exact = OliveProgram(mdp, [Distribution.from_fractions({0: 1}, 1)])
    pair = mdp.evaluate([1]).with_policy([2])
    (error,) = exact.errors(pair)
    printed = constraint.error(pair) / 3
    given = [3], EmpiricalMeasure([0]), [constraint]
    programs = (SampledProgram(*given, abs(printed) * factor) for factor in (1, 3))
    admitted = [program.is_feasible(pair) for program in programs]
    return Evidence(
        constraint.error(pair) == error != 0 and admitted == [False, True],
        f"three actions, error {error}: with the factor {constraint.error(pair)}, "
        f"without {printed}, so φ = {abs(printed)} as printed admits what "
        f"φ = {abs(error)} does",
    )
