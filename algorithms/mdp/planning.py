"""Pairs (g, π), distributions over states, and exact planning in acyclic MDPs.

Planning takes one vectorised step a *height*, the greatest number of actions to an end.
Values are integers over a common denominator: int64 where a bound on intermediate
results allows, else Python integers. Distributions are as OLIVE collects them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import (
    IntArray,
    as_integers,
    check_type,
    distinct,
    fits_int64,
    gather,
    integer_array,
    integers,
    lcm_of,
    magnitude,
    segment_sums,
)
from .arrays import MdpArrays


@dataclass(frozen=True, eq=False)
class Pair:
    """A value function g and a policy π on the states 0..n-1, exact."""

    # Shape (n,); the value of state s is ``numerators[s] / denominator``
    numerators: IntArray
    denominator: int  # A positive integer, common to all states
    # int32, shape (n,): each state's *local* action index, from 0
    policy: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.denominator <= 0:
            raise ValueError(f"denominator {self.denominator} is not positive")
        if self.numerators.dtype != object:
            numerators = as_integers("numerators", self.numerators, np.int64)
            object.__setattr__(self, "numerators", numerators)
        policy = as_integers("policy", self.policy, np.int32)
        object.__setattr__(self, "policy", policy)
        if self.numerators.shape != policy.shape:
            raise ValueError(
                f"{len(self.numerators)} values but {len(policy)} policy entries"
            )

    @classmethod
    def from_fractions(
        cls, values: Iterable[Fraction | int], policy: ArrayLike
    ) -> Pair:
        """Build a pair from exact values, over the least denominator, and a policy."""
        exact = [Fraction(v) for v in values]
        denominator = math.lcm(1, *(v.denominator for v in exact))
        numerators = integer_array(int(v * denominator) for v in exact)
        return cls(numerators, denominator, np.asarray(policy))

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.numerators)

    def value(self, state: int) -> Fraction:
        """Value of a state."""
        return Fraction(int(self.numerators[state]), self.denominator)

    def values(self) -> list[Fraction]:
        """Value of every state, in order."""
        return [Fraction(int(v), self.denominator) for v in self.numerators]

    def with_policy(self, policy: ArrayLike) -> Pair:
        """Give the same values another policy."""
        return Pair(self.numerators, self.denominator, np.asarray(policy))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pair):
            return NotImplemented
        if self.n_states != other.n_states:
            return False
        return _equal(self, other) and np.array_equal(self.policy, other.policy)

    __hash__ = None  # type: ignore[assignment]  # arrays inside


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of the state met at a time step; below 1 after endings."""

    states: NDArray[np.int64]  # int64, shape (k,), strictly increasing
    # Positive, (k,): ``states[i]`` has probability ``numerators[i] / denominator``
    numerators: IntArray
    denominator: int  # A positive integer, at least the sum of the numerators
    level: int  # The time step, 1-based

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", as_integers("states", self.states, np.int64))
        if self.numerators.dtype != object:
            numerators = as_integers("numerators", self.numerators, np.int64)
            object.__setattr__(self, "numerators", numerators)
        if self.numerators.shape != self.states.shape:
            raise ValueError(
                f"{len(self.states)} states but {len(self.numerators)} numerators"
            )
        if self.level < 1:
            raise ValueError(f"level {self.level} is below 1")
        if (np.diff(self.states) <= 0).any():
            raise ValueError("states of a distribution must be strictly increasing")
        if len(self.states) and (self.states[0] < 0 or (self.numerators <= 0).any()):
            raise ValueError("a distribution needs states >= 0 and numerators > 0")
        largest = magnitude(self.numerators)
        # the first test also keeps the int64 sum of the second from wrapping
        if largest > self.denominator or self._total() > self.denominator:
            raise ValueError("the probabilities of a distribution exceed 1")

    @classmethod
    def from_fractions(
        cls, probabilities: Mapping[int, Fraction | int], level: int
    ) -> Distribution:
        """Build a distribution from the probability of each state."""
        exact = {s: Fraction(p) for s, p in sorted(probabilities.items()) if p}
        denominator = math.lcm(1, *(p.denominator for p in exact.values()))
        numerators = integer_array(int(p * denominator) for p in exact.values())
        states = np.array(list(exact), dtype=np.int64)
        return cls(states, numerators, denominator, level)

    def probability(self, state: int) -> Fraction:
        """Probability of a state."""
        i = int(np.searchsorted(self.states, state))
        if i == len(self.states) or self.states[i] != state:
            return Fraction(0)
        return Fraction(int(self.numerators[i]), self.denominator)

    def probabilities(self) -> dict[int, Fraction]:
        """Probability of each state of the support, in order."""
        return {
            int(s): Fraction(int(p), self.denominator)
            for s, p in zip(self.states, self.numerators, strict=True)
        }

    def mass(self) -> Fraction:
        """Total probability, 1 unless the episode may have ended before."""
        return Fraction(self._total(), self.denominator)

    def _total(self) -> int:
        return sum(int(p) for p in self.numerators)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return (
            self.level == other.level
            and np.array_equal(self.states, other.states)
            and _equal(self, other)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside


def _equal(one: Pair | Distribution, other: Pair | Distribution) -> bool:
    left = one.numerators.astype(object) * other.denominator
    return bool((left == other.numerators.astype(object) * one.denominator).all())


@dataclass(frozen=True, eq=False)
class Distributions(Sequence[Distribution]):
    """A sequence of distributions in flat arrays."""

    # int64, (N+1,); distribution i is ``offsets[i]:offsets[i+1]`` of what follows
    offsets: NDArray[np.int64]
    # int64, shape (S,), strictly increasing within a distribution
    states: NDArray[np.int64]
    numerators: IntArray  # Shape (S,), positive, int64 or object
    denominators: IntArray  # Shape (N,), positive, int64 or object
    levels: NDArray[np.int32]  # int32, shape (N,), time steps, 1-based

    def __post_init__(self) -> None:
        for name, dtype in (
            ("offsets", np.int64),
            ("states", np.int64),
            ("levels", np.int32),
        ):
            array = as_integers(name, getattr(self, name), dtype)
            object.__setattr__(self, name, array)
        n = len(self.levels)
        if len(self.offsets) != n + 1 or len(self.denominators) != n:
            raise ValueError("offsets, denominators and levels differ in length")
        if len(self.numerators) != len(self.states):
            raise ValueError("states and numerators differ in length")
        lengths = np.diff(self.offsets)
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.states):
            raise ValueError("offsets do not span the states")
        if (lengths < 0).any():
            raise ValueError("offsets decrease")
        self._check_entries(lengths)

    def _check_entries(self, lengths: NDArray[np.int64]) -> None:
        owner = np.repeat(np.arange(len(lengths)), lengths)
        falling = (np.diff(self.states) <= 0) & (owner[1:] == owner[:-1])
        bad = np.zeros(len(lengths), dtype=bool)
        bad[owner[1:][falling]] = True
        bad[owner[(self.states < 0) | (self.numerators <= 0)]] = True
        bad |= (self.levels < 1) | (self.denominators <= 0)
        total = magnitude(self.numerators) * int(lengths.max(initial=0))
        kind = np.int64 if fits_int64(total) else object
        sums = segment_sums(self.numerators.astype(kind), self.offsets)
        bad |= sums > self.denominators
        if bad.any():
            self[int(np.flatnonzero(bad)[0])]  # says what is wrong with it

    @classmethod
    def from_iterable(cls, distributions: Iterable[Distribution]) -> Distributions:
        """Flatten distributions; a `Distributions` is returned as it is."""
        if isinstance(distributions, Distributions):
            return distributions
        check_type("distributions", distributions, Iterable, "list of Distributions")
        listed = list(distributions)
        for one in listed:
            check_type("distributions", one, Distribution, "Distribution")
        lengths = [len(d.states) for d in listed]
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
            np.concatenate([empty, *(d.states for d in listed)]),
            np.concatenate([empty, *(d.numerators for d in listed)]),
            integer_array(d.denominator for d in listed),
            np.array([d.level for d in listed], dtype=np.int32),
        )

    def __len__(self) -> int:
        return len(self.levels)

    @overload
    def __getitem__(self, index: int) -> Distribution: ...
    @overload
    def __getitem__(self, index: slice) -> list[Distribution]: ...
    def __getitem__(self, index: int | slice) -> Distribution | list[Distribution]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"no distribution {index} among {len(self)}")
        i = index % len(self)
        entries = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        return Distribution(
            self.states[entries],
            self.numerators[entries],
            int(self.denominators[i]),
            int(self.levels[i]),
        )


def denominators(mdp: MdpArrays, actions: NDArray[np.int64]) -> tuple[int, int]:
    """Least common denominators of the probabilities and of the rewards of actions."""
    rewards = distinct(mdp.reward_index[actions])
    return (
        lcm_of(mdp.transition_denominator[actions]),
        math.lcm(1, *(mdp.reward_table[int(i)].denominator for i in rewards)),
    )


def induction(mdp: MdpArrays, chosen: NDArray[np.int64] | None) -> Pair:
    """Exact V^π with π, of global actions; None: V* and π*, ties to the lowest."""
    groups = list(_groups(mdp, chosen))
    denominator = 1
    for _, actions, _ in groups:
        # values so far are multiples of 1/denominator, hence expectations of
        # 1/(denominator * lcm of the probabilities'), and rewards come on top
        chances, rewards = denominators(mdp, actions)
        denominator = math.lcm(denominator * chances, rewards)
    used = np.arange(mdp.n_actions) if chosen is None else chosen
    scaled = [r * denominator for r in mdp.reward_table]
    largest = max(abs(scaled[i]) for i in distinct(mdp.reward_index[used]))
    weight = magnitude(mdp.transition_denominator[used])
    # At most max(heights) rewards, times `weight` before an expectation is divided.
    exact = not fits_int64(int(largest * len(groups)) * weight)
    # only rewards of unused actions can be fractions still
    table = np.array([int(r) for r in scaled], dtype=object)
    values = np.zeros(mdp.n_states, dtype=object if exact else np.int64)
    policy = np.zeros(mdp.n_states, dtype=np.int32)
    for states, actions, bounds in groups:
        own = integers(table[mdp.reward_index[actions]], exact=exact)
        q = own + _expectations(mdp, actions, values, exact=exact)
        if chosen is not None:
            values[states] = q
        else:
            values[states] = np.maximum.reduceat(q, bounds[:-1])
            policy[states] = _first_best(q, values[states], bounds)
    if chosen is not None:
        policy = (chosen - mdp.action_offset[:-1]).astype(np.int32)
    divisor = math.gcd(denominator, int(np.gcd.reduce(values)))
    values //= divisor
    if fits_int64(magnitude(values)):
        values = values.astype(np.int64)
    return Pair(values, denominator // divisor, policy)


def _groups(
    mdp: MdpArrays, chosen: NDArray[np.int64] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    order = np.argsort(mdp.heights, kind="stable")
    ends = np.cumsum(np.bincount(mdp.heights)[1:])
    for states in np.split(order, ends[:-1]):
        if chosen is None:
            actions, bounds = gather(mdp.action_offset, states)
            yield states, actions, bounds
        else:
            yield states, chosen[states], np.arange(len(states) + 1)


def _expectations(
    mdp: MdpArrays, actions: NDArray[np.int64], values: IntArray, *, exact: bool
) -> IntArray:
    """E[v(x') | action], for values that the denominators are known to divide."""
    index, bounds = gather(mdp.transition_offset, actions)
    terms = integers(mdp.transition_numerator[index], exact=exact)
    sums = segment_sums(terms * values[mdp.transition_target[index]], bounds)
    quotients: IntArray = sums // mdp.transition_denominator[actions]
    return quotients


def _first_best(
    q: IntArray, best: IntArray, bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    counts = np.diff(bounds)
    position = np.arange(len(q)) - np.repeat(bounds[:-1], counts)
    position[q != np.repeat(best, counts)] = len(q)
    first: NDArray[np.int64] = np.minimum.reduceat(position, bounds[:-1])
    return first


def state_distributions(mdp: MdpArrays, policy: ArrayLike) -> Iterator[Distribution]:
    """Yield the distributions of the states met at time steps 1..horizon."""
    chosen = mdp.global_actions(policy)
    states = np.array([mdp.start], dtype=np.int64)
    numerators: NDArray[Any] = np.ones(1, dtype=np.int64)
    denominator = 1
    for level in range(1, mdp.horizon + 1):
        yield Distribution(states, numerators, denominator, level)
        states, numerators, denominator = _step(
            mdp, chosen[states], numerators, denominator
        )


def _step(
    mdp: MdpArrays, actions: NDArray[np.int64], numerators: IntArray, denominator: int
) -> tuple[NDArray[np.int64], IntArray, int]:
    own = mdp.transition_denominator[actions]
    scale = lcm_of(own)
    exact = not fits_int64(denominator * scale)  # the masses sum to at most this
    index, bounds = gather(mdp.transition_offset, actions)
    mass = integers(numerators, exact=exact) * (scale // integers(own, exact=exact))
    moved = np.repeat(mass, np.diff(bounds)) * mdp.transition_numerator[index]
    states, position = np.unique(mdp.transition_target[index], return_inverse=True)
    sums = np.zeros(len(states), dtype=moved.dtype)
    np.add.at(sums, position, moved)
    total = denominator * scale
    divisor = math.gcd(total, int(np.gcd.reduce(sums))) if len(sums) else total
    return states.astype(np.int64), sums // divisor, total // divisor
