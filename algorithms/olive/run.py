"""OLIVE on data sets of any environment, in rationals, reproducible from its seed.

Predicted values are averaged over n_est initial observations, errors over n_eval
trajectories, a constraint over n with a uniform action at the level (Jiang et al.
2017). So an environment gives initial observations, and trajectories of a policy, also
with one action drawn uniformly. Data come with multiplicities: a data set costs its
support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..classes.finite import check_codes
from ..classes.q_functions import FiniteQClass
from ..environments.protocol import ActionRule, AnyPolicy, Environment, missing_members
from ..exact import what_it_is
from ..exact.arrays import END, as_integers, check_type
from ..exact.data import EmpiricalMeasure, recoded
from ..exact.multinomial import RecordedSeed
from ..mdp.planning import Pair
from ..mdp.tabular import TabularMDP
from ..olive_program.optimisers import Milp
from ..olive_program.program import Optimiser, Upper
from ..olive_program.rounds import OliveResult, OliveRound, run_rounds
from ..olive_program.sampled_program import (
    LevelData,
    SampledConstraint,
    SampledProgram,
    on_policy_error,
)
from ..olive_program.tiebreak import SolverTiebreak, Tiebreak
from .parameters import OliveParameters


def olive_sampled(
    environment: SampledEnvironment,
    parameters: OliveParameters,
    rng: np.random.Generator,
    *,
    optimiser: Optimiser | None = None,
    tiebreak: Tiebreak | None = None,
    lower: Fraction | int = 0,
    upper: Upper = 1,
    all_levels: bool = False,
    watch: Callable[[OliveRound[SampledConstraint]], None] | None = None,
) -> OliveResult[SampledConstraint]:
    """Run OLIVE on data sets.

    Parameters
    ----------
    environment
        Where trajectories come from; `TabularEnvironment` makes one of an MDP,
        `LayeredEnvironment` one of `olivine.algorithms.environments`.
    parameters
        `parameters.theorem_parameters`, or one's own.
    rng
        The randomness of the data.
    optimiser
        Solves the programs, and with it the class; see `olive_exact`.
    tiebreak
        The choices that OLIVE leaves open.
    lower, upper
        Range of g; the upper end for all observations or one for each.
    all_levels
        Whether a round adds the constraints of all levels (a data set each), or only of
        one.
    watch
        Called with each round when it is over.

    Returns
    -------
    OliveResult
        Its `trajectories` counts all that were drawn.

    Raises
    ------
    ValueError
        If a parameter is out of range, or stop/H is below the tolerance.
    """
    if missing := missing_members(environment, SampledEnvironment):
        raise TypeError(
            f"environment: {what_it_is(environment)} lacks {', '.join(missing)}; "
            "TabularEnvironment or LayeredEnvironment of olivine.algorithms.olive."
            "run makes one"
        )
    check_type("parameters", parameters, OliveParameters, "OliveParameters")
    world = SampledWorld(environment, parameters, rng, lower, upper)
    return run_rounds(
        world,
        Milp() if optimiser is None else optimiser,
        SolverTiebreak() if tiebreak is None else tiebreak,
        stop=parameters.stop,
        all_levels=all_levels,
        max_rounds=parameters.max_rounds,
        watch=watch,
    )


class SampledWorld:
    """An environment seen through data sets; a `World`, its program growing."""

    def __init__(
        self,
        environment: SampledEnvironment,
        parameters: OliveParameters,
        rng: np.random.Generator,
        lower: Fraction | int = 0,
        upper: Upper = 1,
    ) -> None:
        self.environment, self.parameters, self.rng = environment, parameters, rng
        self.seed = RecordedSeed.of(rng)
        self.horizon = environment.horizon
        self.trajectories = parameters.n_est
        self.program = SampledProgram(
            environment.action_counts,
            environment.starts(parameters.n_est, rng),
            (),
            parameters.tolerance,
            lower,
            upper,
        )

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        """Estimate the average Bellman error at each level from n_eval trajectories."""
        n = self.parameters.n_eval
        self.trajectories += n
        levels = self.environment.run(pair.policy, n, self.rng)
        return tuple(on_policy_error(data, pair) for data in levels)

    def constrain(
        self, pair: Pair, levels: Sequence[int]
    ) -> tuple[SampledConstraint, ...]:
        """Draw n trajectories for each of some levels and add the constraints."""
        n = self.parameters.n_train
        added = []
        for level in levels:
            data = self.environment.draw(
                [*[pair.policy] * (level - 1), "uniform"], n, self.rng
            )
            self.trajectories += n
            counts = self.environment.action_counts
            added.append(SampledConstraint.of(data, counts, level))
        self.program = self.program.extended(added)
        return tuple(added)


OliveRule = ArrayLike | Literal["uniform"]  # Actions by observation, or uniform ones
_Row = tuple[int, int, int, int]  # State, global action, next state, count


class LayeredEnvironment:
    """An environment, x of level h (from 1) having the code ``offsets[h-1] + x``."""

    def __init__(
        self, environment: Environment, functions: FiniteQClass | None = None
    ) -> None:
        self.environment = environment
        self._functions = functions
        sizes = [self._size(level) for level in range(1, self.horizon + 1)]
        if functions is not None and functions.horizon != self.horizon:
            raise ValueError(
                f"functions: {functions.horizon} levels, {environment.name} has "
                f"{self.horizon}"
            )
        self.offsets: NDArray[np.int64] = np.concatenate(
            [[0], np.cumsum(sizes, dtype=np.int64)]
        ).astype(np.int64)

    @property
    def horizon(self) -> int:
        """Number of levels H."""
        return self.environment.horizon

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation, the same for all."""
        return np.full(int(self.offsets[-1]), self.environment.n_actions)

    def pairs(self, functions: FiniteQClass) -> list[Pair]:
        """Turn the members of a class into pairs on the numbered observations."""
        sizes = np.diff(self.offsets)
        levels = np.repeat(np.arange(1, self.horizon + 1), sizes)
        codes = np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], sizes)
        return pairs_of_class(functions, levels, codes)

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Draw the initial observations of n trajectories."""
        drawn = self.environment.draw((), n, rng, level=1)
        if drawn.is_finite:  # level 1 starts at code 0: nothing to shift
            return drawn
        codes, counts = np.unique(
            self._codes(1, drawn.observations), return_counts=True
        )
        return EmpiricalMeasure(codes, weights=counts)

    def draw(
        self, rules: Sequence[OliveRule], n: int, rng: np.random.Generator
    ) -> LevelData:
        """Play a rule for each of the levels 1..L, n times; the tuples of level L."""
        played: list[ActionRule] = [
            "uniform" if isinstance(rule, str) else self.policies(rule)[h]
            for h, rule in enumerate(_checked_rules(rules, self.horizon))
        ]
        tuples = self.environment.draw(played, n, rng)
        return LevelData(self._numbered(tuples, len(rules)), n)

    def run(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; the tuples at levels 1..H."""
        drawn = self.environment.run(self.policies(policy), n, rng, transitions=True)
        return [
            LevelData(self._numbered(tuples, level), n)
            for level, tuples in enumerate(drawn.transitions, start=1)
        ]

    def policies(self, policy: ArrayLike) -> list[AnyPolicy]:
        """Split a table of actions, one an observation, into policies by level."""
        table = np.asarray(policy, dtype=np.int64)
        if table.shape != (int(self.offsets[-1]),):
            raise ValueError(
                f"policy has shape {table.shape}, expected one action for each of "
                f"{int(self.offsets[-1])} observations"
            )
        parts = np.split(table, self.offsets[1:-1])
        return [
            partial(self._act, level, part) for level, part in enumerate(parts, start=1)
        ]

    def _size(self, level: int) -> int:
        space, functions = self.environment.space(level), self._functions
        if space.n_codes is None:
            if functions is None:
                raise ValueError(
                    f"{self.environment.name}: observations of level {level} are "
                    "feature vectors; OLIVE's tabular classes need finitely many "
                    "(a class of Q-functions with decoders does not)"
                )
            return functions.n_codes(level)
        if functions is not None and functions.n_codes(level) != space.n_codes:
            raise ValueError(
                f"functions: {functions.n_codes(level)} codes at level {level}, "
                f"{self.environment.name} has {space.n_codes}"
            )
        return space.n_codes

    def _act(
        self, level: int, actions: NDArray[np.int64], observations: NDArray[Any], /
    ) -> NDArray[np.int64]:
        chosen: NDArray[np.int64] = actions[self._codes(level, observations)]
        return chosen

    def _codes(self, level: int, observations: NDArray[Any]) -> NDArray[np.int64]:
        if observations.ndim == 1 or self._functions is None:
            return observations
        return self._functions.codes(level, observations)

    def _numbered(self, tuples: EmpiricalMeasure, level: int) -> EmpiricalMeasure:
        following = tuples.next_observations
        if following is None:  # the last level of features
            following = np.full(len(tuples), END)
        elif level < self.horizon:
            following = self._codes(level + 1, following) + self.offsets[level]
        own = self._codes(level, tuples.observations) + self.offsets[level - 1]
        return recoded(tuples, own, following)


MAX_TRAJECTORIES = 2**53  # counts above this are not exact in numpy's samplers


class SampledEnvironment(Protocol):
    """An episodic environment with observations 0..n-1, other ones at other levels."""

    @property
    def horizon(self) -> int:
        """Number of levels H."""

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each observation, shape (n,)."""

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Draw the initial observations of n trajectories."""

    def draw(
        self, rules: Sequence[OliveRule], n: int, rng: np.random.Generator
    ) -> LevelData:
        """Play a rule for each of the levels 1..L, n times; the tuples of level L."""

    def run(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; the tuples at levels 1..H."""


class TabularEnvironment:
    """A tabular MDP as an environment: observations are states, rewards without noise.

    n trajectories are drawn as counts, one multinomial split for each state and action
    met: the very distribution of n drawn one by one, but for float64 probabilities.
    """

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp

    @property
    def horizon(self) -> int:
        """The MDP's horizon."""
        return self.mdp.horizon

    @property
    def action_counts(self) -> NDArray[np.int64]:
        """Number of actions of each state."""
        return self.mdp.action_counts

    def starts(self, n: int, rng: np.random.Generator) -> EmpiricalMeasure:
        """Give the start state n times; ValueError outside 1..2^53; so elsewhere."""
        return EmpiricalMeasure([self.mdp.start], weights=[_checked(n)])

    def draw(
        self, rules: Sequence[OliveRule], n: int, rng: np.random.Generator
    ) -> LevelData:
        """Play a rule for each of the levels 1..L, n times; the tuples of level L."""
        *_, rows = self._played(_checked_rules(rules, self.horizon), n, rng)
        return self._data(rows, n)

    def run(
        self, policy: ArrayLike, n: int, rng: np.random.Generator
    ) -> list[LevelData]:
        """Draw n trajectories of a policy; ValueError if it is none."""
        rules = [policy] * self.horizon
        return [self._data(rows, n) for rows in self._played(rules, n, rng)]

    def _played(
        self, rules: Sequence[OliveRule], n: int, rng: np.random.Generator
    ) -> Iterator[list[_Row]]:
        met, last, chosen = {int(self.mdp.start): _checked(n)}, None, None
        for rule in rules:
            if isinstance(rule, str):
                rows = self._uniform(met, rng)
            else:
                if chosen is None or rule is not last:
                    last, chosen = rule, self.mdp.global_actions(rule)
                taken = [(s, int(chosen[s]), count) for s, count in met.items()]
                rows = self._step(taken, rng)
            yield rows
            met = {}
            for _, _, target, count in rows:
                if target != END:
                    met[target] = met.get(target, 0) + count

    def data_over(
        self, shares: dict[int, Fraction], n: int, rng: np.random.Generator
    ) -> LevelData:
        """Draw n tuples with x from a distribution and uniform actions."""
        missing = 1 - sum(shares.values(), Fraction(0))
        counts = _split(_checked(n), [*shares.values(), missing], rng)
        met = {s: c for s, c in zip(shares, counts, strict=False) if c}
        return self._data(self._uniform(met, rng), n)

    def _uniform(self, met: dict[int, int], rng: np.random.Generator) -> list[_Row]:
        taken = []
        for state, count in met.items():
            actions = self.mdp.actions(state)
            equal = [Fraction(1, len(actions))] * len(actions)
            counts = _split(count, equal, rng)
            taken += [(state, a, c) for a, c in zip(actions, counts, strict=True) if c]
        return self._step(taken, rng)

    def _step(
        self, taken: Iterable[tuple[int, int, int]], rng: np.random.Generator
    ) -> list[_Row]:
        rows = []
        for state, action, count in taken:
            successors = self.mdp.successors(action)
            if not successors:
                rows.append((state, action, END, count))
                continue
            counts = _split(count, [p for _, p in successors], rng)
            rows += [
                (state, action, target, c)
                for (target, _), c in zip(successors, counts, strict=True)
                if c
            ]
        return rows

    def _data(self, rows: Sequence[_Row], n: int) -> LevelData:
        if not rows:
            return LevelData(None, n)
        states, actions, following, counts = (
            np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)
        )
        tuples = EmpiricalMeasure(
            states,
            actions=actions - self.mdp.action_offset[states],
            rewards=[self.mdp.reward(a) for a in actions.tolist()],
            next_observations=following,
            weights=counts,
        )
        return LevelData(tuples, n)


def _split(
    count: int, shares: Sequence[Fraction], rng: np.random.Generator
) -> list[int]:
    if len(shares) == 1:
        return [count]
    probabilities = np.array([float(p) for p in shares])
    counts: list[int] = rng.multinomial(
        count, probabilities / probabilities.sum()
    ).tolist()
    return counts


def _checked(n: int) -> int:
    if not 1 <= n <= MAX_TRAJECTORIES:
        raise ValueError(f"{n} trajectories: expected 1 to 2**53")
    return int(n)


def _checked_rules(rules: Sequence[OliveRule], horizon: int) -> Sequence[OliveRule]:
    if not 1 <= len(rules) <= horizon:
        raise ValueError(f"rules: {len(rules)} for {horizon} levels")
    return rules


def pairs_of_class(
    functions: FiniteQClass, levels: ArrayLike, codes: ArrayLike
) -> list[Pair]:
    """Turn members into pairs; each observation's level and code there: (n,)."""
    depth = as_integers("levels", levels, np.int64)
    local = as_integers("codes", codes, np.int64)
    best = np.empty((len(functions), len(depth)), dtype=object)
    policies = np.empty(best.shape, dtype=np.int32)
    if not ((depth >= 1) & (depth <= functions.horizon)).all():
        raise ValueError(f"levels: not all in 1..{functions.horizon}")
    for level in range(1, functions.horizon + 1):
        here = np.flatnonzero(depth == level)
        own = check_codes(local[here], functions.n_codes(level), "codes")
        table = functions.table(level)[:, own]
        best[:, here] = table.max(axis=2)
        policies[:, here] = table.argmax(axis=2)  # the first of equal ones
    rows = zip(best.tolist(), policies, strict=True)
    return [Pair.from_fractions(values, policy) for values, policy in rows]


def pairs_on_mdp(functions: FiniteQClass, mdp: TabularMDP) -> list[Pair]:
    """Turn the members of a class into pairs on a layered MDP's states.

    A state's code is its rank on its level, and an action beyond its last one repeats
    the last, as in `environments.finite_makers.from_mdp`. Raises ValueError if the MDP
    has more levels, or more states at a level, than the class.
    """
    codes = np.zeros(mdp.n_states, dtype=np.int64)
    for level in range(1, mdp.horizon + 1):
        here = np.flatnonzero(mdp.state_level == level)
        codes[here] = np.arange(len(here))
    pairs = pairs_of_class(functions, mdp.state_level, codes)
    last = mdp.action_counts - 1
    return [pair.with_policy(np.minimum(pair.policy, last)) for pair in pairs]
