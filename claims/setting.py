"""Setting and assumptions.

The paper's section Setting, its notation for deterministic dynamics, and how the
assumptions on the classes are related; exactly, against enumeration of policies,
trajectories or paths on small environments.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.assumptions import checks
from ..algorithms.assumptions.checks import CLIPPED, NAMES, check_assumptions
from ..algorithms.assumptions.closure import (
    COMPLETENESS,
    complete_classes,
    evaluation_closed,
    evaluation_closed_classes,
    violating_classes,
)
from ..algorithms.assumptions.members import Assumption
from ..algorithms.classes import (
    FinitePolicyClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from ..algorithms.classes.finite import TabularPolicy
from ..algorithms.environments import Target, from_lists, make, random_finite, tabular
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.environments.protocol import Environment
from ..algorithms.learning.draw_classes import make_classes
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim, claims_of, samples
from .instances import HALF, fork, functions

setting = claims_of("paper, section Setting and Background")
notation = claims_of("paper, appendix Additional Notation and Definitions, conventions")

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
                ("a", {"u": HALF, "v": HALF}, {"u": [0, third], "v": [0, 0]}, move),
                ("b", {"w": 1}, {"w": [0, 0]}, ["s", {"s": HALF, "t": HALF}]),
            ],
            [
                ("s", {"x": 1}, {"x": [HALF, 0]}, []),
                ("t", {"y": third, "z": 1 - third}, {"y": [0, third], "z": [0, 0]}, []),
            ],
        ],
        "stochastic",
        start={"a": third, "b": 1 - third},
    )


def _policies(env: FiniteEnvironment) -> Iterator[list[Any]]:
    """Every deterministic non-stationary policy."""
    actions = range(env.n_actions)
    tables = [itertools.product(actions, repeat=n) for n in samples.codes(env)]
    for chosen in itertools.product(*tables):
        yield [TabularPolicy(np.array(row)) for row in chosen]


@setting("optimal-policy-is-best", "(π*, V* and regularity of rewards)", EXHAUSTIVE)
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


@setting("bellman-equations", "(Bellman equations)", EXACT)
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


@setting(
    "observations-are-markov",
    "(x is a Markov state, the process is an MDP over X)",
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


@setting(
    "optimum-depends-on-the-observation",
    "footnote (π* and g* depend on x and not just s)",
    EXACT,
)
def _depends() -> Evidence:
    """As rewards depend on x, two observations of one hidden state can have different
    optimal actions and values, and no policy of the state is optimal."""
    env = from_lists(
        [[("s", {"x": HALF, "y": HALF}, {"x": [1, 0], "y": [0, HALF]}, [])]]
    )
    truth = env.truth
    by_state = [truth.policy_value([TabularPolicy(np.array([a, a]))]) for a in (0, 1)]
    values = truth.values(1).tolist()
    return Evidence(
        len(set(values)) == 2 and max(by_state) < truth.optimal_value,
        f"g* = {', '.join(map(str, values))}; policies of the state get at most "
        f"{max(by_state)} of {truth.optimal_value}",
    )


@setting(
    "tabular-mdps-are-a-special-case",
    "(special case tabular MDPs: X = S, O_s the identity)",
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


@notation(
    "paths-are-states", "(V*(p) = V*(s), x ~ p as x ~ s; V^π(s); Q*(s, π))", EXHAUSTIVE
)
def _paths() -> str:
    """With deterministic dynamics a path leads to one hidden state, and V*(p), V^π(p)
    and the law of x after p depend on that state only; V* is that of the root, and
    V*(s) = Q*(s, π*) = E_{x~s}[Q*(x, π*(x))]."""
    compared = 0
    for seed, env in enumerate(_random(5, states=2, actions=2, horizon=4)):
        truth, rng = env.truth, np.random.default_rng([seed, 1])
        policies = [TabularPolicy(rng.integers(2, size=n)) for n in samples.codes(env)]
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


@notation("uniform-actions-with-weights", "(E_p with uniform actions)", EXACT)
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


_RIGHT, _WRONG = (Fraction(1), HALF), (Fraction(0), HALF)
_GOOD, _BAD = (0, 0), (1, 0)
_PV, _P = checks.POLICY_VALUE, checks.POLICY_COMPLETE


@dataclass(frozen=True, eq=False)
class Separation:
    """An environment with classes, and which assumptions hold."""

    environment: FiniteEnvironment
    values: ValueClassByLevel
    policies: PolicyClassByLevel
    holds: frozenset[str]  # Names of the assumptions that hold; the others do not


def two_doors() -> FiniteEnvironment:
    """Make the environment: a good and a poor state behind two actions."""
    return from_lists(fork([1, 0], [HALF, Fraction(1, 4)]), "two-doors")


def value_complete_only() -> Separation:
    """Make classes that are policy-value complete but not policy complete.

    G = {g*}. Π_2 has a bad policy beside the good one, Π_1 = {action 0}: the best
    answer to the bad policy, action 1, is missing, and policy-value completeness
    does not ask for it, since the bad policy's value is not in G_2.
    """
    return separations()["policy-value complete"]


def separations() -> dict[str, Separation]:
    """All eight combinations by what holds; any other is impossible.

    All are on one environment, with eight pairs of classes. Level 1 has one state;
    action 0 leads to a state that pays 1 for action 0, and action 1 to one that pays
    1/2 for action 0 and 1/4 for action 1. So π* always takes action 0, and g* = 1 at
    level 1 and (1, 1/2) at level 2. G_1 = {1}, and Π_1 has the action 0, once 1 too.

    In Π_2 the policy "bad" takes action 1 in the good state, gets nothing there, and so
    asks Π_1 for a policy that takes action 1. In G_2 the function "wrong" has 0 there,
    and asks for the same and for the value 1/2 in G_1.

    The combinations show that of the four assumptions no other implies another than:
    policy completeness implies policy realizability, and policy-value completeness
    implies both realizabilities. It does *not* imply policy completeness, as the paper
    says it does: see `value_complete_only`.

    Examples
    --------
    >>> list(separations())  # doctest: +NORMALIZE_WHITESPACE
    ['nothing', 'only values realizable', 'only policies realizable',
     'only realizable', 'policy complete, values not realizable',
     'policy complete', 'policy-value complete', 'everything']
    """
    value, policy = {checks.VALUE}, {checks.POLICY}
    complete, every = {_P, checks.POLICY}, {_PV, checks.VALUE, checks.POLICY}
    rows: dict[str, tuple[Any, ...]] = {
        "nothing": ([_WRONG], [_BAD], set()),
        "only values realizable": ([_RIGHT], [_BAD], value),
        "only policies realizable": ([_WRONG], [_GOOD, _BAD], policy),
        "only realizable": ([_RIGHT, _WRONG], [_GOOD, _BAD], value | policy),
        "policy complete, values not realizable": ([_WRONG], [_GOOD], complete),
        "policy complete": (
            [_RIGHT, _WRONG],
            [_GOOD, _BAD],
            value | complete,
            [[0], [1]],
        ),
        "policy-value complete": ([_RIGHT], [_GOOD, _BAD], every),
        "everything": ([_RIGHT], [_GOOD], complete | every),
    }
    return {name: _separation(*row) for name, row in rows.items()}


def _separation(
    values: list[tuple[Fraction, Fraction]],
    policies: list[tuple[int, int]],
    holds: set[str],
    first_policies: Sequence[list[int]] = ([0],),
) -> Separation:
    both = [FinitePolicyClass(rows, 2) for rows in (first_policies, policies)]
    return Separation(
        two_doors(),
        ValueClassByLevel([functions([Fraction(1)]), functions(*values)]),
        PolicyClassByLevel(both),
        frozenset(holds),
    )


SOURCE = "paper, appendix Additional Notation and Definitions"
definitions = claims_of(SOURCE)
FACT = f"{SOURCE}, Fact (relationship between the assumptions)"

_SMALL = {"states": 2, "actions": 2, "horizon": 3}


def _environments(count: int) -> Iterator[tuple[Environment, np.random.Generator]]:
    for seed in range(samples.instances(count)):
        yield make("random-finite", seed, **_SMALL), np.random.default_rng([seed, 1])


@samples.made_once
def _cases() -> tuple[dict[str, Assumption], ...]:
    """Random environments with classes of all sorts, checked."""
    return tuple(_drawn())


def _drawn() -> Iterator[dict[str, Assumption]]:
    for env, rng in _environments(6):
        for kind in COMPLETENESS:
            yield check_assumptions(env, *complete_classes(env, rng, kind, size=12))
        for name in NAMES:
            classes = violating_classes(env, rng, name, size=12)
            yield check_assumptions(env, *classes)
        for size in (4, 16):
            classes = make_classes(env, "finite", rng, size=size)
            yield check_assumptions(env, *classes)
        yield check_assumptions(env, *make_classes(env, "tabular", rng))
    yield from map(_checked, separations().values())


def _checked(made: Separation) -> dict[str, Assumption]:
    return check_assumptions(made.environment, made.values, made.policies)


def _implied(premise: str, *conclusions: str) -> Evidence:
    applied = 0
    for number, found in enumerate(_cases()):
        if found[premise].holds is not True:
            continue
        applied += 1
        for name in conclusions:
            if found[name].holds is not True:
                raise Refuted(f"case {number}: {name}: {found[name].reason}")
    return Evidence(applied > 0, f"in all {applied} cases where {premise} holds")


@claim("completeness-implies-realizability", FACT, DRAWN)
def _value_side() -> Evidence:
    """Policy-value completeness implies g* in G (so the Fact says) and π* in Π
    (directly, not by way of policy completeness)."""
    return _implied(_PV, checks.VALUE, checks.POLICY)


@claim("policy-completeness-implies-realizability", FACT, DRAWN)
def _policy_side() -> Evidence:
    """Policy completeness implies that Π has an optimal policy."""
    return _implied(_P, checks.POLICY)


@claim("completeness-fact", FACT, EXACT, "24")
def _fact() -> Evidence:
    """Policy-value completeness does not imply policy completeness (printed: it does):
    G need not hold the value of a bad policy of Π."""
    made = value_complete_only()
    found = _checked(made)
    shown = found[_PV].holds is True and found[_P].holds is False
    return Evidence(
        shown, f"two doors, G = {{g*}}: {_PV} holds, but {found[_P].reason}"
    )


@claim("completeness-fact-corrected", FACT, DRAWN, "24")
def _corrected() -> str:
    """Policy-value completeness implies policy completeness if G is closed under
    evaluation: E[r + g'(x') | x, π(x)] in G_h for g' in G_{h+1}, π in Π_h."""
    applied = 0
    for env, rng in _environments(12):
        classes = evaluation_closed_classes(env, rng)
        if evaluation_closed(env, *classes).holds is not True:
            raise Refuted("classes made to be closed are not")
        found = check_assumptions(env, *classes, [_PV, _P])
        if found[_PV].holds is not True or found[_P].holds is not True:
            raise Refuted(f"{found}")
        applied += 1
    return f"in all {applied} random environments, closed by construction"


@claim("assumptions-separate", FACT, EXACT)
def _separate() -> Evidence:
    """Nothing else follows among the four assumptions: all eight combinations that
    these implications allow occur (no arrow of the Fact can be turned round)."""
    combinations = set()
    for name, made in separations().items():
        found = _checked(made)
        holds = frozenset(n for n, a in found.items() if a.holds is True)
        if holds != made.holds or any(a.holds is None for a in found.values()):
            raise Refuted(f"{name}: {sorted(holds)}")
        combinations.add(holds)
    return Evidence(
        len(combinations) == 8, f"{len(combinations)} combinations on two doors"
    )


@definitions(
    "all-functions-are-not-complete",
    "policy-value completeness (with G in X → [0, 1], section Setting)",
    EXACT,
    "25",
)
def _all_functions() -> Evidence:
    """The class of all functions to [0, 1] is policy-value complete only if no reward
    is paid before the last level, for r + g' leaves [0, 1]; with backups cut off at 1
    it is complete."""
    checked = 0
    for env, rng in _environments(10):
        classes = make_classes(env, "tabular", rng)
        found = check_assumptions(env, *classes, [_PV, CLIPPED, _P])
        if found[_PV].holds is not False or found[CLIPPED].holds is not True:
            raise Refuted(f"{found[_PV].reason}; {found[CLIPPED].reason}")
        if found[_P].holds is not True:
            raise Refuted(found[_P].reason)
        checked += 1
    late = two_doors()
    found = check_assumptions(late, *make_classes(late, "tabular", rng), [_PV])
    return Evidence(
        found[_PV].holds is True,
        f"{checked} environments with early rewards, one with late ones only",
    )
