"""One pass through the events of a run: each claim checked against the truth.

The claims are listed in `olivine.algorithms.global_policy.monitors`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.assumptions.realizability import realizability
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.columns import object_array
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.global_policy.events import Comparison, Fit, Policies, Return
from olivine.algorithms.global_policy.parameters import GlobalPolicyParameters
from olivine.algorithms.learning.deviations import (
    largest_policy_deviation,
    largest_value_deviation,
    policy_differences,
    value_differences,
)
from olivine.algorithms.learning.events import Path
from olivine.algorithms.learning.monitors import Tally
from olivine.algorithms.learning.result import LearningResult, Scope
from olivine.algorithms.oracles.csc import csc

_FEATURES = "observations are features: there are no codes to sum over"
_UNKNOWN = "V^π is not known exactly"
_TOLERANCE = 1e-12


def scopes(parameters: GlobalPolicyParameters) -> dict[str, Scope]:
    """When each claim must hold.

    What follows from the deviation bounds alone holds for any parameters; what is
    proved by induction over levels needs the corrected ones (the printed constants
    do not even bound their own φ_h).
    """
    single: Scope = "fact" if parameters.fall_back else "event"
    corrected = parameters.version == "theorem"
    induction: Scope = "event" if corrected else "fact"
    return {
        "event": "premise",
        "oracles": "premise",
        "realizable": "premise",
        "complete": "premise",
        "gstar-feasible": "event",
        "tested-policy": "event",
        "same-state": induction,
        "fit": single,
        "feasible": induction,
        "learned-quality": induction,
        "pruned-quality": induction,
        "no-relearning": induction,
        "pruned-paths": induction,
        "dfslearn-calls": induction,
        "test-calls": induction,
        "csc-calls": induction,
        "lp-calls": induction,
        "multi-calls": induction,
        "trajectories": induction,
        "epsilon-optimal": "probable" if corrected else "fact",
    }


class Review:
    """One pass through the events of a run.

    Parameters
    ----------
    environment, value_class, policy_class, parameters
        As for `olivine.algorithms.global_policy.monitors.GlobalPolicyMonitors`.

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
        parameters: GlobalPolicyParameters,
    ) -> None:
        self.environment, self.truth = environment, environment.truth
        self.values, self.policies = value_class, policy_class
        self.p = parameters
        self.tallies = {name: Tally(s) for name, s in scopes(parameters).items()}
        self.learned: list[set[int]] = [set() for _ in range(parameters.H)]
        self.ever_pruned: list[set[Path]] = [set() for _ in range(parameters.H)]
        self.calls = self.tests = 0

    # ------------------------------------------------------------------ events

    def entered(self, path: Path) -> None:
        """Count."""
        self.calls += 1

    def testing(self, path: Path) -> None:
        """Count."""
        self.tests += 1

    def descending(self, path: Path) -> None:
        """Check that the state is not learned yet."""
        again = self.truth.state(path) in self.learned[len(path)]
        self.tallies["no-relearning"].never(again, lambda: f"path {list(path)}")

    def compared(self, found: Comparison) -> None:
        """Check the deviation bounds of D and D'_q, and the test's lemma."""
        p, q, h = found.path, found.learned, len(found.path) + 1
        same = self.truth.state(p) == self.truth.state(q)
        self.tallies["same-state"].never(
            same and not found.same, lambda: f"paths {list(p)}, {list(q)}"
        )
        self._check_test("D'", q, found.learned_data, found.learned_mean, found)
        if found.first:
            self._check_test("D", p, found.data, found.mean, found)
        if not self.truth.exact:
            for name in ("gstar-feasible", "tested-policy"):
                self.tallies[name].skip(_UNKNOWN)
            return
        if self._loss(q, found.policies) > self.p.phi(h):
            return  # the lemma's premise
        optimal = self._optimal_values(h, found.learned_data)
        self.tallies["gstar-feasible"].at_most(
            found.learned_data.expectation_exact(optimal) - found.learned_mean,
            self.p.excess(h),
            lambda: f"g* at path {list(q)}",
        )
        if found.same:
            self.tallies["tested-policy"].at_most(
                self._loss(p, found.policies),
                self.p.tested_loss(h),
                lambda: f"path {list(p)} by {list(q)}",
            )

    def fitted(self, fit: Fit) -> None:
        """Check the deviation bounds of the D_q, completeness and the fit's lemma."""
        self.learned[fit.level - 1].add(self.truth.state(fit.paths[-1]))
        self.tallies["feasible"].never(
            not fit.feasible, lambda: f"fit of level {fit.level}"
        )
        if not (self.truth.exact and self.environment.space(fit.level).is_finite):
            for name in ("event", "complete", "fit"):
                self.tallies[name].skip(_FEATURES)
            return
        rows: list[NDArray[Any]] = []
        codes: list[NDArray[np.int64]] = []
        for q, data in zip(fit.paths, fit.data, strict=True):
            chances = self.truth.observation_probabilities(q)
            returns = self._mean_returns(q, fit.policies)
            zero = [Fraction(0)] * self.p.K
            differences = policy_differences(data, chances, returns, zero)
            found = largest_policy_deviation(
                self.policies.at_level(fit.level), differences
            )
            self._note(found, self.p.tau_pol, lambda q=q: f"policies on D_q, {list(q)}")  # type: ignore[misc]
            if fit.policies[fit.level - 1] is not None:
                best = sum(chances * returns.max(axis=1), Fraction(0))
                self.tallies["fit"].at_most(
                    best - self.truth.policy_path_value(q, fit.policies),
                    self.p.fit_loss,
                    lambda q=q: f"path {list(q)}",  # type: ignore[misc]
                )
            seen = np.flatnonzero(chances).astype(np.int64)
            codes.append(seen)
            rows.append(returns[seen].max(axis=1)[:, None] - returns[seen])
        self._check_complete(fit.level, np.concatenate(codes), np.concatenate(rows))

    def returned(self, step: Return) -> None:
        """Check how good the policy is on the learned and pruned paths of a level."""
        h, policies = len(step.path) + 1, step.policies
        self.ever_pruned[h - 1].update(step.pruned)
        if not self.truth.exact:
            for name in ("learned-quality", "pruned-quality"):
                self.tallies[name].skip(_UNKNOWN)
            return
        for name, paths, bound in (
            ("learned-quality", step.learned, self.p.phi(h)),
            ("pruned-quality", step.pruned, self.p.tested_loss(h)),
        ):
            for q in paths:
                self.tallies[name].at_most(
                    self._loss(q, policies),
                    bound,
                    lambda q=q: f"{list(q)} on return from {list(step.path)}",  # type: ignore[misc]
                )

    def ended(self, result: LearningResult) -> None:
        """Check counts, premises that do not change, and the policy returned."""
        tallies, p = self.tallies, self.p
        tallies["feasible"].never(result.event_failed, lambda: result.reason)
        tallies["oracles"].never(
            result.unhonoured > 0, lambda: f"{result.unhonoured} calls fell short"
        )
        for h, paths in enumerate(self.ever_pruned, 1):
            tallies["pruned-paths"].at_most(
                len(paths),
                p.K * p.M,
                lambda h=h: f"level {h}",  # type: ignore[misc]
            )
        tallies["dfslearn-calls"].at_most(self.calls, p.T_max, lambda: "calls")
        tallies["test-calls"].at_most(self.tests, p.T_max, lambda: "tests")
        for kind, most in p.call_bounds.items():
            tallies[f"{kind}-calls"].at_most(
                result.calls.get(kind, 0),
                most,
                lambda kind=kind: kind,  # type: ignore[misc]
            )
        tallies["trajectories"].at_most(
            result.trajectories, p.trajectory_bound, lambda: "total"
        )
        realized = realizability(self.environment, self.values, self.policies)
        if realized.value is None:
            tallies["realizable"].skip(realized.reason or "the oracles cannot tell")
        else:
            tallies["realizable"].never(not realized.value, lambda: realized.reason)
        self._check_optimal(result)

    # ----------------------------------------------------------------- parts

    def _optimal_values(self, level: int, data: EmpiricalMeasure) -> NDArray[Any]:
        """g* at the observations of a data set; of features, as floats."""
        if self.environment.space(level).is_finite:
            return data.at(self.truth.values(level))
        found = self.truth.optimal_value_functions()[level - 1](data.observations)
        return np.asarray(found)

    def _check_test(
        self,
        name: str,
        path: Path,
        data: EmpiricalMeasure,
        mean: Fraction,
        found: Comparison,
    ) -> None:
        """Deviation bounds of a set of a test: of values, and of the mean return."""
        level = len(path) + 1
        if not (self.truth.exact and self.environment.space(level).is_finite):
            self.tallies["event"].skip(_FEATURES)
            return
        chances = self.truth.observation_probabilities(path)
        deviation = largest_value_deviation(
            self.values.at_level(level), value_differences(data, chances)
        )
        self._note(deviation, self.p.tau_val, lambda: f"values on {name}, {list(path)}")
        right = self.truth.policy_path_value(path, found.policies)
        self._note(
            abs(mean - right), self.p.tau_val, lambda: f"return on {name}, {list(path)}"
        )

    def _note(
        self, deviation: Fraction | None, bound: Fraction, place: Callable[[], str]
    ) -> None:
        if deviation is None:
            self.tallies["event"].skip("no method for the class")
        else:
            self.tallies["event"].at_most(deviation, bound, place)

    def _check_complete(
        self, level: int, codes: NDArray[np.int64], costs: NDArray[Any]
    ) -> None:
        """Whether some policy of Π_h is greedy at all observations met: by CSC."""
        found = csc(
            self.policies.at_level(level),
            EmpiricalMeasure(codes),
            costs,
            epsilon_sub=_TOLERANCE,
        )
        tally = self.tallies["complete"]
        if found.cost <= _TOLERANCE:
            tally.never(False, str)
        elif found.cost - found.suboptimality > _TOLERANCE:
            tally.never(True, lambda: f"no greedy policy of level {level}")
        else:
            tally.skip("the oracle cannot tell")

    def _check_optimal(self, result: LearningResult) -> None:
        tally = self.tallies["epsilon-optimal"]
        tally.never(not result.succeeded, lambda: result.reason)
        if not self.truth.exact:
            tally.skip(_UNKNOWN)
        elif result.policies is not None:
            value = self.truth.policy_value(list(result.policies))
            tally.at_most(
                self.truth.optimal_value - value, self.p.eps, lambda: "suboptimality"
            )

    def _loss(self, path: Path, policies: Policies) -> Fraction:
        """V*(p) - V^π̂(p)."""
        value = self.truth.policy_path_value(path, policies)
        return self.truth.path_value(path) - value

    def _mean_returns(self, path: Path, policies: Policies) -> NDArray[Any]:
        """E[r̄ | x, a] under π̂_{h+1:H}, right at observations of the path.

        Q*(x, a) - V*(p∘a) is the mean reward.
        """
        children = [(*path, a) for a in range(self.p.K)]
        futures = [
            self.truth.policy_path_value(child, policies) - self.truth.path_value(child)
            for child in children
        ]
        found: NDArray[Any] = self.truth.q_values(len(path) + 1) + object_array(futures)
        return found
