"""VALOR (paper, Algorithms 1 to 4): its entry, and what its analysis claims."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..assumptions.checks import realizability
from ..exact.data import EmpiricalMeasure
from ..learning.events import Descending, Entered, Path, Sampled, Triple
from ..learning.monitors import (
    FEATURES,
    MetaAlgReview,
    claim_table,
    largest_policy_deviation,
    policy_differences,
    value_deviation,
)
from ..learning.problem import LearningResult, Scope
from ..learning.registry import PARAMETER_KINDS, Task, by_kind, declare
from .algorithm import valor, valor_constrained
from .frugal import FrugalValues
from .parameters import (
    CONSTRAINED,
    VALOR,
    FrugalFields,
    FrugalParameters,
    PracticalParameters,
    TheoremParameters,
    ValorParameters,
    frugal_defaults,
    linear_defaults,
)

__all__ = [
    "FrugalParameters",
    "FrugalValues",
    "PracticalParameters",
    "frugal_defaults",
    "linear_defaults",
    "valor",
    "valor_constrained",
]


class ValorMonitors(MetaAlgReview):
    """Record a run, then check it."""

    p: ValorParameters
    claims = claim_table(
        """
        event            premise  deviation bounds of event E, over the whole classes
        oracles          premise  every oracle call kept its accuracy, by certificate
        realizable       premise  g* ∈ G, π* ∈ Π
        dfslearn-calls   calls    at most T_max per level
        no-relearning    lemma    no descent into a learned state
        value-accuracy   lemma    |V - V*(s)| ≤ φ_h - 2ε_stat
        future-accuracy  lemma    |V_a - V*(s∘a)| ≤ φ_{h+1} + 3ε_stat + ε_feas + ε_sub
        gstar-feasible   lemma    |V - E_D[g*]| ≤ φ_h for every data set, at all times
        feasible         calls    no infeasible program, no other event failure
        policy-bound     lemma    V* - V^π̂ ≤ p_ul + the proposition's term, each
                                  iteration
        csc-calls        counts   within the theorem's counts
        lp-calls         counts   likewise
        multi-calls      counts   likewise
        trajectories     always   within the proof's own sum
        evaluation       chance   |V̂^π̂ - V^π̂| ≤ ε/8
        progress         chance   each rejected iteration learns a new state
        epsilon-optimal  chance   V* - V^π̂ ≤ ε, and the run succeeds
        """
    )

    def words(self) -> dict[str, Scope]:
        p = self.p
        # With φ of one's own the lemmas claim nothing.
        lemma: Scope = "event" if p.slack is None else "fact"
        return {
            "lemma": lemma,
            # Nor with a T_max of one's own that is too small for what it bounds.
            "calls": "fact" if p.T_max < p.M + p.iterations * p.n_exp else lemma,
            "chance": "fact" if p.version in ("practical", "frugal") else "probable",
            "counts": "fact" if p.fall_back else "always",
        }

    def begin(self) -> None:
        super().begin()
        self.calls = [0] * self.p.H
        self._gstar: list[Any] | None = None

    def on_entered(self, call: Entered) -> None:
        self.calls[call.level - 1] += 1

    def on_sampled(self, test: Sampled) -> None:
        """Check the deviation bound of D'."""
        self._check_values(test.path, test.data, "D'")

    def on_descending(self, call: Descending) -> None:
        again = self.truth.state(call.path) in self.learned[call.level - 1]
        self.tallies["no-relearning"].never(again, f"path {list(call.path)}")

    def on_triple(self, triple: Triple) -> None:
        """Check what was stored, and the deviation bounds of D̃."""
        p, h, path = self.p, triple.level, triple.path
        at = f"at path {list(path)}"
        self._check_values(path, triple.data, "D")
        self._check_policies(triple)
        self.tallies["value-accuracy"].at_most(
            abs(triple.value - self.truth.path_value(path)),
            p.phi(h) - 2 * p.eps_stat,
            f"V {at}",
        )
        for a, future in enumerate(triple.futures):
            self.tallies["future-accuracy"].at_most(
                abs(future - self.truth.path_value((*path, a))),
                p.phi(h + 1) + 3 * p.eps_stat + p.eps_feas + p.eps_sub,
                f"V_a at path {[*path, a]}",
            )
        self.tallies["gstar-feasible"].at_most(
            abs(triple.value - self._expected_optimum(triple)), p.phi(h), f"g* {at}"
        )
        for test in triple.tests:
            self.tallies["feasible"].never(test.relaxed, f"test at {list(path)}")
        self.learned[h - 1].add(self.truth.state(path))

    def _check_policies(self, triple: Triple) -> None:
        if not self.environment.space(triple.level).is_finite:
            return
        differences = policy_differences(
            triple.data,
            self.truth.observation_probabilities(triple.path),
            self.mean_rewards(triple.path),
            triple.futures,
        )
        found = largest_policy_deviation(
            self.policies.at_level(triple.level), differences
        )
        at = f"policies on D at path {list(triple.path)}"
        self.note("event", found, self.p.eps_stat, at)

    def _check_values(self, path: Path, data: EmpiricalMeasure, name: str) -> None:
        level = len(path) + 1
        if not self.environment.space(level).is_finite:
            self.tallies["event"].skip(FEATURES)
            return
        found = value_deviation(self.truth, self.values, path, data)
        at = f"values on {name} at path {list(path)}"
        self.note("event", found, self.p.eps_stat, at)

    def _expected_optimum(self, triple: Triple) -> Fraction:
        """E_D[g*(x_h)] over the data set."""
        if triple.data.is_finite:
            values = self.truth.values(triple.level)
            return triple.data.expectation_exact(triple.data.at(values))
        if self._gstar is None:
            self._gstar = self.truth.optimal_value_functions()
        function = self._gstar[triple.level - 1]
        return Fraction(triple.data.expectation(function(triple.data.observations)))

    def policy_loss(self) -> Fraction:
        """Give the proposition's term."""
        p = self.p
        if p.algorithm == CONSTRAINED:
            return 32 * p.H**2 * (p.eps_stat + p.eps_feas + p.eps_sub)
        accuracies = 7 * p.eps_stat + 3 * p.eps_sub + 2 * p.eps_feas
        return 2 * p.H**2 * p.T_max * accuracies

    def ended(self, result: LearningResult) -> None:
        super().ended(result)
        for h, calls in enumerate(self.calls, 1):
            self.tallies["dfslearn-calls"].at_most(calls, self.p.T_max, f"level {h}")
        found = realizability(self.environment, self.values, self.policies)
        reason = found.reason or "the oracles cannot tell"
        self.tallies["realizable"].holds(found.holds, reason)


def _defaults(task: Task) -> Mapping[str, Any]:
    if task.classes != "linear":
        return {}
    choose = frugal_defaults if task.parameters == "frugal" else linear_defaults
    return choose(task.environment, task.epsilon)


ALGORITHMS = tuple(
    declare(
        name,
        summary,
        parameters=by_kind(
            TheoremParameters,
            PracticalParameters,
            name,
            defaults=_defaults,
            frugal=FrugalParameters,
        ),
        learn=learn,
        review=ValorMonitors,
        settings=FrugalFields.settings(),
        kinds=(*PARAMETER_KINDS, "frugal"),
        assumptions=("policy-realizability", "value-realizability"),
    )
    for name, summary, learn in (
        (VALOR, "values stored locally, pooled policy step (Algorithms 1 to 3)", valor),
        (
            CONSTRAINED,
            "VALOR with a constrained policy step (Algorithm 4)",
            valor_constrained,
        ),
    )
)
