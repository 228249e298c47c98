"""Classes of value functions and policies, behind two small protocols."""

from .by_level import PolicyClassByLevel, ValueClassByLevel
from .finite import FinitePolicyClass, FiniteValueClass, zero_class
from .kernel_ball import KernelBall, gaussian_kernel, identity_kernel
from .learned import (
    LearnedPolicyClass,
    LearnedValueClass,
    sklearn_policies,
    sklearn_values,
)
from .linear import LinearPolicyClass, LinearValueClass
from .policies import MixedPolicy
from .protocols import Policy, PolicyClass, ValueClass, ValueFunction
from .q_functions import FiniteQClass, QFunction
from .tabular import TabularPolicy, TabularPolicyClass, TabularValue, TabularValueClass

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
