"""OLIVE as a learning algorithm.

Its bound on the rounds, its rank, its event and its sample sizes, on random MDPs and
environments at the theorem's constants (recalled), with seeds 0, 1, 2, ...
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes.q_functions import FiniteQClass
from ..algorithms.environments import from_mdp, make
from ..algorithms.environments.protocol import Environment
from ..algorithms.exact.arrays import END
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.learning.draw_classes import ClassKind, make_q_class
from ..algorithms.learning.problem import LearningResult
from ..algorithms.learning.registry import Task
from ..algorithms.mdp.planning import Distribution
from ..algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from ..algorithms.olive import run
from ..algorithms.olive.parameters import (
    rounds_of_a_level,
    tabular_log_size,
    theorem_parameters,
    trajectory_bound,
)
from ..algorithms.olive.review import TrueErrors
from ..algorithms.olive.run import LayeredEnvironment, TabularEnvironment, olive_sampled
from ..algorithms.olive_program.optimisers import BranchAndBound
from ..algorithms.olive_program.program import OliveProgram
from ..algorithms.olive_program.rounds import olive_exact
from ..algorithms.olive_program.sampled_program import (
    LevelData,
    SampledConstraint,
    SampledProgram,
)
from ..algorithms.olive_program.tiebreak import RandomTiebreak, SolverTiebreak
from . import (
    DRAWN,
    EXACT,
    MONITORED,
    STATISTICAL,
    Evidence,
    Refuted,
    claim,
    claims_of,
    samples,
)

_MDPS = 10


def _mdp(seed: int) -> TabularMDP:
    return random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=2)


_SHORT = 1 - Fraction(33, 100)
"""What is 1.1ε short of 1."""


def _lock(secret: Sequence[int], otherwise: Fraction) -> TabularMDP:
    """Make an MDP that pays 1 after the secret actions, less after any others."""
    last, states = len(secret), list[Any]()
    for h, right in enumerate(secret, start=1):
        for name in ("on", "off")[:h]:
            actions = []
            for a in (0, 1):
                ahead = "on" if name == "on" and a == right else "off"
                paid = 1 if ahead == "on" else otherwise
                following = {} if h == last else {f"{ahead}{h + 1}": 1}
                actions.append((f"a{a}", paid if h == last else 0, following))
            states.append((f"{name}{h}", h, actions))
    return TabularMDP.from_lists(states)


@claim(
    "olive-tabular-one-constraint-a-state",
    "Jiang et al. 2017 (Bellman rank), for tabular MDPs",
    DRAWN,
)
def _one_constraint_a_state() -> str:
    """With exact expectations and φ = 0 OLIVE over tabular (g, π) ends with an optimal
    policy after at most one constraint a state, however ties are broken."""
    most, count = 0, samples.instances(_MDPS)
    for seed in range(count):
        mdp = _mdp(seed)
        best = mdp.optimal_values().value(mdp.start)
        for tiebreak in (SolverTiebreak(), RandomTiebreak(np.random.default_rng(seed))):
            result = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=tiebreak)
            added = len(result.constraints)
            most = max(most, added)
            for played in result.rounds[:-1]:
                if played.errors[(played.level or 0) - 1] <= 0:
                    raise Refuted(f"seed {seed}: chosen for no error, {played.errors}")
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
        start = samples.hoeffding(inside[0], p.n_est, epsilon / 8)
        error = 3 * samples.hoeffding(inside[1], p.n_eval, epsilon / (8 * h))
        spread = samples.bernstein(inside[2], p.n_train, p.tolerance, 4 * k, 3 * k)
        failure = 2 * math.exp(8 - inside[0]) + h * rounds * (
            2 * h * math.exp(-inside[1]) + 2 * math.exp(8 - inside[2])
        )
        found = start, error, spread, failure / delta
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
    epsilon, delta, worst, drawn = 0.3, 0.1, Fraction(0), 0
    secrets = itertools.product((0, 1), repeat=3)
    given = {
        "random": [_mdp(seed) for seed in samples.seeds(10)],
        # Only the secret is within ε. A run that stops too soon takes another.
        "locks": [_lock(s, p) for s in secrets for p in (Fraction(0), _SHORT)],
    }
    failed = dict.fromkeys(given, 0)
    every = [(kind, k, mdp) for kind in given for k, mdp in enumerate(given[kind])]
    for kind, seed, mdp in every:
        size = tabular_log_size(mdp.n_states, 2)
        sizes = {"horizon": mdp.horizon, "n_actions": 2, "rank": 2}
        parameters = theorem_parameters(epsilon, delta, **sizes, log_size=size)
        env, rng = TabularEnvironment(mdp), np.random.default_rng(seed)
        ties = RandomTiebreak(rng) if kind == "locks" else SolverTiebreak()
        exact = BranchAndBound()
        result = olive_sampled(env, parameters, rng, optimiser=exact, tiebreak=ties)
        for played in result.rounds[:-1]:
            chosen = played.errors[(played.level or 0) - 1]
            if chosen * mdp.horizon < parameters.stop:
                raise Refuted(f"{kind}, {seed}: a level with an error of {chosen}")
        drawn = max(drawn, result.trajectories)
        if result.policy is None:
            failed[kind] += 1
            continue
        best = mdp.optimal_values().value(mdp.start)
        lost = best - mdp.evaluate(result.policy).value(mdp.start)
        worst = max(worst, lost)
        failed[kind] += lost > Fraction(3, 10)
    # 3 failures of 10 have a probability of about 7 % if each has δ
    good = len(every) - sum(failed.values())
    shown = samples.share(good, len(every), "within ε")
    return Evidence(
        all(10 * failed[kind] <= 3 * len(given[kind]) for kind in given),
        f"ε = {epsilon}, δ = {delta}: {shown}; at most {float(worst):.3g} lost, up to "
        f"{drawn} trajectories",
    )


@claim(
    "erratum-6-importance-weight",
    "paper, eqn:oliveprobg and its form for Q-functions (eqn:oliveprobf)",
    EXACT,
    "6",
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


jiang = claims_of("Jiang et al. 2017")
_EPSILON, _DELTA = 0.3, 0.1


def _stochastic(seed: int) -> Environment:
    rng = np.random.default_rng(seed)
    return from_mdp(random_tabular_mdp(rng, horizon=3, width=2))


def _learn(environment: Environment, classes: ClassKind, seed: int) -> LearningResult:
    rng = np.random.default_rng([seed, 1])
    settings = {"size": 256} if classes == "finite" else {}
    return run(Task(environment, "theorem", classes, _EPSILON, _DELTA, rng, settings))


@samples.made_once
def _runs() -> tuple[LearningResult, ...]:
    """Run on deterministic and stochastic dynamics, with both kinds of classes."""
    found = []
    for seed in samples.seeds(8):
        found.append(_learn(make("random-finite", seed, states=3), "finite", seed))
        found.append(_learn(_stochastic(seed), "finite", seed))
    for seed in samples.seeds(2):
        found.append(_learn(make("random-finite", seed), "tabular", seed))
        found.append(_learn(_stochastic(seed), "tabular", seed))
    return tuple(found)


@jiang("olive-good-event", "Theorem 1 and its lemmas (recalled)", MONITORED)
def _good_event() -> Evidence:
    """With the theorem's constants, where estimates keep to ε/8, ε/(8H) and φ: the
    optimal pair satisfies every constraint, so the predicted value is at least V* − ε/8
    in every round; every round's constraint rules out its own pair; at most M ln(6H√M
    ζ/ε)/ln(5/3) rounds choose the same level; the policy returned loses at most ε."""
    lemmas = "optimum-kept", "optimism", "progress", "rounds", "finishes"
    names = (*lemmas, "policy-bound", "maximiser", "trajectories")
    found = samples.held(_runs(), *names)
    inside = sum(map(samples.premises_hold, _runs()))
    rounds = [result.iterations for result in _runs()]
    return Evidence(
        found.holds and inside >= (1 - _DELTA) * len(_runs()),
        f"{found.text}; {min(rounds)} to {max(rounds)} rounds",
    )


@claim(
    "olive-stochastic-dynamics",
    "paper, section OLIVE is not Oracle-Efficient (stochastic hidden dynamics)",
    STATISTICAL,
)
def _stochastic_dynamics() -> Evidence:
    """With stochastic hidden dynamics OLIVE learns an ε-optimal policy with probability
    at least 1 − δ, from polynomially many trajectories: at most of order M² H³ K
    ln(N/δ)/ε² up to logarithms. (The probability rests on claim `olive-sample-sizes`;
    what the runs alone show is in the evidence. That no other algorithm is known to is
    a remark on the literature of 2018 and not checked.)"""
    good = count = most = 0
    played = len(samples.seeds(20))
    for seed in range(played):
        environment = _stochastic(seed)
        result = _learn(environment, "finite", seed)
        count += not environment.deterministic
        most = max(most, result.trajectories)
        good += result.succeeded and result.monitors["epsilon-optimal"].holds is True
    sizes = {"M": 2, "K": 2, "H": 3}

    def bound(**changed: int) -> int:
        return trajectory_bound(_EPSILON, _DELTA, log_size=10.0, **sizes | changed)

    orders = {
        name: math.log2(bound(**{name: size * 2**10}) / bound()) / 10
        for name, size in sizes.items()
    }
    allowed = {"M": 2, "K": 1, "H": 3}
    polynomial = all(orders[name] < allowed[name] + 0.5 for name in orders)
    # 5 failures of 20 have a probability below 5 % if each has δ
    return Evidence(
        4 * good >= 3 * played and 2 * count >= played and polynomial,
        f"{samples.share(good, played, 'within ε')}; {count} with stochastic dynamics, "
        f"at most {most} trajectories; over ten doublings the bound grows with "
        "exponents " + ", ".join(f"{orders[name]:.2f} in {name}" for name in orders),
    )


@jiang(
    "olive-bellman-rank",
    "Proposition on the Bellman rank of rich observations (recalled)",
    EXACT,
)
def _bellman_rank() -> str:
    """The average Bellman errors of pairs under policies, a matrix for each level, have
    rank at most the number of hidden states of the level, however many observations
    there are; each entry is an inner product of vectors of norm at most 1 and 2√M."""
    highest = {1: 0, 2: 0, 3: 0}
    for seed in range(4):
        env = make("random-finite", seed, states=3, actions=3, observations=4)
        functions = make_q_class(env, np.random.default_rng(seed), size=16)
        layered = LayeredEnvironment(env, functions)
        truth, pairs = TrueErrors(env, layered.offsets), layered.pairs(functions)
        for level, states in ((1, 1), (2, 3), (3, 3)):
            rows = [[truth.error(f, p, level) for f in pairs] for p in pairs]
            rank = _rank(rows)
            highest[level] = max(highest[level], rank)
            if rank > states:
                raise Refuted(f"seed {seed}, level {level}: rank {rank}")
            vectors = [truth.by_state(pair, level) for pair in pairs]
            if max(sum(v * v for v in vector) for vector in vectors) > 4 * states:
                raise Refuted(f"seed {seed}, level {level}: norm above 2√M")
    return (
        "16 pairs and their policies in 4 environments with 4, 12 and 12 observations "
        f"a level: ranks up to {list(highest.values())} for 1, 3 and 3 hidden states"
    )


def _rank(rows: Sequence[Sequence[Fraction]]) -> int:
    """Rank in rationals."""
    from flint import fmpq, fmpq_mat  # a while that listing the claims spares

    exact = [[fmpq(v.numerator, v.denominator) for v in row] for row in rows]
    return int(fmpq_mat(exact).rank())


@claim(
    "olive-q-functions-as-pairs",
    "paper, section Function Classes and appendix Oracle-Inefficiency (F form)",
    EXACT,
)
def _q_functions_as_pairs() -> str:
    """OLIVE with Q-functions f is OLIVE with the pairs (x ↦ max_a f(x,a), π_f):
    predicted values and average Bellman errors are equal on all data."""
    compared = 0
    for seed in range(6):
        env = make("random-finite", seed, states=2, actions=3)
        rng = np.random.default_rng(seed)
        functions = make_q_class(env, rng, size=12)
        layered = LayeredEnvironment(env, functions)
        pairs = layered.pairs(functions)
        starts = layered.starts(200, rng)
        program = SampledProgram(layered.action_counts, starts)
        predicted = functions.state_values(1, starts.codes())
        for values, pair in zip(predicted, pairs, strict=True):
            if starts.expectation_exact(values) != program.objective(pair):
                raise Refuted(f"seed {seed}: another predicted value")
        for level, p in itertools.product((1, 2, 3), (0, 5, 11)):
            drawn = layered.draw(
                [*[pairs[p].policy] * (level - 1), "uniform"], 200, rng
            )
            constraint = SampledConstraint.of(drawn, layered.action_counts, level)
            for i, pair in enumerate(pairs):
                compared += 1
                if constraint.error(pair) != _q_error(
                    functions, i, drawn, level, layered
                ):
                    raise Refuted(f"seed {seed}, level {level}, member {i}")
    return f"equal in {compared} cases, exactly"


def _q_error(
    functions: FiniteQClass,
    number: int,
    drawn: LevelData,
    level: int,
    layered: LayeredEnvironment,
) -> Fraction:
    """Ê_D[K 1{a = π_f(x)} (f(x, a) − r − f(x′, π_f(x′)))], tuple by tuple."""
    data, total = drawn.tuples, Fraction(0)
    if data is None or data.actions is None:
        raise AssertionError("every episode reaches every level and has actions")
    k, here, after = (
        functions.n_actions,
        functions.member(number),
        data.codes("next_observations"),
    )
    greedy = here.greedy()
    codes = data.codes() - layered.offsets[level - 1]
    q, chosen = here.values(level, codes), greedy[level - 1](codes)
    for row, a in enumerate(data.actions.tolist()):
        if a != chosen[row]:
            continue
        later = Fraction(0)
        if after[row] != END:
            x = after[row : row + 1] - layered.offsets[level]
            following = here.values(level + 1, x)[0]
            later = following[int(greedy[level](x)[0])]
        residual = q[row, a] - data.exact_rewards[row] - later
        total += int(data.weights[row]) * residual
    return k * total / drawn.trajectories
