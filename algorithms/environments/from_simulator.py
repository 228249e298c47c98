"""A process of your own from a ``reset`` and a ``step``: see docs/own-process.md."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.classes.linear import FeatureMap
from olivine.algorithms.environments.protocol import ObservationSpace
from olivine.algorithms.environments.simulator import SimulatorEnvironment
from olivine.algorithms.environments.simulator_calls import (
    DETERMINISM,
    Determinism,
    Simulator,
)
from olivine.algorithms.exact.numbers import check_count


def from_simulator(
    reset: Callable[..., Any],
    step: Callable[[int], Any],
    n_actions: int,
    horizon: int,
    *,
    codes: int | Sequence[int] | None = None,
    dimension: int | None = None,
    deterministic: Determinism = "nothing",
    state: Callable[[], Hashable] | str | None = None,
    states: int | None = None,
    features: ArrayLike | None = None,
    name: str = "simulator",
    seed: int = 0,
) -> SimulatorEnvironment:
    """Make an environment of a ``reset`` and a ``step``.

    Parameters
    ----------
    reset
        ``reset(seed)`` or ``reset()`` begins an episode and returns x_1. Seeds are
        integers in 0..2^31-1, drawn anew for each episode.
    step
        ``step(action)`` returns (observation, reward) or (observation, reward, over).
        Rewards are in [0, 1] and sum to at most 1 in an episode; every episode has
        ``horizon`` actions. The observation after the last one is not looked at.
    n_actions, horizon
        K and H.
    codes
        Observations are integers 0..codes-1; a sequence has one number per level.
    dimension
        Observations are vectors of so many features. Give ``codes`` or this.
    deterministic
        What a path of actions fixes: ``"nothing"``; hidden ``"transitions"`` (what
        VALOR needs: observations and rewards may be drawn); ``"rewards"`` too; or
        ``"everything"``, where samples of any size cost no more than the places
        visited. It is checked by replay, transitions only where ``state`` is given.
    state
        A function that gives the hidden state now (hashable), for these checks and
        so that places are known again; or ``"observation"``: it is the state.
    states
        M, the largest number of hidden states of a level. Default: counted where
        everything is deterministic and states are known, else the most codes.
    features
        Features of the codes, (codes, d), for linear and learned classes.
    name
        In messages and results.
    seed
        Of the replays that check the declaration.

    Returns
    -------
    SimulatorEnvironment

    Raises
    ------
    ValueError
        For arguments out of range, and, naming the call, for a return value that is
        not as above or a replay that differs in what was declared deterministic.
    """
    for what, value in (("n_actions", n_actions), ("horizon", horizon)):
        check_count(what, value)
    if states is not None:
        check_count("states", states)
    if deterministic not in DETERMINISM:
        known = ", ".join(DETERMINISM)
        raise ValueError(f"deterministic: {deterministic!r} is none of {known}")
    if isinstance(state, str) and state != "observation":
        raise ValueError(f"state: {state!r} is no function and not 'observation'")
    spaces = _spaces(codes, dimension, horizon)
    asked = state if callable(state) else None
    simulator = Simulator(reset, step, n_actions, horizon, spaces, asked, name)
    if state == "observation" and deterministic in ("transitions", "rewards"):
        raise ValueError(
            "state: where the observation is the state and transitions are "
            "deterministic, observations are; declare 'everything', or with drawn "
            "rewards give a function"
        )
    return SimulatorEnvironment(
        simulator,
        deterministic,
        by_observation=state == "observation",
        states=states,
        features=_tables(features, spaces),
        rng=np.random.default_rng(seed),
    )


def _spaces(
    codes: int | Sequence[int] | None, dimension: int | None, horizon: int
) -> tuple[ObservationSpace, ...]:
    if (codes is None) == (dimension is None):
        raise ValueError("codes, dimension: give exactly one of them")
    if dimension is not None:
        return (ObservationSpace(dimension=dimension),) * horizon
    sizes = [codes] * horizon if isinstance(codes, int) else list(codes or ())
    if len(sizes) != horizon:
        raise ValueError(f"codes: {len(sizes)} numbers for {horizon} levels")
    return tuple(ObservationSpace(n_codes=size) for size in sizes)


def _tables(
    features: ArrayLike | None, spaces: Sequence[ObservationSpace]
) -> tuple[NDArray[np.float64], ...] | None:
    """Give the features of each level's codes."""
    if features is None:
        return None
    table = FeatureMap(features).table
    sizes = [space.n_codes for space in spaces]
    if table is None or None in sizes:
        raise ValueError("features: an array (codes, d), where observations are codes")
    if any(size != len(table) for size in sizes):
        raise ValueError(f"features: {len(table)} rows for {sizes} codes")
    return (table,) * len(spaces)
