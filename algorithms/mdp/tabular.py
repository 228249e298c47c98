"""Finite episodic MDPs, exact: made from lists, at random, of two actions a state."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import INT64_MAX, as_rational, check_type, gather
from .arrays import ARRAYS, MdpArrays, check_rewards, validate
from .planning import Distribution, Pair, induction, state_distributions

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
        return induction(self, None)

    def evaluate(self, policy: ArrayLike) -> Pair:
        """Compute (V^π, π) exactly for a policy of local action indices."""
        return induction(self, self.global_actions(policy))

    def distribution(self, policy: ArrayLike, level: int) -> Distribution:
        """Exact distribution of the state met at a time step, 1 at the start."""
        if not 1 <= level <= self.horizon:
            raise ValueError(f"time step {level} is outside 1..{self.horizon}")
        return next(islice(state_distributions(self, policy), level - 1, None))

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
        rewards, others = (
            np.array(mdp.reward_table, dtype=object)[mdp.reward_index]
            for mdp in (self, other)
        )
        return (
            np.array_equal(rewards, others)
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
        copies = (f"{own[-1]} (copy {i})" for i in count(2))
        new = (name for name in copies if name not in own)
        names += [*own, *islice(new, most - len(own))]
    return tuple(names)


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


@dataclass(frozen=True, eq=False)
class TwoActions:
    """A layered MDP with two actions a state: binary trees in place of wide choices.

    A state of level h becomes a tree of max(1, ⌈log2 K_h⌉) levels, K_h the most actions
    at h. A node ("C1/01", say) is reached by the first bits of an action's index and
    chooses the next one; the last bit takes the action. Equal depths keep the MDP
    layered. A choice that does not exist is left out (`TabularMDP.padded` repeats one).
    Values are the same at the roots.
    """

    original: TabularMDP

    def __post_init__(self) -> None:
        if not self.original.is_layered:
            raise ValueError("only a layered MDP can be given two actions a state")

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """Depth d_h of the trees of each state's level, shape (n,)."""
        levels, counts = self.original.state_level, self.original.action_counts
        widest = np.ones(int(levels.max()) + 1, dtype=np.int64)
        np.maximum.at(widest, levels, counts)
        return np.array([max(1, (int(k) - 1).bit_length()) for k in widest])[levels]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Nodes of state s are ``offsets[s]:offsets[s+1]``, its root first."""
        sizes = [
            sum(self._width(s, k) for k in range(int(depth)))
            for s, depth in enumerate(self.depths)
        ]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def nodes(self, state: int) -> range:
        """Nodes of a state of the original, the root first."""
        return range(int(self.offsets[state]), int(self.offsets[state + 1]))

    @cached_property
    def mdp(self) -> TabularMDP:
        """Make the MDP of two actions."""
        original, levels = self.original, self.original.state_level
        depth_of = dict(zip(levels.tolist(), self.depths.tolist(), strict=True))
        base, deepest = {1: 1}, int(levels.max())
        for level in range(1, deepest):
            base[level + 1] = base[level] + depth_of.get(level, 1)
        names = original.state_names
        states: list[StateData] = []
        for s, level in enumerate(levels.tolist()):
            depth = depth_of[level]
            for k in range(depth):
                for q in range(self._width(s, k)):
                    actions = self._choices(s, k, q, depth)
                    states.append((_name(names[s], k, q), base[level] + k, actions))
        return TabularMDP.from_lists(states, start=names[original.start])

    def policy(self, policy: ArrayLike) -> NDArray[np.int32]:
        """Let nodes follow a policy of the original; off its path, take the first."""
        chosen = np.zeros(int(self.offsets[-1]), dtype=np.int32)
        for s, action in enumerate(np.asarray(policy).tolist()):
            for node, bit in self._path(s, action):
                chosen[node] = bit
        return chosen

    def original_policy(self, policy: ArrayLike) -> NDArray[np.int32]:
        """Return the original's action that each root's path leads to, shape (n,)."""
        bits, found = np.asarray(policy), []
        for s, depth in enumerate(self.depths.tolist()):
            prefix, first = 0, int(self.offsets[s])
            for k in range(depth):
                prefix, first = (
                    2 * prefix + int(bits[first + prefix]),
                    first + self._width(s, k),
                )
            found.append(prefix)
        return np.array(found, dtype=np.int32)

    def pair(self, pair: Pair) -> Pair:
        """Turn a pair (g, π) of the original into one of two actions.

        Roots keep their values; a node below is worth what the action that π, or off
        its path the first choice, leads to is worth by g.
        """
        mdp, policy = self.original, self.policy(pair.policy)
        values: list[Fraction] = []
        for s, depth in enumerate(self.depths.tolist()):
            below = [
                sum((p * pair.value(t) for t, p in mdp.successors(a)), mdp.reward(a))
                for a in mdp.actions(s)
            ]
            first, tree = int(self.offsets[s + 1]), list[Fraction]()
            for k in reversed(range(depth)):  # from the actions up to the root
                width = self._width(s, k)
                first -= width
                below = [below[2 * q + int(policy[first + q])] for q in range(width)]
                tree = below + tree
            values += [pair.value(s), *tree[1:]]
        return Pair.from_fractions(values, policy)

    def original_pair(self, pair: Pair) -> Pair:
        """Restrict a pair to the original: the roots' values, the paths' actions."""
        values = [pair.value(int(root)) for root in self.offsets[:-1]]
        return Pair.from_fractions(values, self.original_policy(pair.policy))

    def constraints(self, distribution: Distribution) -> list[Distribution]:
        """Give what constrains a distribution here: at roots, and each node below."""
        shares = distribution.probabilities()
        level = self.mdp.state_level
        roots = {int(self.offsets[s]): p for s, p in shares.items()}
        below = [node for s in shares for node in self.nodes(s)[1:]]
        return [
            Distribution.from_fractions(roots, int(level[next(iter(roots))])),
            *(Distribution.from_fractions({v: 1}, int(level[v])) for v in below),
        ]

    def _width(self, state: int, k: int) -> int:
        last = int(self.original.action_counts[state]) - 1
        return (last >> (int(self.depths[state]) - k)) + 1

    def _path(self, state: int, action: int) -> list[tuple[int, int]]:
        """Nodes that lead to an action, each with the bit that it chooses."""
        first, depth, path = int(self.offsets[state]), int(self.depths[state]), []
        for k in range(depth):
            prefix = action >> (depth - k)
            path.append((first + prefix, action >> (depth - k - 1) & 1))
            first += self._width(state, k)
        return path

    def _choices(self, state: int, k: int, q: int, depth: int) -> list[ActionData]:
        mdp, name = self.original, self.original.state_names[state]
        if k < depth - 1:
            children = range(2 * q, min(2 * q + 2, self._width(state, k + 1)))
            return [(str(c & 1), 0, {_name(name, k + 1, c): 1}) for c in children]
        return [
            (
                mdp.action_names[a],
                mdp.reward(a),
                {mdp.state_names[t]: p for t, p in mdp.successors(a)},
            )
            for a in mdp.actions(state)[2 * q : 2 * q + 2]
        ]


def _name(state: str, k: int, q: int) -> str:
    return f"{state}/{q:0{k}b}" if k else state
