"""The environment of a simulator, which `from_simulator` makes.

Where a path fixes everything, trajectories are a draw of counts over the graph of its
places, whose edges are played twice; otherwise episodes are played one by one
(`simulator_calls`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.protocols import action_weights, check_level
from ..exact.arrays import END, object_array
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import multinomial_rows
from .finite import FiniteTruth
from .finite_model import FiniteLevel, FiniteModel
from .protocol import (
    ActionRule,
    BaseEnvironment,
    DrawCall,
    ObservationSpace,
    Path,
    RunCall,
    Trajectories,
    Truth,
    UnknownTruthError,
    check_path,
    leading_path,
)
from .simulator_calls import Determinism, Episodes, Simulator

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
        seen = np.asarray([node.observation for node, _ in keys])
        weights = action_weights(rule, seen, self.simulator.n_actions)
        drawn = multinomial_rows([counts[key] for key in keys], weights, rng)
        for (node, tag), row in zip(keys, drawn.tolist(), strict=True):
            for action, count in enumerate(row):
                if count:
                    yield node, tag, action, count

    def follow(
        self,
        counts: Counts,
        rules: Sequence[ActionRule],
        rng: np.random.Generator,
        mark: Callable[[Any, Node, int, Fraction, int], Any] = lambda tag, *_: tag,
    ) -> Counter[tuple[Any, Any]]:
        """Draw where trajectories are after some levels; None for a place past H.

        `mark` gives the new tag: of tag, place, action, reward and trajectories.
        """
        here: Counter[tuple[Any, Any]] = Counter(counts)
        for rule in rules:
            ahead: Counter[tuple[Any, Any]] = Counter()
            for node, tag, action, count in self.split(here, rule, rng):
                reward, following = self.edge(node, action)
                ahead[(following, mark(tag, node, action, reward, count))] += count
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


class SimulatorEnvironment(BaseEnvironment):
    """The `Environment` of a simulator, which `from_simulator` makes."""

    def __init__(
        self,
        simulator: Simulator,
        determinism: Determinism,
        *,
        by_observation: bool,
        states: int | None,
        features: tuple[NDArray[np.float64], ...] | None,
        replays: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(simulator.name, simulator.horizon, simulator.n_actions)
        self.features, self._states = features, states
        self.simulator, self.determinism = simulator, determinism
        self.deterministic = determinism != "nothing"
        self._replayed: set[tuple[int, ...]] = set()
        self._rng, self.replays = rng, replays
        for _ in range(replays if self.deterministic else 1):
            actions = rng.integers(self.n_actions, size=self.horizon).tolist()
            simulator.replay(actions, determinism, rng)
        everything = determinism == "everything"
        self._graph = Graph(simulator, rng, by_observation) if everything else None
        self._episodes = Episodes(simulator)

    def __repr__(self) -> str:
        return (
            f"SimulatorEnvironment({self.name!r}, H={self.horizon}, "
            f"K={self.n_actions}, deterministic={self.determinism!r})"
        )

    @property
    def max_states(self) -> int:
        """M: as declared; else counted, or the most codes of a level."""
        return self._max_states

    @cached_property
    def _max_states(self) -> int:
        if self._states is not None:
            return self._states
        if self._graph is not None and self._graph.merges:
            return max(map(len, self._graph.levels()))
        sizes = [s.n_codes for s in self.simulator.spaces if s.n_codes is not None]
        if sizes:  # of all levels, or of none
            return max(sizes)
        raise ValueError(
            f"simulator {self.name!r}: `states` is missing, the largest number of "
            "hidden states of a level, which features do not tell"
        )

    @property
    def truth(self) -> Truth:
        """The whole process, where codes are states and everything is deterministic."""
        self.simulator.check_kept()
        return self._truth

    @cached_property
    def _truth(self) -> Truth:
        finite = all(space.is_finite for space in self.simulator.spaces)
        if self._graph is not None and finite and self._graph.merges:
            return FiniteTruth(self._graph.model())
        raise UnknownTruthError(
            f"simulator {self.name!r}: its true values are not known; they are where "
            "deterministic='everything', observations are codes, and `state` says "
            "which paths lead to the same place"
        )

    def space(self, level: int) -> ObservationSpace:
        """Observations of level 1..H, else ValueError."""
        check_level(level, self.horizon)
        return self.simulator.spaces[level - 1]

    def _draw(self, call: DrawCall) -> EmpiricalMeasure:
        rules, n, rng, h, successors, returns = call
        self.simulator.check_kept()
        self._check_path(leading_path(rules[: h - 1]))
        if self._graph is None:
            return self._episodes.draw(call)
        here = self._graph.follow({(self._graph.root, None): n}, rules[: h - 1], rng)
        if h > len(rules):
            codes = [node.observation for node, _ in here]
            return EmpiricalMeasure(np.asarray(codes), weights=list(here.values()))
        if not returns:
            steps = Counter[tuple[Node, int]]()
            for node, _, action, count in self._graph.split(here, rules[-1], rng):
                steps[(node, action)] += count
            return self._measure(steps, successors)

        def paid(tag: Any, node: Node, action: int, reward: Fraction, _: int) -> Any:
            return (*tag[:2], tag[2] + reward) if tag else (node, action, reward)

        ended = Counter[tuple[Node, int, Fraction]]()
        whole = self._graph.follow(here, rules[h - 1 :], rng, paid)
        for (_, (node, action, gained)), count in whole.items():
            ended[(node, action, min(gained, Fraction(1)))] += count
        return EmpiricalMeasure(
            np.asarray([node.observation for node, _, _ in ended]),
            actions=[action for _, action, _ in ended],
            rewards=object_array([gained for _, _, gained in ended]),
            weights=list(ended.values()),
        )

    def _run(self, call: RunCall) -> Trajectories:
        """Where all is deterministic, `replays` of the episodes are played."""
        self.simulator.check_kept()
        if self._graph is None:
            return self._episodes.run(call)
        n, levels = min(call.n, self.replays), range(1, self.horizon + 1)
        for block in self._episodes.play(call.policies, n, self._rng, levels):
            self._graph.compare(*block)
        return self._run_counts(call)

    def _check_path(self, path: Path) -> None:
        """Check the actions of a path, and replay it if it is new."""
        check_path(path, self.n_actions)
        checked = tuple(path)
        if self._graph is None and self.deterministic and checked not in self._replayed:
            self.simulator.replay(checked, self.determinism, self._rng)
            self._replayed.add(checked)

    def _measure(
        self, steps: Counter[tuple[Node, int]], successors: bool
    ) -> EmpiricalMeasure:
        assert self._graph is not None
        edges = [self._graph.edge(*step) for step in steps]
        finite = isinstance(next(iter(steps))[0].observation, int)
        after: Any = None
        if successors and all(node is not None for _, node in edges):
            after = np.asarray([node.observation for _, node in edges if node])
        elif successors and finite:
            after = np.full(len(edges), END)
        return EmpiricalMeasure(
            np.asarray([node.observation for node, _ in steps]),
            actions=[action for _, action in steps],
            rewards=object_array([reward for reward, _ in edges]),
            next_observations=after,
            weights=list(steps.values()),
        )

    def _run_counts(self, call: RunCall) -> Trajectories:
        """Run by counts; the first trajectories, apart by their paths, are shuffled."""
        rules, n, rng, first, transitions = call
        assert self._graph is not None
        total, kept, steps = Fraction(0), [], Counter[tuple[Node, int]]()

        def mark(tag: Any, node: Node, action: int, paid: Fraction, count: int) -> Any:
            nonlocal total
            total += paid * count
            steps[(node, action)] += count
            return tag and ((*tag[0], action), tag[1] + paid)

        parts = {((), Fraction(0)): first, None: n - first}
        here: Counts = {(self._graph.root, tag): m for tag, m in parts.items() if m}
        for rule in rules:
            steps.clear()
            here = self._graph.follow(here, [rule], rng, mark)
            if transitions:
                kept.append(self._measure(steps, True))
        ended = [(*tag, count) for (_, tag), count in here.items() if tag is not None]
        rows = [path for path, _, count in ended for _ in range(count)]
        gained = [float(sum_) for _, sum_, count in ended for _ in range(count)]
        order = rng.permutation(first)
        paths = np.array(rows, dtype=np.int64).reshape(first, self.horizon)[order]
        returns = np.minimum(gained, 1)[order]
        return Trajectories(n, total / n, paths, returns, tuple(kept))
