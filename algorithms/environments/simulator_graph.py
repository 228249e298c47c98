"""A simulator in which a path fixes everything, as a graph; edges are played twice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.policies import action_weights
from ..exact.multinomial import multinomial_rows
from .finite_model import FiniteLevel, FiniteModel
from .protocol import ActionRule, Path, UnknownTruthError
from .simulator_calls import Simulator, stacked

MOST_NODES = 10**6  # Most places of a graph; without hidden states each path is one

_UNIT = 2**62


@dataclass(eq=False)
class Node:
    """A place: where the process is after a path."""

    level: int  # h
    observation: Any  # x_h
    paths: list[tuple[int, ...]]  # One or two paths that lead here
    # Reward and next place (None after the last level) of the actions played
    edges: dict[int, tuple[Fraction, Node | None]] = field(default_factory=dict)


Counts = Mapping[tuple[Node, Any], int]  # Trajectories at each place, apart by a tag


class Graph:
    """The places of a simulator that were visited."""

    def __init__(
        self, simulator: Simulator, rng: np.random.Generator, by_observation: bool
    ) -> None:
        self.simulator, self._rng = simulator, rng
        self._by_observation = by_observation
        self._nodes: dict[Hashable, Node] = {}
        self.merges = by_observation or simulator.state is not None
        self.root = self._node((), simulator.replay((), "everything", rng))

    def _node(self, path: tuple[int, ...], episode: Any) -> Node:
        x = episode.observations[-1]
        key: Hashable = len(path), path
        if self._by_observation:
            key = len(path), x if isinstance(x, int) else x.tobytes()
        elif episode.states:
            key = len(path), episode.states[-1]
        node = self._nodes.get(key)
        if node is None:
            if len(self._nodes) >= MOST_NODES:
                raise ValueError(
                    f"simulator {self.simulator.name!r}: more than {MOST_NODES} "
                    "places; say with `state` which paths lead to the same one, or "
                    "declare less than 'everything'"
                )
            node = self._nodes[key] = Node(len(path) + 1, x, [path])
            return node
        if not np.array_equal(node.observation, x):
            self._refuse(node.paths[0], path, "observation", node.observation, x)
        if len(node.paths) < 2 and path not in node.paths:
            node.paths.append(path)
        return node

    def _refuse(self, one: Path, two: Path, what: str, a: Any, b: Any) -> None:
        self.simulator.give_up(
            f"actions {list(one)} and {list(two)} lead to the same state, but {what} "
            f"{a} follows the first and {b} the second; make `state` the whole state, "
            "or declare less than 'everything'"
        )

    def edge(self, node: Node, action: int) -> tuple[Fraction, Node | None]:
        """Reward and next place, played twice on first use, from two paths if known."""
        found = node.edges.get(action)
        if found is not None:
            return found
        path, other = (*node.paths[0], action), (*node.paths[-1], action)
        if other == path:
            episode = self.simulator.replay(path, "everything", self._rng)
        else:
            episode = self.simulator.play(path, self._rng)
        reward, last = episode.rewards[-1], len(path) == self.simulator.horizon
        following = None if last else self._node(path, episode)
        if other != path:
            again = self.simulator.play(other, self._rng)
            if again.rewards[-1] != reward:
                self._refuse(path, other, "reward", reward, again.rewards[-1])
            if not last and self._node(other, again) is not following:
                self._refuse(path, other, "another state", "one", "another")
        node.edges[action] = reward, following
        return node.edges[action]

    def compare(
        self,
        observations: Sequence[NDArray[Any]],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float64],
    ) -> None:
        """Refuse episodes, one a row, that do not go as remembered."""
        for row, path in enumerate(actions.tolist()):
            node, call = self.root, "reset()"
            for h, action in enumerate(path):
                if not np.array_equal(node.observation, observations[h][row]):
                    pair = node.observation, observations[h][row]
                    self.simulator.differs("everything", call, 3, "observation", *pair)
                call = f"step({action}) after actions {path[:h]}"
                reward, following = self.edge(node, action)
                if float(reward) != rewards[row, h]:
                    pair = float(reward), float(rewards[row, h])
                    self.simulator.differs("everything", call, 2, "reward", *pair)
                node = following or node

    def split(
        self, counts: Counts, rule: ActionRule, rng: np.random.Generator
    ) -> Iterator[tuple[Node, Any, int, int]]:
        """Draw actions: (place, tag, action, trajectories), none of them 0."""
        keys = list(counts)
        seen = stacked([node.observation for node, _ in keys])
        weights = action_weights(rule, seen, self.simulator.n_actions)
        drawn = multinomial_rows([counts[key] for key in keys], weights, rng)
        for (node, tag), row in zip(keys, drawn.tolist(), strict=True):
            for action, count in enumerate(row):
                if count:
                    yield node, tag, action, count

    def returns(
        self, counts: Counts, rules: Sequence[ActionRule], rng: np.random.Generator
    ) -> Counter[tuple[Node, int, Fraction]]:
        """Draw (place, action, return) from one level to another."""
        here: Counter[tuple[Node, Any]] = Counter(counts)
        ended: Counter[tuple[Node, int, Fraction]] = Counter()
        for i, rule in enumerate(rules):
            ahead: Counter[tuple[Node, Any]] = Counter()
            for node, tag, action, count in self.split(here, rule, rng):
                reward, following = self.edge(node, action)
                tag = (tag[0], tag[1], tag[2] + reward) if i else (node, action, reward)
                if i + 1 == len(rules):
                    ended[(tag[0], tag[1], min(tag[2], Fraction(1)))] += count
                else:
                    assert following is not None
                    ahead[(following, tag)] += count
            here = ahead
        return ended

    def forward(
        self, counts: Counts, rules: Sequence[ActionRule], rng: np.random.Generator
    ) -> Counter[tuple[Node, Any]]:
        """Draw where trajectories are after some levels."""
        here: Counter[tuple[Node, Any]] = Counter(counts)
        for rule in rules:
            ahead: Counter[tuple[Node, Any]] = Counter()
            for node, tag, action, count in self.split(here, rule, rng):
                following = self.edge(node, action)[1]
                assert following is not None
                ahead[(following, tag)] += count
            here = ahead
        return here

    def levels(self) -> list[list[Node]]:
        """Give all places of each level, every edge played."""
        found = [[self.root]]
        for _ in range(self.simulator.horizon):
            ahead: dict[Node, None] = {}
            for node in found[-1]:
                for action in range(self.simulator.n_actions):
                    following = self.edge(node, action)[1]
                    if following is not None:
                        ahead.setdefault(following)
            found.append(list(ahead))
        return found[:-1]

    def model(self) -> FiniteModel:
        """Give the whole process as a finite model, X = S."""
        levels, k = self.levels(), self.simulator.n_actions
        exact = [
            self.edge(n, a)[0] for level in levels for n in level for a in range(k)
        ]
        unit = math.lcm(*(reward.denominator for reward in exact))
        # Rounding may take returns above 1, by `ROUNDING` at most: they count as 1.
        ahead: dict[Node | None, Fraction] = {None: Fraction(0)}
        for node in (node for level in reversed(levels) for node in level):
            edges = (self.edge(node, a) for a in range(k))
            ahead[node] = max(reward + ahead[following] for reward, following in edges)
        whole = max(unit, int(ahead[self.root] * unit))
        if unit > _UNIT // self.simulator.horizon:
            raise UnknownTruthError(
                f"simulator {self.simulator.name!r}: rewards are multiples of no unit "
                "that fits 64 bits; return them as Fractions"
            )
        made = []
        for h, level in enumerate(levels):
            size = self.simulator.spaces[h].n_codes
            assert size is not None
            after = levels[h + 1] if h + 1 < len(levels) else []
            place = {node: i for i, node in enumerate(after)}
            emissions = np.zeros((len(level), size), dtype=np.int64)
            units = np.zeros((size, k, 1), dtype=np.int64)
            moves = np.zeros((len(level), k, len(after)), dtype=np.int64)
            for s, node in enumerate(level):
                emissions[s, node.observation] = 1
                for a in range(k):
                    reward, following = self.edge(node, a)
                    units[node.observation, a, 0] = int(reward * unit)
                    if following is not None:
                        moves[s, a, place[following]] = 1
            made.append(FiniteLevel(emissions, units, np.ones_like(units), moves))
        try:
            return FiniteModel(tuple(made), whole, np.array([1]))
        except ValueError as error:  # codes of two states
            raise UnknownTruthError(
                f"simulator {self.simulator.name!r}: {error}"
            ) from None
