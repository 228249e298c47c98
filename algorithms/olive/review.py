"""What the analysis of OLIVE claims of a run, checked against the truth.

===============  ============================================================
name             claim
===============  ============================================================
initial          predicted values are estimated within ε/8
evaluation       errors of a round's pair are estimated within ε/(8H)
deviations       errors under constraints are estimated within φ
realizable       the class holds (V*, π*), or Q*
maximiser        no round's pair predicts less than (V*, π*) where that is left
optimum-kept     (V*, π*) meets every constraint
optimism         every round predicts at least V* − ε/8
progress         every round's constraint rules out its own pair
rounds           at most M L/ln(5/3) rounds choose the same level
finishes         the run ends by its stopping rule
policy-bound     it loses at most stop + ε/8 + 2·ε/8
trajectories     within the theorem's own sum
epsilon-optimal  V* − V^π ≤ ε, and the run succeeds
===============  ============================================================

The first four are premises. Of a finite class all pairs are looked at; of tabular
classes (V*, π*) and the pairs of the rounds, which is all that the others follow
from. `maximiser` must hold in any run: a MILP engine that missed the optimum
would break it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..environments.protocol import Environment
from ..exact.numbers import rational
from ..learning.monitors import UNKNOWN, Tally
from ..learning.results import MonitorReport, Scope
from ..mdp.bellman import Pair
from .environment_adapter import LayeredEnvironment
from .finite_pairs import FinitePairs
from .loop import OliveResult, OliveRound
from .parameters import OliveParameters, rounds_of_a_level
from .sampled_program import SampledConstraint
from .true_errors import TrueErrors

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


class _Review:
    def __init__(self, setting: Setting, result: SampledRun) -> None:
        self.setting, self.result = setting, result
        self.environment: Environment = setting.layered.environment
        self.epsilon = rational(setting.epsilon)
        self.horizon = setting.layered.horizon
        p = setting.parameters
        # What the lemmas need of parameters that are not the theorem's.
        self.own_error = p.stop / self.horizon - self.epsilon / (8 * self.horizon)
        gains: Scope = "event" if self.own_error > 2 * p.tolerance else "fact"
        enough = setting.rank >= self.environment.max_states
        lemma: Scope = "event" if setting.theorem and enough else "fact"
        chance: Scope = "probable" if setting.theorem and enough else "fact"
        scopes: dict[str, Scope] = {
            "initial": "premise",
            "evaluation": "premise",
            "deviations": "premise",
            "realizable": "premise",
            "maximiser": "always",
            "optimum-kept": "event",
            "optimism": "event",
            "progress": gains,
            "rounds": lemma,
            "finishes": lemma,
            "policy-bound": "event",
            "trajectories": "always",
            "epsilon-optimal": chance,
        }
        self.tallies = {name: Tally(scope) for name, scope in scopes.items()}

    def always(self) -> None:
        """Check what needs no estimate's truth."""
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
        """Note why estimates cannot be judged."""
        premises = "initial", "evaluation", "deviations", "realizable"
        for name in (*premises, "maximiser", "optimum-kept", "optimism", "progress"):
            self.tallies[name].skip(reason)

    def estimates(self, truth: TrueErrors, best: Pair) -> None:
        """Compare what was estimated of the pairs of interest with the truth."""
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
        """Go through the rounds."""
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
