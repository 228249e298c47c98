"""A decision process of one's own, and VALOR on it at the theorem's constants.

Two doors: behind the left one a coin decides, behind the right one a switch.
Run from the project's folder: ``python -m examples.own_environment``.
"""

from fractions import Fraction

import numpy as np
from olivine.algorithms.assumptions import check_assumptions
from olivine.algorithms.environments import from_lists
from olivine.algorithms.learning.draw_classes import make_classes
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.valor import ValorMonitors, valor
from olivine.algorithms.valor.parameters import TheoremParameters

HALF = Fraction(1, 2)

# (state, its observations, rewards of the two actions, where the actions lead)
LEVELS = [
    [("hall", {"dark": HALF, "lit": HALF}, {"dark": [0, 0], "lit": [0, 0]},
      ["coin", "switch"])],
    [("coin", {"penny": 1}, {"penny": [{0: HALF, 1: HALF}, 0]}, []),
     ("switch", {"up": HALF, "down": HALF},
      {"up": [Fraction(3, 4), 0], "down": [0, Fraction(3, 4)]}, [])],
]  # fmt: skip


def main(seed: int = 0) -> None:
    """Learn, and compare with the truth."""
    env = from_lists(LEVELS, "two doors")
    rng = np.random.default_rng(seed)
    values, policies = make_classes(env, "tabular", rng)
    for name, found in check_assumptions(env, values, policies).items():
        print(f"{name}: {found.holds}")

    parameters = TheoremParameters(
        0.2, 0.1, env.max_states, env.n_actions, env.horizon,
        values.log_size(), policies.log_size(),
    )  # fmt: skip
    monitors = ValorMonitors(Problem(env, values, policies), parameters)
    result = valor(env, values, policies, parameters, rng, observers=[monitors])
    result = with_monitors(result, monitors.reports(result))

    print(f"{result.trajectories:.1e} trajectories, calls {dict(result.calls)}")
    learned = env.truth.policy_value(list(result.policies or ()))
    print(f"V of the policy learned {learned}, V* {env.truth.optimal_value}")
    print(f"claims of the analysis violated: {result.contradictions or 'none'}")


if __name__ == "__main__":
    main()
