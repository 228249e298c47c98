"""What the tests of all learning algorithms ask of many runs."""

from scipy.stats import beta


def check_share(run, count, what=""):
    """At least 9 of 10 runs are ε-optimal, and no monitor that must hold is violated.

    Of 100 runs or more as many, that the share of all is above 0.9 with confidence
    99% (Clopper and Pearson).

    Parameters
    ----------
    run
        Takes a seed and gives the environment, the parameters and the result.
    """
    good, wrong = 0, []
    for seed in range(count):
        env, parameters, result = run(seed)
        wrong += [(seed, c) for c in result.contradictions]
        if result.succeeded:
            value = env.truth.policy_value(list(result.policies))
            good += env.truth.optimal_value - value <= parameters.eps
    lower = float(beta.ppf(0.01, good, count - good + 1)) if good else 0.0
    print(f"{what}: {good} of {count} ε-optimal, share above {lower:.3f} at 99%")
    assert wrong == []
    assert good >= 0.9 * count
    if count >= 100:
        assert lower >= 0.9
