"""The two-sample algorithm: hidden states told apart by means (paper, Algorithm 5)."""

from ..learning.registry import by_kind, declare
from .algorithm import two_sample
from .parameters import (
    TWO_SAMPLE,
    TwoSampleParameters,
    TwoSamplePracticalParameters,
    TwoSampleTheoremParameters,
)
from .review import TwoSampleMonitors

__all__ = [
    "ALGORITHMS",
    "TwoSampleMonitors",
    "TwoSampleParameters",
    "TwoSamplePracticalParameters",
    "TwoSampleTheoremParameters",
    "two_sample",
]

ALGORITHMS = (
    declare(
        TWO_SAMPLE,
        "states told apart by a two-sample test, values by regression (Algorithm 5)",
        parameters=by_kind(
            TwoSampleTheoremParameters, TwoSamplePracticalParameters, squared=True
        ),
        learn=two_sample,
        review=TwoSampleMonitors,
        settings=TwoSampleParameters.settings(),
        assumptions=("policy-realizability", "clipped-policy-value-completeness"),
    ),
)
