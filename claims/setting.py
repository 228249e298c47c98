"""Claims of the paper's section Setting, and of the notation for the deterministic one.

Each is checked exactly, on small random environments, against enumeration: of
policies, of trajectories, or of paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes.tabular import TabularPolicy
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.environments.finite_lists import Target, from_lists
from ..algorithms.environments.random_finite import random_finite, tabular
from .claim import EXACT, EXHAUSTIVE, Evidence, Refuted, claim

SETTING = "paper, section Setting and Background"
NOTATION = "paper, appendix Additional Notation and Definitions, conventions"

_HALF = Fraction(1, 2)
_ZERO = Fraction(0)


def _random(
    count: int, states: int = 2, actions: int = 2, horizon: int = 2
) -> Iterator[FiniteEnvironment]:
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield random_finite(rng, states=states, actions=actions, horizon=horizon)


def _stochastic() -> FiniteEnvironment:
    """Make an environment with stochastic start and dynamics."""
    third = Fraction(1, 3)
    move: list[Target] = [{"s": third, "t": 1 - third}, "t"]
    return from_lists(
        [
            [
                ("a", {"u": _HALF, "v": _HALF}, {"u": [0, third], "v": [0, 0]}, move),
                ("b", {"w": 1}, {"w": [0, 0]}, ["s", {"s": _HALF, "t": _HALF}]),
            ],
            [
                ("s", {"x": 1}, {"x": [_HALF, 0]}, []),
                ("t", {"y": third, "z": 1 - third}, {"y": [0, third], "z": [0, 0]}, []),
            ],
        ],
        "stochastic",
        start={"a": third, "b": 1 - third},
    )


def _policies(env: FiniteEnvironment) -> Iterator[list[Any]]:
    """Every deterministic non-stationary policy."""
    sizes = [env.space(h).n_codes or 0 for h in range(1, env.horizon + 1)]
    tables = [itertools.product(range(env.n_actions), repeat=n) for n in sizes]
    for chosen in itertools.product(*map(list, tables)):
        yield [TabularPolicy(np.array(row)) for row in chosen]


@claim(
    "optimal-policy-is-best",
    f"{SETTING} (π*, V* and regularity of rewards)",
    EXHAUSTIVE,
)
def _best() -> str:
    """V* = g* averaged over the first observation is the largest V^π over all policies
    of observations, π* attains it, and 0 ≤ Q* ≤ g* ≤ 1; also with stochastic dynamics.
    """
    compared = 0
    for env in [*_random(4), _stochastic()]:
        truth = env.truth
        values = [truth.policy_value(p) for p in _policies(env)]
        compared += len(values)
        attained = truth.policy_value(truth.optimal_policies())
        if not max(values) == attained == truth.optimal_value:
            raise Refuted(f"{env}: {max(values)}, {attained}")
        for h in range(1, env.horizon + 1):
            q, g = truth.q_values(h), truth.values(h)
            if not ((q >= 0).all() and (q <= g[:, None]).all() and (g <= 1).all()):
                raise Refuted(f"{env}: level {h} leaves [0, 1]")
    return f"{compared} policies enumerated in 5 environments"


@claim("bellman-equations", f"{SETTING} (Bellman equations)", EXACT)
def _bellman() -> str:
    """g*(x) = max_a E[r_h + g*(x_{h+1}) | x, a] = max_a Q*(x, a), where g* and Q* are
    expected returns to go under π*, and π*(x) is in argmax_a Q*(x, a)."""
    compared = 0
    for env in [*_random(6, states=3, actions=3, horizon=4), _stochastic()]:
        truth, model = env.truth, env.truth.model
        ahead = [_ZERO] * 0
        for h in range(env.horizon, 0, -1):
            level, pi = model.level(h), truth.policy(h)
            means, here = level.mean_rewards / model.unit, []
            for x, s in enumerate(level.state_of_code.tolist()):
                returns = []
                for a in range(env.n_actions):
                    law = level.transitions[s, a].tolist()
                    later = sum((w * v for w, v in zip(law, ahead, strict=True)), _ZERO)
                    returns.append(means[x, a] + (later / sum(law) if law else 0))
                right = returns == truth.q_values(h)[x].tolist()
                here.append(returns[pi[x]])  # the return to go under π*
                if not (right and here[-1] == max(returns) == truth.values(h)[x]):
                    raise Refuted(f"{env}: level {h}, observation {x}")
                compared += 1
            ahead = [
                sum((int(w) * v for w, v in zip(row, here, strict=True)), _ZERO)
                / int(row.sum())
                for row in level.emissions
            ]
    return f"equal at {compared} observations of 7 environments"


@claim(
    "observations-are-markov",
    f"{SETTING} (x is a Markov state, the process is an MDP over X)",
    EXHAUSTIVE,
)
def _markov() -> str:
    """Every observation has one hidden state, so the law of x_{h+1} given x_h and a_h
    does not depend on the path by which x_h was reached."""
    compared = 0
    for env in _random(4, states=2, actions=3, horizon=3):
        truth, k = env.truth, env.n_actions
        for h in range(1, env.horizon):
            law_of: dict[tuple[int, int], list[Fraction]] = {}
            for path in itertools.product(range(k), repeat=h - 1):
                for x in np.flatnonzero(truth.observation_probabilities(path)):
                    for a in range(k):
                        law = truth.observation_probabilities((*path, a)).tolist()
                        compared += 1
                        if law_of.setdefault((int(x), a), law) != law:
                            raise Refuted(f"{env}: after {path}, {x}, {a}")
    return f"{compared} laws after paths, equal for equal (x, a)"


@claim(
    "optimum-depends-on-the-observation",
    f"{SETTING}, footnote (π* and g* depend on x and not just s)",
    EXACT,
)
def _depends() -> Evidence:
    """As rewards depend on x, two observations of one hidden state can have different
    optimal actions and values, and no policy of the state is optimal."""
    env = from_lists(
        [[("s", {"x": _HALF, "y": _HALF}, {"x": [1, 0], "y": [0, _HALF]}, [])]]
    )
    truth = env.truth
    by_state = [truth.policy_value([TabularPolicy(np.array([a, a]))]) for a in (0, 1)]
    values = truth.values(1).tolist()
    return Evidence(
        len(set(values)) == 2 and max(by_state) < truth.optimal_value,
        f"g* = {', '.join(map(str, values))}; policies of the state get at most "
        f"{max(by_state)} of {truth.optimal_value}",
    )


@claim(
    "tabular-mdps-are-a-special-case",
    f"{SETTING} (special case tabular MDPs: X = S, O_s the identity)",
    EXACT,
)
def _special() -> str:
    """With one observation for each hidden state g*(x) is V*(s), and policies of
    observations are policies of states."""
    compared = 0
    for seed in range(5):
        env = tabular(np.random.default_rng(seed), states=3, actions=2, horizon=3)
        for h in range(1, env.horizon + 1):
            owner = env.truth.model.level(h).state_of_code
            one_each = sorted(owner.tolist()) == list(range(env.truth.n_states(h)))
            states = [env.truth.state_value(h, int(s)) for s in owner]
            if not one_each or states != env.truth.values(h).tolist():
                raise Refuted(f"seed {seed}, level {h}")
            compared += len(states)
    return f"equal at {compared} states"


@claim(
    "paths-are-states",
    f"{NOTATION} (V*(p) = V*(s), x ~ p as x ~ s; V^π(s); Q*(s, π))",
    EXHAUSTIVE,
)
def _paths() -> str:
    """With deterministic dynamics a path leads to one hidden state, and V*(p), V^π(p)
    and the law of x after p depend on that state only; V* is V*(root), and V*(s) =
    Q*(s, π*) = E_{x~s}[Q*(x, π*(x))]."""
    compared = 0
    for seed, env in enumerate(_random(5, states=2, actions=2, horizon=4)):
        truth, rng = env.truth, np.random.default_rng([seed, 1])
        sizes = [env.space(h).n_codes or 0 for h in range(1, env.horizon + 1)]
        policies = [TabularPolicy(rng.integers(2, size=n)) for n in sizes]
        if truth.path_value(()) != truth.optimal_value:
            raise Refuted(f"{env}: V* is not V*(root)")
        for h in range(1, env.horizon + 1):
            seen: dict[int, Sequence[Any]] = {}
            for path in itertools.product(range(2), repeat=h - 1):
                law = truth.observation_probabilities(path)
                gains = truth.q_values(h)[np.arange(len(law)), truth.policy(h)]
                facts = (
                    truth.path_value(path),
                    truth.policy_path_value(path, policies),
                    law.tolist(),
                )
                state = truth.state(path)
                same = seen.setdefault(state, facts) == facts
                if not same or facts[0] != truth.state_value(h, state):
                    raise Refuted(f"{env}: path {path}")
                if truth.expectation(path, gains) != facts[0]:
                    raise Refuted(f"{env}: Q*(s, π*) after {path}")
                compared += 1
    return f"{compared} paths of 5 environments"


@claim("uniform-actions-with-weights", f"{NOTATION} (E_p with uniform actions)", EXACT)
def _weights() -> str:
    """With a uniform a, E_p[K 1{π(x) = a}(r + V_a)] is E_p[r + V_{π(x)}], the
    expectation with a = π(x); in particular V*(p) for π* and V_a = V*(p∘a)."""
    compared = 0
    for env in _random(5, states=2, actions=3, horizon=3):
        truth, k = env.truth, env.n_actions
        for h in range(1, env.horizon + 1):
            for path in itertools.product(range(k), repeat=h - 1):
                later = [truth.path_value((*path, a)) for a in range(k)]
                law, pi = truth.observation_probabilities(path), truth.policy(h)
                rewards = truth.q_values(h) - np.array(later, dtype=object)
                total = sum(
                    (
                        law[x] * Fraction(1, k) * k * (rewards[x, a] + later[a])
                        for x in np.flatnonzero(law)
                        for a in range(k)
                        if a == pi[x]
                    ),
                    _ZERO,
                )
                policy = TabularPolicy(pi)
                direct = truth.action_expectation(path, policy, later)
                if not total == direct == truth.path_value(path):
                    raise Refuted(f"{env}: path {path}")
                compared += 1
    return f"{compared} paths of 5 environments"
