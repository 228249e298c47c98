"""What the analysis of the two-sample algorithm claims, checked against the truth.

An observer records the run; afterwards `reports` goes through it. Monitors know
hidden states and true values; the algorithm does not, and nothing flows back.

==================  =========================================================
name                claim
==================  =========================================================
event               deviation bounds of event E for every data set: τ, τ_V, τ_L
oracles             every oracle call kept its accuracy, by certificate
complete            policy-value completeness, up to clipping at 1
markov              the process is an MDP over observations
dfslearn-calls      at most T_max a level
no-relearning       dfslearn does not recurse in a state of a val set
same-state          data sets of one state have a discrepancy of at most 2τ
val-sets            |S^val_h| ≤ M, no state twice
learned-sets        |S^learned_h| ≤ T_max
nested              S^val ⊆ S^learned ⊆ S^check, children of learned states in
                    S^check, whenever polvalfun is called
value-accuracy      |E_s[ĝ_h] - E_s[g*]| within the proposition, s in S^check_h
policy-loss         V*(s) - Q*(s, π̂_h) within the proposition, s learned
estimate-accuracy   |V̂* - V*| within that of the start state, and τ
policy-bound        V* - V^π̂ ≤ p_ul + the proposition's term, each iteration
csc/ls/lp-calls     H an iteration; two programs for each of M data sets a test
trajectories        within the proof's own sum
evaluation          |V̂^π̂ - V^π̂| ≤ ε/8
progress            each rejected iteration learns a new state
epsilon-optimal     V* - V^π̂ ≤ ε, and the run succeeds
==================  =========================================================

Clipping. To the letter, the class of all functions to [0, 1] is not complete where
rewards are paid before the last level, for r + g' leaves [0, 1] (erratum 25). It is
enough that G_h has min(1, max_a Q(x, a)), Q(x, a) = E[r + g'(x') | x, a], for each
g' ∈ G_{h+1}. Let b = Q(x, π̂_h(x)), the Bayes predictor of the regression, m =
max_a Q(x, a) ≥ b, and c(v) = min(1, v). For g to [0, 1],

    (g - b)² - (c(b) - b)² ≥ (g - c(b))²    as c(b) is the nearest point to b,
    (c(m) - b)² - (c(b) - b)² ≤ m - b       as it is 0 if b ≥ 1, else ≤ c(m) - b.

So the proof's bound on E_s[(ĝ_h - g)²] holds with c(b) for b and c(m) for m; and
|g* - c(b)| ≤ |g* - b|, as g* is in [0, 1].
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from algorithms.assumptions import policy_value_completeness
from algorithms.classes.protocols import PolicyClass, ValueClass
from algorithms.data import EmpiricalMeasure
from algorithms.environments.finite_truth import FiniteTruth
from algorithms.environments.protocol import Environment
from algorithms.events import Iteration, Path
from algorithms.monitors import Tally
from algorithms.oracles.ledger import reveal
from algorithms.result import LearningResult, MonitorReport, Scope
from algorithms.two_sample.deviations import (
    Bracket,
    policy_value_deviation,
    squared_loss_deviation,
)
from algorithms.two_sample.differences import differences
from algorithms.two_sample.observed_mdp import observed_mdp
from algorithms.two_sample.parameters import TwoSampleParameters
from algorithms.two_sample.steps import Fit, TwoSampleObserver, Visit
from algorithms.unlearned import chance_of_unlearned
from algorithms.valor.deviations import largest_value_deviation, value_differences

_PREMISES = ("event", "oracles", "complete", "markov")
_LEMMAS = (
    "dfslearn-calls",
    "no-relearning",
    "same-state",
    "val-sets",
    "learned-sets",
    "value-accuracy",
    "policy-loss",
    "estimate-accuracy",
    "policy-bound",
    "lp-calls",
)
_ALWAYS = ("nested", "csc-calls", "ls-calls", "trajectories")
_PROBABLE = ("evaluation", "progress", "epsilon-optimal")


class TwoSampleMonitors(TwoSampleObserver):
    """Record a run, then check it.

    Parameters
    ----------
    environment
        Whose `truth` is asked.
    value_class, policy_class
        G and Π.
    parameters
        Of the run.
    test_class
        Class of the identity test; None: G.
    """

    def __init__(
        self,
        environment: Environment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        parameters: TwoSampleParameters,
        test_class: ValueClass | None = None,
    ) -> None:
        tests = value_class if test_class is None else test_class
        self._given = (environment, value_class, policy_class, parameters, tests)
        self._events: list[tuple[str, Any]] = []

    def entered(self, path: Path) -> None:
        """Record."""
        self._events.append(("entered", path))

    def visited(self, visit: Visit) -> None:
        """Record."""
        self._events.append(("visited", visit))

    def fitted(self, fit: Fit) -> None:
        """Record."""
        self._events.append(("fitted", fit))

    def iterated(self, iteration: Iteration) -> None:
        """Record."""
        self._events.append(("iterated", iteration))

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Check the run that ended with this result."""
        review = _Review(*self._given)
        for kind, what in self._events:
            getattr(review, kind)(what)
        review.ended(result)
        return {name: tally.report() for name, tally in review.tallies.items()}


class _Review:
    """One pass through the events of a run."""

    def __init__(
        self,
        environment: Environment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        parameters: TwoSampleParameters,
        test_class: ValueClass,
    ) -> None:
        self.environment, self.truth = environment, environment.truth
        self.values, self.policies, self.tests = value_class, policy_class, test_class
        self.p = parameters
        chance: Scope = "fact" if parameters.version == "practical" else "probable"
        scopes: dict[str, Scope] = dict.fromkeys(_PREMISES, "premise")
        scopes |= dict.fromkeys(_LEMMAS, "event")
        scopes |= dict.fromkeys(_ALWAYS, "always")
        scopes |= dict.fromkeys(_PROBABLE, chance)
        self.tallies = {name: Tally(scope) for name, scope in scopes.items()}
        levels = range(parameters.H)
        self.calls = [0] * parameters.H
        self.checked: list[dict[int, Path]] = [{} for _ in levels]
        self.learned: list[dict[int, Path]] = [{} for _ in levels]
        self.val: list[list[int]] = [[] for _ in levels]
        self.rejected: int | None = None

    # -------------------------------------------------------------- dfslearn

    def entered(self, path: Path) -> None:
        self.calls[len(path)] += 1
        self.checked[len(path)].setdefault(self.truth.state(path), path)

    def visited(self, visit: Visit) -> None:
        h, path = visit.level, visit.path
        state, val = self.truth.state(path), self.val[h - 1]
        self._check_event(path, visit.data)
        again = state in val
        self.tallies["no-relearning"].never(
            again and visit.recursive and visit.learned, lambda: f"path {list(path)}"
        )
        for known, distance in zip(val, visit.distances, strict=True):
            if known == state:
                self.tallies["same-state"].at_most(
                    distance, 2 * self.p.tau, lambda: f"path {list(path)}"
                )
        if visit.new:
            self.tallies["val-sets"].never(again, lambda: f"path {list(path)} again")
            val.append(state)
            self.tallies["val-sets"].at_most(
                len(val), self.p.M, lambda: f"level {h}, path {list(path)}"
            )
        if visit.learned:
            self.learned[h - 1].setdefault(state, path)

    def _check_event(self, path: Path, data: EmpiricalMeasure) -> None:
        """Check the three deviation bounds of a data set."""
        tally, h, p = self.tallies["event"], len(path) + 1, self.p
        truth = self.truth
        if not (self.environment.space(h).is_finite and isinstance(truth, FiniteTruth)):
            tally.skip("observations are features: there are no codes to sum over")
            return
        means = largest_value_deviation(
            self.tests.at_level(h),
            value_differences(data, truth.observation_probabilities(path)),
        )
        if means is None:
            tally.skip("no method for the class of the identity test")
        else:
            tally.at_most(means, p.tau, lambda: f"means, path {list(path)}")
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
            tally.at_most(found.lower, bound, lambda: place)
        elif found.upper <= bound:
            tally.at_most(found.upper, bound, lambda: place)
        else:
            tally.skip(f"{place}: only bounded from above, by {float(found.upper):.3g}")

    # ------------------------------------------------------------- polvalfun

    def fitted(self, fit: Fit) -> None:
        self._check_nested()
        p, truth = self.p, self.truth
        names = ("value-accuracy", "policy-loss", "estimate-accuracy")
        if not truth.exact:
            for name in names:
                self.tallies[name].skip("expectations are not known exactly")
            return
        values, losses, estimate = (self.tallies[name] for name in names)
        estimate.at_most(
            abs(fit.estimate - truth.optimal_value), p.estimate_bound, lambda: "V̂*"
        )
        for h in range(1, p.H + 1):
            function, policy = reveal(fit.values[h - 1]), reveal(fit.policies[h - 1])
            for path in self.checked[h - 1].values():
                mean = Fraction(truth.expectation(path, function))
                values.at_most(
                    abs(mean - truth.path_value(path)),
                    p.value_bound(h),
                    lambda path=path: f"ĝ at path {list(path)}",  # type: ignore[misc]
                )
            for path in self.learned[h - 1].values():
                ahead = [truth.path_value((*path, a)) for a in range(p.K)]
                followed = Fraction(truth.action_expectation(path, policy, ahead))
                losses.at_most(
                    truth.path_value(path) - followed,
                    p.loss_bound(h),
                    lambda path=path: f"π̂ at path {list(path)}",  # type: ignore[misc]
                )

    def _check_nested(self) -> None:
        """S^val ⊆ S^learned ⊆ S^check, and children of learned states are checked."""
        tally = self.tallies["nested"]
        for h, learned in enumerate(self.learned, 1):
            missing = set(self.val[h - 1]) - learned.keys()
            missing |= learned.keys() - self.checked[h - 1].keys()
            tally.never(bool(missing), lambda h=h: f"level {h}")  # type: ignore[misc]
            if h == self.p.H:
                continue
            children = {
                self.truth.successor(h, state, a)
                for state in learned
                for a in range(self.p.K)
            }
            tally.never(
                not children <= self.checked[h].keys(),
                lambda h=h: f"children of level {h}",  # type: ignore[misc]
            )

    def iterated(self, iteration: Iteration) -> None:
        self._check_progress()
        bound, evaluation = self.tallies["policy-bound"], self.tallies["evaluation"]
        if not self.truth.exact:
            for tally in (bound, evaluation, self.tallies["epsilon-optimal"]):
                tally.skip("V^π is not known exactly")
        else:
            policies = [reveal(policy) for policy in iteration.policies]
            value = self.truth.policy_value(policies)
            learned = [set(states) for states in self.learned]
            unlearned = chance_of_unlearned(self.truth, self.p.K, learned, policies)
            place = f"iteration {iteration.number}"
            bound.at_most(
                self.truth.optimal_value - value,
                unlearned + self.p.policy_bound,
                lambda: place,
            )
            evaluation.at_most(
                abs(iteration.mean_return - value), self.p.eps / 8, lambda: place
            )
        if not iteration.accepted:
            self.rejected = sum(map(len, self.learned))

    def _check_progress(self) -> None:
        """After a rejected iteration there must be more learned states."""
        if self.rejected is not None:
            now, before = sum(map(len, self.learned)), self.rejected
            self.tallies["progress"].never(now <= before, lambda: f"{now} states")
        self.rejected = None

    # ------------------------------------------------------------------- end

    def ended(self, result: LearningResult) -> None:
        self._check_progress()
        tallies, p = self.tallies, self.p
        tallies["oracles"].never(
            result.unhonoured > 0, lambda: f"{result.unhonoured} calls fell short"
        )
        complete = policy_value_completeness(
            self.environment, self.values, self.policies, clipped=True
        )
        markov = observed_mdp(self.environment)
        for name, found in (("complete", complete), ("markov", markov)):
            if found.holds is None:
                tallies[name].skip(found.reason)
            else:
                tallies[name].never(not found.holds, lambda r=found.reason: r)  # type: ignore[misc]
        pairs = enumerate(zip(self.calls, result.learned, strict=True), 1)
        for h, (calls, learned) in pairs:
            place = f"level {h}"
            tallies["dfslearn-calls"].at_most(calls, p.T_max, lambda at=place: at)  # type: ignore[misc]
            tallies["learned-sets"].at_most(learned, p.T_max, lambda at=place: at)  # type: ignore[misc]
        for kind, most in p.call_bounds.items():
            tallies[f"{kind}-calls"].at_most(
                result.calls.get(kind, 0),
                most,
                lambda kind=kind: kind,  # type: ignore[misc]
            )
        tallies["trajectories"].at_most(
            result.trajectories, p.trajectory_bound, lambda: "total"
        )
        optimal = tallies["epsilon-optimal"]
        optimal.never(not result.succeeded, lambda: result.reason)
        if result.policies is not None and self.truth.exact:
            value = self.truth.policy_value(list(result.policies))
            optimal.at_most(
                self.truth.optimal_value - value, p.eps, lambda: "suboptimality"
            )
