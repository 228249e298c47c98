"""What an algorithm may ask of a contextual decision process, and what tests may.

At level h = 1..H a hidden state emits x_h, the agent answers a_h in 0..K-1 and gets
r_h >= 0; returns are at most 1. Observations belong to their level: codes
0..|X_h|-1 *of the level*, or feature vectors. A *path* of actions names, where hidden
dynamics are deterministic, a state of level ``len(path) + 1``. Over finitely many
observations and rewards n may be any integer, at the cost of the support.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from inspect import getattr_static
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import Observations, check_policies
from ..exact import calling
from ..exact.data import EmpiricalMeasure

Path = Sequence[int]  # Actions a_1, ..., a_{h-1}; it ends at level h


class UnknownTruthError(ValueError):
    """Raised where the truth about an environment is not known."""


class AnyPolicy(Protocol):
    """Deterministic or randomised: n observations to actions or probabilities."""

    def __call__(self, observations: Observations, /) -> NDArray[Any]:
        """Actions, or action probabilities, at n observations."""


class Truth(Protocol):
    """The hidden truth about an environment: for tests and monitors only.

    Finite environments answer in Fractions. Environments with continuous
    observations answer in Fractions where the answer does not depend on the
    noise; `exact` says whether expectations of arbitrary functions and values
    of arbitrary policies are available, and where they are not, the methods
    that need them raise ValueError and `estimate_policy_value` is there.
    """

    @property
    def exact(self) -> bool:
        """Whether every method below answers exactly."""

    @property
    def optimal_value(self) -> Fraction:
        """V*."""

    def n_states(self, level: int) -> int:
        """Return the number of hidden states of a level, reachable or not."""

    def reachable(self, level: int) -> frozenset[int]:
        """Hidden states of the level to which some path leads."""

    def state(self, path: Path) -> int:
        """Hidden state 0..n_states(len(path)+1)-1 at the end of a path.

        Raises ValueError if the path does not end at one of the levels 1..H, names an
        unknown action, or hidden dynamics are stochastic.
        """

    def successor(self, level: int, state: int, action: int) -> int:
        """Hidden state of level + 1 (END = -1 past the last); deterministic only."""

    def state_value(self, level: int, state: int) -> Fraction:
        """V*(s), optimal value of a state before its observation; 0 at level H+1."""

    def path_value(self, path: Path) -> Fraction:
        """V*(p): expected optimal value after a path of 0..H actions; 0 after H."""

    def values(self, level: int) -> NDArray[Any]:
        """Optimal values g*(x) at every code of the level: Fractions, (|X_h|,)."""

    def q_values(self, level: int) -> NDArray[Any]:
        """Optimal Q*(x, a): Fractions, shape (|X_h|, K)."""

    def policy(self, level: int) -> NDArray[np.int64]:
        """π*(x) at every code, the first of the best actions; shape (|X_h|,)."""

    def optimal_policies(self) -> list[AnyPolicy]:
        """π*_1, ..., π*_H as policies on observations.

        Where observations are features, the hidden state is decoded from them
        (with Gaussian noise that is wrong in the tails).
        """

    def optimal_value_functions(self) -> list[Any]:
        """g*_1, ..., g*_H as value functions on observations, decoded as above."""

    def policy_value(self, policies: Sequence[AnyPolicy]) -> Fraction:
        """V^π of a non-stationary policy, one policy a level (also randomised)."""

    def policy_path_value(self, path: Path, policies: Sequence[AnyPolicy]) -> Fraction:
        """V^{π_{h:H}}(p): expected return from level h = len(path)+1 on, after p.

        ``policies`` has one policy for each level 1..H (the first h-1 are not
        looked at).
        """

    def observation_probabilities(self, path: Path) -> NDArray[Any]:
        """P(x_h = x) after the path, at every code: Fractions, (|X_h|,)."""

    def expectation(self, path: Path, values: Any) -> Any:
        """E_p[g(x_h)] with h = len(path)+1."""

    def action_expectation(
        self, path: Path, policy: AnyPolicy, future: Sequence[Any]
    ) -> Any:
        """E_p[K 1{π(x_h) = a_h}(r_h + V_a)], a_h uniform: = E_p[r_h + V_{π(x_h)}]."""

    def estimate_policy_value(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Monte Carlo estimate of V^π and its standard error, n ≥ 2, not counted."""


ActionRule = Literal["uniform"] | int | AnyPolicy
"""How one action is chosen: uniformly, always the same, or by a policy."""


STOCHASTIC = "olive, psdp, fqi and rmax"
"""The algorithms that learn where hidden dynamics are drawn, for messages."""


@dataclass(frozen=True)
class ObservationSpace:
    """The observations of one level: exactly one of the two is not None.

    Attributes
    ----------
    n_codes
        Finite: codes 0..n_codes-1.
    dimension
        Continuous: float64 features of shape (n, dimension).
    """

    n_codes: int | None = None
    dimension: int | None = None

    def __post_init__(self) -> None:
        size = self.dimension if self.n_codes is None else self.n_codes
        if (self.n_codes is None) == (self.dimension is None) or (size or 0) < 1:
            raise ValueError(
                f"observation space: n_codes {self.n_codes}, dimension "
                f"{self.dimension}; exactly one, at least 1"
            )

    @property
    def is_finite(self) -> bool:
        """Whether observations are codes."""
        return self.n_codes is not None


@dataclass(frozen=True, eq=False)
class Trajectories:
    """What running a policy for n whole episodes gave.

    Attributes
    ----------
    n
        Number of trajectories, a Python integer.
    mean_return
        Their average return, exactly.
    paths
        int64, shape (first, H): the action sequences of the first ``first``
        trajectories, in order. Trajectories are independent and identically
        distributed, hence exchangeable: the first ones are drawn one by one,
        and the others as one draw of counts.
    returns
        float64, shape (first,): the returns of those trajectories.
    transitions
        One measure of (x_h, a_h, r_h, x_{h+1}) over all n trajectories for
        each level h = 1..H, where asked for; else empty.
    """

    n: int
    mean_return: Fraction
    paths: NDArray[np.int64]
    returns: NDArray[np.float64]
    transitions: tuple[EmpiricalMeasure, ...] = ()


@runtime_checkable
class Environment(Protocol):
    """A contextual decision process that can be sampled.

    Every method raises ValueError, naming the argument, for n < 1, an unknown
    action, a level or a number of rules that does not fit, or a
    policy whose actions are not in 0..K-1; and, where observations are
    continuous, for an n whose sample would not fit into memory.
    """

    @property
    def name(self) -> str:
        """Name as in the registry."""

    @property
    def horizon(self) -> int:
        """H, the number of levels."""

    @property
    def n_actions(self) -> int:
        """K."""

    @property
    def deterministic(self) -> bool:
        """Whether hidden dynamics (also the start) are deterministic."""

    @property
    def max_states(self) -> int:
        """M, the largest number of hidden states of a level."""

    def space(self, level: int) -> ObservationSpace:
        """Observations of a level 1..H, else ValueError."""

    @property
    def features(self) -> tuple[NDArray[np.float64], ...] | None:
        """Float64 features of the codes of each level, (|X_h|, d); None without any."""

    @property
    def trajectories(self) -> int:
        """Trajectories collected so far, counted as an algorithm would."""

    @property
    def truth(self) -> Truth:
        """For tests and monitors; UnknownTruthError where it is not known."""

    def draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        *,
        level: int | None = None,
        successors: bool = True,
    ) -> EmpiricalMeasure:
        """Play a rule for each of the levels 1..L, n times; give the data of one level.

        Those of the last level L are (x_L, a_L, r_L, x_{L+1}). Those of a `level` h
        that is given are (x_h, a_h, r_h + ... + r_L), and x_h alone where h = L + 1:
        "D' ← sample n_test trajectories with p∘a" asks for
        ``draw(path, n_test, rng, level=len(path) + 1)``. After H actions there is
        nothing to observe, and the caller knows that g_{H+1} = 0.

        Parameters
        ----------
        rules
            0 to H of them.
        n
            At least 1.
        level
            h, from 1 to L + 1 and at most H; None: L, with its successors.
        successors
            Whether x_{L+1} is kept; without it the measure has fewer rows. After level
            H it is `END` for finite observations; for continuous ones the measure has
            no next observations.

        Counts n trajectories.
        """

    def run(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        *,
        first: int = 0,
        transitions: bool = False,
    ) -> Trajectories:
        """Run n whole episodes under a non-stationary policy.

        Parameters
        ----------
        policies
            One policy for each level 1..H.
        first
            Of how many trajectories, 0..n, actions and returns are wanted.
        transitions
            Whether to keep the transitions of each level.

        Counts n trajectories.
        """


def knows_truth(environment: Environment) -> bool:
    """Whether monitors can ask for the truth: of a simulator they mostly cannot."""
    try:
        return environment.truth is not None
    except UnknownTruthError:
        return False


def missing_members(environment: Any, protocol: type = Environment) -> list[str]:
    """Members of a protocol that an object lacks; properties are not evaluated."""
    absent = object()
    members = [name for name in vars(protocol) if not name.startswith("_")]
    missing = [n for n in members if getattr_static(environment, n, absent) is absent]
    if not hasattr(type(environment), "__getattr__"):
        return missing
    return [name for name in missing if not _gives(environment, name)]


def _gives(environment: Any, name: str) -> bool:
    with calling(f"environment.{name}"):
        try:
            return hasattr(environment, name)
        except UnknownTruthError:
            return True


def require_deterministic(environment: Environment, algorithm: str) -> None:
    """Refuse an environment whose hidden dynamics are stochastic, with the reason."""
    if not environment.deterministic:
        raise ValueError(
            f"{algorithm}: environment {environment.name!r} has stochastic hidden "
            "dynamics, but the algorithm takes a path of actions to lead to one "
            f"hidden state, and its guarantees need that; {STOCHASTIC} learn there"
        )


class DrawCall(NamedTuple):
    """What `draw` is asked for, checked."""

    rules: Sequence[ActionRule]
    n: int
    rng: np.random.Generator
    level: int  # h, whose data are given
    successors: bool  # with what follows
    returns: bool  # with the sums of rewards from h on, as h was given


class RunCall(NamedTuple):
    """What `run` is asked for, checked."""

    policies: Sequence[AnyPolicy]  # H of them
    n: int
    rng: np.random.Generator
    first: int
    transitions: bool


class BaseEnvironment:
    """What environments share: facts, checks of what is asked, a count."""

    deterministic: bool

    def __init__(self, name: str, horizon: int, n_actions: int) -> None:
        self.name, self.horizon, self.n_actions = name, horizon, n_actions
        self.trajectories = 0

    def draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        *,
        level: int | None = None,
        successors: bool = True,
    ) -> EmpiricalMeasure:
        """Play rules, and give the data of one level, as the protocol says."""
        if len(rules) > self.horizon:
            raise ValueError(f"rules: {len(rules)} for {self.horizon} levels")
        most = min(len(rules) + 1, self.horizon)
        h = len(rules) if level is None else level
        if not 1 <= h <= most:
            raise ValueError(
                f"level: {h} is not in 1..{most}, {len(rules)} rules being given for "
                f"the horizon {self.horizon}"
            )
        n, successors = check_draws(n), successors and level is None
        found = self._draw(DrawCall(rules, n, rng, h, successors, level is not None))
        self.trajectories += n
        return found

    def _draw(self, call: DrawCall) -> EmpiricalMeasure:
        raise NotImplementedError

    def run(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        *,
        first: int = 0,
        transitions: bool = False,
    ) -> Trajectories:
        """Run n whole episodes, as the protocol says."""
        check_policies(policies, self.horizon)
        if not 0 <= first <= check_draws(n):
            raise ValueError(f"first: {first} is not in 0..{n}, the trajectories")
        policies = list(policies[: self.horizon])
        found = self._run(RunCall(policies, n, rng, first, transitions))
        self.trajectories += n
        return found

    def _run(self, call: RunCall) -> Trajectories:
        raise NotImplementedError


def check_draws(n: int) -> int:
    """Return n, a positive Python integer, or raise ValueError."""
    if isinstance(n, (bool, float)) or n != int(n) or n < 1:
        raise ValueError(f"n: {n!r} is no positive number of trajectories")
    return int(n)


def check_path(path: Path, n_actions: int) -> None:
    """Refuse a path with an action that is not in 0..K-1."""
    for h, action in enumerate(path, 1):
        if not 0 <= action < n_actions:
            raise ValueError(
                f"path: action {action} at level {h} is not in 0..{n_actions - 1}"
            )


def leading_path(rules: Sequence[Any]) -> tuple[int, ...]:
    """Return the rules as a path of actions, () where one of them is none."""
    if all(isinstance(rule, (int, np.integer)) for rule in rules):
        return tuple(map(int, rules))
    return ()
