"""Classes of value functions and policies, behind two small protocols."""

from olivine.algorithms.classes.by_level import PolicyClassByLevel, ValueClassByLevel
from olivine.algorithms.classes.finite import (
    FinitePolicyClass,
    FiniteValueClass,
    zero_class,
)
from olivine.algorithms.classes.kernel_ball import (
    KernelBall,
    gaussian_kernel,
    identity_kernel,
)
from olivine.algorithms.classes.learned import LearnedPolicyClass, LearnedValueClass
from olivine.algorithms.classes.linear import LinearPolicyClass, LinearValueClass
from olivine.algorithms.classes.policies import MixedPolicy
from olivine.algorithms.classes.protocols import (
    Policy,
    PolicyClass,
    ValueClass,
    ValueFunction,
)
from olivine.algorithms.classes.q_functions import FiniteQClass, QFunction
from olivine.algorithms.classes.sklearn_policies import sklearn_policies, sklearn_values
from olivine.algorithms.classes.tabular import (
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
