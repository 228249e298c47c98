"""R-max (Brafman, Tennenholtz 2002) where hidden states can be decoded.

A pair of an observation and an action is *known* after m visits; unknown ones are worth
1, the largest return. The model's optimal policy is played in batches, which let n be
as large as a theorem wants, until one has at most nε/4 visits to unknown pairs
(docs/baselines.md).

>>> from olivine.algorithms.baselines.parameters import rmax_theorem
>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> parameters = rmax_theorem(0.3, 0.1, X=2, K=2, H=2)
>>> result = rmax(env, parameters, np.random.default_rng(0))
>>> env.truth.policy_value(result.policies) == env.truth.optimal_value
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.protocol import Environment, knows_truth
from ..exact.arrays import END
from ..exact.data import EmpiricalMeasure, recoded
from ..learning.events import NewPolicies, Observer, notify
from ..learning.problem import Frame, LearningResult, Problem
from .parameters import RMAX, RmaxParameters

ONE, ZERO = Fraction(1), Fraction(0)


class Decoding:
    """Cells, on which rewards depend, and hidden states, on which moves depend.

    Finite observations are their own cells; features are decoded into states, which are
    both; without the truth each code is a state. Learning algorithms do not see this:
    R-max is a reference, not a competitor. `states_of_cells`: int64 (cells,) per level.
    """

    def __init__(self, environment: Environment) -> None:
        truth = environment.truth if knows_truth(environment) else None
        model: Any = getattr(truth, "model", None)
        self._emission: Any = getattr(truth, "emission", None)
        spaces = [environment.space(h + 1) for h in range(environment.horizon)]
        self._finite = spaces[0].is_finite
        if not self._finite and (model is None or self._emission is None):
            raise ValueError(
                f"rmax: the observations of {environment.name!r} are features, and "
                "nothing says which hidden state they come from; give codes, or take "
                "an algorithm with classes, such as psdp"
            )
        self.states_of_cells: tuple[NDArray[np.int64], ...] = tuple(
            np.arange(space.n_codes or 0)
            if model is None
            else model.level(h).state_of_code
            for h, space in enumerate(spaces, 1)
        )

    @property
    def most_cells(self) -> int:
        """X, the largest number of cells of a level."""
        return max(len(states) for states in self.states_of_cells)

    def cells(self, level: int, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Cells of n observations of a level, shape (n,)."""
        if self._finite:
            return np.asarray(observations, dtype=np.int64)
        return np.asarray(self._emission.decode(level, observations), dtype=np.int64)

    def steps(self, level: int, data: EmpiricalMeasure) -> EmpiricalMeasure:
        """Put cells for the observations of (x, a, r, x'), equal rows counted."""
        following = data.next_observations
        if following is None or level == len(self.states_of_cells):
            after = None
        else:
            after = self.cells(level + 1, following)
        cells = self.cells(level, data.observations)
        return recoded(data, cells, after)


class CellPolicy:
    """A table of actions over the cells of a level as a policy on observations."""

    def __init__(
        self, decoding: Decoding, level: int, actions: NDArray[np.int64]
    ) -> None:
        self._decoding, self._level, self.actions = decoding, level, actions

    def __call__(self, observations: Any, /) -> NDArray[np.int64]:
        """Actions at n observations, shape (n,)."""
        return self.actions[self._decoding.cells(self._level, observations)]


class RmaxModel:
    """Counts of what was seen, and which pairs (cell, action) are known.

    A pair is known once it was seen m times: its reward is then the mean so far, its
    next cell has the frequencies after the hidden state and the action; both stay, so
    that no estimate depends on what came later. Per level: `visits` while unknown and
    sums of `rewards`, (cells, K), and `moves`, (states, K, next cells).
    """

    def __init__(
        self, states_of_cells: Sequence[NDArray[np.int64]], n_actions: int, m: int
    ) -> None:
        self.states_of_cells, self.m = tuple(states_of_cells), m
        self.visits, self.rewards, self.moves = [], [], []
        cells = [len(states) for states in states_of_cells]
        for h, states in enumerate(states_of_cells):
            n_states = int(states.max()) + 1
            following = cells[h + 1] if h + 1 < len(cells) else 0
            self.visits.append(_filled((cells[h], n_actions), 0))
            self.rewards.append(_filled((cells[h], n_actions), ZERO))
            self.moves.append(_filled((n_states, n_actions, following), 0))

    @property
    def horizon(self) -> int:
        """H."""
        return len(self.visits)

    @property
    def n_known(self) -> int:
        """Number of pairs that are known, of all levels."""
        return sum(int(self.known(h).sum()) for h in range(1, self.horizon + 1))

    def known(self, level: int) -> NDArray[np.bool_]:
        """Whether each pair of a level is known, shape (cells, K)."""
        return np.asarray(self.visits[level - 1] >= self.m, dtype=np.bool_)

    def mean_reward(self, level: int, cell: int, action: int) -> Fraction:
        """Mean reward of a pair that was seen."""
        total: Fraction = self.rewards[level - 1][cell, action]
        if not total:  # often
            return ZERO
        return total / int(self.visits[level - 1][cell, action])

    def next_shares(self, level: int, state: int, action: int) -> list[Fraction]:
        """Frequencies of the next cells after a state and an action that were seen."""
        counts = self.moves[level - 1][state, action].tolist()
        total = sum(counts)
        return [Fraction(c, total) for c in counts]

    def add(self, level: int, data: EmpiricalMeasure) -> int:
        """Count the steps of per level; return how many were in unknown pairs."""
        h = level - 1
        cells, actions, counts = data.codes(), data.actions, data.weights
        if actions is None:
            raise ValueError("data: actions are missing")
        new = ~self.known(level)[cells, actions]
        seen = (cells[new], actions[new])
        many = counts[new].astype(object)
        np.add.at(self.visits[h], seen, many)
        np.add.at(self.rewards[h], seen, many * data.exact_rewards[new])
        if self.moves[h].shape[2]:
            states, targets = self.states_of_cells[h][cells], data.next_observations
            moving = np.asarray(self.moves[h].sum(axis=2) < self.m, dtype=np.bool_)
            on = moving[states, actions] & (targets != END)
            place = (states[on], actions[on], data.codes("next_observations")[on])
            np.add.at(self.moves[h], place, counts[on].astype(object))
        return int(sum(many.tolist()))

    def plan(self) -> tuple[list[NDArray[Any]], list[NDArray[np.int64]]]:
        """Plan exactly in the optimistic model: unknown pairs are worth 1."""
        values: list[NDArray[Any]] = []
        actions: list[NDArray[np.int64]] = []
        ahead: list[Fraction] = []
        for level in range(self.horizon, 0, -1):
            q = self._q(level, ahead)
            actions.insert(0, np.asarray(q.argmax(axis=1), dtype=np.int64))
            values.insert(0, q.max(axis=1))
            ahead = values[0].tolist()
        return values, actions

    def _q(self, level: int, ahead: Sequence[Fraction]) -> NDArray[Any]:
        known = self.known(level)
        q = _filled(known.shape, ONE)
        after: dict[tuple[int, int], Fraction] = {}
        states = self.states_of_cells[level - 1].tolist()
        for cell, action in np.argwhere(known).tolist():
            pair = (states[cell], action)
            if pair not in after:
                after[pair] = self._after(level, *pair, ahead)
            gain = self.mean_reward(level, cell, action) + after[pair]
            q[cell, action] = min(ONE, gain)
        return q

    def _after(
        self, level: int, state: int, action: int, ahead: Sequence[Fraction]
    ) -> Fraction:
        if not ahead:
            return ZERO
        counts = self.moves[level - 1][state, action].tolist()
        pairs = zip(counts, ahead, strict=True)
        whole: Fraction = sum((c * v for c, v in pairs if c), ZERO)
        return whole / int(sum(counts))


def _filled(shape: tuple[int, ...], value: Any) -> NDArray[Any]:
    array = np.empty(shape, dtype=object)
    array[...] = value
    return array


@dataclass(frozen=True, eq=False)
class Batch(NewPolicies):
    """A batch of R-max."""

    number: int  # 1-based
    # The model that was planned with; it changes after the batch
    model: RmaxModel
    policies: Sequence[Any]  # What was played, one per level
    unknown: int  # Visits to pairs that were not known
    n: int  # Episodes


def rmax(
    environment: Environment,
    parameters: RmaxParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run R-max on decoded observations, by at most 10^9 batches (ValueError)."""
    problem = Problem(environment)
    problem.check(parameters, RMAX, deterministic=False)
    environment = problem.environment
    decoding = Decoding(environment)
    least, most = parameters.m // parameters.n, 10**9  # days of work
    if min(least, parameters.batches) > most:
        raise ValueError(
            f"m: no pair is known before {least} batches of n = {parameters.n} "
            f"episodes, more than {most}; set a greater n, or max_batches"
        )
    if decoding.most_cells > parameters.X:
        raise ValueError(
            f"X: {parameters.X} is too small, the environment has levels of "
            f"{decoding.most_cells} observations"
        )
    model = RmaxModel(decoding.states_of_cells, parameters.K, parameters.m)
    with Frame(RMAX, environment, parameters, rng) as frame:
        ended = _explore(environment, decoding, model, parameters, rng, observers)
    unsettled = f"unknown pairs were still met after {ended.batches} batches"
    return frame.result(
        ended.policies,
        ended.estimate,
        None if ended.settled else unsettled,
        iterations=ended.batches,
        learned=tuple(int(model.known(h).sum()) for h in range(1, parameters.H + 1)),
    )


@dataclass(frozen=True)
class _Ended:
    """How exploration ended: the last batch's policies, and whether it settled."""

    settled: bool
    policies: tuple[CellPolicy, ...]
    estimate: Fraction
    batches: int


def _explore(
    environment: Environment,
    decoding: Decoding,
    model: RmaxModel,
    parameters: RmaxParameters,
    rng: np.random.Generator,
    observers: Sequence[Observer],
) -> _Ended:
    policies: tuple[CellPolicy, ...] = ()
    estimate, planned = Fraction(0), -1
    for batch in range(1, parameters.batches + 1):
        if model.n_known != planned:  # what is planned with depends on nothing else
            planned = model.n_known
            values, tables = model.plan()
            policies = tuple(
                CellPolicy(decoding, h, a) for h, a in enumerate(tables, 1)
            )
        data = _play(environment, decoding, policies, parameters.n, rng)
        estimate = data[0].expectation_exact(data[0].at(values[0]))
        unknown = _unknown(model, data)
        notify(observers, Batch(batch, model, policies, unknown, parameters.n))
        if unknown <= parameters.patience:
            return _Ended(True, policies, estimate, batch)
        for h, steps in enumerate(data, 1):
            model.add(h, steps)
    return _Ended(False, policies, estimate, parameters.batches)


def _play(
    environment: Environment,
    decoding: Decoding,
    policies: Sequence[Any],
    n: int,
    rng: np.random.Generator,
) -> list[EmpiricalMeasure]:
    """Run n episodes; the steps of each level, on cells, few rows."""
    drawn = environment.run(policies, n, rng, transitions=True)
    return [decoding.steps(h, steps) for h, steps in enumerate(drawn.transitions, 1)]


def _unknown(model: RmaxModel, data: Sequence[EmpiricalMeasure]) -> int:
    visits = 0
    for h, steps in enumerate(data, 1):
        met = ~model.known(h)[steps.codes(), steps.actions]
        visits += sum(steps.weights[met].tolist())
    return visits
