"""The environment of a simulator, which `from_simulator` makes.

Where a path fixes everything, trajectories are a draw of counts (`simulator_graph`);
otherwise episodes are played one by one (`simulator_episodes`).
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import END, object_array
from ..exact.data import EmpiricalMeasure
from .finite_truth import FiniteTruth
from .protocol import (
    ActionRule,
    AnyPolicy,
    BaseEnvironment,
    ObservationSpace,
    Path,
    Trajectories,
    Truth,
    UnknownTruthError,
    leading_path,
)
from .simulator_calls import Determinism, Simulator, stacked
from .simulator_episodes import Episodes
from .simulator_graph import Graph, Node


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

    @cached_property
    def max_states(self) -> int:
        """M: as declared; else counted, or the most codes of a level."""
        if self._states is not None:
            return self._states
        if self._graph is not None and self._graph.merges:
            return max(map(len, self._graph.levels()))
        sizes = [space.n_codes for space in self.simulator.spaces]
        if all(size is not None for size in sizes):
            return max(size for size in sizes if size is not None)
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
        if not 1 <= level <= self.horizon:
            raise ValueError(f"level: {level} is not in 1..{self.horizon}")
        return self.simulator.spaces[level - 1]

    def _draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        h: int,
        successors: bool,
        returns: bool,
    ) -> EmpiricalMeasure:
        self.simulator.check_kept()
        self._check_path(leading_path(rules[: h - 1]))
        if self._graph is None:
            return self._episodes.draw(rules, n, rng, h, successors)
        here = self._graph.forward({(self._graph.root, None): n}, rules[: h - 1], rng)
        if h > len(rules):
            codes = [node.observation for node, _ in here]
            return EmpiricalMeasure(stacked(codes), weights=list(here.values()))
        if not returns:
            steps = Counter[tuple[Node, int]]()
            for node, _, action, count in self._graph.split(here, rules[-1], rng):
                steps[(node, action)] += count
            return self._measure(steps, successors)
        ended = self._graph.returns(here, rules[h - 1 :], rng)
        return EmpiricalMeasure(
            stacked([node.observation for node, _, _ in ended]),
            actions=[action for _, action, _ in ended],
            rewards=object_array([gained for _, _, gained in ended]),
            weights=list(ended.values()),
        )

    def _run(
        self,
        policies: Sequence[AnyPolicy],
        n: int,
        rng: np.random.Generator,
        first: int,
        transitions: bool,
    ) -> Trajectories:
        """Where all is deterministic, `replays` of the episodes are played."""
        self.simulator.check_kept()
        if self._graph is None:
            return self._episodes.run(policies, n, rng, first, transitions)
        for block in self._episodes.whole(policies, min(n, self.replays), self._rng):
            self._graph.compare(*block)
        return self._run_counts(policies, n, rng, first, transitions)

    def _check_path(self, path: Path) -> None:
        """Check the actions of a path, and replay it if it is new."""
        for h, action in enumerate(path, 1):
            if not 0 <= action < self.n_actions:
                raise ValueError(
                    f"path: action {action} at level {h} is not in "
                    f"0..{self.n_actions - 1}"
                )
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
            after = stacked([node.observation for _, node in edges if node])
        elif successors and finite:
            after = np.full(len(edges), END)
        return EmpiricalMeasure(
            stacked([node.observation for node, _ in steps]),
            actions=[action for _, action in steps],
            rewards=object_array([reward for reward, _ in edges]),
            next_observations=after,
            weights=list(steps.values()),
        )

    def _run_counts(
        self,
        rules: Sequence[Any],
        n: int,
        rng: np.random.Generator,
        first: int,
        transitions: bool,
    ) -> Trajectories:
        """Run by counts; the first trajectories, apart by their paths, are shuffled."""
        assert self._graph is not None
        here: Counter[tuple[Node | None, Any]] = Counter()
        if first:
            here[(self._graph.root, ((), Fraction(0)))] = first
        if n > first:
            here[(self._graph.root, None)] = n - first
        total, kept = Fraction(0), []
        for rule in rules:
            ahead: Counter[tuple[Node | None, Any]] = Counter()
            steps = Counter[tuple[Node, int]]()
            places: Any = here
            for node, tag, action, count in self._graph.split(places, rule, rng):
                reward, following = self._graph.edge(node, action)
                total += reward * count
                steps[(node, action)] += count
                if tag is not None:
                    tag = (*tag[0], action), tag[1] + reward
                ahead[(following, tag)] += count
            if transitions:
                kept.append(self._measure(steps, True))
            here = ahead
        ended = [(*tag, count) for (_, tag), count in here.items() if tag is not None]
        rows = [path for path, _, count in ended for _ in range(count)]
        gained = [float(sum_) for _, sum_, count in ended for _ in range(count)]
        order = rng.permutation(first)
        paths = np.array(rows, dtype=np.int64).reshape(first, self.horizon)[order]
        returns = np.minimum(gained, 1)[order]
        return Trajectories(n, total / n, paths, returns, tuple(kept))
