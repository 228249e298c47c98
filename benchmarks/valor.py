"""VALOR's speed: runs at the theorem's constants, time against nominal trajectories,
and practical parameters on the published lock.

    python -m benchmarks valor
    python -m benchmarks.valor [--seeds 10] [--decoders 1]    the lock as a table
"""

import argparse
import itertools
import math

import numpy as np
from olivine.algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import (
    DecodedPolicyClass,
    DecodedValueClass,
    make_classes,
)
from olivine.algorithms.valor.algorithm import valor, valor_constrained
from olivine.algorithms.valor.parameters import (
    CONSTRAINED,
    VALOR,
    PracticalParameters,
    TheoremParameters,
)

from benchmarks.figures import Figure, in_turns, timed

LEARN = {VALOR: valor, CONSTRAINED: valor_constrained}


def theorem_runs(seeds):
    """Runs in which every state is learned: the slowest of the seeds."""
    for kind, goal in (("finite", 1.0), ("tabular", 5.0)):
        for name, learn in LEARN.items():
            times, nominal = [], 0
            for seed in range(seeds):
                env = make("random-finite", seed, states=3, actions=3, horizon=4)
                rng = np.random.default_rng([seed, 1])
                values, policies = make_classes(env, kind, rng)
                sizes = values.log_size(), policies.log_size()
                parameters = TheoremParameters(0.2, 0.1, 3, 3, 4, *sizes, name)
                arguments = (env, values, policies, parameters, rng)
                result, seconds = timed(lambda a=arguments, f=learn: f(*a))
                assert result.succeeded
                assert result.learned == (1, 3, 3, 3)
                times.append(seconds)
                nominal = result.trajectories
            note = f"M = K = 3, H = 4, ε = 0.2, {float(nominal):.0e} trajectories"
            yield Figure(f"{name}, {kind} classes", max(times), "CPU s", goal, note)


def flatness(repeats):
    """Time against nominal trajectories, the same instance, 10^6 to 10^20."""
    for kind in ("finite", "tabular"):
        env = make("random-finite", 1, states=3, actions=3, horizon=4)
        rng = np.random.default_rng(1)
        values, policies = make_classes(env, kind, rng)
        calls = []
        for exponent in range(6, 21, 2):
            n = 10**exponent // 10
            accuracy = 1 / math.sqrt(n)
            parameters = PracticalParameters(
                0.2, 0.1, 3, 3, 4, n_test=n // 10, n_train=n, slack=None,
                eps_stat=accuracy, eps_sub=accuracy, eps_feas=accuracy,
            )  # fmt: skip
            arguments = (env, values, policies, parameters, rng)
            calls.append(lambda a=arguments: valor(*a))
        # Each beside the first: the machine changes its speed.
        ratios = [in_turns(call, calls[0], repeats).ratio for call in calls]
        note = "10^6 to 10^20 nominal trajectories"
        slowest = max(ratios) / min(ratios)
        yield Figure(f"slowest / fastest, {kind} classes", slowest, "ratio", 3, note)


def first_three(observations):
    """Decode the published one-hot."""
    return observations[:, :3].argmax(axis=1)


PCID = {
    "lock-gaussian": {5: 1_500, 10: 3_000, 20: 6_000},
    "lock": {5: 1_500, 10: 3_000},
}
"""Episodes of PCID as reported: its published code (Du et al. 2019) on the published
locks, noise 0.1, K = 4, d = H, 300 samples a level, 10 of 10 seeds with V^π ≥ 0.45."""
SECONDS = {5: 0.07, 10: 0.2, 20: 1.4}
"""Most CPU seconds of a run with chosen budgets, by horizon."""

CHOSEN = {5: (100, 200), 10: (140, 300), 20: (300, 600)}
"""n_train and n_eval."""


class Joined:
    """Members of several decoded classes one after the other."""

    def __init__(self, parts):
        self.parts = parts
        self.members = tuple(m for part in parts for m in part.members)

    def evaluate_all(self, observations, start=0, stop=None):
        """Results of members, shape (members, n)."""
        rows = [part.evaluate_all(observations) for part in self.parts]
        return np.concatenate(rows)[start:stop]


class JoinedValues(Joined, FiniteValueClass):
    """Value functions of several decoders."""

    _table = None


class JoinedPolicies(Joined, FinitePolicyClass):
    """Policies of several decoders."""

    _table = None
    n_actions = 4


def decoders(horizon, count, rng):
    """Make the right decoder and others that read three random coordinates."""
    found = [first_three]
    for _ in range(count - 1):
        columns = rng.choice(3 + horizon, 3, replace=False)
        found.append(lambda x, columns=columns: x[:, columns].argmax(axis=1))
    return [found[i] for i in rng.permutation(count)]


def lock_run(horizon, seed, count):
    """One run on the published lock: (result, V^π, CPU seconds)."""
    env, rng = make("lock", seed, horizon=horizon), np.random.default_rng([seed, 1])
    grid = np.linspace(0, 1, 11 if count == 1 else 5)
    values = np.array(list(itertools.product(grid, repeat=3)))
    actions = np.array(list(itertools.product(range(4), repeat=3)))
    read = [decoders(horizon, count, rng) for _ in range(horizon)]
    g = ValueClassByLevel(
        [JoinedValues([DecodedValueClass(values, d) for d in ds]) for ds in read]
    )
    pi = PolicyClassByLevel(
        [JoinedPolicies([DecodedPolicyClass(actions, d, 4) for d in ds]) for ds in read]
    )
    n_train, n_eval = CHOSEN[horizon]
    parameters = PracticalParameters(
        0.5, 0.1, 3, 4, horizon, n_test=1 if count == 1 else 10,
        n_train=n_train, n_exp=4, n_eval=n_eval, slack=0.1 if count == 1 else 0.15,
    )  # fmt: skip
    return valued(env, g, pi, parameters, rng)


def valued(env, values, policies, parameters, rng):
    """Run VALOR: (result, V^π, CPU seconds)."""
    result, seconds = timed(lambda: valor(env, values, policies, parameters, rng))
    if result.policies is None:
        return result, 0.0, seconds
    value, _ = env.truth.estimate_policy_value(result.policies, 20_000, rng)
    return result, value, seconds


def lock_runs(seeds, count):
    """For each horizon: runs solved, median trajectories, CPU seconds of the runs."""
    for horizon in SECONDS:
        runs = [lock_run(horizon, seed, count) for seed in range(seeds)]
        good = sum(v >= 0.45 for _, v, _ in runs)
        used = int(np.median([r.trajectories for r, _, _ in runs]))
        yield horizon, good, used, [seconds for _, _, seconds in runs]


def figures(full):
    """Measure; fewer seeds when quick."""
    seeds = 10 if full else 2
    yield from theorem_runs(seeds)
    yield from flatness(9 if full else 7)
    for horizon, good, used, times in lock_runs(seeds, 1):
        limit = SECONDS[horizon]
        note = f"lock, H = {horizon}, {good} of {seeds} seeds, {used} trajectories"
        yield Figure(f"unsolved seeds, H = {horizon}", 1 - good / seeds, "ratio", 0.1,
                     note)  # fmt: skip
        yield Figure(f"practical parameters, H = {horizon}", float(np.median(times)),
                     "CPU s", limit, note)  # fmt: skip


def main():
    """Print the lock's table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument(
        "--decoders", type=int, default=1, help="candidate decoders on the lock"
    )
    asked = parser.parse_args()
    print("Published lock, K = 4, d = H (V* = 1/2)")
    for horizon, good, used, times in lock_runs(asked.seeds, asked.decoders):
        limit = SECONDS[horizon]
        print(
            f"  H = {horizon:2}: solved in {good} of {asked.seeds} seeds, "
            f"{used} trajectories, {np.median(times):.3f} s, "
            f"largest {max(times):.3f} s (goal {limit} s)"
        )


if __name__ == "__main__":
    main()
