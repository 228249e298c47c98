"""R-max (Brafman, Tennenholtz 2002) where hidden states can be decoded.

A pair of an observation and an action is *known* after m visits; unknown ones are worth
1, the largest return. The model's optimal policy is played in batches, which let n be
as large as a theorem wants, until one has at most nε/4 visits to unknown pairs
(docs/baselines.md).

>>> from olivine.algorithms.environments import make
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> parameters = rmax_theorem(0.3, 0.1, X=2, K=2, H=2)
>>> result = rmax(env, parameters, np.random.default_rng(0))
>>> env.truth.policy_value(result.policies) == env.truth.optimal_value
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..environments.protocol import Environment, knows_truth
from ..exact.arrays import END, Number, check_count, check_unit, ratio_up, rational
from ..exact.data import EmpiricalMeasure, recoded
from ..learning.events import NewPolicies, Observer, notify
from ..learning.parameters import PacParameters, count, without_none
from ..learning.problem import Frame, LearningResult, Problem
from .backwards import log_over

RMAX = "rmax"

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
            pairs = cells[h], n_actions
            self.visits.append(np.full(pairs, 0, dtype=object))
            self.rewards.append(np.full(pairs, ZERO, dtype=object))
            self.moves.append(
                np.full((n_states, n_actions, following), 0, dtype=object)
            )

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

    def unknown(self, level: int, data: EmpiricalMeasure) -> int:
        """Count the steps of a level that were in unknown pairs."""
        met = ~self.known(level)[data.codes(), data.actions]
        return int(sum(data.weights[met].tolist()))

    def add(self, level: int, data: EmpiricalMeasure) -> None:
        """Count the steps of a level."""
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
        q = np.full(known.shape, ONE, dtype=object)
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
    policies: tuple[CellPolicy, ...] = ()
    estimate, planned, settled, batch = ZERO, -1, False, 0
    with Frame(RMAX, environment, parameters, rng) as frame:
        while not settled and batch < parameters.batches:
            batch += 1
            if model.n_known != planned:  # what is planned with depends on nothing else
                planned = model.n_known
                values, tables = model.plan()
                policies = tuple(
                    CellPolicy(decoding, h, a) for h, a in enumerate(tables, 1)
                )
            drawn = environment.run(policies, parameters.n, rng, transitions=True)
            data = [decoding.steps(h, d) for h, d in enumerate(drawn.transitions, 1)]
            estimate = data[0].expectation_exact(data[0].at(values[0]))
            unknown = sum(model.unknown(h, steps) for h, steps in enumerate(data, 1))
            notify(observers, Batch(batch, model, policies, unknown, parameters.n))
            settled = unknown <= parameters.patience
            if not settled:
                for h, steps in enumerate(data, 1):
                    model.add(h, steps)
    return frame.result(
        policies,
        estimate,
        None if settled else f"unknown pairs were still met after {batch} batches",
        iterations=batch,
        learned=tuple(int(model.known(h).sum()) for h in range(1, parameters.H + 1)),
    )


@dataclass(frozen=True, kw_only=True)
class RmaxParameters(PacParameters):
    """Constants of R-max."""

    # Most observations of a level (of features: hidden states), actions, levels
    X: int = count()
    K: int = count()
    H: int = count()
    # Visits after which a pair is known
    m: int = count("visits that make a pair known", practical=20)
    # Episodes of a batch; between two batches the model is planned anew
    n: int = count(
        "episodes of a batch", practical=lambda p: max(20, math.ceil(8 / p.eps))
    )
    # None: no run needs more than `batches`
    max_batches: int | None = count(
        "batches after which the run fails", default=None, shown="batches"
    )

    @property
    def pairs(self) -> int:
        """N = X K H, a bound on the pairs of an observation and an action."""
        return self.X * self.K * self.H

    @property
    def patience(self) -> Fraction:
        """Most visits to unknown pairs in a batch that ends the run, n ε/4."""
        return self.n * self.eps / 4

    @property
    def batches(self) -> int:
        """Most batches: each but the last has more than n ε/4 visits to unknown pairs.

        N pairs are unknown for at most m - 1 + n visits each.
        """
        needed = math.floor(self.pairs * (self.m - 1 + self.n) / self.patience) + 1
        if self.max_batches is None:
            return needed
        return min(needed, self.max_batches)

    @property
    def trajectory_bound(self) -> int:
        """Episodes at most."""
        return self.batches * self.n

    @property
    def call_bounds(self) -> dict[str, int]:
        """No oracle is called."""
        return {"csc": 0, "ls": 0}


def rmax_theorem(
    eps: Number, delta: Number, *, X: int, K: int, H: int
) -> RmaxParameters:
    """Compute m = n = 64H²(X ln 2 + ln(8XKH/δ))/ε²; ValueError out of range.

    The test that ends a run errs with probability at most δ/2 over all batches if n ≥
    16 ln(2T/δ)/ε, T ≤ 8N/ε + 1 batches; this n is.
    """
    accuracy, chance = rational(eps), rational(delta)
    check_unit("epsilon", accuracy)
    check_unit("delta", chance)
    X, K, H = check_count("X", X), check_count("K", K), check_count("H", H)
    union = X * math.log(2) + log_over(8 * X * K * H, chance)
    m = ratio_up(64 * H**2 * union, accuracy**2)
    return RmaxParameters(
        eps=accuracy, delta=chance, X=X, K=K, H=H, m=m, n=m, version="theorem"
    )


def rmax_practical(eps: Number, delta: Number, **chosen: Any) -> RmaxParameters:
    """Free parameters; by default m = 20 and batches of 20 episodes or 8/ε."""
    given = {"eps": rational(eps), "delta": rational(delta)}
    chosen = without_none(chosen, "n")
    return RmaxParameters(**RmaxParameters.filled(given, chosen))
