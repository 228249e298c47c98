"""VALOR with constrained policy optimisation (paper, Algorithm 4).

Pooling lets a policy sacrifice a state with few data sets for small gains on
many others. Here π̂_h must be nearly as good as the learned value on every data
set, which is a multi-data-set classification problem. Its oracle returns a
mixture of policies (erratum 7); values are linear in it, so the analysis holds.

Left open by the paper: an infeasible problem, impossible in event E, ends the
run with status "failure", or falls back on the pooled step if parameters say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.events import EventFailedError, Observer
from olivine.algorithms.learning.parameters import CONSTRAINED, Parameters
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.multi import ClassificationSet, multi
from olivine.algorithms.valor.pooled import LocalValues, learn_local_values, pooled_step


def constrained_step(run: LocalValues, level: int) -> Any:
    """Line 4 of Algorithm 4: a policy within ε_feas of every constraint.

    E_D[K 1{π(x_h) = a_h}(r_h + V_{a_h})] ≥ V - 2φ_h + 4ε_stat + ε_sub.

    Raises
    ------
    EventFailedError
        If there is none, and parameters do not fall back.
    """
    p = run.parameters
    slack = 2 * p.phi(level) - 4 * p.eps_stat - p.eps_sub
    sets = [
        ClassificationSet(t.data, run.costs(t.data, t.futures), slack - t.value)
        for t in run.datasets[level - 1]
    ]
    found = multi(
        run.policy_class.at_level(level), sets, epsilon_feas=float(p.eps_feas)
    )
    if found.feasible:
        return found.policy
    if p.fall_back:
        return pooled_step(run, level)
    raise EventFailedError(
        f"constrained policy step at level {level}: {found.status.value} "
        f"{found.reason}".rstrip()
        + ", impossible in event E"
    )


def valor_constrained(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: Parameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run VALOR with the constrained policy step; everything as for `valor`."""
    return learn_local_values(
        environment,
        value_class,
        policy_class,
        parameters,
        rng,
        constrained_step,
        observers=observers,
        name=CONSTRAINED,
    )
