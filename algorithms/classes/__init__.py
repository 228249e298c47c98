"""Classes of value functions and policies, behind two small protocols."""

from algorithms.classes.finite import FinitePolicyClass, FiniteValueClass, zero_class
from algorithms.classes.kernel import KernelBall, gaussian_kernel, identity_kernel
from algorithms.classes.learned import LearnedPolicyClass
from algorithms.classes.levels import PolicyClassByLevel, ValueClassByLevel
from algorithms.classes.linear import LinearPolicyClass, LinearValueClass
from algorithms.classes.mixed import MixedPolicy
from algorithms.classes.protocols import (
    Policy,
    PolicyClass,
    ValueClass,
    ValueFunction,
)
from algorithms.classes.q_functions import FiniteQClass, QFunction
from algorithms.classes.sklearn_policies import sklearn_policies
from algorithms.classes.tabular import (
    TabularPolicy,
    TabularPolicyClass,
    TabularValue,
    TabularValueClass,
)

__all__ = [
    "FinitePolicyClass",
    "FiniteQClass",
    "FiniteValueClass",
    "KernelBall",
    "LearnedPolicyClass",
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
    "zero_class",
]
