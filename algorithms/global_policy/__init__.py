"""The global policy algorithm (paper, Algorithm 6), and what is claimed of it.

===============  ==============================================================
`run`            dfslearn, TestLearned and the fit of a level's policy
`learner`        `global_policy`: a run from the root, and its result
`parameters`     constants: corrected, as printed, free
`monitors`       claims of the analysis, checked against the truth by `review`
`instances`      small environments that show what it needs and where it fails
`worst_case`     the most that can be lost inside the event: a linear program
`adversary`      an environment and an oracle that make it happen in a run
`search`         honest runs that lose most, by local search
===============  ==============================================================
"""

from olivine.algorithms.global_policy.learner import global_policy
from olivine.algorithms.global_policy.monitors import GlobalPolicyMonitors
from olivine.algorithms.global_policy.parameters import (
    GLOBAL_POLICY,
    GlobalPolicyParameters,
    GlobalPolicyPracticalParameters,
    GlobalPolicyTheoremParameters,
)

__all__ = [
    "GLOBAL_POLICY",
    "GlobalPolicyMonitors",
    "GlobalPolicyParameters",
    "GlobalPolicyPracticalParameters",
    "GlobalPolicyTheoremParameters",
    "global_policy",
]
