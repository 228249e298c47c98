"""Baselines.

Guarantees of PSDP, fitted Q iteration, Bellman backups and R-max, with uniform roll-in
or hidden states, and instances on which they fail.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.baselines.backwards import backup, fqi, psdp
from ..algorithms.baselines.parameters import (
    BACKUP,
    FQI,
    PSDP,
    BatchParameters,
    RmaxParameters,
    practical_parameters,
    rmax_theorem,
    theorem_parameters,
)
from ..algorithms.baselines.review import BaselineMonitors
from ..algorithms.baselines.rmax import Decoding, rmax
from ..algorithms.classes import TabularPolicy
from ..algorithms.environments import from_lists, make
from ..algorithms.environments.finite import finite_model, occupancies
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.monitors import with_monitors
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.valor.algorithm import valor
from ..algorithms.valor.parameters import PracticalParameters
from . import (
    EXACT,
    MONITORED,
    STATISTICAL,
    Evidence,
    Refuted,
    claim,
    claims_of,
    samples,
)
from .instances import amplified, unrepresented

appendix = claims_of("paper, appendix Additional Barriers")
OWN = "this project, docs/baselines.md"
ours = claims_of(OWN)
_EPSILON, _DELTA = 0.3, 0.1


@appendix("backup-algorithm", "Definition (Bellman backup algorithm)", MONITORED)
def _backup_algorithm() -> Evidence:
    """With n samples of every state, V* - V^π̂ is at most the sum over levels of what
    π̂_h loses and twice (h-1) times the error of ĝ_h in a state. So with complete
    classes a size polynomial in H is enough: what the barrier exploits is that
    completeness is missing."""
    return _monitored(BACKUP)


@claim("psdp-concentrability", f"{OWN}; Bagnell, Kakade, Ng, Schneider 2003", MONITORED)
def _psdp_concentrability() -> Evidence:
    """PSDP with uniform roll-in: V* - V^π̂ is at most the sum over levels of K^(h-1)
    times what π̂_h loses under uniform roll-in to the best action against the later
    policies. With policy completeness the stated sizes give ε."""
    return _monitored(PSDP)


@claim(
    "fqi-propagation",
    f"{OWN}; Munos, Szepesvári 2008, for discounted problems",
    MONITORED,
)
def _fqi_propagation() -> Evidence:
    """Fitted Q iteration with uniform roll-in: V* - V^π̂ is at most 2 Σ_h h √(K^(h-1)
    σ_h), σ_h being the squared errors of the K regressions of a level against true
    backups. With complete classes the stated sizes give ε."""
    return _monitored(FQI)


@claim("rmax-guarantee", f"{OWN}; Brafman, Tennenholtz 2002", MONITORED)
def _rmax_guarantee() -> Evidence:
    """R-max on decoded states: where known pairs are as accurate as meant, the
    optimistic value is at least V* - ε/4, and at most V^π̂ + ε/4 plus the probability
    of reaching an unknown pair. The stated sizes give ε, whatever the hidden dynamics.
    """
    return _monitored("rmax")


@claim("uniform-roll-in", OWN, EXACT)
def _uniform_roll_in() -> Evidence:
    """Uniform actions reach every hidden state with at least K^-(h-1) of the
    probability with which any policy reaches it. On the published lock, where 2 of 4
    actions are good, they are in a good state at level h with probability 2^-(h-1), an
    optimal policy surely."""
    worst, holds = Fraction(10**6), True
    locks = samples.instances(20, least=4)
    for seed in range(locks):
        env = make("lock", seed, horizon=4, observations="codes", dimension=1,
                   switch=0.25 if seed % 2 else 0.0)  # fmt: skip
        model = finite_model(env)
        if model is None:
            raise ValueError("lock: observations are no codes")
        uniform = occupancies(model, ["uniform"] * 4)
        holds &= all(sum(p[:2]) == Fraction(1, 2**h) for h, p in enumerate(uniform))
        rng = np.random.default_rng(seed)
        others = [env.truth.optimal_policies()]
        for _ in range(5):
            tables = [rng.integers(4, size=level.n_codes) for level in model.levels]
            others.append([TabularPolicy(table) for table in tables])
        for policies in others:
            for h, (p, q) in enumerate(
                zip(occupancies(model, policies), uniform, strict=True)
            ):
                ratios = [4**h * b / a for a, b in zip(p, q, strict=True) if a]
                worst = min(worst, *ratios)
        best = occupancies(model, others[0])
        holds &= bool(env.truth.optimal_value == Fraction(1, 2))
        holds &= all(sum(p[:2]) == 1 for p in best)
    return Evidence(
        holds and worst >= 1,
        f"{locks} locks with 6 policies each: K^(h-1) times the ratio is at least "
        f"{worst}",
    )


@claim("fqi-needs-all-of-q", OWN, EXACT)
def _fqi_needs_all_of_q() -> Evidence:
    """Fitted Q iteration needs more than g* in G: where Q* of an action that is not
    best has no function in G, it can lose all of V* with any amount of data, although
    the paper's realizability holds. VALOR is optimal with these classes."""
    made = unrepresented()
    env = made.environment
    values = []
    for n in (10**4, 10**9, 10**18):
        parameters = practical_parameters(FQI, 0.2, 0.1, M=2, K=2, H=2, n=n)
        found = fqi(env, made.values, parameters, np.random.default_rng(0))
        values.append(_value(env, found))
    found = _practical_valor(made)
    best = env.truth.optimal_value
    return Evidence(
        values == [0, 0, 0] and found.succeeded and _value(env, found) == best,
        f"value 0 of {best} with 10^4, 10^9 and 10^18 trajectories a level; VALOR "
        f"{_value(env, found)} with {found.trajectories} in all",
    )


@appendix(
    "backup-barrier-q-functions",
    "remark after the theorem on Bellman backups (Q-functions)",
    STATISTICAL,
)
def _backup_barrier_q_functions() -> Evidence:
    """The barrier is there for Q-functions, too: with Q* realizable but classes not
    complete, fitted Q iteration loses 1/4 with 10^8 trajectories at each of 26 levels,
    with probability above 1/2. No tie is needed, errors grow by 3/2 a level. VALOR
    succeeds with the same classes and 2,000 trajectories."""
    made, count = amplified(26), len(samples.seeds(8))
    env = made.environment
    parameters = practical_parameters(FQI, 0.2, 0.1, M=4, K=4, H=26, n=10**8)
    lost = 0
    for seed in range(count):
        found = fqi(env, made.values, parameters, np.random.default_rng(seed))
        lost += env.truth.optimal_value - _value(env, found) == Fraction(1, 4)
    found = _practical_valor(made)
    good = found.succeeded and _value(env, found) == env.truth.optimal_value
    share = 0.01 ** (1 / count)  # Clopper and Pearson, if every run failed
    return Evidence(
        lost == count and good and found.trajectories <= 2000,
        f"{lost} of {count} runs lose 1/4 with {26 * 10**8:.1e} trajectories, so a "
        f"share above {share:.2f} with confidence 99%; VALOR is optimal with "
        f"{found.trajectories}",
    )


def _practical_valor(made: Problem) -> LearningResult:
    parameters = PracticalParameters(0.2, 0.1, *samples.problem(made)[:3])
    return valor(*samples.parts(made), parameters, np.random.default_rng(0))


def _value(env: Environment, found: LearningResult) -> Fraction:
    return env.truth.policy_value(list(found.policies or ()))


def _monitored(name: str) -> Evidence:
    """Run at the theorem's constants on random environments; no claim is violated."""
    faults: list[str] = []
    env: Environment = _later_pays()
    result = run_monitored(name, env, np.random.default_rng(0))
    lost = env.truth.optimal_value - _value(env, result)
    if lost or result.contradictions:
        faults.append(f"loses {lost} where the sure reward is not the best")
    good, checks, count = 0, 0, len(samples.seeds(6))
    for seed in range(count):
        options = {"states": 2 + seed % 2, "horizon": 2 + seed % 3, "distinct": False}
        env = make("random-finite", seed, **options)
        if name == "rmax" and seed % 2:  # dynamics may be stochastic
            env = make("lock", seed, observations="codes", dimension=0, switch=0.1,
                       horizon=3)  # fmt: skip
        result = run_monitored(name, env, np.random.default_rng([seed, 1]))
        faults += result.contradictions
        good += result.monitors["epsilon-optimal"].holds is True
        checks += sum(m.checks for m in result.monitors.values())
    shown = samples.share(good, count, "ε-optimal")
    return Evidence(
        not faults and good == count,
        "; ".join(faults) or f"{shown}; {checks} checks without a violation",
    )


def _later_pays() -> Environment:
    """Make an environment where what is sure now is 3/5, what comes later up to 1.

    It takes the right action at level 2 to get 1; uniform ones get 1/2.
    """
    return from_lists(
        [
            [("start", {"x": 1}, {"x": [Fraction(3, 5), 0]}, ["safe", "risk"])],
            [
                ("safe", {"y": 1}, {"y": [0, 0]}, []),
                ("risk", {"z": 1}, {"z": [0, 1]}, []),
            ],
        ],
        "later-pays",
    )


@ours("baseline-constants", "the sizes", EXACT)
def _constants() -> str:
    """The stated sizes are enough. By Hoeffding's inequality and a union bound the data
    of PSDP give policy values (range K), those of fitted Q iteration and of Bellman
    backups squared losses (range 6K), with probability 1 - δ within accuracies that
    bring the losses of the other entries to at most ε, and of PSDP and fitted Q
    iteration to at least 9ε/10; and with m visits of R-max the error of a known pair
    in reward plus next value is at most ε/(4H), and at least 9/10 of it."""
    compared, classes = 0, {"log_G": 3.0, "log_Pi": 9.0}
    sizes = ((1, 1, 1), (2, 2, 3), (5, 3, 2), (3, 4, 6))
    for (m, k, h), eps in itertools.product(sizes, (0.02, 0.5)):
        for name in (PSDP, FQI, BACKUP):
            p = theorem_parameters(name, eps, _DELTA, M=m, K=k, H=h, **classes)
            least = 0.9 if name != BACKUP else 0.15 if h > 1 else 0.002
            if not least * eps <= _loss(p, **classes) <= eps:
                raise Refuted(f"{name}, M = {m}, K = {k}, H = {h}: n = {p.n}")
        r = rmax_theorem(eps, _DELTA, X=m, K=k, H=h)
        inside = m * math.log(2) + math.log(8 * m * k * h / _DELTA)
        near = math.sqrt(4 * inside / r.m)  # Hoeffding's inequality, maximal form
        if not 0.9 <= near * 4 * h / eps <= 1 or r.patience * 4 != r.n * r.eps:
            raise Refuted(f"R-max, X = {m}, K = {k}, H = {h}: m = {r.m}")
        compared += 4
    return f"{compared} sets of sizes, by the bounds of the other entries"


def _loss(p: BatchParameters, log_G: float, log_Pi: float) -> float:
    """Bound V* - V^π̂, where deviations are as Hoeffding's inequality has them."""
    logs = {PSDP: log_Pi, FQI: log_G, BACKUP: log_G + log_Pi}[p.algorithm]
    sets = {PSDP: 4 * p.H, FQI: 4 * p.H * p.K, BACKUP: 8 * p.M * p.H}[p.algorithm]
    width = p.K if p.algorithm == PSDP else 6 * p.K
    off = width * samples.hoeffding(math.log(sets / _DELTA) + logs, p.n, 1)
    gap = (1 - 1e-9) * (2 * off + float(p.eps_sub))  # rounding of logarithms
    levels = range(1, p.H + 1)
    if p.algorithm == PSDP:
        return gap * sum(float(p.K ** (h - 1)) for h in levels)
    if p.algorithm == FQI:
        return 2 * sum(h * math.sqrt(p.K**h * gap) for h in levels)
    worst = p.M * gap  # all of it may be in one of the states, equally weighted
    return sum(worst + 2 * (h - 1) * math.sqrt(worst) for h in levels)


def run_monitored(
    name: str, env: Environment, rng: np.random.Generator
) -> LearningResult:
    """Run a baseline at its sufficient sizes with tabular classes and monitors."""
    sizes = {"K": env.n_actions, "H": env.horizon}
    learn: Any
    classes: tuple[Any, ...] = ()
    parameters: BatchParameters | RmaxParameters
    if name == "rmax":
        cells = Decoding(env).most_cells
        parameters = rmax_theorem(_EPSILON, _DELTA, X=cells, **sizes)
        learn = rmax
    else:
        values, policies = make_classes(env, "tabular", rng)
        logs = {"log_G": values.log_size(squared=True), "log_Pi": policies.log_size()}
        given: dict[str, Any] = {"M": env.max_states} | sizes | logs
        parameters = theorem_parameters(name, _EPSILON, _DELTA, **given)
        own: dict[str, tuple[Callable[..., LearningResult], tuple[Any, ...]]] = {
            PSDP: (psdp, (policies,)),
            FQI: (fqi, (values,)),
            BACKUP: (backup, (values, policies)),
        }
        learn, classes = own[name]
    monitors = BaselineMonitors(Problem(env, complete=True), parameters)
    result = learn(env, *classes, parameters, rng, observers=[monitors])
    return with_monitors(result, monitors.reports(result))
