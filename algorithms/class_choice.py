"""Realizable classes for an environment: tabular, finite or linear.

Whoever sets up an experiment knows the truth, so a finite class can be made to
hold g* and π*. A handful of random functions is told apart by a first data set
and tests nothing; the finite classes here are *products* over the hidden states
of a level: each state has a few local functions to choose from, the right one
among them, and what is learned about one state says nothing about the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    LinearPolicyClass,
    LinearValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from algorithms.columns import object_array
from algorithms.environments.protocol import Environment

Kind = Literal["tabular", "finite", "linear"]
KINDS: tuple[Kind, ...] = ("tabular", "finite", "linear")

Pair = tuple[ValueClassByLevel, PolicyClassByLevel]


def make_classes(
    environment: Environment,
    kind: Kind,
    rng: np.random.Generator,
    *,
    size: int = 128,
    bound: float = 4.0,
) -> Pair:
    """Make G and Π for an environment, by level.

    Parameters
    ----------
    environment
        Finite observations for ``tabular`` and ``finite``; features, of codes
        or as observations, for ``linear``.
    kind
        Which classes.
    rng
        Draws the other members of finite classes.
    size
        Most members of a finite class of a level (at least 2 local functions a
        state are taken nevertheless).
    bound
        Largest |θ_i| of linear value functions.

    Raises
    ------
    ValueError
        If the kind does not go with the environment.
    """
    if kind == "tabular":
        return _tabular(environment)
    if kind == "linear":
        return _linear(environment, bound)
    if kind != "finite":
        raise ValueError(f"classes: {kind!r} is none of {', '.join(KINDS)}")
    if size < 1:
        raise ValueError(f"size: {size} is below 1")
    values, policies = [], []
    for h in range(1, environment.horizon + 1):
        _codes(environment, h, kind)
        groups = state_groups(environment, h)
        values.append(_product_values(environment, h, groups, size, rng))
        policies.append(_product_policies(environment, h, groups, size, rng))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)


def state_groups(environment: Environment, level: int) -> list[NDArray[np.int64]]:
    """Codes that each reachable hidden state of a level emits.

    Codes of unreachable states are left out. Dynamics must be deterministic.
    """
    truth = environment.truth
    paths: dict[int, tuple[int, ...]] = {truth.state(()): ()}
    for h in range(1, level):
        ahead: dict[int, tuple[int, ...]] = {}
        for state, path in paths.items():
            for a in range(environment.n_actions):
                ahead.setdefault(truth.successor(h, state, a), (*path, a))
        paths = ahead
    groups = []
    for _, path in sorted(paths.items()):
        chances = truth.observation_probabilities(path)
        groups.append(np.flatnonzero(chances > 0).astype(np.int64))
    return groups


def _codes(environment: Environment, level: int, kind: str) -> int:
    codes = environment.space(level).n_codes
    if codes is None:
        raise ValueError(
            f"classes: {kind} needs finitely many observations, but those of "
            f"{environment.name!r} are features (take linear)"
        )
    return codes


def _tabular(environment: Environment) -> Pair:
    levels = range(1, environment.horizon + 1)
    codes = [_codes(environment, h, "tabular") for h in levels]
    k = environment.n_actions
    return (
        ValueClassByLevel([TabularValueClass(n) for n in codes]),
        PolicyClassByLevel([TabularPolicyClass(n, k) for n in codes]),
    )


def _linear(environment: Environment, bound: float) -> Pair:
    values, policies = [], []
    for h in range(1, environment.horizon + 1):
        source: Any = environment.space(h).dimension
        if source is None:
            if environment.features is None:
                raise ValueError(
                    f"classes: linear needs features, {environment.name!r} has none"
                )
            source = environment.features[h - 1]
        values.append(LinearValueClass(source, bound=bound))
        policies.append(LinearPolicyClass(source, environment.n_actions))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)


def _local_count(groups: Sequence[Any], size: int) -> int:
    """Largest c ≥ 2 with c^(number of states) ≤ size."""
    count = 2
    while (count + 1) ** len(groups) <= size:
        count += 1
    return count


def _product_values(
    environment: Environment,
    level: int,
    groups: Sequence[NDArray[np.int64]],
    size: int,
    rng: np.random.Generator,
) -> FiniteValueClass:
    count = _local_count(groups, size)
    right = environment.truth.values(level)
    choices = []
    for codes in groups:
        others = [
            object_array([int(v) for v in row])
            for row in rng.integers(0, 2, (1, len(codes)))
        ]
        floats = rng.random((count - 2, len(codes)))
        choices.append([right[codes], *others, *floats.astype(object)])
    members = []
    for chosen in itertools.product(*choices):
        table = np.zeros(len(right), dtype=object)
        for codes, local in zip(groups, chosen, strict=True):
            table[codes] = local
        members.append(table)
    order = rng.permutation(len(members))
    return FiniteValueClass(np.stack([members[i] for i in order]))


def _product_policies(
    environment: Environment,
    level: int,
    groups: Sequence[NDArray[np.int64]],
    size: int,
    rng: np.random.Generator,
) -> FinitePolicyClass:
    count, k = _local_count(groups, size), environment.n_actions
    right = environment.truth.policy(level)
    choices = []
    for codes in groups:
        others = rng.integers(0, k, (count - 1, len(codes)))
        choices.append([right[codes], *others])
    members = []
    for chosen in itertools.product(*choices):
        table = np.zeros(len(right), dtype=np.int64)
        for codes, local in zip(groups, chosen, strict=True):
            table[codes] = local
        members.append(table)
    order = rng.permutation(len(members))
    return FinitePolicyClass(np.stack([members[i] for i in order]), k)
