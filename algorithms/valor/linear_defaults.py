"""Practical parameters of VALOR with linear classes.

What they have to be follows from the d features and K actions:

- *n_fresh*. Ṽ, a maximum over policies of d parameters an action, is too high by a
  share of about √(dK/n_train) on the data that chose the policy (measured: 17
  percent at 2,000 rows, d = 13, K = 4; 8 at 10,000; 2 at 200,000), and the excess
  adds up over levels. On fresh trajectories that follow the policy it is not; 8H/ε²
  of them leave a standard error of at most ε/√(32H) a level, ε/5.6 over all H.
- *n_train*. 80 rows a parameter are enough for the policy. But at a state that has
  been learned, V_opt - V_pes is up to 2φ + 2B Σ_j |difference of the mean features
  j| in the box |θ_j| ≤ B, which for features of standard deviation at most 1/2 and
  B = 1 is about 2φ + 0.8 d √(1/n_train + 1/n_test), and only where that is at most
  2φ + 4ε_stat does dfslearn not descend into the state again and again.
- *ε_stat* is ε/6, so that with φ = ε/2 a consensus is within 5ε/3, and
  n_train = 2 n_test = 4.5 d²/ε² will do.
"""

from __future__ import annotations

from typing import Any

from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.parameters import (
    Number,
    check_unit,
    ratio_up,
    rational,
)


def linear_defaults(environment: Environment, eps: Number) -> dict[str, Any]:
    """Fields of `PracticalParameters`, beyond its own defaults.

    Parameters
    ----------
    environment
        With features: d is the largest number of them at a level.
    eps
        ε, in (0, 1).

    Raises
    ------
    ValueError
        For ε outside (0, 1), or an environment without features.
    """
    accuracy = rational(eps)
    check_unit("epsilon", accuracy)
    d, k = dimension(environment), environment.n_actions
    n_train = max(80 * d * k, ratio_up(4.5 * d**2, accuracy**2))
    return {
        "eps_stat": accuracy / 6,
        "n_train": n_train,
        "n_test": -(-n_train // 2),
        "n_fresh": ratio_up(8.0 * environment.horizon, accuracy**2),
    }


def dimension(environment: Environment) -> int:
    """Largest number of features at a level.

    Raises
    ------
    ValueError
        If the environment has none.
    """
    sizes = []
    for h in range(1, environment.horizon + 1):
        size = environment.space(h).dimension
        if size is None:
            if environment.features is None:
                raise ValueError(f"{environment.name!r} has no features")
            size = environment.features[h - 1].shape[1]
        sizes.append(size)
    return max(sizes)
