"""What the analysis of LSVEE claims of a run, checked against the truth.

The analysis is the one that docs/lsvee.md spells out for the recalled constants;
√K φ = ε/(320 H²), and tol(h) is the tolerance of tests below level h.

==================  =========================================================
name                claim
==================  =========================================================
realizable          Q* ∈ F
test-deviations     |V̂^f(p) - V^f(p)| ≤ φ/2 for every function of every test
risk-deviations     Bernstein's bound on the excess risks of every elimination
qstar-kept          Q* is never eliminated
consensus           where a test agrees, true values differ by ≤ tol(h) + φ
futures             what an elimination is given differs by ≤ tol(h), and from
                    V*(p∘a) by ≤ tol(h) + φ/2
td-errors           survivors have root mean square Bellman errors ≤ 5φ/2
value-accuracy      at a learned state of level h, true values of survivors
                    differ from each other, and V*(p), by ≤ tol(h) + 5√Kφ
no-relearning       no descent into a learned state
terminates          no call of DFS-learn learns more than it can
policy-bound        V^f - V^π_f ≤ p_ul + H(5√Kφ/2 + φ/2), p_ul the chance to meet
                    a state not learned
trajectories        within the bound
start-estimate      |V̂* - V^f| ≤ ε/8 for the function that gave it
evaluation          |V̂ - V^π| ≤ ε/8
progress            each rejected policy leads to a new state
epsilon-optimal     V* - V^π ≤ ε, and the run succeeds
==================  =========================================================
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.draw_q_functions import optimal_member
from olivine.algorithms.learning.events import Iteration, Path
from olivine.algorithms.learning.monitors import Tally
from olivine.algorithms.learning.result import LearningResult, MonitorReport, Scope
from olivine.algorithms.learning.unlearned import chance_of_unlearned
from olivine.algorithms.lsvee.deviations import (
    bellman_errors,
    code_chances,
    optimal_risk,
    true_values,
)
from olivine.algorithms.lsvee.events import Comparison, Elimination, LsveeObserver
from olivine.algorithms.lsvee.parameters import LsveeParameters, root_down

_PREMISES = ("realizable", "test-deviations", "risk-deviations")
_LEMMAS = (
    "qstar-kept",
    "consensus",
    "futures",
    "td-errors",
    "value-accuracy",
    "no-relearning",
    "terminates",
    "policy-bound",
    "trajectories",
)
_LIKELY = ("start-estimate", "evaluation", "progress", "epsilon-optimal")
_FEATURES = "observations are features that cannot be listed"


class LsveeMonitors(LsveeObserver):
    """Checks a run while it goes on; nothing flows back.

    Parameters
    ----------
    environment
        Whose `truth` is asked.
    functions
        F.
    parameters
        Of the run.
    """

    def __init__(
        self,
        environment: Environment,
        functions: FiniteQClass,
        parameters: LsveeParameters,
    ) -> None:
        self._environment, self._truth = environment, environment.truth
        self._functions = functions.as_exact()
        self._p = parameters
        # With free parameters the lemmas claim nothing.
        free = parameters.version == "practical"
        scopes: dict[str, Scope] = dict.fromkeys(_PREMISES, "premise")
        scopes |= dict.fromkeys(_LEMMAS, "fact" if free else "event")
        scopes |= dict.fromkeys(_LIKELY, "fact" if free else "probable")
        self._tallies = {name: Tally(scope) for name, scope in scopes.items()}
        self._best = optimal_member(self._functions, environment)
        self._learned: list[set[int]] = [set() for _ in range(parameters.H)]
        self._first = 0
        self._rejected: int | None = None
        # √K φ, and a rational just above φ
        self._step = parameters.eps / (320 * parameters.H**2)
        self._phi = parameters.phi * (1 + Fraction(1, 2**60))

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Complete the checks with the run's result and report them."""
        self._check_progress()
        tallies = self._tallies
        if self._environment.space(1).is_finite or self._truth.exact:
            missing = self._best is None
            tallies["realizable"].never(missing, lambda: "Q* is not in F")
        else:
            tallies["realizable"].skip(_FEATURES)
        tallies["terminates"].never(result.event_failed, lambda: result.reason)
        tallies["trajectories"].at_most(
            result.trajectories, self._p.trajectory_bound, lambda: "total"
        )
        optimal = tallies["epsilon-optimal"]
        optimal.never(not result.succeeded, lambda: result.reason)
        if not self._truth.exact:
            optimal.skip("V^π is not known exactly")
        elif result.policies is not None:
            value = self._truth.policy_value(list(result.policies))
            optimal.at_most(
                self._truth.optimal_value - value,
                self._p.eps,
                lambda: "suboptimality",
            )
        return {name: tally.report() for name, tally in tallies.items()}

    # ------------------------------------------------------------- DFS-learn

    def descending(self, path: Path) -> None:
        """Check that the state is not learned yet."""
        again = self._truth.state(path) in self._learned[len(path)]
        self._tallies["no-relearning"].never(again, lambda: f"path {list(path)}")

    def compared(self, comparison: Comparison) -> None:
        """Check the deviations of a test, and what its agreement means."""
        path = comparison.path
        true = self._true_values(path, comparison.members)
        if true is None:
            for name in ("test-deviations", "consensus"):
                self._tallies[name].skip(_FEATURES)
            return
        pairs = zip(comparison.values.tolist(), true, strict=True)
        self._tallies["test-deviations"].at_most(
            max(abs(v - t) for v, t in pairs),
            comparison.sizes.accuracy,
            lambda: f"test at path {list(path)}",
        )
        if comparison.agreed:
            self._tallies["consensus"].at_most(
                max(true) - min(true),
                self._p.tolerance(len(path)) + self._phi,
                lambda: f"test at path {list(path)}",
            )

    def eliminated(self, elimination: Elimination) -> None:
        """Check what an elimination was given, and what it left."""
        path = elimination.path
        self._learned[len(path)].add(self._truth.state(path))
        survivors = elimination.survivors.tolist()
        self._first = survivors[0]
        if self._best in elimination.members.tolist():
            self._tallies["qstar-kept"].never(
                self._best not in survivors, lambda: f"path {list(path)}"
            )
        self._check_futures(elimination)
        chances = code_chances(self._environment, self._functions, path)
        if chances is None:
            for name in ("risk-deviations", "td-errors", "value-accuracy"):
                self._tallies[name].skip(_FEATURES)
            return
        self._check_errors(elimination, chances)
        level = len(path) + 1
        true = true_values(self._functions, level, chances, survivors)
        true.append(self._truth.path_value(path))
        self._tallies["value-accuracy"].at_most(
            max(true) - min(true),
            self._p.tolerance(level) + 5 * self._step,
            lambda: f"path {list(path)}",
        )

    def _check_futures(self, elimination: Elimination) -> None:
        path, tally = elimination.path, self._tallies["futures"]
        tolerance = self._p.tolerance(len(path) + 1)
        for a in range(self._p.K):
            values = elimination.futures[:, a].tolist()
            true = self._truth.path_value((*path, a))
            tally.at_most(
                max(values) - min(values), tolerance, lambda: f"path {list(path)}"
            )
            tally.at_most(
                max(abs(v - true) for v in values),
                tolerance + self._phi / 2,
                lambda: f"V* after path {list(path)}",
            )

    def _check_errors(self, elimination: Elimination, chances: Any) -> None:
        path, rate = elimination.path, elimination.sizes.rate
        errors = bellman_errors(
            self._environment, self._functions, elimination, chances
        )
        reference = optimal_risk(self._environment, path, elimination.cells)
        for error, risk, kept in zip(
            errors, elimination.risks.tolist(), elimination.kept.tolist(), strict=True
        ):
            self._tallies["risk-deviations"].at_most(
                abs(risk - reference - error),
                root_down(18 * error * rate) + Fraction(5, 3) * rate,
                lambda: f"path {list(path)}",
            )
            if kept:
                self._tallies["td-errors"].at_most(
                    error,
                    Fraction(25, 4) * self._p.phi_squared,
                    lambda: f"path {list(path)}",
                )

    # ------------------------------------------------------------ outer loop

    def started(self, member: int, estimate: Any) -> None:
        """Check V̂*."""
        true = self._true_values((), [member])
        if true is None:
            self._tallies["start-estimate"].skip(_FEATURES)
            return
        self._tallies["start-estimate"].at_most(
            abs(estimate - true[0]), self._p.eps / 8, lambda: "V̂*"
        )

    def iterated(self, iteration: Iteration) -> None:
        """Check an evaluation, and the loss of the policy."""
        self._check_progress()
        if not iteration.accepted:
            self._rejected = sum(map(len, self._learned))
        true = self._true_values((), [self._first])
        if true is None or not self._truth.exact:
            for name in ("policy-bound", "evaluation"):
                self._tallies[name].skip("V^π is not known exactly")
            return
        policies, p = list(iteration.policies), self._p
        value = self._truth.policy_value(policies)
        unlearned = chance_of_unlearned(self._truth, p.K, self._learned, policies)
        loss = p.H * (Fraction(5, 2) * self._step + self._phi / 2)
        self._tallies["policy-bound"].at_most(
            true[0] - value, unlearned + loss, lambda: f"iteration {iteration.number}"
        )
        self._tallies["evaluation"].at_most(
            abs(iteration.mean_return - value),
            p.eps / 8,
            lambda: f"iteration {iteration.number}",
        )

    def _check_progress(self) -> None:
        """After a rejected policy there must be more learned states."""
        if self._rejected is not None:
            now, before = sum(map(len, self._learned)), self._rejected
            self._tallies["progress"].never(now <= before, lambda: f"{now} states")
        self._rejected = None

    def _true_values(self, path: Path, members: Any) -> list[Fraction] | None:
        chances = code_chances(self._environment, self._functions, path)
        if chances is None:
            return None
        return true_values(self._functions, len(path) + 1, chances, members)


__all__ = ["LsveeMonitors"]
