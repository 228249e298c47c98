"""What the analysis of OLIVE claims of a run, checked against the truth.

The first four are premises: over finite classes of all pairs, over tabular ones of (V*,
π*) and the rounds' pairs, which is all that the others follow from. `maximiser` must
hold in any run: an engine that missed the optimum would break it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import FiniteQClass
from ..environments.finite import law
from ..environments.finite_model import FiniteLevel
from ..environments.latent import LatentTruth
from ..environments.protocol import Environment, UnknownTruthError
from ..exact.arrays import rational
from ..learning.monitors import UNKNOWN, Tally, claim_table
from ..learning.problem import MonitorReport
from ..mdp.planning import Pair
from ..olive_program.rounds import OliveResult, OliveRound
from ..olive_program.sampled_program import FinitePairs, SampledConstraint
from .parameters import OliveParameters, rounds_of_a_level
from .run import LayeredEnvironment

_ZERO = Fraction(0)


@dataclass(frozen=True, eq=False)
class _Level:
    """One level: `chances[s]` lists (code, P(code | s)), codes through all levels.

    `rewards[s]` maps a code to each action's mean reward; `following[s][a]` lists (s',
    P(s' | s, a)), nothing at the last level.
    """

    chances: list[list[tuple[int, Fraction]]]
    rewards: list[dict[int, list[Fraction]]]
    following: list[list[list[tuple[int, Fraction]]]]


class TrueErrors:
    """What OLIVE estimates, exactly."""

    def __init__(
        self,
        environment: Environment,
        offsets: NDArray[np.int64],
        functions: FiniteQClass | None = None,
    ) -> None:
        truth: Any = environment.truth
        if not truth.exact:
            raise UnknownTruthError(
                "observations are continuous or too many to list: codes have no "
                "exact probabilities"
            )
        model = truth.model
        self._levels = []
        for h, level in enumerate(model.levels, start=1):
            shift, unit = int(offsets[h - 1]), model.unit
            if isinstance(truth, LatentTruth):
                if functions is None:
                    raise UnknownTruthError("there are no decoders for features")
                made = _of_features(truth, h, shift, functions)
            else:
                made = _of_codes(level, shift, unit)
            self._levels.append(made)
        self._start = dict(law(model.start))
        self._vectors: dict[tuple[int, int], tuple[Pair, list[Fraction]]] = {}

    def value(self, pair: Pair) -> Fraction:
        """E[g(x_1)], the value that a pair predicts."""
        values = pair.values()
        first = self._levels[0].chances
        return sum(
            (share * _mean(first[s], values) for s, share in self._start.items()), _ZERO
        )

    def error(self, pair: Pair, rolled_in: Pair, level: int) -> Fraction:
        """Average Bellman error of a pair at a level after another pair's policy."""
        vector = self.by_state(pair, level)
        met = self.states(rolled_in, level)
        return sum((share * vector[s] for s, share in met.items()), _ZERO)

    def states(self, pair: Pair, level: int) -> dict[int, Fraction]:
        """Distribution of the hidden state at a level under a pair's policy."""
        met = self._start
        for current in self._levels[: level - 1]:
            ahead: dict[int, Fraction] = {}
            for s, share in met.items():
                for code, chance in current.chances[s]:
                    for target, move in current.following[s][int(pair.policy[code])]:
                        gained = share * chance * move
                        ahead[target] = ahead.get(target, _ZERO) + gained
            met = ahead
        return met

    def by_state(self, pair: Pair, level: int) -> list[Fraction]:
        """Average Bellman error of a pair given each hidden state of a level."""
        key = id(pair), level  # beside the pair, so that the id stays its own
        if key not in self._vectors:
            self._vectors[key] = pair, self._new_vector(pair, level)
        return self._vectors[key][1]

    def _new_vector(self, pair: Pair, level: int) -> list[Fraction]:
        here, values = self._levels[level - 1], pair.values()
        future = []
        if level < len(self._levels):
            future = [_mean(row, values) for row in self._levels[level].chances]
        vector = []
        for s, row in enumerate(here.chances):
            total = _ZERO
            for code, chance in row:
                action = int(pair.policy[code])
                later = sum(
                    (p * future[t] for t, p in here.following[s][action]), _ZERO
                )
                reward = here.rewards[s][code][action]
                total += chance * (values[code] - reward - later)
            vector.append(total)
        return vector


def _mean(row: Sequence[tuple[int, Fraction]], values: Sequence[Fraction]) -> Fraction:
    return sum((chance * values[code] for code, chance in row), _ZERO)


def _moves(level: FiniteLevel) -> list[list[list[tuple[int, Fraction]]]]:
    return [list(map(law, by_action)) for by_action in level.transitions]


def _of_codes(level: FiniteLevel, shift: int, unit: int) -> _Level:
    chances, rewards = [], []
    means = level.mean_rewards / unit
    for row in level.emissions:
        emitted = law(row)
        chances.append([(shift + x, p) for x, p in emitted])
        rewards.append({shift + x: list(means[x]) for x, _ in emitted})
    return _Level(chances, rewards, _moves(level))


def _of_features(
    truth: LatentTruth, h: int, shift: int, functions: FiniteQClass
) -> _Level:
    """Decode the features of each state, which are equally likely."""
    level = truth.model.level(h)
    means = level.mean_rewards / truth.model.unit
    chances, rewards = [], []
    for s in range(level.n_states):
        features = truth.emission.listed(h, s)
        if features is None:
            raise UnknownTruthError(f"features of level {h} are too many to list")
        codes, counts = np.unique(functions.codes(h, features), return_counts=True)
        shares = [Fraction(int(c), len(features)) for c in counts]
        numbered = (codes + shift).tolist()
        chances.append(list(zip(numbered, shares, strict=True)))
        rewards.append({code: list(means[s]) for code in numbered})
    return _Level(chances, rewards, _moves(level))


SampledRun = OliveResult[SampledConstraint]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a run is judged by."""

    layered: LayeredEnvironment  # The environment as OLIVE saw it
    finite: FinitePairs | None  # The class, if it is finite; None for tabular classes
    best: Pair | None  # (V*, π*) as a pair of the class; None if it is not there
    parameters: OliveParameters  # Of the run
    epsilon: float  # ε
    rank: int  # M
    theorem: bool  # Whether they are the theorem's
    levels: int = 1  # Constraints that a round adds


def olive_reports(
    setting: Setting, result: SampledRun, truth: TrueErrors | str
) -> dict[str, MonitorReport]:
    """Check a run."""
    review = _Review(setting, result)
    review.always()
    if isinstance(truth, str):
        review.skip_estimates(truth)
    else:
        missing = setting.best is None
        review.tallies["realizable"].never(missing, "(V*, π*) is missing")
        if setting.best is not None:
            review.estimates(truth, setting.best)
            review.rounds(truth, setting.best)
    return {name: tally.report() for name, tally in review.tallies.items()}


CLAIMS = claim_table(
    """
    initial          premise  predicted values are estimated within ε/8
    evaluation       premise  errors of a round's pair are estimated within ε/(8H)
    deviations       premise  errors under constraints are estimated within φ
    realizable       premise  the class holds (V*, π*), or Q*
    maximiser        always   no round's pair predicts less than (V*, π*) where that is
                              left
    optimum-kept     event    (V*, π*) meets every constraint
    optimism         event    every round predicts at least V* − ε/8
    progress         gains    every round's constraint rules out its own pair
    rounds           lemma    at most M L/ln(5/3) rounds choose the same level
    finishes         lemma    the run ends by its stopping rule
    policy-bound     event    it loses at most stop + ε/8 + 2·ε/8
    trajectories     always   within the theorem's own sum
    epsilon-optimal  chance   V* − V^π ≤ ε, and the run succeeds
    """
)


class _Review:
    def __init__(self, setting: Setting, result: SampledRun) -> None:
        self.setting, self.result = setting, result
        self.environment: Environment = setting.layered.environment
        self.epsilon = rational(setting.epsilon)
        self.horizon = setting.layered.horizon
        p = setting.parameters
        # What the lemmas need of parameters that are not the theorem's.
        self.own_error = p.stop / self.horizon - self.epsilon / (8 * self.horizon)
        proved = setting.theorem and setting.rank >= self.environment.max_states
        words: dict[str, Any] = {
            "gains": "event" if self.own_error > 2 * p.tolerance else "fact",
            "lemma": "event" if proved else "fact",
            "chance": "probable" if proved else "fact",
        }
        self.tallies = {
            name: Tally(words.get(word, word)) for name, (word, _) in CLAIMS.items()
        }

    def always(self) -> None:
        result, tallies, p = self.result, self.tallies, self.setting.parameters
        bound = p.trajectory_bound(self.setting.levels)
        if bound is None:
            tallies["trajectories"].skip("the rounds have no limit")
        else:
            tallies["trajectories"].at_most(result.trajectories, bound, "total")
        chosen = Counter(r.level for r in result.rounds if r.level is not None)
        most = rounds_of_a_level(
            self.setting.epsilon, horizon=self.horizon, rank=self.setting.rank
        )
        for level, count in sorted(chosen.items()):
            tallies["rounds"].at_most(count, most, f"level {level}")
        if result.status == "undecided":
            tallies["finishes"].skip(f"the optimiser gave up: {result.reason}")
        else:
            ended = result.status == "finished"
            tallies["finishes"].never(not ended, result.status)
        self._loss()

    def _loss(self) -> None:
        optimal, bound = self.tallies["epsilon-optimal"], self.tallies["policy-bound"]
        policy = self.result.policy
        if self.result.status == "undecided":
            optimal.skip(f"the optimiser gave up: {self.result.reason}")
            return
        optimal.never(policy is None, self.result.status)
        if policy is None:
            return
        truth = self.environment.truth
        if not truth.exact:
            for tally in (optimal, bound):
                tally.skip(UNKNOWN)
            return
        lost = truth.optimal_value - truth.policy_value(
            self.setting.layered.policies(policy)
        )
        optimal.at_most(lost, self.epsilon, "suboptimality")
        most = self.setting.parameters.stop + 3 * self.epsilon / 8
        bound.at_most(lost, most, "suboptimality")

    def skip_estimates(self, reason: str) -> None:
        premises = "initial", "evaluation", "deviations", "realizable"
        for name in (*premises, "maximiser", "optimum-kept", "optimism", "progress"):
            self.tallies[name].skip(reason)

    def estimates(self, truth: TrueErrors, best: Pair) -> None:
        program, tallies = self.result.program, self.tallies
        finite = self.setting.finite
        pairs = [best, *(r.pair for r in self.result.rounds)]
        looked_at = pairs if finite is None else finite.pairs
        for pair in looked_at:
            tallies["initial"].at_most(
                abs(program.objective(pair) - truth.value(pair)),
                self.epsilon / 8,
                "a predicted value",
            )
        for played in self.result.rounds:
            for constraint in played.added:
                if finite is None:
                    found = [constraint.error(pair) for pair in pairs]
                else:
                    found = finite.errors(constraint)
                level = constraint.level
                for pair, error in zip(looked_at, found, strict=True):
                    tallies["deviations"].at_most(
                        abs(error - truth.error(pair, played.pair, level)),
                        self.setting.parameters.tolerance,
                        f"round {played.number}, level {level}",
                    )

    def rounds(self, truth: TrueErrors, best: Pair) -> None:
        program, tolerance = self.result.program, self.setting.parameters.tolerance
        promised, kept = program.objective(best), True
        for played in self.result.rounds:
            here = f"round {played.number}"
            self._evaluation(truth, played, here)
            if kept:
                self.tallies["maximiser"].at_most(promised, played.optimum, here)
            self.tallies["optimism"].at_most(
                self.environment.truth.optimal_value - played.optimum,
                self.epsilon / 8,
                here,
            )
            for constraint in played.added:
                error = abs(constraint.error(best))
                kept = kept and error <= tolerance
                self.tallies["optimum-kept"].at_most(error, tolerance, here)
                if constraint.level == played.level:
                    left = abs(constraint.error(played.pair)) <= tolerance
                    self.tallies["progress"].never(left, here)
        lost = kept and self.result.status == "no pair left"
        self.tallies["maximiser"].never(lost, "(V*, π*) was left")

    def _evaluation(
        self, truth: TrueErrors, played: OliveRound[SampledConstraint], here: str
    ) -> None:
        for level, estimated in enumerate(played.errors, start=1):
            exact = truth.error(played.pair, played.pair, level)
            self.tallies["evaluation"].at_most(
                abs(estimated - exact),
                self.epsilon / (8 * self.horizon),
                f"{here}, level {level}",
            )


def optimal_pair(layered: LayeredEnvironment) -> Pair:
    """(V*, π*) on the numbered observations of a finite environment."""
    truth: Any = layered.environment.truth
    values: list[Fraction] = []
    policy: list[int] = []
    for level in range(1, layered.horizon + 1):
        values += truth.values(level).tolist()
        policy += truth.policy(level).tolist()
    return Pair.from_fractions(values, policy)
