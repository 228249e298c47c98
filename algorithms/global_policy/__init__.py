"""The global policy algorithm (paper, Algorithm 6): its entry, and what is claimed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..assumptions.checks import realizability
from ..exact.arrays import object_array
from ..exact.data import EmpiricalMeasure
from ..learning.events import Descending, Entered, Path
from ..learning.monitors import (
    FEATURES,
    UNKNOWN,
    Review,
    claim_table,
    largest_policy_deviation,
    policy_differences,
    value_deviation,
)
from ..learning.problem import LearningResult, Problem, Scope
from ..learning.registry import CLASS_SETTINGS, Task, by_kind, classes_of, declare
from ..oracles.csc import csc
from .algorithm import Comparison, LearnedTest, Policies, Refit, Return, global_policy
from .parameters import (
    GLOBAL_POLICY,
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    GlobalPolicyTheoremParameters,
)

__all__ = [
    "GlobalPolicyParameters",
    "GlobalPolicyPracticalParameters",
    "GlobalPolicyTheoremParameters",
    "global_policy",
]


_TOLERANCE = 1e-12


class GlobalPolicyMonitors(Review):
    """Record a run, then check it; bounds include the oracles' accuracies.

    "On each return": to a level closer to the start. The paper's lemma says "at all
    times", which fails during a call: later policies have changed, its own has not.
    """

    p: GlobalPolicyParameters
    claims = claim_table(
        """
        event            premise    deviation bounds of D, D'_q, D_q, over the whole
                                    classes
        oracles          premise    every oracle call kept its accuracy, by certificate
        realizable       premise    g* ∈ G
        complete         premise    at each fit Π_h holds a policy that is greedy for
                                    π̂_{h+1:H}
        gstar-feasible   event      g* meets the program's constraint, if q loses at
                                    most φ_h
        tested-policy    event      TestLearned true: V^π̂(p) ≥ V*(p) - φ_h - 8τ_val
        same-state       induction  TestLearned is true where p and q lead to the same
                                    state
        fit              single     V^π̂(q) ≥ Q(q, ⋆) - 4τ_pol after a fit, for learned
                                    q
        feasible         induction  no infeasible program or fit, no other event failure
        learned-quality  induction  V^π̂(q) ≥ V*(q) - φ_h for learned q, on each return
        pruned-quality   induction  V^π̂(p) ≥ V*(p) - φ_h - 8τ_val for pruned p,
                                    likewise
        no-relearning    induction  no descent into a learned state
        pruned-paths     induction  at most K M paths of a level were ever pruned
        dfslearn-calls   induction  at most T_max
        test-calls       induction  likewise
        csc-calls        induction  within the bounds that follow from the lemmas
        lp-calls         induction  likewise
        multi-calls      induction  likewise
        trajectories     induction  within the proof's own sum
        epsilon-optimal  chance     V* - V^π̂ ≤ ε, and the run succeeds
        """
    )

    def words(self) -> dict[str, Scope]:
        # What is proved by induction over levels needs the corrected parameters (the
        # printed constants do not even bound their own φ_h); what follows from the
        # deviation bounds alone holds for any.
        corrected = self.p.version == "theorem"
        return {
            "single": "fact" if self.p.fall_back else "event",
            "induction": "event" if corrected else "fact",
            "chance": "probable" if corrected else "fact",
        }

    def begin(self) -> None:
        self.learned: list[set[int]] = [set() for _ in range(self.p.H)]
        self.ever_pruned: list[set[Path]] = [set() for _ in range(self.p.H)]
        self.calls = self.tests = 0

    def on_entered(self, call: Entered) -> None:
        self.calls += 1

    def on_learnedtest(self, test: LearnedTest) -> None:
        self.tests += 1

    def on_descending(self, call: Descending) -> None:
        again = self.truth.state(call.path) in self.learned[call.level - 1]
        self.tallies["no-relearning"].never(again, f"path {list(call.path)}")

    def on_comparison(self, found: Comparison) -> None:
        """Check the deviation bounds of D and D'_q, and the test's lemma."""
        p, q, h = found.path, found.learned, len(found.path) + 1
        same = self.truth.state(p) == self.truth.state(q)
        self.tallies["same-state"].never(
            same and not found.same, f"paths {list(p)}, {list(q)}"
        )
        self._check_test("D'", q, found.learned_data, found.learned_mean, found)
        if found.first:
            self._check_test("D", p, found.data, found.mean, found)
        if not self.truth.exact:
            for name in ("gstar-feasible", "tested-policy"):
                self.tallies[name].skip(UNKNOWN)
            return
        if self._loss(q, found.policies) > self.p.phi(h):
            return  # the lemma's premise
        optimal = self._optimal_values(h, found.learned_data)
        self.tallies["gstar-feasible"].at_most(
            found.learned_data.expectation_exact(optimal) - found.learned_mean,
            self.p.excess(h),
            f"g* at path {list(q)}",
        )
        if found.same:
            self.tallies["tested-policy"].at_most(
                self._loss(p, found.policies),
                self.p.tested_loss(h),
                f"path {list(p)} by {list(q)}",
            )

    def on_refit(self, fit: Refit) -> None:
        """Check the deviation bounds of the D_q, completeness and the fit's lemma."""
        self.learned[fit.level - 1].add(self.truth.state(fit.paths[-1]))
        self.tallies["feasible"].never(not fit.feasible, f"fit of level {fit.level}")
        if not (self.truth.exact and self.environment.space(fit.level).is_finite):
            for name in ("event", "complete", "fit"):
                self.tallies[name].skip(FEATURES)
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
            self.note("event", found, self.p.tau_pol, f"policies on D_q, {list(q)}")
            if fit.policies[fit.level - 1] is not None:
                best = sum(chances * returns.max(axis=1), Fraction(0))
                self.tallies["fit"].at_most(
                    best - self.truth.policy_path_value(q, fit.policies),
                    self.p.fit_loss,
                    f"path {list(q)}",
                )
            seen = np.flatnonzero(chances).astype(np.int64)
            codes.append(seen)
            rows.append(returns[seen].max(axis=1)[:, None] - returns[seen])
        self._check_complete(fit.level, np.concatenate(codes), np.concatenate(rows))

    def on_return(self, step: Return) -> None:
        """Check how good the policy is on the learned and pruned paths of a level."""
        h, policies = len(step.path) + 1, step.policies
        self.ever_pruned[h - 1].update(step.pruned)
        if not self.truth.exact:
            for name in ("learned-quality", "pruned-quality"):
                self.tallies[name].skip(UNKNOWN)
            return
        for name, paths, bound in (
            ("learned-quality", step.learned, self.p.phi(h)),
            ("pruned-quality", step.pruned, self.p.tested_loss(h)),
        ):
            for q in paths:
                self.tallies[name].at_most(
                    self._loss(q, policies),
                    bound,
                    f"{list(q)} on return from {list(step.path)}",
                )

    def ended(self, result: LearningResult) -> None:
        super().ended(result)
        tallies, p = self.tallies, self.p
        for h, paths in enumerate(self.ever_pruned, 1):
            tallies["pruned-paths"].at_most(len(paths), p.K * p.M, f"level {h}")
        tallies["dfslearn-calls"].at_most(self.calls, p.T_max, "calls")
        tallies["test-calls"].at_most(self.tests, p.T_max, "tests")
        found = realizability(self.environment, self.values, self.policies)
        reason = found.reason or "the oracles cannot tell"
        tallies["realizable"].holds(found.value, reason)

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
            self.tallies["event"].skip(FEATURES)
            return
        deviation = value_deviation(self.truth, self.values, path, data)
        self.note("event", deviation, self.p.tau_val, f"values on {name}, {list(path)}")
        right = self.truth.policy_path_value(path, found.policies)
        self.note(
            "event",
            abs(mean - right),
            self.p.tau_val,
            f"return on {name}, {list(path)}",
        )

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
            tally.never(False, "")
        elif found.cost - found.suboptimality > _TOLERANCE:
            tally.never(True, f"no greedy policy of level {level}")
        else:
            tally.skip("the oracle cannot tell")

    def _loss(self, path: Path, policies: Policies) -> Fraction:
        value = self.truth.policy_path_value(path, policies)
        return self.truth.path_value(path) - value

    def _mean_returns(self, path: Path, policies: Policies) -> NDArray[Any]:
        """E[r̄ | x, a] under π̂_{h+1:H}; the mean reward is Q*(x, a) - V*(p∘a)."""
        children = [(*path, a) for a in range(self.p.K)]
        futures = [
            self.truth.policy_path_value(child, policies) - self.truth.path_value(child)
            for child in children
        ]
        found: NDArray[Any] = self.truth.q_values(len(path) + 1) + object_array(futures)
        return found


def _complete_classes(task: Task) -> Problem:
    """Draw finite classes that are policy complete; random ones hardly ever are."""
    env = task.environment
    codes = all(env.space(h).is_finite for h in range(1, env.horizon + 1))
    if task.classes == "finite" and codes and "violate" not in task.settings:
        task = replace(task, settings={"complete": "policy"} | dict(task.settings))
    return classes_of(task)


ALGORITHMS = (
    declare(
        GLOBAL_POLICY,
        "one policy for all states, tested by roll-outs (Algorithm 6)",
        parameters=by_kind(
            GlobalPolicyTheoremParameters, GlobalPolicyPracticalParameters
        ),
        learn=global_policy,
        review=GlobalPolicyMonitors,
        classes=_complete_classes,
        settings=GlobalPolicyParameters.settings() | CLASS_SETTINGS,
        assumptions=("value-realizability", "policy-completeness"),
    ),
)
