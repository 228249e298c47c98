"""The two-sample algorithm: hidden states told apart by means (paper, Algorithm 5).

==================  ===========================================================
`two_sample`        dfslearn with the identity test, regression, policy step
`TwoSampleTheorem`  the theorem's constants, corrected or as printed
`TwoSamplePractical`  free constants
`TwoSampleMonitors`  the analysis, checked against the truth
==================  ===========================================================
"""

from algorithms.two_sample.learner import two_sample
from algorithms.two_sample.monitors import TwoSampleMonitors
from algorithms.two_sample.parameters import (
    TwoSampleParameters,
    TwoSamplePractical,
    TwoSampleTheorem,
)

__all__ = [
    "TwoSampleMonitors",
    "TwoSampleParameters",
    "TwoSamplePractical",
    "TwoSampleTheorem",
    "two_sample",
]
