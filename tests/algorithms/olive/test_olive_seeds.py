"""Every run of OLIVE records what it was drawn from, and can be had again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.mdp.tabular import random_tabular_mdp
from olivine.algorithms.olive.parameters import OliveParameters
from olivine.algorithms.olive.run import TabularEnvironment, olive_sampled
from olivine.algorithms.olive_program.optimisers import BranchAndBound
from olivine.algorithms.olive_program.rounds import olive_exact
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak, ScriptedTiebreak

from tests.support.depth import spread

PARAMETERS = OliveParameters(Fraction(1, 20), Fraction(3, 10), 50, 500, 2000, 12)


def shape(result):
    """What a run did, without the seconds."""
    rounds = [(r.pair, r.optimum, r.errors, r.level) for r in result.rounds]
    return result.status, result.trajectories, rounds


@pytest.mark.parametrize("seed", spread([3, 0], 1))
def test_exact_runs_record_the_ties(seed) -> None:
    mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=2)
    rng = np.random.default_rng([seed, 7])
    rng.random(2)  # a generator that was used before
    ties = RandomTiebreak(rng)
    first = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=ties)
    assert first.seed is None
    assert first.tie_seed.entropy == (seed, 7)
    again = RandomTiebreak(first.tie_seed.generator())
    second = olive_exact(mdp, optimiser=BranchAndBound(), tiebreak=again)
    assert shape(first) == shape(second)


def test_sampled_runs_record_data_and_ties() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=2, width=2)
    world = TabularEnvironment(mdp)
    rng = np.random.default_rng(5)
    rng.random(3)
    ties = RandomTiebreak(np.random.default_rng(6))
    first = olive_sampled(
        world, PARAMETERS, rng, optimiser=BranchAndBound(), tiebreak=ties
    )
    assert (first.seed.entropy, first.tie_seed.entropy) == (5, 6)
    second = olive_sampled(
        world,
        PARAMETERS,
        first.seed.generator(),
        optimiser=BranchAndBound(),
        tiebreak=RandomTiebreak(first.tie_seed.generator()),
    )
    assert shape(first) == shape(second)


def test_one_generator_may_serve_both() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=2, width=2)
    world = TabularEnvironment(mdp)

    def run(rng):
        return olive_sampled(
            world,
            PARAMETERS,
            rng,
            optimiser=BranchAndBound(),
            tiebreak=RandomTiebreak(rng),
        )

    first = run(np.random.default_rng(8))
    assert shape(first) == shape(run(first.seed.generator()))


def test_what_draws_nothing_has_no_seed() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(1), horizon=2, width=1)
    result = olive_exact(mdp, optimiser=BranchAndBound())
    assert result.seed is result.tie_seed is None
    drawn = RandomTiebreak(np.random.default_rng(4))
    assert ScriptedTiebreak([], drawn).seed.entropy == 4
    assert ScriptedTiebreak([]).seed is None
