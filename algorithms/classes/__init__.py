"""Classes of value functions and policies, behind two small protocols."""

from .finite import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicy,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
    ValueClassByLevel,
    zero_class,
)
from .learned import (
    LearnedPolicyClass,
    LearnedValueClass,
    sklearn_policies,
    sklearn_values,
)
from .linear import (
    KernelBall,
    LinearPolicyClass,
    LinearValueClass,
    gaussian_kernel,
    identity_kernel,
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
