"""OLIVE on data sets of any environment, in rationals, reproducible from its seed.

Predicted values are averaged over n_est initial observations, errors over n_eval
trajectories, a constraint over n with a uniform action at the level (Jiang et al.
2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ..environments.protocol import missing_members
from ..exact import what_it_is
from ..exact.arrays import check_type
from ..exact.multinomial import RecordedSeed
from ..mdp.planning import Pair
from ..olive_program.optimisers import Milp
from ..olive_program.program import Optimiser, Upper
from ..olive_program.rounds import OliveResult, OliveRound, run_rounds
from ..olive_program.sampled_program import (
    SampledConstraint,
    SampledProgram,
    on_policy_error,
)
from ..olive_program.tiebreak import SolverTiebreak, Tiebreak
from .environments import SampledEnvironment
from .parameters import OliveParameters


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
        `LayeredEnvironment` one of `olivine.algorithms.environments`.
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
        Whether a round adds the constraints of all levels (a data set each), or only of
        one.
    watch
        Called with each round when it is over.

    Returns
    -------
    OliveResult
        Its `trajectories` counts all that were drawn.

    Raises
    ------
    ValueError
        If a parameter is out of range, or stop/H is below the tolerance.
    """
    if missing := missing_members(environment, SampledEnvironment):
        raise TypeError(
            f"environment: {what_it_is(environment)} lacks {', '.join(missing)}; "
            "TabularEnvironment or LayeredEnvironment of olivine.algorithms.olive."
            "environments makes one"
        )
    check_type("parameters", parameters, OliveParameters, "OliveParameters")
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
    """An environment seen through data sets; a `World`, its program growing."""

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
        levels = self.environment.run(pair.policy, n, self.rng)
        return tuple(on_policy_error(data, pair) for data in levels)

    def constrain(
        self, pair: Pair, levels: Sequence[int]
    ) -> tuple[SampledConstraint, ...]:
        """Draw n trajectories for each of some levels and add the constraints."""
        n = self.parameters.n_train
        added = []
        for level in levels:
            data = self.environment.draw(
                [*[pair.policy] * (level - 1), "uniform"], n, self.rng
            )
            self.trajectories += n
            counts = self.environment.action_counts
            added.append(SampledConstraint.of(data, counts, level))
        self.program = self.program.extended(added)
        return tuple(added)
