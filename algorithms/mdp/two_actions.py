"""A layered MDP with two actions a state: binary trees in place of wide choices.

A state of level h becomes a tree of max(1, ⌈log2 K_h⌉) levels, K_h the most actions at
h. A node is reached by the first bits of an action's index and chooses the next one;
the last bit takes the action. Equal depths keep the MDP layered. A choice that does not
exist is left out (`TabularMDP.padded` repeats one). Values are the same at the roots.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bellman import Pair
from .distributions import Distribution
from .tabular import ActionData, StateData, TabularMDP


@dataclass(frozen=True, eq=False)
class TwoActions:
    """A layered MDP together with the one of two actions, nodes named "C1/01", say."""

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
        """The MDP of two actions."""
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
