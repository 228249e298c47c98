"""LSVEE: what enumeration costs, against oracle calls on the same functions.

Run from the project's folder: ``python -m benchmarks.lsvee``. It prints

- runs at the theorem's constants (ε = 0.3, δ = 0.1, M = 2, K = 2, H = 3);
- functions evaluated by LSVEE and oracle calls of VALOR as N grows, on the same
  environment and functions (for VALOR taken apart into values and policies);
- the trajectories that the theorems ask for, against H, M, K and ε.

Times are CPU seconds of this process: others on the machine do not count.
"""

import math

import numpy as np
from olivine.algorithms.environments import make
from olivine.algorithms.learning.draw_classes import make_classes, make_q_class
from olivine.algorithms.lsvee import LsveePractical, LsveeTheorem, lsvee
from olivine.algorithms.valor.algorithm import valor
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters
from olivine.claims.instances import decoupled

from benchmarks import order
from benchmarks.figures import timed

EPSILON, DELTA = 0.3, 0.1


def theorem_runs(seeds=10):
    """Runs on random environments; every state has to be learned."""
    print(f"Theorem's constants, ε = {EPSILON}, δ = {DELTA}, N = 64")
    for sizes in ((2, 2, 3), (3, 3, 4)):
        m, k, h = sizes
        times, nominal = [], 0
        for seed in range(seeds):
            env = make("random-finite", seed, states=m, actions=k, horizon=h)
            rng = np.random.default_rng([seed, 1])
            functions = make_q_class(env, rng)
            parameters = LsveeTheorem(EPSILON, DELTA, m, k, h, len(functions))
            arguments = (env, functions, parameters, rng)
            result, seconds = timed(lambda a=arguments: lsvee(*a))
            assert result.succeeded
            times.append(seconds)
            nominal = result.trajectories
        print(
            f"  M, K, H = {m}, {k}, {h}: {nominal:.1e} trajectories, largest "
            f"{order(max(times))} s"
        )


def enumeration(sizes=(16, 64, 256, 1024, 4096)):
    """LSVEE looks at functions, VALOR calls oracles."""
    print("Enumeration against oracle calls, M = K = H = 3, one environment")
    print("       N  evaluated   LSVEE s   calls   VALOR s")
    for size in sizes:
        env = make("random-finite", 0, states=3, actions=3, horizon=3)
        functions = make_q_class(env, np.random.default_rng(0), size=size)
        parameters = LsveeTheorem(EPSILON, DELTA, 3, 3, 3, len(functions))
        arguments = (env, functions, parameters, np.random.default_rng(1))
        found, seconds = timed(lambda a=arguments: lsvee(*a))
        values, policies = decoupled(functions)
        arguments = oracle_run(env, values, policies)
        other, more = timed(lambda a=arguments: valor(*a))
        assert found.succeeded
        assert other.succeeded
        print(
            f"  {size:6} {found.enumerated:10} {seconds:9.3f} "
            f"{sum(other.calls.values()):7} {more:9.3f}"
        )

    values, policies = make_classes(env, "tabular", np.random.default_rng(0))
    arguments = oracle_run(env, values, policies)
    other, more = timed(lambda a=arguments: valor(*a))
    assert other.succeeded
    cells = sum(env.space(h).n_codes for h in range(1, 4)) * 3
    print(
        f"  all functions to eighths, 9^{cells}   "
        f"{sum(other.calls.values()):7} {more:9.3f} (for VALOR all tabular ones)"
    )


def oracle_run(env, values, policies):
    """Arguments of VALOR at its theorem's constants."""
    sizes = values.log_size(), policies.log_size()
    parameters = TheoremParameters(EPSILON, DELTA, 3, 3, 3, *sizes)
    return env, values, policies, parameters, np.random.default_rng(1)


def trajectories():
    """What the theorems ask for; N = |G| = |Π| = 64."""
    print("Trajectories that the theorems ask for, N = 64")
    print("    ε    M   K   H     LSVEE     VALOR   constrained")
    log_size = math.log(64)
    for eps, m, k, h in (
        (0.3, 2, 2, 3),
        (0.1, 2, 2, 3),
        (0.3, 8, 2, 3),
        (0.3, 2, 8, 3),
        (0.3, 2, 256, 3),
        (0.3, 2, 2, 12),
    ):
        bounds = [LsveeTheorem(eps, DELTA, m, k, h, 64).trajectory_bound]
        for name in (VALOR, CONSTRAINED):
            p = TheoremParameters(eps, DELTA, m, k, h, log_size, log_size, name)
            bounds.append(p.trajectory_bound)
        columns = " ".join(f"{bound:9.1e}" for bound in bounds)
        print(f"  {eps:3} {m:4} {k:3} {h:3} {columns}")


def locks(seeds=10):
    """Practical parameters on environments with features."""
    print(f"Practical parameters, ε = {EPSILON}, N = 64")
    for name in ("lock", "lock-gaussian", "diabolical-lock"):
        solved, times, used = 0, [], []
        for seed in range(seeds):
            env = make(name, seed)
            rng = np.random.default_rng([seed, 1])
            functions = make_q_class(env, rng)
            sizes = env.max_states, env.n_actions, env.horizon, len(functions)
            parameters = LsveePractical(EPSILON, DELTA, *sizes)
            arguments = (env, functions, parameters, rng)
            result, seconds = timed(lambda a=arguments: lsvee(*a))
            times.append(seconds)
            used.append(result.trajectories)
            if result.policies is not None:
                mean, error = env.truth.estimate_policy_value(
                    result.policies, 5000, np.random.default_rng([seed, 2])
                )
                good = mean + 3 * error >= float(env.truth.optimal_value) - EPSILON
                solved += result.succeeded and good
        print(
            f"  {name:16} {solved} of {seeds} solved, median "
            f"{int(np.median(used)):,} trajectories, largest {max(times):.2f} s"
        )


if __name__ == "__main__":
    theorem_runs()
    enumeration()
    trajectories()
    locks()
