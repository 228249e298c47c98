"""Speed of sampling, and the cost of very large data sets.

python -m benchmarks environments
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from olivine.algorithms.environments import make

from benchmarks.figures import Figure, in_turns, least


def figures(full: bool) -> Iterator[Figure]:
    """Measure the published lock at H = 20, and data sets of 10^6 and 10^31 draws."""
    n, repeats = (1_000_000, 5) if full else (200_000, 3)
    env, rng = make("lock", 0, horizon=20), np.random.default_rng(0)
    policies = env.truth.optimal_policies()
    path = env.run(policies, 1, rng, first=1).paths[0][:-1].tolist()[:10]
    for name, run, rate, drawn in (
        ("by path", lambda: env.draw((*path, "uniform"), n, rng), 1e6, n),
        ("under a policy", lambda: env.run(policies, n // 10, rng), 1e5, n // 10),
    ):
        seconds = least(run, repeats)
        note = f"lock, H = 20: {drawn / seconds:.1e} trajectories/s"
        yield Figure(
            f"{rate:.0e} trajectories {name}", rate * seconds / drawn, "CPU s", 1, note
        )
    env = make("random-finite", 0, states=3, actions=3, horizon=4, observations=3)
    turns = in_turns(
        lambda: env.draw((0, 1, "uniform"), 10**31, rng),
        lambda: env.draw((0, 1, "uniform"), 10**6, rng),
        20,
    )
    note = "draws of a data set over finitely many observations"
    yield Figure("sampling 10^31 / 10^6", turns.ratio, "ratio", None, note)
