"""Run the global policy algorithm (`global_policy.run`) from the root.

>>> from olivine.algorithms.learning.draw_classes import make_classes
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.global_policy import GlobalPolicyTheoremParameters
>>> env = make("tabular", 1, states=2, actions=2, horizon=2)
>>> rng = np.random.default_rng(0)
>>> G, Pi = make_classes(env, "tabular", rng)
>>> parameters = GlobalPolicyTheoremParameters(
...     0.3, 0.1, 2, 2, 2, G.log_size(), Pi.log_size())
>>> result = global_policy(env, G, Pi, parameters, rng)
>>> loss = env.truth.optimal_value - env.truth.policy_value(result.policies)
>>> result.status, loss <= parameters.eps
('success', True)
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from olivine.algorithms.classes.protocols import PolicyClass, ValueClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.exact.seeds import RecordedSeed
from olivine.algorithms.global_policy.parameters import (
    GLOBAL_POLICY,
    GlobalPolicyParameters,
)
from olivine.algorithms.global_policy.run import GlobalPolicyRun, MultiOracle
from olivine.algorithms.learning.events import EventFailedError, Observer
from olivine.algorithms.learning.metaalg import check_fit
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.oracles.ledger import Ledger
from olivine.algorithms.oracles.multi import multi


def global_policy(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    parameters: GlobalPolicyParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
    multi_oracle: MultiOracle = multi,
) -> LearningResult:
    """Run the global policy algorithm.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    value_class, policy_class
        G, with g* in it, and Π, policy complete: for every level and policy of
        later levels it holds one that is best at every observation. By level or
        stationary; the run sees them through a guard, so that only oracles and
        evaluation get at them.
    parameters
        `GlobalPolicyTheoremParameters` or `GlobalPolicyPracticalParameters`.
    rng
        The only source of randomness.
    observers
        Monitors and progress bars.
    multi_oracle
        What fits policies: any policy that it may return is as good for the
        theorem.

    Returns
    -------
    LearningResult
        Its estimate is V̂ of the root. Status "failure" after something that cannot
        happen in the event of the deviation bounds.

    Raises
    ------
    ValueError
        If environment, parameters and classes do not fit (`check_fit`), or a
        return leaves [0, 1].
    """
    check_fit(environment, parameters, value_class, policy_class, GLOBAL_POLICY)
    start, before = time.perf_counter(), environment.trajectories
    seed = RecordedSeed.of(rng)
    run = GlobalPolicyRun(
        environment,
        value_class,
        policy_class,
        parameters,
        rng,
        observers,
        multi_oracle,
    )
    reason = ""
    with Ledger() as ledger:
        try:
            run.dfslearn(())
        except EventFailedError as event:
            reason = str(event)
    played = run.played()
    return LearningResult(
        algorithm=GLOBAL_POLICY,
        environment=environment.name,
        status="failure" if reason else "success",
        policies=None if None in played else played,
        estimate=run.estimate,
        trajectories=environment.trajectories - before,
        calls=dict(ledger.calls),
        reason=reason,
        iterations=1,
        learned=tuple(map(len, run.learned)),
        parameters=parameters.to_json(),
        seconds=time.perf_counter() - start,
        event_failed=bool(reason),
        unhonoured=sum(not call.honoured for call in ledger.entries),
        seed=seed,
    )
