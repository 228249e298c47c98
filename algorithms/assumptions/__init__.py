"""The paper's assumptions on the classes: checkers, and classes that satisfy them.

`check_assumptions` asks by name. `hidden` says on which observations.
"""

from olivine.algorithms.assumptions.checks import CLIPPED, NAMES, check_assumptions
from olivine.algorithms.assumptions.closure import complete_classes
from olivine.algorithms.assumptions.members import Assumption, Counterexample
from olivine.algorithms.assumptions.policy import policy_completeness
from olivine.algorithms.assumptions.policy_value import policy_value_completeness
from olivine.algorithms.assumptions.realizable import (
    policy_realizability,
    value_realizability,
)

__all__ = [
    "CLIPPED",
    "NAMES",
    "Assumption",
    "Counterexample",
    "check_assumptions",
    "complete_classes",
    "policy_completeness",
    "policy_realizability",
    "policy_value_completeness",
    "value_realizability",
]
