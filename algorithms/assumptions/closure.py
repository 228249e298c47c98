"""Finite classes that are complete: closed by construction, from the last level back.

Random classes are hardly ever complete. Here each level gets what completeness
asks for, given the level after it, and then a few more members, so that there is
something to learn: products over the hidden states (see
`algorithms.class_choice`), g* and π* among their factors.

Policy-value: every backup max_a E[r + g'(x') | x, a] of a g' in G_{h+1} is put
into G_h, so G_h grows linearly towards the start; other members stay so low
that no backup leaves [0, 1]. Policy: Π_h holds a policy that is greedy for each
of the value vectors that policies of later levels attain. These can be many, so
the number of other members is halved until all levels fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.assumptions.hidden import HiddenModel, Vector, best
from algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    ValueClassByLevel,
)
from algorithms.columns import object_array
from algorithms.environments.protocol import Environment
from algorithms.parameters import check_count

Completeness = Literal["policy-value", "policy"]
COMPLETENESS: tuple[Completeness, ...] = ("policy-value", "policy")

_MOST_VECTORS = 2000
_GRID = 8
"""Values of other members are multiples of 1/8 of the largest allowed."""

Row = tuple[Any, ...]


def complete_classes(
    environment: Environment,
    rng: np.random.Generator,
    kind: Completeness = "policy-value",
    *,
    size: int = 128,
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Make finite classes that are complete and realizable.

    Parameters
    ----------
    environment
        Finite observations; hidden dynamics may be stochastic.
    rng
        Draws the other members and the order of all.
    kind
        ``"policy-value"``: policy-value completeness. ``"policy"``: policy
        completeness of Π, and G with g*. Either way g* is in G and an optimal
        policy in Π.
    size
        Most members of a class of a level, at least 1.

    Returns
    -------
    G and Π, by level; tables over all codes, in Fractions.

    Raises
    ------
    ValueError
        For an unknown kind, a size below 1, or observations that are not
        finite.

    Examples
    --------
    >>> from algorithms.environments import make
    >>> env = make("random-finite", 0)
    >>> values, policies = complete_classes(env, np.random.default_rng(0), size=12)
    >>> [len(values.at_level(h)) for h in (1, 2, 3)]
    [12, 8, 4]
    """
    check_count("size", size)
    model = HiddenModel(environment)
    if kind == "policy-value":
        values, policies = _policy_value(model, rng, size)
    elif kind == "policy":
        values = _with_optimal_values(model, rng, size)
        policies = _policy(model, rng, size)
    else:
        raise ValueError(f"kind: {kind!r} is none of {', '.join(COMPLETENESS)}")
    return (
        ValueClassByLevel(
            [_value_class(model, h, rows, rng) for h, rows in enumerate(values, 1)]
        ),
        PolicyClassByLevel(
            [_policy_class(model, h, rows, rng) for h, rows in enumerate(policies, 1)]
        ),
    )


def _policy_value(
    model: HiddenModel, rng: np.random.Generator, size: int
) -> tuple[list[list[Row]], list[list[Row]]]:
    values: list[list[Row]] = []
    policies: list[list[Row]] = []
    optimal = _optimal(model)
    later: list[Vector] = [()]
    for h in range(model.horizon, 0, -1):
        gains = [model.gains(h, vector) for vector in later]
        backups = [tuple(q.max(axis=1).tolist()) for q in gains]
        greedy = [tuple(q.argmax(axis=1).tolist()) for q in gains]
        most = max(1, size * (model.horizon - h + 1) // model.horizon)
        rows = _joined(
            backups, _random_values(model, h, optimal[h - 1], rng, size), most
        )
        values.append(rows)
        policies.append(
            _joined(greedy, _random_policies(model, h, optimal[h - 1], rng, size), size)
        )
        later = list(dict.fromkeys(model.averages(h, row) for row in rows))
    return values[::-1], policies[::-1]


def _with_optimal_values(
    model: HiddenModel, rng: np.random.Generator, size: int
) -> list[list[Row]]:
    optimal = _optimal(model)
    found = []
    for h in range(1, model.horizon + 1):
        right = tuple(optimal[h - 1].max(axis=1).tolist())
        others = _random_values(model, h, optimal[h - 1], rng, size)
        found.append(_joined([right], others, size))
    return found


def _policy(model: HiddenModel, rng: np.random.Generator, size: int) -> list[list[Row]]:
    optimal, others = _optimal(model), size
    while True:
        policies = _closed_policies(model, optimal, rng, size, others)
        if policies is not None:
            return policies
        others //= 2  # with none, Π_h = {π*_h}, which fits


def _closed_policies(
    model: HiddenModel,
    optimal: Sequence[NDArray[Any]],
    rng: np.random.Generator,
    size: int,
    others: int,
) -> list[list[Row]] | None:
    """Close Π with at most so many other members a level; None if it is too large."""
    found: list[list[Row]] = []
    later: list[Vector] = [()]
    for h in range(model.horizon, 0, -1):
        gains = [model.gains(h, vector) for vector in later]
        needed: dict[Row, None] = {}
        for q in gains:
            allowed = best(q)
            if not any(allowed[np.arange(len(q)), row].all() for row in needed):
                needed[tuple(allowed.argmax(axis=1).tolist())] = None
            if len(needed) > size:
                return None
        drawn = _random_policies(model, h, optimal[h - 1], rng, others)
        rows = _joined(needed, drawn, min(size, len(needed) + others))
        found.append(rows)
        vectors: dict[Vector, None] = {}
        for q, row in itertools.product(gains, rows if h > 1 else []):
            vectors[model.followed(h, q, np.array(row))] = None
            if len(vectors) > _MOST_VECTORS:
                return None
        later = list(vectors)
    return found[::-1]


def _optimal(model: HiddenModel) -> list[NDArray[Any]]:
    """Q* of each level at the observable codes."""
    found: list[NDArray[Any]] = []
    ahead: Vector = ()
    for h in range(model.horizon, 0, -1):
        q = model.gains(h, ahead)
        ahead = model.averages(h, q.max(axis=1).tolist())
        found.append(q)
    return found[::-1]


def _highest(model: HiddenModel) -> list[list[Fraction]]:
    """1 - (largest mean rewards on the way to s), for each state of each level.

    If g' is at most that at level h+1, then E[r + g'] is at most that at level h.
    """
    found = [[Fraction(1)] * len(model.states(1))]
    for h in range(1, model.horizon):
        ahead = [Fraction(1)] * len(model.states(h + 1))
        for s, high in enumerate(found[-1]):
            rewards = model.rewards(h)[model.owner(h) == s].max(axis=0)
            for a, moves in enumerate(model.successors(h, s)):
                for t, _ in moves:
                    ahead[t] = min(ahead[t], high - rewards[a])
        found.append(ahead)
    return found


def _random_values(
    model: HiddenModel, h: int, q: NDArray[Any], rng: np.random.Generator, most: int
) -> list[Row]:
    """Draw value functions, products of local ones, g* among these."""
    right, highest = q.max(axis=1), _highest(model)[h - 1]
    limit = np.array([highest[s] for s in model.owner(h)], dtype=object)

    def draw() -> NDArray[Any]:
        steps = rng.integers(_GRID + 1, size=len(limit)).tolist()
        return np.asarray(object_array([Fraction(n, _GRID) for n in steps]) * limit)

    return _products(model, h, right, draw, rng, most)


def _random_policies(
    model: HiddenModel, h: int, q: NDArray[Any], rng: np.random.Generator, most: int
) -> list[Row]:
    """Draw policies, products of local ones, π* among these."""
    right, k = q.argmax(axis=1), model.n_actions
    return _products(
        model, h, right, lambda: rng.integers(k, size=len(right)), rng, most
    )


def _products(
    model: HiddenModel,
    h: int,
    right: NDArray[Any],
    draw: Any,
    rng: np.random.Generator,
    most: int,
) -> list[Row]:
    """Combine c local functions a state, c^(states) at most ``most``; else draws."""
    owner, n_states = model.owner(h), len(model.states(h))
    count = 1
    while (count + 1) ** n_states <= most:
        count += 1
        if count >= _GRID:
            break
    if count == 1:  # too many states for a product
        return [tuple(draw().tolist()) for _ in range(most)]
    local = [right, *(draw() for _ in range(count - 1))]
    rows = []
    for chosen in itertools.product(range(count), repeat=n_states):
        row = right.copy()
        for s, c in enumerate(chosen):
            row[owner == s] = local[c][owner == s]
        rows.append(tuple(row.tolist()))
    return [rows[i] for i in rng.permutation(len(rows))]


def _joined(needed: Iterable[Row], others: Iterable[Row], most: int) -> list[Row]:
    """Join what is needed with others, without repetition, up to ``most``."""
    rows = dict.fromkeys(needed)
    for row in others:
        if len(rows) >= most:
            break
        rows[row] = None
    return list(rows)


def _value_class(
    model: HiddenModel, h: int, rows: Sequence[Row], rng: np.random.Generator
) -> FiniteValueClass:
    table = np.full((len(rows), model.n_codes(h)), Fraction(0), dtype=object)
    table[:, model.codes(h)] = np.array(rows, dtype=object)
    return FiniteValueClass(table[rng.permutation(len(rows))])


def _policy_class(
    model: HiddenModel, h: int, rows: Sequence[Row], rng: np.random.Generator
) -> FinitePolicyClass:
    table = np.zeros((len(rows), model.n_codes(h)), dtype=np.int64)
    table[:, model.codes(h)] = np.array(rows, dtype=np.int64)
    return FinitePolicyClass(table[rng.permutation(len(rows))], model.n_actions)
