"""One pass through the events of a run: each claim checked against the truth.

The claims are listed in `olivine.algorithms.two_sample.monitors`.
"""

from __future__ import annotations

from fractions import Fraction

from olivine.algorithms.assumptions import policy_value_completeness
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.finite_truth import FiniteTruth
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.deviations import (
    largest_value_deviation,
    value_differences,
)
from olivine.algorithms.learning.events import Iteration, Path
from olivine.algorithms.learning.monitors import Tally
from olivine.algorithms.learning.result import LearningResult, Scope
from olivine.algorithms.learning.unlearned import chance_of_unlearned
from olivine.algorithms.oracles.discrepancy import mean_discrepancy
from olivine.algorithms.oracles.ledger import reveal
from olivine.algorithms.two_sample.deviations import (
    Bracket,
    policy_value_deviation,
    squared_loss_deviation,
)
from olivine.algorithms.two_sample.differences import differences
from olivine.algorithms.two_sample.observed_mdp import observed_mdp
from olivine.algorithms.two_sample.parameters import TwoSampleParameters
from olivine.algorithms.two_sample.steps import Fit, Visit

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


class Review:
    """One pass through the events of a run.

    Parameters
    ----------
    environment, value_class, policy_class, parameters, test_class
        As for `olivine.algorithms.two_sample.monitors.TwoSampleMonitors`.

    Attributes
    ----------
    tallies
        Checks so far, by name.
    """

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
        self.other = test_class is not value_class
        self.p = parameters
        chance: Scope = "fact" if parameters.version == "practical" else "probable"
        scopes: dict[str, Scope] = dict.fromkeys(_PREMISES, "premise")
        scopes |= dict.fromkeys(_LEMMAS, "event")
        scopes |= dict.fromkeys(_ALWAYS, "always")
        scopes |= dict.fromkeys(_PROBABLE, chance)
        if self.other:
            scopes["test-class"] = "premise"
        if parameters.T_max < parameters.visits:  # chosen; nothing is claimed of it
            scopes["dfslearn-calls"] = "fact"
        self.tallies = {name: Tally(scope) for name, scope in scopes.items()}
        levels = range(parameters.H)
        self.calls = [0] * parameters.H
        self.checked: list[dict[int, Path]] = [{} for _ in levels]
        self.learned: list[dict[int, Path]] = [{} for _ in levels]
        self.val: list[list[int]] = [[] for _ in levels]
        self.val_data: list[list[EmpiricalMeasure]] = [[] for _ in levels]
        self.rejected: int | None = None

    # -------------------------------------------------------------- dfslearn

    def entered(self, path: Path) -> None:
        """Count, and note the state."""
        self.calls[len(path)] += 1
        self.checked[len(path)].setdefault(self.truth.state(path), path)

    def visited(self, visit: Visit) -> None:
        """Check the event, the identity test and the sets it adds to."""
        h, path = visit.level, visit.path
        state, val = self.truth.state(path), self.val[h - 1]
        self._check_event(path, visit.data)
        if self.other and not visit.new:
            self._check_test_class(visit)
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
            self.val_data[h - 1].append(visit.data)
            self.tallies["val-sets"].at_most(
                len(val), self.p.M, lambda: f"level {h}, path {list(path)}"
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
            least, p.tau * (2 + p.oracle_share), lambda: f"path {list(visit.path)}"
        )

    def _check_event(self, path: Path, data: EmpiricalMeasure) -> None:
        """Check the three deviation bounds of a data set."""
        tally, h, p = self.tallies["event"], len(path) + 1, self.p
        truth = self.truth
        if not (self.environment.space(h).is_finite and isinstance(truth, FiniteTruth)):
            tally.skip("observations are features: there are no codes to sum over")
            return
        off = value_differences(data, truth.observation_probabilities(path))
        for tested in (self.tests, self.values) if self.other else (self.tests,):
            means = largest_value_deviation(tested.at_level(h), off)
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
        """Check the policy, its evaluation and what is learned of it."""
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
        """Check counts, premises that do not change, and the policy returned."""
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
