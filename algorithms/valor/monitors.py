"""What the analysis of VALOR claims of a run, checked against the truth.

An observer records the run; afterwards `reports` goes through it. Monitors know
hidden states and true values; the algorithm does not, and nothing flows back.

==================  =========================================================
name                claim
==================  =========================================================
event               deviation bounds of event E, over the whole classes
oracles             every oracle call kept its accuracy, by certificate
realizable          g* ∈ G, π* ∈ Π
dfslearn-calls      at most T_max a level
no-relearning       no descent into a learned state
value-accuracy      |V - V*(s)| ≤ φ_h - 2ε_stat
future-accuracy     |V_a - V*(s∘a)| ≤ φ_{h+1} + 3ε_stat + ε_feas + ε_sub
gstar-feasible      |V - E_D[g*]| ≤ φ_h for every data set, so at all times
feasible            no infeasible program, no other event failure
policy-bound        V* - V^π̂ ≤ p_ul + the proposition's term, each iteration
csc/lp/multi-calls  within the theorem's counts
trajectories        within the proof's own sum
evaluation          |V̂^π̂ - V^π̂| ≤ ε/8
progress            each rejected iteration learns a new state
epsilon-optimal     V* - V^π̂ ≤ ε, and the run succeeds
==================  =========================================================
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray
from olivine.algorithms.assumptions.realizability import realizability
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.columns import object_array
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.deviations import (
    largest_policy_deviation,
    largest_value_deviation,
    policy_differences,
    value_differences,
)
from olivine.algorithms.learning.events import Iteration, Observer, Path, Triple
from olivine.algorithms.learning.monitors import Tally, review_run
from olivine.algorithms.learning.parameters import CONSTRAINED, Parameters
from olivine.algorithms.learning.result import LearningResult, MonitorReport, Scope
from olivine.algorithms.learning.unlearned import chance_of_unlearned
from olivine.algorithms.oracles.ledger import reveal

_FEATURES = "observations are features: there are no codes to sum over"


class ValorMonitors(Observer):
    """Record a run, then check it.

    Parameters
    ----------
    environment
        Whose `truth` is asked.
    value_class, policy_class
        G and Π.
    parameters
        Of the run.
    """

    def __init__(
        self,
        environment: Environment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        parameters: Parameters,
    ) -> None:
        self._environment, self._parameters = environment, parameters
        self._values, self._policies = value_class, policy_class
        self._events: list[tuple[str, Any]] = []

    # ------------------------------------------------------------- recording

    def entered(self, path: Path) -> None:
        """Record."""
        self._events.append(("entered", path))

    def tested(self, path: Path, data: EmpiricalMeasure) -> None:
        """Record."""
        self._events.append(("tested", (path, data)))

    def descending(self, path: Path) -> None:
        """Record."""
        self._events.append(("descending", path))

    def stored(self, triple: Triple) -> None:
        """Record."""
        self._events.append(("stored", triple))

    def iterated(self, iteration: Iteration) -> None:
        """Record."""
        self._events.append(("iterated", iteration))

    # -------------------------------------------------------------- checking

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Check the run that ended with this result."""
        review = _Review(
            self._environment, self._values, self._policies, self._parameters
        )
        return review_run(review, self._events, result)


class _Review:
    """One pass through the events of a run."""

    def __init__(
        self,
        environment: Environment,
        value_class: ValueClass,
        policy_class: PolicyClass,
        parameters: Parameters,
    ) -> None:
        self.environment, self.truth = environment, environment.truth
        self.values, self.policies = value_class, policy_class
        self.p = parameters
        # With φ of one's own the lemmas claim nothing.
        lemma: Scope = "event" if parameters.slack is None else "fact"
        # Nor with a T_max of one's own that is too small for what it bounds.
        visits = parameters.M + parameters.iterations * parameters.n_exp
        calls: Scope = "fact" if parameters.T_max < visits else lemma
        chance: Scope = "fact" if parameters.version == "practical" else "probable"
        counts: Scope = "fact" if parameters.fall_back else "always"
        scopes: dict[str, Scope] = {
            "event": "premise",
            "oracles": "premise",
            "realizable": "premise",
            "dfslearn-calls": calls,
            "no-relearning": lemma,
            "value-accuracy": lemma,
            "future-accuracy": lemma,
            "gstar-feasible": lemma,
            "feasible": calls,
            "policy-bound": lemma,
            "csc-calls": counts,
            "lp-calls": counts,
            "multi-calls": counts,
            "trajectories": "always",
            "evaluation": chance,
            "progress": chance,
            "epsilon-optimal": chance,
        }
        self.tallies = {name: Tally(scope) for name, scope in scopes.items()}
        self.learned: list[set[int]] = [set() for _ in range(parameters.H)]
        self.calls = [0] * parameters.H
        self.rejected: int | None = None
        self._gstar: list[Any] | None = None

    def entered(self, path: Path) -> None:
        self.calls[len(path)] += 1

    def tested(self, test: tuple[Path, EmpiricalMeasure]) -> None:
        path, data = test
        self._check_values(path, data, "D'")

    def descending(self, path: Path) -> None:
        again = self.truth.state(path) in self.learned[len(path)]
        self.tallies["no-relearning"].never(again, lambda: f"path {list(path)}")

    def stored(self, triple: Triple) -> None:
        p, h, path = self.p, triple.level, triple.path
        self._check_event(triple)
        self.tallies["value-accuracy"].at_most(
            abs(triple.value - self.truth.path_value(path)),
            p.phi(h) - 2 * p.eps_stat,
            lambda: f"V at path {list(path)}",
        )
        for a, future in enumerate(triple.futures):
            self.tallies["future-accuracy"].at_most(
                abs(future - self.truth.path_value((*path, a))),
                p.phi(h + 1) + 3 * p.eps_stat + p.eps_feas + p.eps_sub,
                lambda a=a: f"V_a at path {[*path, a]}",  # type: ignore[misc]
            )
        self.tallies["gstar-feasible"].at_most(
            abs(triple.value - self._expected_optimum(triple)),
            p.phi(h),
            lambda: f"g* at path {list(path)}",
        )
        for test in triple.tests:
            self.tallies["feasible"].never(
                test.relaxed, lambda: f"test at {list(path)}"
            )
        self.learned[h - 1].add(self.truth.state(path))

    def iterated(self, iteration: Iteration) -> None:
        self._check_progress()
        policies = [reveal(policy) for policy in iteration.policies]
        name, bound = "policy-bound", self._policy_term()
        if not self.truth.exact:
            for tally in (name, "evaluation", "epsilon-optimal"):
                self.tallies[tally].skip("V^π is not known exactly")
        else:
            value = self.truth.policy_value(policies)
            k = iteration.number
            self.tallies[name].at_most(
                self.truth.optimal_value - value,
                chance_of_unlearned(self.truth, self.p.K, self.learned, policies)
                + bound,
                lambda: f"iteration {k}",
            )
            self.tallies["evaluation"].at_most(
                abs(iteration.mean_return - value),
                self.p.eps / 8,
                lambda: f"iteration {k}",
            )
        if not iteration.accepted:
            self.rejected = sum(map(len, self.learned))

    def ended(self, result: LearningResult) -> None:
        self._check_progress()
        tallies, p = self.tallies, self.p
        tallies["feasible"].never(result.event_failed, lambda: result.reason)
        tallies["oracles"].never(
            result.unhonoured > 0, lambda: f"{result.unhonoured} calls fell short"
        )
        for h, calls in enumerate(self.calls, 1):
            tallies["dfslearn-calls"].at_most(
                calls,
                p.T_max,
                lambda h=h: f"level {h}",  # type: ignore[misc]
            )
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
        if realized.holds is None:
            tallies["realizable"].skip(realized.reason or "the oracles cannot tell")
        else:
            tallies["realizable"].never(not realized.holds, lambda: realized.reason)
        optimal = tallies["epsilon-optimal"]
        optimal.never(not result.succeeded, lambda: result.reason)
        if result.policies is not None and self.truth.exact:
            value = self.truth.policy_value(list(result.policies))
            optimal.at_most(
                self.truth.optimal_value - value, p.eps, lambda: "suboptimality"
            )

    # ----------------------------------------------------------------- parts

    def _check_progress(self) -> None:
        """After a rejected iteration there must be more learned states."""
        if self.rejected is not None:
            now, before = sum(map(len, self.learned)), self.rejected
            self.tallies["progress"].never(now <= before, lambda: f"{now} states")
        self.rejected = None

    def _check_event(self, triple: Triple) -> None:
        """Deviation bounds on D̃: of values, and of policies."""
        h = triple.level
        self._check_values(triple.path, triple.data, "D")
        if not self.environment.space(h).is_finite:
            return
        chances = self.truth.observation_probabilities(triple.path)
        differences = policy_differences(
            triple.data, chances, self._mean_rewards(triple.path), triple.futures
        )
        found = largest_policy_deviation(self.policies.at_level(h), differences)
        self._note(found, f"policies on D at path {list(triple.path)}")

    def _check_values(self, path: Path, data: EmpiricalMeasure, name: str) -> None:
        level = len(path) + 1
        if not self.environment.space(level).is_finite:
            self.tallies["event"].skip(_FEATURES)
            return
        chances = self.truth.observation_probabilities(path)
        differences = value_differences(data, chances)
        found = largest_value_deviation(self.values.at_level(level), differences)
        self._note(found, f"values on {name} at path {list(path)}")

    def _note(self, deviation: Fraction | None, place: str) -> None:
        tally = self.tallies["event"]
        if deviation is None:
            tally.skip("no method for the class")
        else:
            tally.at_most(deviation, self.p.eps_stat, lambda: place)

    def _mean_rewards(self, path: Path) -> NDArray[Any]:
        """E[r | x, a] = Q*(x, a) - V*(p∘a), right at observations of the path."""
        futures = [self.truth.path_value((*path, a)) for a in range(self.p.K)]
        found: NDArray[Any] = self.truth.q_values(len(path) + 1) - object_array(futures)
        return found

    def _expected_optimum(self, triple: Triple) -> Fraction:
        """E_D[g*(x_h)] over the data set."""
        if triple.data.is_finite:
            values = self.truth.values(triple.level)
            return triple.data.expectation_exact(triple.data.at(values))
        if self._gstar is None:
            self._gstar = self.truth.optimal_value_functions()
        function = self._gstar[triple.level - 1]
        return Fraction(triple.data.expectation(function(triple.data.observations)))

    def _policy_term(self) -> Fraction:
        p = self.p
        if p.algorithm == CONSTRAINED:
            return 32 * p.H**2 * (p.eps_stat + p.eps_feas + p.eps_sub)
        accuracies = 7 * p.eps_stat + 3 * p.eps_sub + 2 * p.eps_feas
        return 2 * p.H**2 * p.T_max * accuracies
