"""Finite episodic MDPs in flat arrays, exact in every number.

The arrays make an MDP of a million states checkable and solvable in exact
arithmetic within seconds, and let the members of a family that differ in
rewards alone share everything else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import as_integers
from . import construction as mdp_construction
from . import planning

if TYPE_CHECKING:
    from .bellman import Pair
    from .construction import StateData
    from .distributions import Distribution

_ARRAYS = {
    "state_level": np.int32,
    "action_offset": np.int64,
    "transition_offset": np.int64,
    "transition_target": np.int32,
    "transition_numerator": np.int64,
    "transition_denominator": np.int64,
    "reward_index": np.int32,
}


@dataclass(frozen=True, eq=False)
class TabularMDP:
    """A finite episodic MDP, exact: probabilities and rewards are rationals.

    States are 0..n-1. The actions of state ``s`` are the *global* action
    indices ``action_offset[s]:action_offset[s+1]``; the transitions of global
    action ``a`` are the entries ``transition_offset[a]:transition_offset[a+1]``
    of the two transition arrays. An action without transitions ends the
    episode; every other action's probabilities add up to 1, and no successor
    is listed twice in one action. The graph is acyclic. Levels are labels
    (1-based) that never decrease along a transition; the MDP is *layered* when
    every successor lies one level deeper.

    The constructor converts the arrays (losing nothing, or ValueError) and
    makes them read-only; `validate` checks the rest.

    Attributes
    ----------
    horizon
        Bound on the number of actions in an episode, at least 1.
    start
        The start state.
    state_level
        int32, shape (n,), values in 1..horizon.
    action_offset
        int64, shape (n+1,). Every state has at least one action.
    transition_offset
        int64, shape (A+1,), A the number of global actions.
    transition_target
        int32, shape (T,).
    transition_numerator
        int64, shape (T,), positive.
    transition_denominator
        int64, shape (A,); the probability of entry t of action a is
        ``transition_numerator[t] / transition_denominator[a]``. 1 for an
        action that ends the episode.
    reward_index
        int32, shape (A,), index into `reward_table`.
    reward_table
        The distinct (expected) rewards.
    state_names, action_names
        Labels; lengths n and A. Distinct among states, and among the actions
        of one state.
    """

    horizon: int
    start: int
    state_level: NDArray[np.int32]
    action_offset: NDArray[np.int64]
    transition_offset: NDArray[np.int64]
    transition_target: NDArray[np.int32]
    transition_numerator: NDArray[np.int64]
    transition_denominator: NDArray[np.int64]
    reward_index: NDArray[np.int32]
    reward_table: tuple[Fraction, ...]
    state_names: Sequence[str]
    action_names: Sequence[str]

    def __post_init__(self) -> None:
        for name, dtype in _ARRAYS.items():
            array = as_integers(name, getattr(self, name), dtype).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "reward_table", tuple(self.reward_table))

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
            One ``(name, level, actions)`` a state; `actions` is a sequence of
            ``(name, reward, successors)`` and `successors` maps the names of
            states to their probabilities ({} ends the episode). Rewards and
            probabilities are Fractions or integers. Successors of probability
            0 are dropped.
        start
            Name of the start state; the first state by default.
        horizon
            By default the larger of the deepest level and the greatest number
            of actions in an episode.

        Raises
        ------
        ValueError
            Naming the state and action at fault.

        Examples
        --------
        >>> from fractions import Fraction
        >>> mdp = TabularMDP.from_lists(
        ...     [
        ...         ("s", 1, [("go", 0, {"t": Fraction(1, 3), "u": Fraction(2, 3)})]),
        ...         ("t", 2, [("end", 1, {})]),
        ...         ("u", 2, [("end", 0, {}), ("half", Fraction(1, 2), {})]),
        ...     ]
        ... )
        >>> mdp.optimal_values().value(mdp.start)
        Fraction(2, 3)
        """
        mdp = cls(horizon=1, **mdp_construction.arrays_from_lists(states, start))
        if horizon is None:
            horizon = max(int(mdp.state_level.max()), int(mdp.heights[mdp.start]))
        complete = dataclasses.replace(mdp, horizon=horizon)
        complete.validate()
        return complete

    @property
    def n_states(self) -> int:
        """Number of states, n."""
        return len(self.action_offset) - 1

    @property
    def n_actions(self) -> int:
        """Number of global actions, A: the sum over states."""
        return len(self.transition_offset) - 1

    @property
    def n_transitions(self) -> int:
        """Number of transitions, T."""
        return len(self.transition_target)

    @cached_property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each state, shape (n,)."""
        return np.diff(self.action_offset)

    @cached_property
    def state_index(self) -> dict[str, int]:
        """State of each name."""
        return {name: s for s, name in enumerate(self.state_names)}

    def actions(self, state: int) -> range:
        """Global actions of a state."""
        return range(int(self.action_offset[state]), int(self.action_offset[state + 1]))

    def action_index(self, state: int, name: str) -> int:
        """Local index of the action of that name in a state.

        Raises
        ------
        ValueError
            If the state has no such action.
        """
        for local, action in enumerate(self.actions(state)):
            if self.action_names[action] == name:
                return local
        raise ValueError(f"state {self.state_names[state]!r} has no action {name!r}")

    def successors(self, action: int) -> list[tuple[int, Fraction]]:
        """Successors of a global action with their probabilities."""
        entries = slice(
            int(self.transition_offset[action]), int(self.transition_offset[action + 1])
        )
        denominator = int(self.transition_denominator[action])
        numerators = self.transition_numerator[entries].tolist()
        # Equal ones are one object: an action may have a million successors.
        shares = {n: Fraction(n, denominator) for n in set(numerators)}
        targets = self.transition_target[entries].tolist()
        return [(t, shares[n]) for t, n in zip(targets, numerators, strict=True)]

    def reward(self, action: int) -> Fraction:
        """Reward of a global action."""
        return self.reward_table[int(self.reward_index[action])]

    @cached_property
    def heights(self) -> NDArray[np.int32]:
        """Greatest number of actions from each state to an end, shape (n,).

        At least 1; along every transition it falls. Raises ValueError on a cycle.
        """
        return planning.heights(self)

    def topological_order(self) -> NDArray[np.int64]:
        """Order the states so that each comes before its successors."""
        return np.argsort(-self.heights, kind="stable")

    @cached_property
    def is_layered(self) -> bool:
        """Whether start has level 1 and every successor lies one level deeper."""
        source = np.repeat(
            self.state_level, np.diff(self.transition_offset[self.action_offset])
        )
        target = self.state_level[self.transition_target]
        return bool(self.state_level[self.start] == 1 and (target == source + 1).all())

    def global_actions(self, policy: ArrayLike) -> NDArray[np.int64]:
        """Global action that a policy of local indices takes in each state.

        Raises
        ------
        ValueError
            If the policy has another length than (n,) or names no action.
        """
        return planning.global_actions(self, policy)

    def optimal_values(self) -> Pair:
        """Compute (V*, π*) exactly; π* takes the first of the best actions."""
        return planning.optimal_values(self)

    def evaluate(self, policy: ArrayLike) -> Pair:
        """Compute (V^π, π) exactly for a policy of local action indices."""
        return planning.evaluate(self, policy)

    def distribution(self, policy: ArrayLike, level: int) -> Distribution:
        """Compute the exact distribution of the state met at a time step.

        See `olivine.algorithms.mdp.planning.state_distribution`.
        """
        return planning.state_distribution(self, policy, level)

    def with_rewards(
        self, reward_index: ArrayLike, reward_table: Sequence[Fraction]
    ) -> TabularMDP:
        """Give the MDP other rewards; everything else is shared, not copied.

        Raises
        ------
        ValueError
            If an index is missing or outside the table.
        """
        changed = dataclasses.replace(
            self,
            reward_index=np.asarray(reward_index),
            reward_table=tuple(reward_table),
        )
        mdp_construction.check_rewards(changed)
        return changed

    def padded(self) -> TabularMDP:
        """Give every state the same number of actions by repeating its last one.

        Values, levels and optimal policies (ties to the first action) stay.
        The size is n times the largest number of actions.
        """
        return dataclasses.replace(self, **mdp_construction.padded_arrays(self))

    def validate(self, *, names: bool = True) -> None:
        """Check everything that the class promises.

        Parameters
        ----------
        names
            Whether to check the labels, too; where these are made on demand,
            that takes most of the time.

        Raises
        ------
        ValueError
            Naming the state and action at fault.
        """
        mdp_construction.validate(self, names=names)

    def __eq__(self, other: object) -> bool:
        """Whether all fields agree; rewards are compared by value."""
        if not isinstance(other, TabularMDP):
            return NotImplemented
        if (self.horizon, self.start) != (other.horizon, other.start):
            return False
        if not all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name in _ARRAYS
            if name != "reward_index"
        ):
            return False
        return (
            mdp_construction.same_rewards(self, other)
            and list(self.state_names) == list(other.state_names)
            and list(self.action_names) == list(other.action_names)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside
