"""The paper's assumptions on the classes: checkers, and classes that satisfy them."""

from .checks import (
    CLIPPED,
    NAMES,
    check_assumptions,
    policy_completeness,
    policy_realizability,
    policy_value_completeness,
    value_realizability,
)
from .closure import complete_classes
from .members import Assumption, Counterexample

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
