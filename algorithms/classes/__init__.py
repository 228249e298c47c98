"""Classes of value functions and policies, behind two small protocols."""

from .features import (
    LearnedPolicyClass,
    LearnedValueClass,
    LinearPolicyClass,
    LinearValueClass,
    sklearn_policies,
    sklearn_values,
)
from .finite import (
    FinitePolicyClass,
    FiniteValueClass,
    KernelBall,
    PolicyClassByLevel,
    TabularPolicy,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
    ValueClassByLevel,
    gaussian_kernel,
    identity_kernel,
    zero_class,
)
from .protocols import MixedPolicy, Policy, PolicyClass, ValueClass, ValueFunction
from .q_functions import FiniteQClass, QFunction

__all__ = [
    "FinitePolicyClass",
    "FiniteQClass",
    "FiniteValueClass",
    "KernelBall",
    "LearnedPolicyClass",
    "LearnedValueClass",
    "LinearPolicyClass",
    "LinearValueClass",
    "MixedPolicy",
    "Policy",
    "PolicyClass",
    "PolicyClassByLevel",
    "QFunction",
    "TabularPolicy",
    "TabularPolicyClass",
    "TabularValue",
    "TabularValueClass",
    "ValueClass",
    "ValueClassByLevel",
    "ValueFunction",
    "gaussian_kernel",
    "identity_kernel",
    "sklearn_policies",
    "sklearn_values",
    "zero_class",
]
