"""A finite episodic MDP as flat arrays, and the checks of what they promise.

The arrays make an MDP of a million states checkable and solvable exactly within
seconds, and let members of a family that differ in rewards alone share everything else.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact.arrays import as_integers, fits_int64, gather, magnitude, segment_sums

ARRAYS = {
    "state_level": np.int32,
    "action_offset": np.int64,
    "transition_offset": np.int64,
    "transition_target": np.int32,
    "transition_numerator": np.int64,
    "transition_denominator": np.int64,
    "reward_index": np.int32,
}


@dataclass(frozen=True, eq=False)
class MdpArrays:
    """A finite episodic MDP, exact: probabilities and rewards are rationals.

    The actions of state ``s`` are the *global* indices
    ``action_offset[s]:action_offset[s+1]``; the transitions of global action ``a`` are
    the entries ``transition_offset[a]:transition_offset[a+1]`` of the two transition
    arrays. An action without transitions ends the episode; every other action's
    probabilities add up to 1, and no successor is listed twice. The graph is acyclic.
    Levels (1-based labels) never decrease along a transition; the MDP is *layered* when
    every successor lies one level deeper. The constructor converts the arrays (losing
    nothing, or ValueError) and makes them read-only; `validate` checks the rest.

    Attributes
    ----------
    horizon, start
        Bound on the number of actions in an episode, at least 1; the start state.
    state_level
        int32, shape (n,), values in 1..horizon.
    action_offset, transition_offset
        int64, shapes (n+1,), (A+1,), A actions; every state has at least one.
    transition_target, transition_numerator
        int32 and int64 (positive), shape (T,).
    transition_denominator
        int64, shape (A,); entry t of action a has the probability
        ``transition_numerator[t] / transition_denominator[a]``; 1 where the episode
        ends.
    reward_index, reward_table
        int32, shape (A,), into the distinct (expected) rewards.
    state_names, action_names
        Labels; lengths n and A. Distinct among states, and among a state's actions.
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
        for name, dtype in ARRAYS.items():
            array = as_integers(name, getattr(self, name), dtype).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "reward_table", tuple(self.reward_table))

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
        """Local index of the action of that name in a state, or ValueError."""
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
        """Most actions from each state to an end, (n,); ValueError on a cycle."""
        return _heights(self)

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
        """Global actions of a policy of local indices (n,), which is checked."""
        local = checked_policy(policy, self.action_counts, self.state_names)
        chosen: NDArray[np.int64] = self.action_offset[:-1] + local
        return chosen


def _heights(mdp: MdpArrays) -> NDArray[np.int32]:
    """Kahn's algorithm from the ends backwards, one wave a height."""
    n = mdp.n_states
    offsets = mdp.transition_offset[mdp.action_offset]
    # The transposed table, by numpy: to load scipy takes longer than most models do.
    order = np.argsort(mdp.transition_target, kind="stable")
    from_state = np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets))[order]
    into = np.zeros(n + 1, dtype=np.int64)  # entries of a target, as offsets
    np.cumsum(np.bincount(mdp.transition_target, minlength=n), out=into[1:])
    waiting = np.diff(offsets)
    height = np.zeros(n, dtype=np.int32)
    mark = np.zeros(n, dtype=np.int64)
    wave = np.flatnonzero(waiting == 0)
    done = current = 0
    while wave.size:
        current += 1
        height[wave] = current
        done += wave.size
        sources = from_state[gather(into, wave)[0]]
        np.subtract.at(waiting, sources, 1)
        ready = sources[waiting[sources] == 0]
        # keep one of each: the last entry that marked it
        mark[ready] = np.arange(ready.size)
        wave = ready[mark[ready] == np.arange(ready.size)]
    if done < n:
        stuck = mdp.state_names[int(np.flatnonzero(height == 0)[0])]
        raise ValueError(f"the transitions have a cycle reachable from state {stuck!r}")
    return height


def checked_policy(
    policy: ArrayLike, action_counts: NDArray[np.int64], names: Sequence[str]
) -> NDArray[np.int64]:
    """Return a policy (n,), or raise ValueError if some state has no such action."""
    local = as_integers("policy", policy, np.int64)
    if len(local) != len(action_counts):
        raise ValueError(
            f"policy of length {len(local)} for {len(action_counts)} states"
        )
    wrong = np.flatnonzero((local < 0) | (local >= action_counts))
    if wrong.size:
        s = int(wrong[0])
        raise ValueError(
            f"policy takes action {local[s]} in state {names[s]!r}, which "
            f"has {action_counts[s]}"
        )
    return local


def validate(mdp: MdpArrays, *, names: bool) -> None:
    """Check an MDP in the order that lets each check rely on those before."""
    _check_shapes(mdp)
    _check_levels(mdp)
    _check_transitions(mdp)
    check_rewards(mdp)
    if names:
        _check_names(mdp)
    _check_horizon(mdp)


def _check_shapes(mdp: MdpArrays) -> None:
    _check_offsets("action_offset", mdp.action_offset, len(mdp.reward_index))
    _check_offsets("transition_offset", mdp.transition_offset, mdp.n_transitions)
    n, actions = mdp.n_states, mdp.n_actions
    for name, length in (
        ("state_level", n),
        ("state_names", n),
        ("reward_index", actions),
        ("transition_denominator", actions),
        ("action_names", actions),
        ("transition_numerator", mdp.n_transitions),
    ):
        if len(getattr(mdp, name)) != length:
            raise ValueError(
                f"{name} has length {len(getattr(mdp, name))} instead of {length}"
            )
    if n == 0:
        raise ValueError("an MDP needs at least one state")
    if not 0 <= mdp.start < n:
        raise ValueError(f"start {mdp.start} is none of the {n} states")
    idle = np.flatnonzero(mdp.action_counts == 0)
    if idle.size:
        raise ValueError(f"{_state(mdp, idle[0])} has no action")


def _check_offsets(name: str, offsets: NDArray[np.int64], end: int) -> None:
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != end:
        raise ValueError(f"{name} must run from 0 to {end}")
    if (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} decreases")


def _check_levels(mdp: MdpArrays) -> None:
    if mdp.horizon < 1:
        raise ValueError(f"horizon {mdp.horizon} is below 1")
    outside = np.flatnonzero((mdp.state_level < 1) | (mdp.state_level > mdp.horizon))
    if outside.size:
        raise ValueError(
            f"{_state(mdp, outside[0])} has level {mdp.state_level[outside[0]]}, "
            f"outside 1..{mdp.horizon}"
        )


def _check_transitions(mdp: MdpArrays) -> None:
    target = mdp.transition_target
    unknown = np.flatnonzero((target < 0) | (target >= mdp.n_states))
    if unknown.size:
        raise ValueError(
            f"{_owner(mdp, unknown[0])} leads to {target[unknown[0]]}, which is "
            f"none of the {mdp.n_states} states"
        )
    negative = np.flatnonzero(mdp.transition_numerator <= 0)
    if negative.size:
        raise ValueError(
            f"{_owner(mdp, negative[0])} lists a probability that is not positive"
        )
    _check_sums(mdp)
    counts = np.diff(mdp.transition_offset)
    _check_repeated(mdp, counts)
    source = np.repeat(
        mdp.state_level, np.diff(mdp.transition_offset[mdp.action_offset])
    )
    falling = np.flatnonzero(mdp.state_level[target] < source)
    if falling.size:
        t = falling[0]
        raise ValueError(
            f"{_owner(mdp, t)} leads from level {source[t]} down to "
            f"{_state(mdp, target[t])} of level {mdp.state_level[target[t]]}"
        )


def _check_sums(mdp: MdpArrays) -> None:
    counts = np.diff(mdp.transition_offset)
    numerators: NDArray[Any] = mdp.transition_numerator
    if not fits_int64(magnitude(numerators) * int(counts.max(initial=0))):
        numerators = numerators.astype(object)
    sums = segment_sums(numerators, mdp.transition_offset)
    sums[counts == 0] = 1
    wrong = np.flatnonzero(sums != mdp.transition_denominator)
    if wrong.size:
        a = int(wrong[0])
        if counts[a] == 0:
            raise ValueError(
                f"{_action(mdp, a)} ends the episode, so its denominator must be 1"
            )
        total = f"{sums[a]}/{mdp.transition_denominator[a]}"
        raise ValueError(f"probabilities of {_action(mdp, a)} sum to {total}, not 1")


def _check_repeated(mdp: MdpArrays, counts: NDArray[np.int64]) -> None:
    action = np.repeat(np.arange(mdp.n_actions), counts)
    target = mdp.transition_target
    # an action whose successors increase repeats none: only the others are sorted
    unsure = np.zeros(mdp.n_actions, dtype=bool)
    unsure[action[1:][(target[1:] <= target[:-1]) & (action[1:] == action[:-1])]] = True
    kept = unsure[action]
    order = np.lexsort((target[kept], action[kept]))
    a, t = action[kept][order], target[kept][order]
    twice = np.flatnonzero((a[1:] == a[:-1]) & (t[1:] == t[:-1]))
    if twice.size:
        first = twice[0]
        raise ValueError(
            f"{_action(mdp, a[first])} lists {_state(mdp, t[first])} twice"
        )


def check_rewards(mdp: MdpArrays) -> None:
    """Check that every action has a reward and that rewards are rationals."""
    if len(mdp.reward_index) != mdp.n_actions:
        raise ValueError(f"{len(mdp.reward_index)} rewards for {mdp.n_actions} actions")
    for reward in mdp.reward_table:
        if not isinstance(reward, Fraction):
            raise ValueError(f"reward {reward!r} is no Fraction")
    outside = np.flatnonzero(
        (mdp.reward_index < 0) | (mdp.reward_index >= len(mdp.reward_table))
    )
    if outside.size:
        a = int(outside[0])
        raise ValueError(
            f"{_action(mdp, a)} has reward index {mdp.reward_index[a]}, outside "
            f"a table of {len(mdp.reward_table)}"
        )


def _check_names(mdp: MdpArrays) -> None:
    if len(mdp.state_index) != mdp.n_states:
        twice, _ = Counter(mdp.state_names).most_common(1)[0]
        raise ValueError(f"two states are called {twice!r}")
    names = list(mdp.action_names)
    offsets = mdp.action_offset.tolist()
    for s in np.flatnonzero(mdp.action_counts > 1).tolist():
        own = names[offsets[s] : offsets[s + 1]]
        if len(set(own)) < len(own):
            twice = next(name for name in own if own.count(name) > 1)
            raise ValueError(f"{_state(mdp, s)} has two actions called {twice!r}")


def _check_horizon(mdp: MdpArrays) -> None:
    longest = int(mdp.heights[mdp.start])  # raises on a cycle
    if longest > mdp.horizon:
        raise ValueError(
            f"an episode can take {longest} actions, more than the horizon "
            f"{mdp.horizon}"
        )


def _state(mdp: MdpArrays, state: int) -> str:
    return f"state {mdp.state_names[int(state)]!r}"


def _action(mdp: MdpArrays, action: int) -> str:
    state = int(np.searchsorted(mdp.action_offset, action, side="right")) - 1
    return f"{_state(mdp, state)}, action {mdp.action_names[int(action)]!r}"


def _owner(mdp: MdpArrays, transition: int) -> str:
    action = np.searchsorted(mdp.transition_offset, transition, side="right") - 1
    return _action(mdp, int(action))
