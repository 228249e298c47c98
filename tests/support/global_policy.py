"""Runs of the global policy algorithm."""

from olivine.algorithms.global_policy import GlobalPolicyPracticalParameters


def premises(run):
    monitors = run.result.monitors.values()
    return all(m.holds for m in monitors if m.scope == "premise")


def practical(env, **chosen):
    problem = env.max_states, env.n_actions, env.horizon
    return GlobalPolicyPracticalParameters(0.3, 0.1, *problem, **chosen)
