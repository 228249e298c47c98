"""Claims of an analysis, checked against the truth.

A `Review` is an observer that records a run and then goes through the events. It knows
hidden states and true values; nothing flows back. A tally keeps a claim's worst margin
(bound minus value), exactly where it can.

The deviations that bound event E, sup over g of |E_D[g(x)] - E[g(x)]| and over π of
|E_D[K 1{π(x)=a}(r + V_a)] - E[...]|, are linear in the function: attained at 0/1
functions over tabular classes, observation by observation for policies, by enumeration
over finite ones. Differences are rational first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from textwrap import dedent
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..classes.features import LinearValueClass
from ..classes.finite import (
    FinitePolicyClass,
    FiniteValueClass,
    KernelBall,
    TabularPolicyClass,
    TabularValueClass,
)
from ..classes.protocols import ValueClass
from ..environments.protocol import Path, Truth
from ..exact.arrays import Number, object_array
from ..exact.data import EmpiricalMeasure
from ..oracles import Functional
from ..oracles.ledger import unguard
from .events import Iteration
from .problem import LearningResult, MonitorReport, Problem, Scope

FEATURES = "observations are features: there are no codes to sum over"
UNKNOWN = "V^π is not known exactly"


class Tally:
    """Checks of one claim; `scope` says when it must hold."""

    def __init__(self, scope: Scope) -> None:
        self.scope: Scope = scope
        self.checks = 0
        self.margin: Fraction | None = None
        self.first = ""
        self.unknown = ""

    def at_most(
        self, value: Number, bound: Number, place: str | Callable[[], str]
    ) -> None:
        """Check value ≤ bound; ``place`` says where, if that is the first failure."""
        self.checks += 1
        if isinstance(value, int) and isinstance(bound, int):
            margin = Fraction(bound - value)
        else:
            margin = Fraction(bound) - Fraction(value)
        if margin < 0 and not self.first:
            where = place if isinstance(place, str) else place()
            self.first = f"{where}: {float(value):.6g} > {float(bound):.6g}"
        if self.margin is None or margin < self.margin:
            self.margin = margin

    def never(self, happened: bool, place: str | Callable[[], str]) -> None:
        """Check that something did not happen; a violation has margin -1."""
        self.at_most(int(happened), 0, place)

    def holds(self, answer: bool | None, reason: str) -> None:
        """Check that the answer is yes; without one the claim is unknown."""
        if answer is None:
            self.skip(reason)
        else:
            self.never(not answer, reason)

    def skip(self, reason: str) -> None:
        """Note that a check could not be made: the claim is then unknown."""
        self.unknown = self.unknown or reason

    def report(self) -> MonitorReport:
        """Give the tally as it stands: false as soon as one check failed."""
        failed = self.margin is not None and self.margin < 0
        holds = False if failed else (None if self.unknown else True)
        return MonitorReport(
            holds, self.margin, self.checks, self.scope, self.first or self.unknown
        )


def claim_table(text: str) -> dict[str, tuple[str, str]]:
    r"""Read lines of name, scope and claim; a claim goes on where a line is indented.

    >>> claim_table("event  premise  bounds\n   of all\ncalls  always  at most 3")
    {'event': ('premise', 'bounds of all'), 'calls': ('always', 'at most 3')}
    """
    joined = re.sub(r"\n +", " ", dedent(text).strip("\n"))
    rows = [line.split(None, 2) for line in joined.splitlines()]
    return {name: (scope, claim) for name, scope, claim in rows}


class Review:
    """Records a run, and checks it: ``on_triple`` is called with each `Triple`.

    A subclass lists its claims (`claims`) and has a method for each event class that it
    checks. Shared claims are checked here: "oracles", "feasible", "csc-calls" and so
    on, "trajectories" and "epsilon-optimal".

    Parameters
    ----------
    problem
        Of the run; the `truth` of its environment is asked.
    parameters
        Of the run; they bound oracle calls and trajectories.

    Attributes
    ----------
    tallies
        Checks so far, by claim.
    """

    def __init__(self, problem: Problem, parameters: Any) -> None:
        self.problem, self.environment = problem, problem.environment
        self.values, self.policies = problem.values, problem.policies
        self.truth, self.p = problem.environment.truth, parameters
        self.tallies: dict[str, Tally] = {}
        self._events: list[Any] = []

    def __call__(self, event: Any) -> None:
        """Record."""
        self._events.append(event)

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Check the run that ended with this result."""
        self.tallies = {name: Tally(scope) for name, scope in self.scopes().items()}
        self.begin()
        for event in self._events:
            check = getattr(self, f"on_{type(event).__name__.lower()}", None)
            if check is not None:
                check(event)
        self.ended(result)
        return {name: tally.report() for name, tally in self.tallies.items()}

    claims: ClassVar[Mapping[str, tuple[str, str]]]
    """Of each claim: when it must hold, a `Scope` or a word of `words`; and what."""

    def words(self) -> Mapping[str, Scope]:
        """Say what the words of `claims` mean in this run."""
        return {}

    def scopes(self) -> dict[str, Scope]:
        """When each claim must hold."""
        words: Mapping[str, Any] = self.words()
        return {n: words.get(word, word) for n, (word, _) in self.claims.items()}

    def begin(self) -> None:
        """Forget what was met in the run."""

    def ended(self, result: LearningResult) -> None:
        """Check what is known at the end."""
        failed = f"{result.inaccurate_calls} calls fell short"
        self._never("oracles", result.inaccurate_calls > 0, failed)
        self._never("feasible", result.event_failed, result.reason)
        for kind, most in getattr(self.p, "call_bounds", {}).items():
            calls = result.calls.get(kind, 0)
            self.tallies[f"{kind}-calls"].at_most(calls, most, kind)
        bound = self.p.trajectory_bound
        self.tallies["trajectories"].at_most(result.trajectories, bound, "total")
        optimal = self.tallies["epsilon-optimal"]
        optimal.never(not result.succeeded, result.reason)
        if not self.truth.exact:
            optimal.skip(UNKNOWN)
        elif result.policies is not None:
            lost = self.truth.optimal_value
            lost -= self.truth.policy_value(list(result.policies))
            optimal.at_most(lost, self.p.eps, "suboptimality")

    def _never(self, name: str, happened: bool, place: str) -> None:
        if name in self.tallies:
            self.tallies[name].never(happened, place)

    def note(self, name: str, value: Fraction | None, bound: Number, at: str) -> None:
        """Check a deviation that is None where the class has no method for it."""
        if value is None:
            self.tallies[name].skip("no method for the class")
        else:
            self.tallies[name].at_most(value, bound, at)

    def mean_rewards(self, path: Path) -> NDArray[Any]:
        """E[r | x, a] = Q*(x, a) - V*(p∘a), right at observations of the path."""
        actions = range(self.environment.n_actions)
        futures = [self.truth.path_value((*path, a)) for a in actions]
        found: NDArray[Any] = self.truth.q_values(len(path) + 1) - object_array(futures)
        return found


class MetaAlgReview(Review):
    """The claims about MetaAlg: "policy-bound", "evaluation" and "progress"."""

    # Learned hidden states of each level: sets, or dictionaries with them as keys
    learned: list[Any]
    _rejected: int | None

    def begin(self) -> None:
        self.learned = [set() for _ in range(self.p.H)]
        self._rejected = None

    def policy_loss(self) -> Fraction:
        """Bound what a policy loses beside the chance to meet a state not learned."""
        raise NotImplementedError

    def promised(self) -> Fraction | None:
        """Give what a policy is compared with, V*; None where that is not known."""
        return Fraction(self.truth.optimal_value)

    def on_iteration(self, iteration: Iteration) -> None:
        """Check a policy, its evaluation, and what the last rejection taught."""
        self._check_progress()
        promised = self.promised()
        if promised is None or not self.truth.exact:
            for name in ("policy-bound", "evaluation"):
                self.tallies[name].skip(UNKNOWN)
        else:
            policies = [unguard(policy) for policy in iteration.policies]
            value = self.truth.policy_value(policies)
            missed = chance_of_unlearned(self.truth, self.p.K, self.learned, policies)
            at = f"iteration {iteration.number}"
            self.tallies["policy-bound"].at_most(
                promised - value, missed + self.policy_loss(), at
            )
            self.tallies["evaluation"].at_most(
                abs(iteration.mean_return - value), self.p.eps / 8, at
            )
        if not iteration.accepted:
            self._rejected = sum(map(len, self.learned))

    def ended(self, result: LearningResult) -> None:
        self._check_progress()
        super().ended(result)

    def _check_progress(self) -> None:
        if self._rejected is not None:
            now = sum(map(len, self.learned))
            self.tallies["progress"].never(now <= self._rejected, f"{now} states")
        self._rejected = None


def with_monitors(
    result: LearningResult, reports: Mapping[str, MonitorReport]
) -> LearningResult:
    """Return the result with reports added."""
    return replace(result, monitors=dict(result.monitors) | dict(reports))


def chance_of_unlearned(
    truth: Truth,
    n_actions: int,
    learned: Sequence[Collection[int]],
    policies: Sequence[Any],
) -> Fraction:
    """Probability that an episode meets a state outside the learned ones."""
    hit = Fraction(0)
    here: dict[int, tuple[Fraction, tuple[int, ...]]] = {
        truth.state(()): (Fraction(1), ())
    }
    for h, known in enumerate(learned, 1):
        ahead: dict[int, tuple[Fraction, tuple[int, ...]]] = {}
        for state, (chance, path) in here.items():
            if state not in known:
                hit += chance
            elif h < len(learned):
                shares = _action_shares(truth, path, policies[h - 1], n_actions)
                for a, share in enumerate(shares):
                    target = truth.successor(h, state, a)
                    before = ahead.get(target, (Fraction(0), ()))[0]
                    if share:
                        ahead[target] = (before + chance * share, (*path, a))
        here = ahead
    return hit


def _action_shares(
    truth: Truth, path: Path, policy: Any, n_actions: int
) -> list[Fraction]:
    """P(π(x_h) = a | p) of each action: linear in futures, so read off unit ones."""
    base = truth.action_expectation(path, policy, [Fraction(0)] * n_actions)
    units = np.eye(n_actions, dtype=np.int64).tolist()
    return [
        Fraction(truth.action_expectation(path, policy, unit) - base) for unit in units
    ]


_ZERO = Fraction(0)
_ROUNDING = 1e-10  # of float64 searches, relative to the largest difference


def value_differences(data: EmpiricalMeasure, chances: NDArray[Any]) -> NDArray[Any]:
    """P_D(x) - P(x) at every code: Fractions, shape (|X|,)."""
    weights = data.weights_by_code(len(chances)).tolist()
    total = data.total_weight
    pairs = zip(weights, chances.tolist(), strict=True)
    return object_array([Fraction(w, total) - p for w, p in pairs])


def policy_differences(
    data: EmpiricalMeasure,
    chances: NDArray[Any],
    mean_rewards: NDArray[Any],
    futures: Sequence[Fraction],
) -> NDArray[Any]:
    """Give what a policy with π(x) = a adds to the deviation: Fractions (|X|, K)."""
    n_actions = len(futures)
    table = np.full((len(chances), n_actions), _ZERO, dtype=object)
    actions = data.actions
    if actions is None:
        raise ValueError("data: actions are missing")
    rows = zip(
        data.codes().tolist(),
        actions.tolist(),
        data.exact_rewards.tolist(),
        data.weights.tolist(),
        strict=True,
    )
    for x, a, reward, weight in rows:
        table[x, a] += weight * (reward + futures[a])
    expected = mean_rewards + object_array(list(futures))
    seen = table * n_actions / data.total_weight
    found: NDArray[Any] = seen - chances[:, None] * expected
    return found


def value_deviation(
    truth: Truth, value_class: ValueClass, path: Path, data: EmpiricalMeasure
) -> Fraction | None:
    """Largest deviation of E_D[g] from E[g] at the end of a path, over a class."""
    differences = value_differences(data, truth.observation_probabilities(path))
    return largest_value_deviation(value_class.at_level(len(path) + 1), differences)


@singledispatch
def largest_value_deviation(
    value_class: Any, differences: NDArray[Any]
) -> Fraction | None:
    """Supremum over g of |Σ_x d(x) g(x)|; None for classes without a method."""
    return None


@largest_value_deviation.register
def _(value_class: TabularValueClass, differences: NDArray[Any]) -> Fraction | None:
    above = sum((d for d in differences if d > 0), _ZERO)
    below = sum((-d for d in differences if d < 0), _ZERO)
    return max(above, below)


@largest_value_deviation.register
def _(value_class: FiniteValueClass, differences: NDArray[Any]) -> Fraction | None:
    values = value_class.evaluate_all(np.arange(len(differences)))
    sums = values @ differences.astype(np.float64)
    return Fraction(float(np.abs(sums).max()))


@largest_value_deviation.register
def _(value_class: LinearValueClass, differences: NDArray[Any]) -> Fraction | None:
    if value_class.features.table is None:
        return None
    size = max((abs(d) for d in differences), default=_ZERO) or Fraction(1)
    objective = Functional(
        np.arange(len(differences)),
        object_array([d / size for d in differences.tolist()]),
    )
    from ..oracles.lp import lp  # loads HiGHS

    bounds = []
    for maximise in (True, False):
        found = lp(
            value_class,
            objective,
            maximise=maximise,
            epsilon_sub=1e-6,
            epsilon_feas=1e-9,
        )
        bounds.append(abs(found.value or 0.0) + found.suboptimality)
    return Fraction(max(bounds)) * size


@largest_value_deviation.register
def _(value_class: KernelBall, differences: NDArray[Any]) -> Fraction | None:
    """Radius · √(dᵀKd), in float64 relative to the largest difference."""
    size = max((abs(d) for d in differences), default=_ZERO)
    if size == 0:
        return _ZERO
    d = (differences / size).astype(np.float64)
    codes = np.arange(len(d))
    square = float(d @ value_class.kernel(codes, codes) @ d)
    found = value_class.radius * max(0.0, square) ** 0.5
    return Fraction(found + _ROUNDING) * size


@singledispatch
def largest_policy_deviation(
    policy_class: Any, differences: NDArray[Any]
) -> Fraction | None:
    """Supremum over π of |Σ_x d(x, π(x))|; None for classes without a method."""
    return None


@largest_policy_deviation.register
def _(policy_class: TabularPolicyClass, differences: NDArray[Any]) -> Fraction | None:
    above = sum((max(row) for row in differences.tolist()), _ZERO)
    below = sum((min(row) for row in differences.tolist()), _ZERO)
    return max(above, -below)


@largest_policy_deviation.register
def _(policy_class: FinitePolicyClass, differences: NDArray[Any]) -> Fraction | None:
    codes = np.arange(len(differences))
    floats = differences.astype(np.float64)
    chosen = policy_class.evaluate_all(codes)
    return Fraction(float(np.abs(floats[codes, chosen].sum(axis=1)).max()))
