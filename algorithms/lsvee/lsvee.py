"""LSVEE: least squares value elimination by exploration (values by enumeration).

Krishnamurthy, Agarwal and Langford 2016, "PAC Reinforcement Learning with Rich
Observations", recalled::

    LSVEE(F, ε, δ)
      F ← DFS-learn(∅, F, δ/2)
      V̂* ← average of f(x, π_f(x)) over n_1 observations of level 1, any f in F
      repeat
        take any f in F
        T ← n_1 trajectories of π_f, V̂ ← their mean return
        if |V̂ - V̂*| ≤ ε/2, return π_f
        for the first n_2 trajectories of T and each prefix p of 1..H-1 actions
          F ← DFS-learn(p, F, δ/(6 M H² n_2))

Sample-efficient, but each step looks at every function of F: `enumerated` counts how
often, and no oracle is called. "Any f" is the lowest number here. The outer loop is
`olivine.algorithms.learning.metaalg`, which VALOR took over from LSVEE; its test is
one-sided, V̂* ≤ V̂ + ε/2, since a policy that does better than expected need not be
refused. It ends in failure after M H policies, more than can be rejected in the good
event.

>>> from olivine.algorithms.learning.draw_q_functions import make_q_class
>>> from olivine.algorithms.environments import make
>>> from olivine.algorithms.lsvee.theorem import LsveeTheorem
>>> env = make("random-finite", 0)
>>> functions = make_q_class(env, np.random.default_rng(1), size=16)
>>> parameters = LsveeTheorem(0.3, 0.1, M=2, K=2, H=3, N=16)
>>> result = lsvee(env, functions, parameters, np.random.default_rng(2))
>>> result.status, env.truth.policy_value(result.policies) == env.truth.optimal_value
('success', True)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments.protocol import Environment, require_deterministic
from olivine.algorithms.learning.events import Observer, Path
from olivine.algorithms.learning.metaalg import learn
from olivine.algorithms.learning.result import LearningResult
from olivine.algorithms.lsvee.averages import state_value_averages
from olivine.algorithms.lsvee.dfs_learn import Survivors
from olivine.algorithms.lsvee.events import LsveeObserver
from olivine.algorithms.lsvee.parameters import LsveeParameters

NAME = "lsvee"


def lsvee(
    environment: Environment,
    functions: FiniteQClass,
    parameters: LsveeParameters,
    rng: np.random.Generator,
    *,
    observers: Sequence[Observer] = (),
) -> LearningResult:
    """Run LSVEE.

    Parameters
    ----------
    environment
        With deterministic hidden dynamics.
    functions
        F, with Q* in it.
    parameters
        `LsveeTheorem` or `LsveePractical`.
    rng
        The only source of randomness.
    observers
        Monitors (`LsveeObserver`) and progress bars.

    Returns
    -------
    LearningResult
        `learned` has the eliminations of each level, repeated ones included;
        `estimate` is V̂*. Status "failure", with the reason, where no policy
        passed.

    Raises
    ------
    ValueError
        If environment, parameters and class do not fit.
    """
    check_fit(environment, functions, parameters)
    run = _Run(environment, functions.as_exact(), parameters, rng, observers)
    result = learn(
        NAME,
        environment,
        parameters,
        rng,
        explore=run.explore,
        optimise=run.choose,
        learned=lambda: run.survivors.learned,
        observers=observers,
    )
    return replace(result, enumerated=run.survivors.enumerated)


class _Run:
    """What the outer loop calls: exploration, and the choice of a policy."""

    def __init__(
        self,
        environment: Environment,
        functions: FiniteQClass,
        parameters: LsveeParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer],
    ) -> None:
        self.survivors = Survivors(environment, functions, parameters, rng, observers)
        self._watchers = [o for o in observers if isinstance(o, LsveeObserver)]
        self._estimate: Fraction | None = None

    def explore(self, path: Path) -> None:
        """Call DFS-learn, with the confidence that is due."""
        p = self.survivors.parameters
        self.survivors.learn(path, p.on_demand if path else p.first)

    def choose(self) -> tuple[Sequence[Any], Fraction]:
        """Greedy policy of the first survivor, and V̂*, estimated once."""
        run = self.survivors
        member = int(run.members[0])
        if self._estimate is None:
            data = run.environment.observe((), run.parameters.n_eval, run.rng)
            values = state_value_averages(run.functions, 1, data, run.members[:1])
            run.enumerated += 1
            self._estimate = values[0]
            for watcher in self._watchers:
                watcher.started(member, self._estimate)
        return run.functions.greedy(member), self._estimate


def check_fit(
    environment: Environment, functions: FiniteQClass, parameters: LsveeParameters
) -> None:
    """Refuse what does not fit together.

    Raises
    ------
    ValueError
        For stochastic dynamics; for H, K or N that are not those of the
        environment and the class; for M below its hidden states of a level.
    """
    require_deterministic(environment, NAME)
    facts = {"H": environment.horizon, "K": environment.n_actions}
    for name, true in facts.items():
        if getattr(parameters, name) != true:
            raise ValueError(
                f"{name}: {getattr(parameters, name)}, but the environment has "
                f"{name}={true}"
            )
    if environment.max_states > parameters.M:
        raise ValueError(
            f"M: {parameters.M} is too small, the environment has levels of "
            f"{environment.max_states} hidden states"
        )
    if len(functions) != parameters.N:
        raise ValueError(f"N: {parameters.N}, but there are {len(functions)} functions")
    if (functions.horizon, functions.n_actions) != tuple(facts.values()):
        raise ValueError(
            f"functions: {functions.horizon} levels with {functions.n_actions} "
            f"actions, but H = {environment.horizon} and K = {environment.n_actions}"
        )


__all__ = ["NAME", "check_fit", "lsvee"]
