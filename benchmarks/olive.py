"""OLIVE at its theorem's constants: rounds, trajectories, seconds, and how they grow.

    python -m benchmarks.olive            # runs, as a Markdown table
    python -m benchmarks.olive --bounds   # what the theorem promises, by formula

Each row of the runs is the median over the seeds; ε = 0.3, δ = 0.1. Tabular
programs are solved by HiGHS with a limit of some seconds a program: a run that
meets it is undecided.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from statistics import median

import numpy as np
from olivine.algorithms.environments import make, register
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.draw_classes import ClassKind
from olivine.algorithms.learning.problem import LearningResult
from olivine.algorithms.learning.registry import Task
from olivine.algorithms.olive.parameters import trajectory_bound
from olivine.reduction.environments import threesat

from benchmarks import order

EPSILON, DELTA = 0.3, 0.1
ROWS: tuple[tuple[str, ClassKind, dict[str, int]], ...] = (
    ("random-finite", "finite", {}),
    ("random-finite", "tabular", {}),
    ("random-finite", "finite", {"states": 4, "actions": 4, "horizon": 6}),
    ("tabular", "tabular", {}),
    ("grid", "finite", {}),
    ("threesat", "finite", {}),
    ("threesat", "tabular", {}),
    ("threesat", "tabular", {"clauses": 1}),
)


def learn(
    env: str, classes: ClassKind, options: dict[str, int], seed: int, limit: float
):
    """Run OLIVE once; the result and what it lost, None without a policy."""
    environment = make(env, seed, **options)
    settings = {"time_limit": limit} if classes == "tabular" else {}
    rng = np.random.default_rng([seed, 1])
    task = Task(environment, "theorem", classes, EPSILON, DELTA, rng, settings)
    result: LearningResult = registry.get("olive").run(task)
    if result.policies is None:
        return result, None
    value = environment.truth.policy_value(list(result.policies))
    return result, environment.truth.optimal_value - value


def runs(seeds: int, limit: float) -> None:
    """Print the table of runs."""
    print(
        "| environment | classes | ended | lost at most | rounds | trajectories | s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for env, classes, options in ROWS:
        found = [learn(env, classes, options, seed, limit) for seed in range(seeds)]
        results = [result for result, _ in found]
        ended = sum(result.succeeded for result in results)
        lost = max((gap for _, gap in found if gap is not None), default=Fraction(0))
        named = "".join(f", {key} = {value}" for key, value in options.items())
        print(
            f"| {env}{named} | {classes} | {ended} of {seeds} | {float(lost):.3g} | "
            f"{median(r.iterations for r in results):.0f} | "
            f"{median(r.trajectories for r in results):.2e} | "
            f"{order(median(r.seconds for r in results))} |",
            flush=True,
        )


def bounds() -> None:
    """Print how the theorem's sum grows from M = K = 2, H = 3, N = 64."""
    base = {"M": 2, "K": 2, "H": 3, "epsilon": EPSILON}
    print("| | 1 | 2 times | 4 times | 8 times |")
    print("| --- | --- | --- | --- | --- |")
    for name in ("M", "K", "H", "1/epsilon"):
        cells = []
        for factor in (1, 2, 4, 8):
            at = dict(base)
            if name == "1/epsilon":
                at["epsilon"] = EPSILON / factor
            else:
                at[name] = base[name] * factor
            epsilon = at.pop("epsilon")
            bound = trajectory_bound(epsilon, DELTA, **at, log_size=float(np.log(64)))
            cells.append(f"{bound:.2e}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bounds", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds a program")
    chosen = parser.parse_args()
    register("threesat", threesat)
    if chosen.bounds:
        bounds()
    else:
        runs(chosen.seeds, chosen.limit)
