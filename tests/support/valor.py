"""Runs of VALOR and of its constrained variant, with monitors."""

import numpy as np
import pytest
from olivine.algorithms.learning.monitors import with_monitors
from olivine.algorithms.learning.problem import Problem
from olivine.algorithms.valor import ValorMonitors
from olivine.algorithms.valor.algorithm import valor, valor_constrained
from olivine.algorithms.valor.parameters import CONSTRAINED, VALOR, TheoremParameters

ALGORITHMS = {VALOR: valor, CONSTRAINED: valor_constrained}


both = pytest.mark.parametrize("name", ALGORITHMS)


def theorem(env, values, policies, name, eps=0.3, delta=0.1):
    return TheoremParameters(
        eps,
        delta,
        env.max_states,
        env.n_actions,
        env.horizon,
        values.log_size(),
        policies.log_size(),
        name,
    )


def monitored(name, env, values, policies, parameters, rng=0, *, observers=()):
    """Run with monitors; ``rng``: a generator or a seed."""
    rng = np.random.default_rng(rng)
    monitors = ValorMonitors(Problem(env, values, policies), parameters)
    result = ALGORITHMS[name](
        env, values, policies, parameters, rng, observers=(monitors, *observers)
    )
    return with_monitors(result, monitors.reports(result))
