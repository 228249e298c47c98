"""Each algorithm at its theorem's constants, on a small random environment.

python -m benchmarks theorems
"""

from __future__ import annotations

from collections.abc import Iterator

from olivine.algorithms.environments import make
from olivine.algorithms.learning.learn import learn

from benchmarks.figures import Figure, cpu

ALGORITHMS = (
    "valor",
    "valor-constrained",
    "two-sample",
    "global-policy",
    "lsvee",
    "olive",
    "psdp",
    "fqi",
    "backup",
    "rmax",
)


def figures(full: bool) -> Iterator[Figure]:
    """Measure the slowest of five seeds when full, else one."""
    for name in ALGORITHMS:
        seconds = []
        for seed in range(5 if full else 1):
            env = make("random-finite", seed, states=2, actions=2, horizon=3)

            def run(env=env, seed=seed, name=name) -> None:
                assert learn(name, env, seed=seed).succeeded

            seconds.append(cpu(run))
        note = "M = K = 2, H = 3, ε = 0.3, δ = 0.1, monitors included"
        yield Figure(f"{name}, theorem's constants", max(seconds), "CPU s", 60, note)
