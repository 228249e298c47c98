"""The two-sample algorithm: hidden states told apart by means (paper, Algorithm 5).

==============================  =================================================
`two_sample`                    dfslearn with identity test, regression, policies
`TwoSampleTheoremParameters`    the theorem's constants, corrected or as printed
`TwoSamplePracticalParameters`  free constants
`TwoSampleMonitors`             the analysis, checked against the truth
==============================  =================================================
"""

from olivine.algorithms.two_sample.learner import two_sample
from olivine.algorithms.two_sample.monitors import TwoSampleMonitors
from olivine.algorithms.two_sample.parameters import (
    TwoSampleParameters,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)

__all__ = [
    "TwoSampleMonitors",
    "TwoSampleParameters",
    "TwoSamplePracticalParameters",
    "TwoSampleTheoremParameters",
    "two_sample",
]
