"""Time of the two-sample algorithm at the theorem's constants.

Run from the project's folder: ``python -m benchmarks.two_sample``. Times are CPU
seconds of this process: others on the machine do not count.
"""

import argparse
import time

import numpy as np
from olivine.algorithms.assumptions import complete_classes
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.two_sample import (
    TwoSampleMonitors,
    TwoSampleTheoremParameters,
    two_sample,
)

from benchmarks import order

SIZES = [(2, 2, 3, 0.3), (3, 3, 4, 0.2), (5, 4, 6, 0.2)]
"""M, K, H, ε."""


def one_run(kind, seed, m, k, h, eps):
    """CPU seconds of a run and of its monitors, and its trajectories."""
    env = make("random-finite", seed, states=m, actions=k, horizon=h)
    rng = np.random.default_rng([seed, 1])
    if kind == "complete":
        values, policies = complete_classes(env, rng, size=128)
    else:
        values, policies = make_classes(env, "tabular", rng)
    sizes = values.log_size(squared=True), policies.log_size()
    parameters = TwoSampleTheoremParameters(eps, 0.1, m, k, h, *sizes)
    arguments = env, values, policies, parameters
    monitors = TwoSampleMonitors(Problem(env, values, policies), parameters)
    start = time.process_time()
    result = two_sample(*arguments, rng, observers=[monitors])
    middle = time.process_time()
    reports = monitors.reports(result)
    assert result.succeeded
    assert all(report.holds for report in reports.values())
    return middle - start, time.process_time() - middle, result.trajectories


def main():
    """Print one line a size and kind of classes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    for sizes in SIZES:
        for kind in ("tabular", "complete"):
            runs = [one_run(kind, seed, *sizes) for seed in range(arguments.seeds)]
            seconds, monitors, counts = map(max, zip(*runs, strict=True))
            print(
                f"M, K, H, ε = {sizes}, {kind:8}: {counts:.1e} trajectories, largest "
                f"{order(seconds)} s, monitors {order(monitors)} s"
            )


if __name__ == "__main__":
    main()
