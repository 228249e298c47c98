"""What the analysis of the global policy algorithm claims, checked against the truth.

An observer records the run; afterwards `reports` goes through it. Monitors know
hidden states and true values; the algorithm does not, and nothing flows back.

=================  ===========================================================
name               claim
=================  ===========================================================
event              deviation bounds of D, D'_q, D_q, over the whole classes
oracles            every oracle call kept its accuracy, by certificate
realizable         g* ∈ G
complete           at each fit Π_h holds a policy that is greedy for π̂_{h+1:H}
gstar-feasible     g* meets the program's constraint, if q loses at most φ_h
tested-policy      TestLearned true: V^π̂(p) ≥ V*(p) - φ_h - 8τ_val
same-state         TestLearned is true where p and q lead to the same state
fit                V^π̂(q) ≥ Q(q, ⋆) - 4τ_pol after a fit, for every learned q
feasible           no infeasible program or fit, no other event failure
learned-quality    V^π̂(q) ≥ V*(q) - φ_h for learned q, on each return
pruned-quality     V^π̂(p) ≥ V*(p) - φ_h - 8τ_val for pruned p, on each return
no-relearning      no descent into a learned state
pruned-paths       at most K M paths of a level were ever pruned
dfslearn-calls     at most T_max, and as many tests (test-calls)
csc/lp/multi-calls within the bounds that follow from the lemmas
trajectories       within the proof's own sum
epsilon-optimal    V* - V^π̂ ≤ ε, and the run succeeds
=================  ===========================================================

Bounds include the oracles' accuracies. "On each return": to a level closer to the
start. The paper's lemma says "at all times" of learned paths; while a call at that
level is in progress it does not hold, because policies of later levels have changed
and its own has not.
"""

from __future__ import annotations

from typing import Any

from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.global_policy.events import (
    Comparison,
    Fit,
    GlobalPolicyObserver,
    Return,
)
from olivine.algorithms.global_policy.parameters import GlobalPolicyParameters
from olivine.algorithms.global_policy.review import Review
from olivine.algorithms.learning.events import Path
from olivine.algorithms.learning.monitors import review_run
from olivine.algorithms.learning.result import LearningResult, MonitorReport


class GlobalPolicyMonitors(GlobalPolicyObserver):
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
        parameters: GlobalPolicyParameters,
    ) -> None:
        self._arguments = environment, value_class, policy_class, parameters
        self._events: list[tuple[str, Any]] = []

    # ------------------------------------------------------------- recording

    def entered(self, path: Path) -> None:
        """Record."""
        self._events.append(("entered", path))

    def descending(self, path: Path) -> None:
        """Record."""
        self._events.append(("descending", path))

    def testing(self, path: Path) -> None:
        """Record."""
        self._events.append(("testing", path))

    def compared(self, comparison: Comparison) -> None:
        """Record."""
        self._events.append(("compared", comparison))

    def fitted(self, fit: Fit) -> None:
        """Record."""
        self._events.append(("fitted", fit))

    def returned(self, step: Return) -> None:
        """Record."""
        self._events.append(("returned", step))

    # -------------------------------------------------------------- checking

    def reports(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Check the run that ended with this result."""
        return review_run(Review(*self._arguments), self._events, result)
