"""Runs of the two-sample algorithm, with monitors."""

from fractions import Fraction

import numpy as np
from olivine.algorithms.environments import from_lists
from olivine.algorithms.learning.events import Iteration
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.two_sample import (
    TwoSampleMonitors,
    TwoSampleTheoremParameters,
    two_sample,
)
from olivine.algorithms.two_sample.algorithm import Regression, Visit

HALF = Fraction(1, 2)


def theorem(env, values, policies, eps=0.3, delta=0.1):
    return TwoSampleTheoremParameters(
        eps,
        delta,
        env.max_states,
        env.n_actions,
        env.horizon,
        values.log_size(squared=True),
        policies.log_size(),
    )


def monitored(env, values, policies, p, rng=0, *, observers=(), test_class=None):
    """Run with monitors; ``rng``: a generator or a seed."""
    monitors = TwoSampleMonitors(Problem(env, values, policies), p, test_class)
    seen, rng = (monitors, *observers), np.random.default_rng(rng)
    classes = values, policies
    result = two_sample(env, *classes, p, rng, observers=seen, test_class=test_class)
    return with_monitors(result, monitors.reports(result))


class Log:
    """Remember what happened."""

    def __init__(self) -> None:
        self.visits, self.fits, self.iterations = [], [], []

    def __call__(self, event):
        match event:
            case Visit():
                self.visits.append(event)
            case Regression():
                self.fits.append(event)
            case Iteration():
                self.iterations.append((event, len(self.visits)))


def chain(rewards=(0, HALF)):
    """Two states at level 2 that look the same to means, by actions 0 and 1."""
    return from_lists(
        [
            [("s", {"s": 1}, {"s": [0, 0]}, ["t", "u"])],
            [
                ("t", {"x": 1}, {"x": list(rewards)}, ["v", "v"]),
                ("u", {"y": 1}, {"y": list(rewards)}, ["v", "v"]),
            ],
            [("v", {"z": 1}, {"z": [HALF, 0]}, [])],
        ],
        "chain",
    )
