"""Finite episodic MDPs, exact in every number, made from lists or at random."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..exact.arrays import INT64_MAX, IntArray, as_rational, check_type, gather
from . import planning
from .arrays import ARRAYS, MdpArrays, check_rewards, validate
from .bellman import Pair
from .distributions import Distribution

Rational = Fraction | int
ActionData = tuple[str, Rational, Mapping[str, Rational]]
"""(name, reward, {successor: probability})."""
StateData = tuple[str, int, Sequence[ActionData]]  # (name, level, actions)


class TabularMDP(MdpArrays):
    """A finite episodic MDP, exact: probabilities and rewards are rationals.

    Its arrays are those of `MdpArrays`; planning (`optimal_values`, `evaluate`,
    `distribution`) is exact.
    """

    @classmethod
    def from_lists(
        cls,
        states: Sequence[StateData],
        *,
        start: str | None = None,
        horizon: int | None = None,
    ) -> TabularMDP:
        """Build and validate an MDP from nested Python data.

        Parameters
        ----------
        states
            One ``(name, level, actions)`` a state; `actions` is a sequence of ``(name,
            reward, successors)`` and `successors` maps the names of states to their
            probabilities ({} ends the episode). Rewards and probabilities are Fractions
            or integers; successors of probability 0 are dropped.
        start
            Name of the start state; the first state by default.
        horizon
            By default the larger of the deepest level and the most actions in an
            episode.

        Raises
        ------
        ValueError
            Naming the state and action at fault.

        Examples
        --------
        >>> from fractions import Fraction
        >>> mdp = TabularMDP.from_lists([
        ...     ("s", 1, [("go", 0, {"t": Fraction(1, 3), "u": Fraction(2, 3)})]),
        ...     ("t", 2, [("end", 1, {})]),
        ...     ("u", 2, [("end", 0, {}), ("half", Fraction(1, 2), {})]),
        ... ])
        >>> mdp.optimal_values().value(mdp.start)
        Fraction(2, 3)
        """
        mdp = cls(horizon=1, **_arrays_from_lists(states, start))
        if horizon is None:
            horizon = max(int(mdp.state_level.max()), int(mdp.heights[mdp.start]))
        complete = dataclasses.replace(mdp, horizon=horizon)
        complete.validate()
        return complete

    def optimal_values(self) -> Pair:
        """Compute (V*, π*) exactly; π* takes the first of the best actions."""
        return planning.optimal_values(self)

    def evaluate(self, policy: ArrayLike) -> Pair:
        """Compute (V^π, π) exactly for a policy of local action indices."""
        return planning.evaluate(self, policy)

    def distribution(self, policy: ArrayLike, level: int) -> Distribution:
        """Exact distribution of the state met at a time step (`planning`)."""
        return planning.state_distribution(self, policy, level)

    def with_rewards(
        self, reward_index: ArrayLike, reward_table: Sequence[Fraction]
    ) -> TabularMDP:
        """Give the MDP other rewards, sharing the rest; ValueError for bad indices."""
        changed = dataclasses.replace(
            self,
            reward_index=np.asarray(reward_index),
            reward_table=tuple(reward_table),
        )
        check_rewards(changed)
        return changed

    def padded(self) -> TabularMDP:
        """Repeat last actions up to one number in all states; optimal values stay."""
        return dataclasses.replace(self, **_padded_arrays(self))

    def validate(self, *, names: bool = True) -> None:
        """Check everything that the class promises.

        Parameters
        ----------
        names
            Whether to check labels, too; made on demand, they take most of the time.

        Raises
        ------
        ValueError
            Naming the state and action at fault.
        """
        validate(self, names=names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TabularMDP):
            return NotImplemented
        if (self.horizon, self.start) != (other.horizon, other.start):
            return False
        if not all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in ARRAYS
            if name != "reward_index"
        ):
            return False
        return (
            _same_rewards(self, other)
            and list(self.state_names) == list(other.state_names)
            and list(self.action_names) == list(other.action_names)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside


def _arrays_from_lists(
    states: Sequence[StateData], start: str | None
) -> dict[str, Any]:
    check_type("states", states, Sequence, "list of (name, level, actions)")
    if not states:
        raise ValueError("an MDP needs at least one state")
    index = {name: s for s, (name, _, _) in enumerate(states)}
    if start is not None and start not in index:
        raise ValueError(f"unknown start state {start!r}")
    action_offset, transition_offset = [0], [0]
    targets: list[int] = []
    numerators: list[int] = []
    denominators: list[int] = []
    rewards: dict[Fraction, int] = {}
    reward_index: list[int] = []
    for state, _, actions in states:
        for action, reward, successors in actions:
            where = f"state {state!r}, action {action!r}"
            exact = _successors(successors, index, where)
            common = math.lcm(1, *(p.denominator for p in exact.values()))
            parts = [int(p * common) for p in exact.values()]
            if max(common, *parts, 0) > INT64_MAX:
                raise ValueError(
                    f"{where}: probabilities with a common denominator beyond 64 bits"
                )
            denominators.append(common)
            targets.extend(exact)
            numerators.extend(parts)
            value = as_rational(f"{where}: reward", reward)
            reward_index.append(rewards.setdefault(value, len(rewards)))
            transition_offset.append(len(targets))
        action_offset.append(len(reward_index))
    return {
        "start": index[start] if start is not None else 0,
        "state_level": np.array([level for _, level, _ in states]),
        "action_offset": np.array(action_offset),
        "transition_offset": np.array(transition_offset),
        "transition_target": np.array(targets, dtype=np.int32),
        "transition_numerator": np.array(numerators, dtype=np.int64),
        "transition_denominator": np.array(denominators, dtype=np.int64),
        "reward_index": np.array(reward_index, dtype=np.int32),
        "reward_table": tuple(rewards),
        "state_names": tuple(name for name, _, _ in states),
        "action_names": tuple(action for *_, acts in states for action, _, _ in acts),
    }


def _successors(
    given: Mapping[str, Rational], index: Mapping[str, int], where: str
) -> dict[int, Fraction]:
    exact: dict[int, Fraction] = {}
    for name, probability in given.items():
        if name not in index:
            raise ValueError(f"{where}: unknown successor {name!r}")
        value = as_rational(f"{where}: probability of {name!r}", probability)
        if value < 0:
            raise ValueError(f"{where}: probability {value} of {name!r} is negative")
        if value:
            exact[index[name]] = value
    return exact


def _padded_arrays(mdp: MdpArrays) -> dict[str, Any]:
    most = int(mdp.action_counts.max())
    local = np.minimum(np.arange(most), mdp.action_counts[:, None] - 1)
    copied = (mdp.action_offset[:-1, None] + local).ravel()
    index, transition_offset = gather(mdp.transition_offset, copied)
    return {
        "action_offset": np.arange(mdp.n_states + 1, dtype=np.int64) * most,
        "transition_offset": transition_offset,
        "transition_target": mdp.transition_target[index],
        "transition_numerator": mdp.transition_numerator[index],
        "transition_denominator": mdp.transition_denominator[copied],
        "reward_index": mdp.reward_index[copied],
        "action_names": _padded_names(mdp, most),
    }


def _padded_names(mdp: MdpArrays, most: int) -> tuple[str, ...]:
    names: list[str] = []
    for s in range(mdp.n_states):
        own = [mdp.action_names[a] for a in mdp.actions(s)]
        taken = set(own)
        copy = 2
        while len(own) < most:
            name = f"{mdp.action_names[mdp.actions(s)[-1]]} (copy {copy})"
            if name not in taken:
                own.append(name)
            copy += 1
        names.extend(own)
    return tuple(names)


def _same_rewards(one: MdpArrays, other: MdpArrays) -> bool:
    """Whether every action has the same reward, whatever the tables look like."""
    if len(one.reward_index) != len(other.reward_index):
        return False
    numbers: dict[Fraction, int] = {}
    left, right = (
        _renumbered(mdp.reward_table, mdp.reward_index, numbers) for mdp in (one, other)
    )
    return np.array_equal(left, right)


def _renumbered(
    table: Sequence[Fraction], index: IntArray, numbers: dict[Fraction, int]
) -> IntArray:
    renumbered = [numbers.setdefault(reward, len(numbers)) for reward in table]
    return np.array(renumbered, dtype=np.int64)[index]


def random_tabular_mdp(
    rng: np.random.Generator,
    *,
    horizon: int = 3,
    width: int = 3,
    n_actions: int = 2,
    max_successors: int = 3,
    denominator: int = 6,
    signed: bool = False,
) -> TabularMDP:
    """Draw a layered MDP: level 1 is the start, every level below `width` states.

    Actions above the last level lead to 1 to `max_successors` states of the next, with
    probabilities in multiples of 1/`denominator`. Rewards are multiples of
    1/(`denominator` · `horizon`) in [0, 1/horizon] (`signed`: from −1/horizon), so that
    values lie in [0, 1] (in [−1, 1]).
    """
    for name, value in (
        ("horizon", horizon),
        ("width", width),
        ("n_actions", n_actions),
    ):
        if value < 1:
            raise ValueError(f"{name} {value} is below 1")
    if not 1 <= max_successors <= denominator:
        raise ValueError(
            f"max_successors {max_successors} is outside 1..{denominator}, the "
            "number of shares of probability"
        )

    def names(level: int) -> list[str]:
        return ["s1"] if level == 1 else [f"s{level}.{i}" for i in range(1, width + 1)]

    def action(level: int, index: int) -> ActionData:
        least = -denominator if signed else 0
        units = int(rng.integers(least, denominator + 1))
        reward = Fraction(units, denominator * horizon)
        if level == horizon:
            return f"a{index}", reward, {}
        below = names(level + 1)
        count = int(rng.integers(1, min(max_successors, len(below)) + 1))
        targets = rng.choice(len(below), size=count, replace=False)
        # a uniform composition of `denominator` into `count` positive parts
        cuts = np.sort(rng.choice(denominator - 1, size=count - 1, replace=False)) + 1
        shares = np.diff(np.concatenate([[0], cuts, [denominator]]))
        return (
            f"a{index}",
            reward,
            {
                below[int(t)]: Fraction(int(share), denominator)
                for t, share in zip(targets, shares, strict=True)
            },
        )

    states: list[StateData] = [
        (name, level, [action(level, a) for a in range(1, n_actions + 1)])
        for level in range(1, horizon + 1)
        for name in names(level)
    ]
    return TabularMDP.from_lists(states, horizon=horizon)
