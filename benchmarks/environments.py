"""Speed of sampling: trajectories a second, and the cost of very large data sets.

Run from the project's folder: ``python -m benchmarks.environments``. CPU time of
one core. Goals of the issue: the published lock at H = 20 gives at least 10^6
trajectories a second by path and 10^5 under a policy; over finitely many
observations the cost of a data set does not grow with its size.
"""

import argparse
import time

import numpy as np
from olivine.algorithms.environments import make


def best(run, repeats):
    """Least CPU time of several runs, in seconds: other processes do not count."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def constant(observations):
    return np.zeros(len(observations), dtype=np.int64)


def locks(horizon, n, repeats):
    for name in ("lock", "lock-gaussian", "diabolical-lock"):
        env, rng = make(name, 0, horizon=horizon), np.random.default_rng(0)
        policies = env.truth.optimal_policies()
        path = env.run(policies, 1, rng, first=1).paths[0][:-1].tolist()
        asked = {
            "observe": lambda e=env, p=path, r=rng: e.observe(p, n, r),
            "x, a, r": lambda e=env, p=path, r=rng: e.sample(p, n, r, successors=False),
            "x, a, r, x'": lambda e=env, p=path, r=rng: e.sample(p[:-1], n, r),
            "optimal policy": lambda e=env, q=policies, r=rng: e.run(q, n // 10, r),
            "constant policy": lambda e=env, r=rng: e.run(
                [constant] * horizon, n // 10, r
            ),
        }
        for what, run in asked.items():
            drawn = n // 10 if what.endswith("policy") else n
            rate = drawn / best(run, repeats)
            print(f"{name:<16} H={horizon:<3} {what:<15} {rate:12,.0f} trajectories/s")


def sizes(repeats):
    env = make("random-finite", 0, states=3, actions=3, horizon=4, observations=3)
    rng, policies = np.random.default_rng(0), env.truth.optimal_policies()
    first = {}
    for exponent in (3, 6, 9, 12, 15, 18, 20, 25, 31):
        n, row = 10**exponent, []
        for what, run in {
            "observe": lambda n=n: env.observe((0, 1), n, rng),
            "sample": lambda n=n: env.sample((0, 1), n, rng, successors=False),
            "sample x'": lambda n=n: env.sample((0, 1), n, rng),
            "rollouts": lambda n=n: env.rollouts((0, 1), n, rng, policies),
            "run": lambda n=n: env.run(policies, n, rng, first=100),
        }.items():
            seconds = best(run, repeats)
            ratio = seconds / first.setdefault(what, seconds)
            row.append(f"{what} {1e3 * seconds:6.2f} ms (x{ratio:4.1f})")
        print(f"n=10^{exponent:<3}", "  ".join(row))


def widths(repeats):
    rng = np.random.default_rng(0)
    for bits in (2, 4, 6, 8, 10):
        env = make("lock", 0, horizon=4, dimension=bits, observations="codes")
        seconds = best(lambda e=env: e.sample((0, 1), 10**20, rng), repeats)
        small = best(lambda e=env: e.sample((0, 1), 10**6, rng), repeats)
        print(
            f"lock codes, {3 * 2**bits:>5} observations a level: n=10^20 "
            f"{1e3 * seconds:8.2f} ms, n=10^6 {1e3 * small:8.2f} ms (with x')"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10**6)
    parser.add_argument("--horizon", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    locks(chosen.horizon, chosen.draws, chosen.repeats)
    sizes(chosen.repeats)
    widths(max(1, chosen.repeats // 3))


if __name__ == "__main__":
    main()
