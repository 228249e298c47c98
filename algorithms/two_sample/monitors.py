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
test-class          (for another class than G) what its test takes for alike is
                    alike for G, too, as where it contains G
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

from typing import Any

from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.events import Iteration, Path
from olivine.algorithms.learning.monitors import review_run
from olivine.algorithms.learning.result import LearningResult, MonitorReport
from olivine.algorithms.two_sample.parameters import TwoSampleParameters
from olivine.algorithms.two_sample.review import Review
from olivine.algorithms.two_sample.steps import Fit, TwoSampleObserver, Visit


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
        return review_run(Review(*self._given), self._events, result)
