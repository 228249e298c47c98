"""VALOR with linear classes on the published locks, and the linear oracles' speed.

Run from the project's folder: ``python -m benchmarks.valor_linear [--seeds 10]
[--horizons 5 10] [--locks lock-gaussian lock]``. ``--frugal`` measures frugal
parameters instead, ``--account`` also what their episodes were for and what each of
their rules saves, ``--own`` the paper's own form, whose learned values are maxima over
the data that chose the policy, by n_train.

Times are CPU seconds of this process: others on the machine do not count.
"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator
from statistics import median

import numpy as np
from olivine.algorithms.classes import LinearPolicyClass, LinearValueClass
from olivine.algorithms.environments import make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.oracles.csc import csc, importance_costs
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.valor import (
    FrugalParameters,
    FrugalValues,
    PracticalParameters,
    frugal_defaults,
    linear_defaults,
)
from olivine.algorithms.valor.frugal import SharedData

from benchmarks.figures import Figure, timed
from benchmarks.valor import PCID, valued

KINDS = {
    "practical": (PracticalParameters, linear_defaults),
    "frugal": (FrugalParameters, frugal_defaults),
}


def lock_run(name, horizon, seed, kind="practical", **chosen):
    """One run with defaults, as far as nothing else is chosen: (result, V^π, s)."""
    constructor, defaults = KINDS[kind]
    env, rng = make(name, seed, horizon=horizon), np.random.default_rng([seed, 1])
    values, policies = make_classes(env, "linear", rng)
    parameters = constructor(
        0.3, 0.1, env.max_states, env.n_actions, horizon,
        **defaults(env, 0.3) | chosen,
    )  # fmt: skip
    return valued(env, values, policies, parameters, rng)


def solved_among(runs):
    """Count V^π ≥ 0.45 (V* = 1/2) of a policy that passed VALOR's own test."""
    return sum(result.succeeded and value >= 0.45 for result, value, _ in runs)


def figures(full: bool) -> Iterator[Figure]:
    """Episodes of frugal VALOR over PCID's, how many runs solve the lock, seconds."""
    seeds = 10 if full else 2
    cases = [(lock, horizon) for lock, known in PCID.items() for horizon in known]
    for lock, horizon in [c for c in cases if full or c[1] <= 10]:
        runs = [lock_run(lock, horizon, seed, "frugal") for seed in range(seeds)]
        name = f"{lock}, H = {horizon}, frugal VALOR"
        used = median(result.trajectories for result, _, _ in runs)
        note = f"median of {seeds} seeds, {used:.0f} episodes"
        most = PCID[lock][horizon]
        yield Figure(f"{name} / PCID as reported", used / most, "ratio", 3, note)
        solved = solved_among(runs)
        # Half a run for none: a miss as well.
        tries = seeds / max(solved, 0.5)
        note = f"{solved} of {seeds} solved"
        yield Figure(f"{name}, runs / solved", tries, "ratio", 1, note)
        if horizon == 10:
            slowest = max(seconds for _, _, seconds in runs)
            yield Figure(f"{name}, slowest", slowest, "CPU s", 2)


def lock_runs(seeds, horizons, locks, kind):
    """Print a line for each lock and horizon."""
    print(f"Published locks, K = 4, d = H, linear classes, {kind}, defaults, ε = 0.3")
    for name in locks:
        for horizon in horizons:
            runs = [lock_run(name, horizon, seed, kind) for seed in range(seeds)]
            solved = solved_among(runs)
            least = min(v for _, v, _ in runs)
            estimates = [float(r.estimate or 0) for r, _, _ in runs]
            used = int(np.median([r.trajectories for r, _, _ in runs]))
            times = [s for _, _, s in runs]
            print(
                f"  {name:13} H = {horizon:2}: solved {solved} of {seeds}, least V^π "
                f"{least:.3f}, V̂ {min(estimates):.3f} to {max(estimates):.3f}, {used} "
                f"trajectories (at most {max(r.trajectories for r, _, _ in runs)}), "
                f"median {np.median(times):.2f} s, largest {max(times):.2f} s",
                flush=True,
            )


RULES = {
    "all rules": {},
    "n_first = 4d": {"n_first": None},
    "φ = ε/2, 2ε/3 beyond": {"slack": 0.15, "leeway": 0.2},
    "any spread": {"spread": None},
}
"""Frugal parameters with one rule less, at ε = 0.3."""

PARTS = {"tests": "successors", "policies": "balanced", "replay": "fill"}
"""Methods of `SharedData` that draw, by what their episodes are for."""


def account(seeds, horizons, locks):
    """Print what a run's episodes were for, mean over seeds, rule by rule."""
    spent = Counter()

    def counted(owner, method, part, environment):
        draw = getattr(owner, method)

        def count(self, *arguments):
            before = environment(self).trajectories
            found = draw(self, *arguments)
            spent[part] += environment(self).trajectories - before
            return found

        setattr(owner, method, count)

    for part, method in PARTS.items():
        counted(SharedData, method, part, lambda shared: shared._environment)
    counted(FrugalValues, "_measure", "fresh", lambda run: run.environment)
    for name, horizon in itertools.product(locks, horizons):
        for rule, chosen in RULES.items():
            first = {"n_first": 4 * (3 + horizon)} if "n_first" in chosen else chosen
            spent.clear()
            runs = [lock_run(name, horizon, s, "frugal", **first) for s in range(seeds)]
            total = sum(result.trajectories for result, _, _ in runs)
            parts = [f"{part} {n // seeds}" for part, n in spent.items()]
            print(
                f"  {name:13} H = {horizon:2}, {rule}: {total // seeds} = "
                f"{', '.join(parts)}, MetaAlg {(total - spent.total()) // seeds}; "
                f"solved {solved_among(runs)} of {seeds}",
                flush=True,
            )


def own_form():
    """One iteration at H = 10 with Ṽ from the data that chose the policy."""
    print("lock-gaussian, H = 10, no fresh trajectories, one iteration")
    for n in (2_000, 20_000, 200_000):
        result, value, seconds = lock_run(
            "lock-gaussian", 10, 0, n_train=n, n_test=1000, n_fresh=None,
            max_iterations=1,
        )  # fmt: skip
        print(
            f"  n_train = {n:6}: V^π {value:.3f}, V̂ {float(result.estimate):.3f}, "
            f"{result.status}, {result.trajectories} trajectories, {seconds:.1f} s"
        )


def oracles():
    """CPU seconds of CSC on importance-weighted noise, and of LS."""
    rng, d, k = np.random.default_rng(0), 13, 4
    print(f"Linear oracles, d = {d}, K = {k}")
    for n in (2_000, 20_000, 200_000):
        features = 0.1 * rng.normal(size=(n, d))
        features[:, 0] += 1
        data = EmpiricalMeasure(features)
        actions = rng.integers(0, k, n)
        costs = importance_costs(actions, 0.5 * (actions < 2), k)
        policies, values = LinearPolicyClass(d, k), LinearValueClass(d, bound=2.0)
        targets = rng.random(n)
        _, first = timed(
            lambda p=policies, x=data, c=costs: csc(p, x, c, epsilon_sub=1e-4)
        )
        _, second = timed(
            lambda g=values, x=data, v=targets: least_squares(g, x, v, epsilon_sub=1e-6)
        )
        print(f"  {n:6} rows: CSC {first:.3f} s, LS {second:.3f} s")


def main():
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--horizons", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--locks", nargs="+", default=["lock-gaussian", "lock"])
    parser.add_argument("--frugal", action="store_true", help="few samples")
    parser.add_argument("--own", action="store_true", help="the paper's own form")
    parser.add_argument("--account", action="store_true", help="what episodes are for")
    arguments = parser.parse_args()
    if arguments.account:
        account(arguments.seeds, arguments.horizons, arguments.locks)
        return
    if arguments.own:
        own_form()
        return
    if not arguments.frugal:
        oracles()
    kind = "frugal" if arguments.frugal else "practical"
    lock_runs(arguments.seeds, arguments.horizons, arguments.locks, kind)


if __name__ == "__main__":
    main()
