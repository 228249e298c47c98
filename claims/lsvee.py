"""LSVEE.

What the paper says of it, and the analysis of its constants. These are recalled, and
what is claimed of their analysis was derived anew for them. Runs are at those
constants, with seeds 0, 1, 2, ...
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes.q_functions import FiniteQClass
from ..algorithms.environments import make
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.draw_classes import make_q_class, optimal_member
from ..algorithms.learning.events import Observer
from ..algorithms.learning.problem import LearningResult, Problem
from ..algorithms.lsvee.algorithm import Elimination, lsvee
from ..algorithms.lsvee.parameters import LsveeTheorem, Sizes
from ..algorithms.lsvee.review import LsveeMonitors, optimal_q
from ..algorithms.valor.algorithm import valor
from ..algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters
from . import EXACT, MONITORED, Evidence, Refuted, claim, claims_of, samples
from .instances import (
    decoupled,
    far_apart,
    misled_at,
    noisy_successor,
    one_sample_risks,
)

section = claims_of("paper, section VALOR, What is new compared to LSVEE")
analysis = claims_of("Krishnamurthy, Agarwal, Langford 2016, recalled; docs/lsvee.md")
_EPSILON, _DELTA = 0.3, 0.1


def _run(
    env: Environment, functions: FiniteQClass, seed: int, *more: Observer
) -> LearningResult:
    sizes = env.max_states, env.n_actions, env.horizon, len(functions)
    parameters = LsveeTheorem(_EPSILON, _DELTA, *sizes)
    monitors = LsveeMonitors(Problem(env, functions), parameters)
    return samples.monitored_run(
        lsvee, (env, functions, parameters), monitors, seed, more
    )


@samples.made_once
def _runs() -> tuple[LearningResult, ...]:
    """Random environments, and two in which every test passes at first."""
    found = []
    for seed in samples.seeds(8):
        env = make("random-finite", seed, states=3, actions=3, horizon=3)
        functions = make_q_class(env, np.random.default_rng([seed, 1]))
        found.append(_run(env, functions, seed))
    for horizon in (2, 3):
        made = misled_at(horizon)
        found.append(_run(made.environment, made.functions, horizon))
    return tuple(found)


@section("lsvee-bellman-errors", "(LSVEE tests squared Bellman errors)", EXACT)
def _bellman() -> str:
    """E[(f(x,a) - r - E_x' max_a' f(x',a'))²] is the noise of r plus the mean squared
    Bellman error of f, which is 0 for Q*: no function has less than Q*. Under
    deterministic dynamics E_x' is an average over the state that the path leads to.
    (What the paper calls a state identity test on these errors is, in LSVEE, an
    elimination; states are distinguished by a consensus of values.)"""
    compared = 0
    for seed in range(samples.instances(5)):
        env = make("random-finite", seed, states=3, actions=3, horizon=3)
        functions = make_q_class(env, np.random.default_rng(seed), size=32)
        best = optimal_member(functions, env)
        for path in ((), (0,), (1, 0)):
            found = _population_risks(env, functions, path)
            gaps = _squared_bellman_errors(env, functions, path)
            noise = {risk - gap for risk, gap in zip(found, gaps, strict=True)}
            compared += len(found)
            if len(noise) > 1 or best is None or gaps[best] != 0:
                raise Refuted(f"seed {seed}, path {list(path)}")
    return f"exactly equal for {compared} functions and states"


def _futures(env: Environment, functions: FiniteQClass, path: Any) -> Any:
    """V^f(p∘a), in full: (N, K)."""
    table = np.full((len(functions), env.n_actions), Fraction(0), dtype=object)
    if (level := len(path) + 1) < env.horizon:
        for a in range(env.n_actions):
            chances = env.truth.observation_probabilities((*path, a))
            table[:, a] = functions.table(level + 1).max(axis=2) @ chances
    return table


def _population_risks(
    env: Environment, functions: FiniteQClass, path: Any
) -> list[Fraction]:
    """E[(f(x,a) - r - V^f(p∘a))²], by listing every (x, a, r)."""
    truth: Any = env.truth
    level = truth.model.level(len(path) + 1)
    chances = truth.observation_probabilities(path)
    ahead = _futures(env, functions, path)
    table = functions.table(len(path) + 1)
    total = np.full(len(functions), Fraction(0), dtype=object)
    for x in np.flatnonzero(chances):
        for a in range(env.n_actions):
            whole = int(level.reward_totals[x, a])
            units, weights = level.reward_units[x, a], level.reward_weights[x, a]
            for unit, weight in zip(units.tolist(), weights.tolist(), strict=True):
                share = Fraction(weight, whole)
                reward = Fraction(unit, truth.model.unit)
                error = table[:, x, a] - reward - ahead[:, a]
                total += chances[x] * share / env.n_actions * error * error
    return [Fraction(v) for v in total.tolist()]


def _squared_bellman_errors(
    env: Environment, functions: FiniteQClass, path: Any
) -> list[Fraction]:
    """E[(f(x,a) - E[r|x,a] - V^f(p∘a))²]; E[r|x,a] = Q* - V*(p∘a)."""
    chances = env.truth.observation_probabilities(path)
    ahead = _futures(env, functions, path)
    best = np.array(
        [env.truth.path_value((*path, a)) for a in range(env.n_actions)], dtype=object
    )
    means = optimal_q(env, len(path) + 1) - best
    errors = functions.table(len(path) + 1) - means[None] - ahead[:, None, :]
    found = ((errors * errors).sum(axis=2) / env.n_actions) @ chances
    return [Fraction(v) for v in found.tolist()]


@section(
    "lsvee-average-successor",
    "(the expectation over x' stands inside the square)",
    EXACT,
)
def _average() -> Evidence:
    """With one sampled x' in place of the expectation the squared error also holds the
    variance of max f(x', ·), and a wrong function can have less than Q*; with the
    average both have 0."""
    made, events = noisy_successor(), list[Any]()
    wrong, right = one_sample_risks(made, (), 10**6, np.random.default_rng(0))
    _run(made.environment, made.functions, 0, events.append)
    averaged = next(e for e in events if isinstance(e, Elimination))
    small = max(averaged.risks.tolist()) <= averaged.sizes.slack
    return Evidence(
        bool(wrong < right and small and averaged.kept.all()),
        f"one x': {wrong} and, for Q*, {right}; average: at most "
        f"{float(max(averaged.risks.tolist())):.1e}, both kept",
    )


@section(
    "lsvee-enumerates",
    "(no efficient solution is obvious for LSVEE's problems)",
    MONITORED,
)
def _enumerates() -> Evidence:
    """LSVEE as stated evaluates every surviving function on every data set, at least 2N
    in all for H > 1. VALOR, on these functions taken apart into values and policies,
    calls 2K LP oracles and one CSC oracle a learned state and H more, whatever N."""
    env = make("random-finite", 0, states=3, actions=3, horizon=3)
    looked, called = [], []
    sizes = (16, 64, 256, 1024)[: samples.instances(4)]
    for size in sizes:
        functions = make_q_class(env, np.random.default_rng(0), size=size)
        looked.append(_run(env, functions, 0).enumerated)
        values, policies = decoupled(functions)
        parameters = TheoremParameters(
            _EPSILON, _DELTA, 3, 3, 3, values.log_size(), policies.log_size()
        )
        rng = np.random.default_rng(1)
        result = valor(env, values, policies, parameters, rng)
        called.append(sum(result.calls.values()))
    least = all(n >= 2 * size for n, size in zip(looked, sizes, strict=True))
    # M = K = H = 3: 1 + 3 + 3 states, all but the last 3 with tests below them
    most = 2 * 3 * 4 + 7 + 3
    return Evidence(
        least and max(called) <= most,
        f"N = {sizes}: functions evaluated {looked}, oracle calls {called}",
    )


@analysis("lsvee-elimination", "(TD elimination)", MONITORED)
def _elimination() -> Evidence:
    """In the good event (deviation bounds of all tests and eliminations) Q* is never
    eliminated, and survivors have root mean square Bellman errors of at most 5φ/2 where
    a state was learned."""
    return samples.held(_runs(), "qstar-kept", "td-errors")


@analysis("lsvee-consensus", "(consensus test)", MONITORED)
def _consensus() -> Evidence:
    """In the good event values of survivors at a learned state of level h differ from
    each other and from V* by at most (H-h-1/4)ε/(16H²) + 5√Kφ, estimates handed to an
    elimination by (H-h-1/4)ε/(16H²), and no learned state is descended into."""
    names = "consensus", "futures", "value-accuracy", "no-relearning", "terminates"
    tolerance = Fraction(3, 4) * Fraction(3, 10) / (16 * 2**2)  # h = 1, H = 2
    learned = []
    for share in (Fraction(999, 1000), Fraction(1001, 1000)):
        made = far_apart(share * tolerance)
        learned.append(_run(made.environment, made.functions, 0).learned[1])
    if learned[0] or not learned[1]:
        raise Refuted(f"states learned just below and above the tolerance: {learned}")
    return samples.held(_runs(), *names)


@analysis("lsvee-policy", "(value of a policy)", MONITORED)
def _policy() -> Evidence:
    """In the good event a survivor's value at the start exceeds the value of its policy
    by at most p_ul + H(5√Kφ/2 + φ/2), p_ul being the probability of reaching a state
    that is not learned."""
    return samples.held(_runs(), "policy-bound")


@claim(
    "lsvee-on-demand", "paper, section VALOR (exploration on demand is LSVEE's)", EXACT
)
def _on_demand() -> Evidence:
    """Consensus can hold while every policy is wrong below the root; exploration on
    demand then learns one state of the optimal path after the other."""
    misled = _runs()[-2:]
    iterations = [run.iterations for run in misled]
    good = all(run.monitors["epsilon-optimal"].holds for run in misled)
    progress = all(run.monitors["progress"].holds for run in misled)
    return Evidence(
        good and progress and iterations == [2, 3],
        f"H = 2, 3: {iterations} policies tried, the last optimal",
    )


@analysis("lsvee-theorem", "(PAC bound)", MONITORED)
def _theorem() -> Evidence:
    """At the recalled constants LSVEE returns an ε-optimal policy with probability 1 -
    δ, within M(H-1) + 1 descents and M H · (H-1) n_2 calls on demand of K n_test +
    n_train trajectories each, and M H + 1 evaluations. (The probability rests on claim
    `lsvee-constants`; what the runs alone show is in the evidence.)"""
    good = samples.mostly(_runs(), "epsilon-optimal", "ε-optimal", 1 - _DELTA)
    within = samples.count(_runs(), "trajectories") == len(_runs())
    return Evidence(
        within and good.holds, f"{good.text} (ε = {_EPSILON}, δ = {_DELTA})"
    )


after_bound = claims_of("paper, section VALOR, after the PAC bound")
_TENTH = Fraction(1, 10)


@after_bound(
    "lsvee-exponents",
    "(VALOR is worse in M, H and ε; its constrained form better)",
    EXACT,
)
def _exponents() -> Evidence:
    """Up to logarithms the trajectories grow like M H⁶K²/ε³ for LSVEE, M³H⁸K/ε⁵ for
    VALOR and M H⁶K/ε³ for its constrained form: VALOR is worse in M, H and ε, and the
    constrained form better by a factor of K, which its larger constants outweigh for
    small K."""
    wanted = {
        "lsvee": {"M": 1, "H": 6, "K": 2, "eps": 3},
        VALOR: {"M": 3, "H": 8, "K": 1, "eps": 5},
        CONSTRAINED: {"M": 1, "H": 6, "K": 1, "eps": 3},
    }
    worst = 0.0
    for name, exponents in wanted.items():
        for variable, exponent in exponents.items():
            worst = max(worst, abs(_slope(name, variable) - exponent))
    counts = (2, 1024)
    smaller = [
        k for k in counts if _bound(CONSTRAINED, {"K": k}) < _bound("lsvee", {"K": k})
    ]
    return Evidence(
        worst < 0.1 and smaller == [1024],
        f"slopes from 10^40 to 10^41 differ from the exponents by {worst:.2f} at most; "
        f"of K in {counts} the constrained bound is smaller for {smaller}",
    )


def _bound(name: str, changed: dict[str, Any]) -> int:
    """Trajectories at ε = 0.3, δ = 0.1, M = 2, K = 2, H = 3, 64 functions."""
    p = {"eps": Fraction(3, 10), "M": 2, "K": 2, "H": 3} | changed
    if name == "lsvee":
        made = LsveeTheorem(p["eps"], _TENTH, p["M"], p["K"], p["H"], 64)
        return made.trajectory_bound
    log_size = math.log(64)
    return TheoremParameters(
        p["eps"], _TENTH, p["M"], p["K"], p["H"], log_size, log_size, name
    ).trajectory_bound


def _slope(name: str, variable: str) -> float:
    """Decimal logarithm of how the bound grows when a variable does, tenfold."""
    bounds = []
    for size in (10**40, 10**41):
        value = Fraction(1, size) if variable == "eps" else size
        bounds.append(_bound(name, {variable: value}))
    return math.log10(bounds[1]) - math.log10(bounds[0])


@analysis("lsvee-constants", "(do the constants suffice?)", EXACT)
def _constants() -> Evidence:
    """With tests accurate to φ/2 and Bernstein's inequality (variance of the excess
    loss at most 9 times its mean, range 5), the recalled n_test, n_train and slack keep
    Q* and bound the errors of survivors by 5φ/2; the tolerance then passes learned
    states; acceptance within ε/2 loses at most ε, and a rejected policy reaches an
    unlearned state with probability at least ε/8. Failure probabilities, with n_2 paths
    that must find that state, add up to at most δ."""
    made = [
        LsveeTheorem(eps, _TENTH, m, k, h, n)
        for eps in (0.5, 0.05)
        for m, k, h, n in ((1, 1, 1, 1), (2, 2, 3, 64), (1, 3, 2, 5), (9, 4, 9, 10**6))
    ]
    calls = [(p, sizes) for p in made for sizes in (p.first, p.on_demand)]
    margins = [_margins(p, sizes) for p, sizes in calls]
    # In units of ε: accuracy of values at the start, of the policy, of estimates.
    checks = []
    for h in range(1, 200):
        p = LsveeTheorem(0.5, _TENTH, 1, 1, h, 1)
        start, policy = p.tolerance(0) / p.eps, 3 * h * p.phi / p.eps
        # V* ≤ V^f + start and V^f ≤ V̂* + 1/8, V̂* ≤ V̂ + 1/2, V̂ ≤ V^π + 1/8
        checks.append(start + Fraction(1, 8) + Fraction(1, 2) + Fraction(1, 8) <= 1)
        # rejected: V^π ≤ V̂ + 1/8 < V̂* - 1/2 + 1/8 ≤ V^f0 - 1/4 ≤ V^f + start - 1/4
        checks.append(Fraction(1, 4) - start - policy >= Fraction(1, 8))
    failures = [_failure(p) / float(_TENTH) for p in made]
    good = min(min(m) for m in margins) > 0 and all(checks)
    least = [float(min(m[i] for m in margins)) for i in range(3)]
    return Evidence(
        good and max(failures) <= 1 + 1e-9,
        f"sizes of {len(calls)} calls: slack {least[0]:.2f}φ² beyond what Q* needs; "
        f"errors of 5φ/2 show as {least[1]:.2f}φ² more than survivors may have; the "
        f"tolerance exceeds what must pass by {least[2]:.2f}√Kφ; H up to 199; failure "
        f"at most {max(failures):.3f} δ",
    )


def _margins(p: LsveeTheorem, sizes: Sizes) -> tuple[Fraction, Fraction, Fraction]:
    """Compute what the sizes of a call leave over; roots are rounded against them."""
    phi = 2 * sizes.accuracy
    rate, slack = sizes.rate / phi**2, sizes.slack / phi**2
    excess = Fraction(1, 4)  # of Q*, from V̂ being off by φ/2
    optimal = excess + _root_up(18 * excess * rate) + Fraction(5, 3) * rate
    # The least an empirical excess can be: min over e of e - √(18 e rate) - 5/3 rate.
    keeps = slack - (optimal + Fraction(9, 2) * rate + Fraction(5, 3) * rate)
    largest = Fraction(25, 4)
    shown = largest - _root_up(18 * largest * rate) - Fraction(5, 3) * rate
    # What a learned state may differ by, 5√Kφ, comes on top of the next tolerance.
    steps = [p.tolerance(h) - p.tolerance(h + 1) for h in range(p.H)]
    step = min(steps) / (_root_up(Fraction(p.K)) * phi)
    return keeps, shown - (optimal + slack), step - 6


def _failure(p: LsveeTheorem) -> float:
    """Union bound over everything that must not happen."""

    def call(sizes: Any) -> float:
        """One call of DFS-learn from outside: M H K tests, M H eliminations."""
        tests = p.K * 2 * p.N * math.exp(-2 * sizes.n_test * float(sizes.accuracy) ** 2)
        fits = 4 * p.N * math.exp(-sizes.n_train * float(sizes.rate))
        return p.M * p.H * (tests + fits)

    rejected = p.M * (p.H - 1)
    accuracy = float(p.eps) / 8
    on_demand = rejected * (p.H - 1) * p.n_exp * call(p.on_demand)
    missed = rejected * (1 - accuracy) ** p.n_exp
    # V̂* and one evaluation more than there are rejections
    estimates = (rejected + 2) * 2 * math.exp(-2 * p.n_eval * accuracy**2)
    return call(p.first) + on_demand + missed + estimates


def _root_up(value: Fraction) -> Fraction:
    bits = 2**40
    return Fraction(math.isqrt(math.ceil(value * bits**2)) + 1, bits)
