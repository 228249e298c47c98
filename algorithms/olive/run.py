"""OLIVE on tabular MDPs with exact expectations, and on any environment from data sets.

With exact expectations, tolerance 0 and accuracy 0, OLIVE ends with an optimal policy
after adding at most one constraint a state (docs/olive.md). From data (Jiang et al.
2017, its parameters recalled) predicted values are averaged over n_est initial
observations, errors over n_eval trajectories of the round's policy, and a constraint
over n trajectories whose action at the chosen level is uniform. All numbers are
rationals, so a run is reproducible from its generator's seed.

>>> from fractions import Fraction
>>> from olivine.algorithms.mdp.tabular import TabularMDP
>>> mdp = TabularMDP.from_lists(
...     [
...         ("s", 1, [("left", 0, {"t": 1}), ("right", Fraction(1, 3), {})]),
...         ("t", 2, [("end", Fraction(1, 2), {})]),
...     ]
... )
>>> result = olive_exact(mdp)
>>> result.status, len(result.constraints), result.policy.tolist()
('finished', 2, [0, 0])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

import numpy as np

from ..exact.seeds import RecordedSeed
from ..mdp.bellman import Pair
from ..mdp.distributions import Distribution
from ..mdp.planning import state_distributions
from ..mdp.tabular import TabularMDP
from .environment import SampledEnvironment
from .interfaces import Optimiser, Upper
from .loop import OliveResult, OliveRound, run_rounds
from .optimisers import Milp
from .parameters import OliveParameters
from .program import OliveProgram, average_bellman_errors
from .sampled_program import (
    SampledConstraint,
    SampledProgram,
    on_policy_error,
)
from .tiebreak import SolverTiebreak, Tiebreak


def olive_exact(
    mdp: TabularMDP,
    *,
    optimiser: Optimiser | None = None,
    tiebreak: Tiebreak | None = None,
    tolerance: Fraction | int = 0,
    epsilon: Fraction | int | None = None,
    lower: Fraction | int = 0,
    upper: Upper = 1,
    constraints: Iterable[Distribution] = (),
    all_levels: bool = False,
    max_rounds: int | None = None,
) -> OliveResult[Distribution]:
    """Run OLIVE on a tabular MDP with exact expectations.

    Parameters
    ----------
    mdp
        Any finite acyclic MDP. g is indexed by the state alone.
    optimiser
        Solves the programs, and with it the class: `Milp` by default and
        `BranchAndBound` search all tabular pairs, `FinitePairs` a finite class.
    tiebreak
        The choices that OLIVE leaves open; `SolverTiebreak` by default.
    tolerance
        φ ≥ 0.
    epsilon
        Stop when the errors add up to at most this; by default the horizon
        times φ, the least that makes every round rule out its own pair. The
        policy returned is then within epsilon of optimal if the class contains
        (V*, π*) (or, tabular, if V* lies in the range).
    lower, upper
        Range of g; the upper end for all states or one for each.
    constraints
        Distributions constrained from the start.
    all_levels
        Whether a round adds the constraints of all levels, or only of one.
    max_rounds
        Stop there, unfinished; the run ends by itself without it, as every
        round adds another of the finitely many distributions.

    Returns
    -------
    OliveResult
        Its `trajectories` are 0.

    Raises
    ------
    ValueError
        If a parameter is out of range (see also `OliveProgram`), or a script
        does not hold what it promises.
    """
    program = OliveProgram(mdp, constraints, tolerance, lower, upper)
    least = mdp.horizon * program.tolerance
    return run_rounds(
        ExactWorld(program),
        Milp() if optimiser is None else optimiser,
        SolverTiebreak() if tiebreak is None else tiebreak,
        stop=least if epsilon is None else Fraction(epsilon),
        all_levels=all_levels,
        max_rounds=max_rounds,
    )


class ExactWorld:
    """A tabular MDP whose expectations are known; see `olivine.algorithms.olive.loop`.

    Attributes
    ----------
    program : OliveProgram
        The current program; grows with `constrain`.
    """

    trajectories = 0
    seed = None

    def __init__(self, program: OliveProgram) -> None:
        self.program = program
        self.horizon = program.mdp.horizon

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        """Exact average Bellman error at each level."""
        return tuple(average_bellman_errors(self.program.mdp, pair))

    def constrain(self, pair: Pair, levels: Sequence[int]) -> tuple[Distribution, ...]:
        """Add the distributions of the state at some levels.

        Those of levels that no episode reaches and those added before are left
        out; g and the error do not depend on the level.
        """
        known = list(self.program.distributions)
        added: list[Distribution] = []
        for met in state_distributions(self.program.mdp, pair.policy):
            if met.level not in levels or not len(met.states):
                continue
            if all(met.probabilities() != d.probabilities() for d in known + added):
                added.append(met)
        self.program = self.program.extended(added)
        return tuple(added)


def olive_sampled(
    environment: SampledEnvironment,
    parameters: OliveParameters,
    rng: np.random.Generator,
    *,
    optimiser: Optimiser | None = None,
    tiebreak: Tiebreak | None = None,
    lower: Fraction | int = 0,
    upper: Upper = 1,
    all_levels: bool = False,
    watch: Callable[[OliveRound[SampledConstraint]], None] | None = None,
) -> OliveResult[SampledConstraint]:
    """Run OLIVE on data sets.

    Parameters
    ----------
    environment
        Where trajectories come from; `TabularEnvironment` makes one of an MDP,
        `layered.LayeredEnvironment` one of `olivine.algorithms.environments`.
    parameters
        `parameters.theorem_parameters`, or one's own.
    rng
        The randomness of the data.
    optimiser
        Solves the programs, and with it the class; see `olive_exact`.
    tiebreak
        The choices that OLIVE leaves open.
    lower, upper
        Range of g; the upper end for all observations or one for each.
    all_levels
        Whether a round adds the constraints of all levels (a data set each), or
        only of one.
    watch
        Told each round when it is over.

    Returns
    -------
    OliveResult
        Its `trajectories` counts all that were drawn.

    Raises
    ------
    ValueError
        If a parameter is out of range, or stop/H is below the tolerance.
    """
    world = SampledWorld(environment, parameters, rng, lower, upper)
    return run_rounds(
        world,
        Milp() if optimiser is None else optimiser,
        SolverTiebreak() if tiebreak is None else tiebreak,
        stop=parameters.stop,
        all_levels=all_levels,
        max_rounds=parameters.max_rounds,
        watch=watch,
    )


class SampledWorld:
    """An environment seen through data sets; see `olivine.algorithms.olive.loop`.

    Attributes
    ----------
    program : SampledProgram
        The current program; grows with `constrain`.
    trajectories : int
        Drawn so far.
    seed : RecordedSeed
        The generator before the first draw.
    """

    def __init__(
        self,
        environment: SampledEnvironment,
        parameters: OliveParameters,
        rng: np.random.Generator,
        lower: Fraction | int = 0,
        upper: Upper = 1,
    ) -> None:
        self.environment, self.parameters, self.rng = environment, parameters, rng
        self.seed = RecordedSeed.of(rng)
        self.horizon = environment.horizon
        self.trajectories = parameters.n_est
        self.program = SampledProgram(
            environment.action_counts,
            environment.starts(parameters.n_est, rng),
            (),
            parameters.tolerance,
            lower,
            upper,
        )

    def errors(self, pair: Pair) -> tuple[Fraction, ...]:
        """Estimate the average Bellman error at each level from n_eval trajectories."""
        n = self.parameters.n_eval
        self.trajectories += n
        levels = self.environment.follow(pair.policy, n, self.rng)
        return tuple(on_policy_error(data, pair) for data in levels)

    def constrain(
        self, pair: Pair, levels: Sequence[int]
    ) -> tuple[SampledConstraint, ...]:
        """Draw n trajectories for each of some levels and add the constraints."""
        n = self.parameters.n_train
        added = []
        for level in levels:
            data = self.environment.explore(pair.policy, level, n, self.rng)
            self.trajectories += n
            counts = self.environment.action_counts
            added.append(SampledConstraint.of(data, counts, level))
        self.program = self.program.extended(added)
        return tuple(added)
