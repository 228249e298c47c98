"""The two-sample algorithm (paper, Algorithm 5): its entry, and what is claimed."""

from __future__ import annotations

from fractions import Fraction

from ..assumptions import policy_value_completeness
from ..classes.protocols import ValueClass
from ..environments.finite import FiniteTruth
from ..exact.data import EmpiricalMeasure
from ..learning.events import Entered, Path
from ..learning.monitors import FEATURES, MetaAlgReview, claim_table, value_deviation
from ..learning.problem import LearningResult, Problem, Scope
from ..learning.registry import by_kind, declare
from ..oracles.ledger import unguard
from ..oracles.lp import mean_discrepancy
from .algorithm import Regression, Visit, observed_mdp, two_sample
from .deviations import (
    Bracket,
    differences,
    policy_value_deviation,
    squared_loss_deviation,
)
from .parameters import (
    TWO_SAMPLE,
    TwoSampleParameters,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)

__all__ = [
    "TwoSampleParameters",
    "TwoSamplePracticalParameters",
    "TwoSampleTheoremParameters",
    "two_sample",
]


class TwoSampleMonitors(MetaAlgReview):
    """Record a run, then check it; clipping does no harm (docs/two-sample.md)."""

    p: TwoSampleParameters
    claims = claim_table(
        """
        event              premise  deviation bounds of event E for every data set: τ,
                                    τ_V, τ_L
        oracles            premise  every oracle call kept its accuracy, by certificate
        complete           premise  policy-value completeness, up to clipping at 1
        markov             premise  the process is an MDP over observations
        dfslearn-calls     calls    at most T_max per level
        no-relearning      event    dfslearn does not recurse in a state of a val set
        same-state         event    data sets of one state differ by at most 2τ
        val-sets           event    |S^val_h| ≤ M, no state twice
        learned-sets       event    |S^learned_h| ≤ T_max
        value-accuracy     event    |E_s[ĝ_h] - E_s[g*]| within the proposition, for s
                                    in S^check_h
        policy-loss        event    V*(s) - Q*(s, π̂_h) likewise, s learned
        estimate-accuracy  event    |V̂* - V*| within that of the start state, and τ
        policy-bound       event    V* - V^π̂ ≤ p_ul + the proposition's term, each
                                    iteration
        lp-calls           event    two programs per test and each of M data sets
        nested             always   S^val ⊆ S^learned ⊆ S^check, children of learned
                                    states in S^check, whenever polvalfun is called
        csc-calls          always   H per iteration
        ls-calls           always   likewise
        trajectories       always   within the proof's own sum
        evaluation         chance   |V̂^π̂ - V^π̂| ≤ ε/8
        progress           chance   each rejected iteration learns a new state
        epsilon-optimal    chance   V* - V^π̂ ≤ ε, and the run succeeds
        test-class         premise  what the test's class, another than G, takes for
                                    alike is alike for G, as where it contains G
        """
    )

    def __init__(
        self,
        problem: Problem,
        parameters: TwoSampleParameters,
        test_class: ValueClass | None = None,
    ) -> None:
        super().__init__(problem, parameters)
        self.tests = problem.values if test_class is None else test_class
        self.other = self.tests is not problem.values

    def words(self) -> dict[str, Scope]:
        chosen = self.p.T_max < self.p.visits  # nothing is claimed of it
        return {
            "calls": "fact" if chosen else "event",
            "chance": "fact" if self.p.version == "practical" else "probable",
        }

    def scopes(self) -> dict[str, Scope]:
        found = super().scopes()
        if not self.other:
            del found["test-class"]
        return found

    def begin(self) -> None:
        super().begin()
        levels = range(self.p.H)
        self.calls = [0] * self.p.H
        self.checked: list[dict[int, Path]] = [{} for _ in levels]
        self.learned: list[dict[int, Path]] = [{} for _ in levels]
        self.val: list[list[int]] = [[] for _ in levels]
        self.val_data: list[list[EmpiricalMeasure]] = [[] for _ in levels]

    def on_entered(self, call: Entered) -> None:
        h, path = call.level - 1, call.path
        self.calls[h] += 1
        self.checked[h].setdefault(self.truth.state(path), path)

    def on_visit(self, visit: Visit) -> None:
        """Check the event, the identity test and the sets it adds to."""
        h, path = visit.level, visit.path
        state, val = self.truth.state(path), self.val[h - 1]
        self._check_event(path, visit.data)
        if self.other and not visit.new:
            self._check_test_class(visit)
        again = state in val
        self.tallies["no-relearning"].never(
            again and visit.recursive and visit.learned, f"path {list(path)}"
        )
        for known, distance in zip(val, visit.distances, strict=True):
            if known == state:
                self.tallies["same-state"].at_most(
                    distance, 2 * self.p.tau, f"path {list(path)}"
                )
        if visit.new:
            self.tallies["val-sets"].never(again, f"path {list(path)} again")
            val.append(state)
            self.val_data[h - 1].append(visit.data)
            self.tallies["val-sets"].at_most(
                len(val), self.p.M, f"level {h}, path {list(path)}"
            )
        if visit.learned:
            self.learned[h - 1].setdefault(state, path)

    def _check_test_class(self, visit: Visit) -> None:
        """Check that a data set taken for alike is so for all functions of G."""
        values, p = self.values.at_level(visit.level), self.p
        least = min(
            mean_discrepancy(
                values, known, visit.data, epsilon_sub=float(p.tau * p.oracle_share)
            ).value
            for known, distance in zip(
                self.val_data[visit.level - 1], visit.distances, strict=True
            )
            if distance <= 2 * p.tau
        )
        self.tallies["test-class"].at_most(
            least, p.tau * (2 + p.oracle_share), f"path {list(visit.path)}"
        )

    def _check_event(self, path: Path, data: EmpiricalMeasure) -> None:
        tally, h, p = self.tallies["event"], len(path) + 1, self.p
        truth = self.truth
        if not (self.environment.space(h).is_finite and isinstance(truth, FiniteTruth)):
            tally.skip(FEATURES)
            return
        for tested in (self.tests, self.values) if self.other else (self.tests,):
            means = value_deviation(truth, tested, path, data)
            if means is None:
                tally.skip("no method for the class of the identity test")
            else:
                tally.at_most(means, p.tau, f"means, path {list(path)}")
        found = differences(data, truth, path, p.K)
        values, policies = self.values.at_level(h), self.policies.at_level(h)
        following = self.values.at_level(h + 1)
        self._bracketed(
            policy_value_deviation(found, policies, following),
            p.tau_V,
            f"policy values, path {list(path)}",
        )
        self._bracketed(
            squared_loss_deviation(found, values, policies, following),
            p.tau_L,
            f"squared losses, path {list(path)}",
        )

    def _bracketed(self, found: Bracket, bound: Fraction, place: str) -> None:
        """Compare with a bound: yes, no, or (between the two) unknown."""
        tally = self.tallies["event"]
        if found.lower > bound:
            tally.at_most(found.lower, bound, place)
        elif found.upper <= bound:
            tally.at_most(found.upper, bound, place)
        else:
            tally.skip(f"{place}: only bounded from above, by {float(found.upper):.3g}")

    def on_regression(self, fit: Regression) -> None:
        """Check values and policies against the proposition."""
        self._check_nested()
        p, truth = self.p, self.truth
        names = ("value-accuracy", "policy-loss", "estimate-accuracy")
        if not truth.exact:
            for name in names:
                self.tallies[name].skip("expectations are not known exactly")
            return
        values, losses, estimate = (self.tallies[name] for name in names)
        estimate.at_most(
            abs(fit.estimate - truth.optimal_value), p.estimate_bound, "V̂*"
        )
        for h in range(1, p.H + 1):
            function, policy = unguard(fit.values[h - 1]), unguard(fit.policies[h - 1])
            for path in self.checked[h - 1].values():
                mean = Fraction(truth.expectation(path, function))
                values.at_most(
                    abs(mean - truth.path_value(path)),
                    p.value_bound(h),
                    f"ĝ at path {list(path)}",
                )
            for path in self.learned[h - 1].values():
                ahead = [truth.path_value((*path, a)) for a in range(p.K)]
                followed = Fraction(truth.action_expectation(path, policy, ahead))
                losses.at_most(
                    truth.path_value(path) - followed,
                    p.loss_bound(h),
                    f"π̂ at path {list(path)}",
                )

    def _check_nested(self) -> None:
        """S^val ⊆ S^learned ⊆ S^check, and children of learned states are checked."""
        tally = self.tallies["nested"]
        for h, learned in enumerate(self.learned, 1):
            missing = set(self.val[h - 1]) - learned.keys()
            missing |= learned.keys() - self.checked[h - 1].keys()
            tally.never(bool(missing), f"level {h}")
            if h == self.p.H:
                continue
            children = {
                self.truth.successor(h, state, a)
                for state in learned
                for a in range(self.p.K)
            }
            tally.never(
                not children <= self.checked[h].keys(), f"children of level {h}"
            )

    def policy_loss(self) -> Fraction:
        """Give the proposition's term."""
        return self.p.policy_bound

    def ended(self, result: LearningResult) -> None:
        super().ended(result)
        complete = policy_value_completeness(
            self.environment, self.values, self.policies, clipped=True
        )
        self.tallies["complete"].holds(complete.holds, complete.reason)
        markov = observed_mdp(self.environment)
        self.tallies["markov"].holds(markov.holds, markov.reason)
        most = self.p.T_max
        pairs = zip(self.calls, result.learned, strict=True)
        for h, (calls, learned) in enumerate(pairs, 1):
            self.tallies["dfslearn-calls"].at_most(calls, most, f"level {h}")
            self.tallies["learned-sets"].at_most(learned, most, f"level {h}")


ALGORITHMS = (
    declare(
        TWO_SAMPLE,
        "states told apart by a two-sample test, values by regression (Algorithm 5)",
        parameters=by_kind(
            TwoSampleTheoremParameters, TwoSamplePracticalParameters, squared=True
        ),
        learn=two_sample,
        review=TwoSampleMonitors,
        settings=TwoSampleParameters.settings(),
        assumptions=("policy-realizability", "clipped-policy-value-completeness"),
    ),
)
