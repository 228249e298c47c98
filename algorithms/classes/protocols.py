"""What every function class is: the contracts that oracles and algorithms rely on.

An algorithm hands a class to oracles, evaluates what comes back, and asks for the
logarithm of the size; the guard of `olivine.algorithms.oracles.ledger` enforces that it
does nothing else. Values map observations to [0, 1], policies to actions 0..K-1;
members are callables on a column as in `olivine.algorithms.exact.data`: int64 codes
(n,) or float64 features (n, d).

Policies that draw are evaluated here, too. A mixture of policies, called on
observations, gives rows of action probabilities. Average costs and one-step values are
linear in it, so it does not matter whether a member is drawn once, at each level, or at
each observation. On finite observations every policy becomes rows of integer weights:
action a has probability ``weights[x, a] / totals[x]``, exactly.

>>> half = Fraction(1, 2)
>>> first, second = lambda x: x, lambda x: np.ones_like(x)
>>> mixed = MixedPolicy((first, second), (half, half), 2)
>>> mixed(np.array([0, 1])).tolist()
[[0.5, 0.5], [0.0, 1.0]]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Observations = NDArray[Any]
"""int64 codes of shape (n,), or float64 features of shape (n, d)."""


class ValueFunction(Protocol):
    """A function from observations to [0, 1] (to R where a class says so)."""

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Values at n observations: float64, shape (n,)."""


class Policy(Protocol):
    """A function from observations to actions."""

    def __call__(self, observations: Observations, /) -> NDArray[np.int64]:
        """Actions at n observations: int64, shape (n,), in 0..K-1."""


@runtime_checkable
class ValueClass(Protocol):
    """A class G of value functions."""

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """Return observations that are checked; ValueError names argument and row."""

    def at_level(self, level: int) -> ValueClass:
        """Return the class of one level, 1-based; a stationary class is its own."""

    def log_size(
        self,
        *,
        resolution: float | None = None,
        points: int | None = None,
        squared: bool = False,
    ) -> float:
        """Natural logarithm of the number of functions a union bound counts.

        `resolution` None: as many members as attain every supremum of functionals
        linear in g; otherwise the size of a cover in the supremum norm. `points`: how
        many observations can occur, where the size depends on it. `squared`: whether g²
        occurs beside g.
        """


@runtime_checkable
class PolicyClass(Protocol):
    """A class Π of policies."""

    @property
    def n_actions(self) -> int:
        """K, the number of actions."""

    def admit(self, observations: Any, name: str = "observations") -> Observations:
        """As for a value class."""

    def at_level(self, level: int) -> PolicyClass:
        """Return the class of one level, 1-based; a stationary class is its own."""

    def log_size(self, *, points: int | None = None) -> float:
        """Log of the number of policies, or labellings of ``points`` observations."""


def check_level(level: int, deepest: int | None = None) -> None:
    """Refuse a level outside 1..deepest, if that is given (ValueError)."""
    if level < 1 or (deepest is not None and level > deepest):
        limit = "" if deepest is None else f"..{deepest}"
        raise ValueError(f"level: {level} is not in 1{limit}")


class Stationary:
    """A class that is the same at every level."""

    def at_level(self, level: int) -> Self:
        """Return the class itself."""
        check_level(level)
        return self


def check_resolution(resolution: float) -> None:
    """Refuse a resolution outside (0, 1] (ValueError)."""
    if not 0 < resolution <= 1:
        raise ValueError(f"resolution: {resolution} is not in (0, 1]")


@dataclass(frozen=True, eq=False)
class MixedPolicy:
    """A mixture of deterministic policies; weights are rationals that sum to 1."""

    members: tuple[Policy, ...]
    weights: tuple[Fraction, ...]
    n_actions: int

    def __post_init__(self) -> None:
        if not self.members or len(self.members) != len(self.weights):
            raise ValueError(
                f"weights: {len(self.weights)} for {len(self.members)} policies"
            )
        if min(self.weights) <= 0 or sum(self.weights) != 1:
            raise ValueError("weights: not positive, or they do not sum to 1")

    def __len__(self) -> int:
        return len(self.members)

    def __call__(self, observations: Observations, /) -> NDArray[np.float64]:
        """Give action probabilities: float64, shape (n, K), rows sum to 1."""
        n = len(observations)
        chances = np.zeros((n, self.n_actions))
        rows = np.arange(n)
        for member, weight in zip(self.members, self.weights, strict=True):
            chances[rows, member(observations)] += float(weight)
        return chances

    def draw(self, rng: np.random.Generator) -> Policy:
        """Draw a member with its probability (to within a float64 rounding)."""
        shares = np.array([float(w) for w in self.weights])
        return self.members[int(rng.choice(len(shares), p=shares / shares.sum()))]


def action_probabilities(
    policy: Callable[[Observations], NDArray[Any]],
    observations: Observations,
    n_actions: int,
) -> NDArray[np.float64]:
    """Probabilities (n, K) of the actions 0..K-1 of any policy; ValueError else."""
    found = policy(observations)
    n = len(observations)
    if found.shape == (n, n_actions) and found.ndim == 2:
        return np.asarray(found, dtype=np.float64)
    if found.shape != (n,) or not np.issubdtype(found.dtype, np.integer):
        raise ValueError(f"policy: returned {found.dtype} of shape {found.shape}")
    if n and not 0 <= int(found.min()) <= int(found.max()) < n_actions:
        raise ValueError(f"policy: an action is not in 0..{n_actions - 1}")
    chances = np.zeros((n, n_actions))
    chances[np.arange(n), found] = 1
    return chances


def sample_actions(
    probabilities: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one action a row, int64 (n,), never one of probability 0."""
    heights = np.cumsum(probabilities, axis=1)
    # Scaled by the last height, which rounding may leave off 1; the draw is
    # below it, so some action of positive probability is above the draw.
    levels = rng.random(len(heights)) * heights[:, -1]
    return np.asarray((heights <= levels[:, None]).sum(axis=1), dtype=np.int64)


def action_weights(
    policy: Any, observations: NDArray[Any], n_actions: int
) -> NDArray[Any]:
    """Integer action weights of a policy, or of an action rule: (n, K).

    `policy` is ``"uniform"``, an action, or a policy. The probability of an action is
    its weight over the row's sum, exact for a `MixedPolicy`; float probabilities stand
    for those floats, normalised, and must sum to 1 within 1e-9, else ValueError.
    """
    n = len(observations)
    if isinstance(policy, str):
        return np.ones((n, check_rule(policy, n_actions)), dtype=np.int64)
    if isinstance(policy, (int, np.integer)):
        weights = np.zeros((n, n_actions), dtype=np.int64)
        weights[:, check_action(int(policy), n_actions)] = 1
        return weights
    if isinstance(policy, MixedPolicy):
        return _mixture_weights(policy, observations, n_actions)
    chances = action_probabilities(policy, observations, n_actions)
    check_chances(chances)
    if np.isin(chances, (0.0, 1.0)).all():
        return np.asarray(chances, dtype=np.int64)
    return _float_weights(chances)


def choose_actions(
    rule: Any, observations: NDArray[Any], n_actions: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one action for each observation by a rule, as of `action_weights`: (n,)."""
    n = len(observations)
    if isinstance(rule, str):
        return rng.integers(check_rule(rule, n_actions), size=n)
    if isinstance(rule, (int, np.integer)):
        return np.full(n, check_action(int(rule), n_actions))
    found = np.asarray(rule(observations))
    if found.shape == (n,) and np.issubdtype(found.dtype, np.integer):
        if n:
            check_action(int(found.min()), n_actions, "policy: action")
            check_action(int(found.max()), n_actions, "policy: action")
        return found.astype(np.int64, copy=False)
    chances = action_probabilities(lambda _: found, observations, n_actions)
    check_chances(chances)
    return sample_actions(chances, rng)


def check_rule(rule: str, n_actions: int) -> int:
    """Return the number of actions of the only named rule, or raise ValueError."""
    if rule != "uniform":
        raise ValueError(f"action: unknown rule {rule!r} (there is 'uniform')")
    return n_actions


def check_action(action: int, n_actions: int, name: str = "action") -> int:
    """Return the action, or raise ValueError if it is not in 0..K-1."""
    if not 0 <= action < n_actions:
        raise ValueError(f"{name}: {action} is not in 0..{n_actions - 1}")
    return action


def check_chances(chances: NDArray[np.float64]) -> None:
    """Refuse rows that are no probabilities with a ValueError."""
    good = (chances >= 0).all(axis=1) & (np.abs(chances.sum(axis=1) - 1) <= 1e-9)
    if not good.all():
        row = int(np.argmin(good))
        raise ValueError(
            f"policy, row {row}: {chances[row].tolist()} are no probabilities"
        )


def check_policies(policies: Sequence[Any], horizon: int) -> Sequence[Any]:
    """Return policies, or raise ValueError if there are fewer than ``horizon``."""
    if len(policies) < horizon:
        raise ValueError(f"policies: {len(policies)} for {horizon} levels")
    return policies


def _mixture_weights(
    policy: MixedPolicy, observations: NDArray[Any], n_actions: int
) -> NDArray[Any]:
    scale = math.lcm(*(w.denominator for w in policy.weights))
    parts = [int(w * scale) for w in policy.weights]
    weights = np.zeros((len(observations), n_actions), dtype=object)
    for member, part in zip(policy.members, parts, strict=True):
        chosen = action_probabilities(member, observations, n_actions)
        weights += chosen.astype(np.int64).astype(object) * part
    return weights if scale > 2**40 else weights.astype(np.int64)


def _float_weights(chances: NDArray[np.float64]) -> NDArray[Any]:
    weights = np.zeros(chances.shape, dtype=object)
    for row, values in enumerate(chances.tolist()):
        exact = [Fraction(v) for v in values]
        scale = math.lcm(*(v.denominator for v in exact))
        weights[row] = [int(v * scale) for v in exact]
    return weights
