"""Finite classes that are complete, by construction, or that violate an assumption.

Completeness is built from the last level back: each level gets what it asks for, then
products over the hidden states of a few local functions each, so that one state says
nothing about the others. For Π the value vectors of later levels can be many: other
members are halved until all fit.

For classes that violate an assumption, complete ones are drawn and at one level members
taken away: the right ones (realizability), or all others (completeness), so that they
stay realizable.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClass,
    PolicyClassByLevel,
    ValueClass,
    ValueClassByLevel,
)
from ..environments.protocol import Environment
from ..exact.arrays import check_count, object_array
from .checks import (
    CLIPPED,
    POLICY,
    POLICY_COMPLETE,
    POLICY_VALUE,
    VALUE,
    check_assumptions,
)
from .members import (
    Assumption,
    Given,
    HiddenModel,
    Policies,
    Row,
    Values,
    Vector,
    best,
    evaluated,
)

_GRID = 8  # Values are multiples of 1/8 of the largest allowed

_MOST_LOCAL = 8


def highest_values(model: HiddenModel) -> list[list[Fraction]]:
    """1 - (largest mean rewards on the way to s), for each state of each level."""
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


def random_values(
    model: HiddenModel, h: int, q: NDArray[Any], rng: np.random.Generator, most: int
) -> list[Row]:
    """Draw value functions, products of local ones, g* among these."""
    right, highest = q.max(axis=1), highest_values(model)[h - 1]
    limit = np.array([highest[s] for s in model.owner(h)], dtype=object)

    def draw() -> NDArray[Any]:
        steps = rng.integers(_GRID + 1, size=len(limit)).tolist()
        return np.asarray(object_array([Fraction(n, _GRID) for n in steps]) * limit)

    return _products(model, h, right, draw, rng, most)


def random_policies(
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
    draw: Callable[[], NDArray[Any]],
    rng: np.random.Generator,
    most: int,
) -> list[Row]:
    """Combine c local functions a state, c^(states) at most ``most``; else draws."""
    owner, n_states = model.owner(h), len(model.states(h))
    count = 1
    while count < _MOST_LOCAL and (count + 1) ** n_states <= most:
        count += 1
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


Completeness = Literal["policy-value", "policy", "both"]
COMPLETENESS: tuple[Completeness, ...] = ("policy-value", "policy", "both")

_MOST_VECTORS = 1000


def complete_classes(
    environment: Environment,
    rng: np.random.Generator,
    kind: Completeness = "policy-value",
    *,
    size: int = 128,
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Make finite classes that are complete and realizable.

    Examples
    --------
    >>> from olivine.algorithms.environments import make
    >>> env = make("random-finite", 0)
    >>> values, policies = complete_classes(env, np.random.default_rng(0), size=12)
    >>> [len(values.at_level(h)) for h in (1, 2, 3)]
    [11, 8, 4]
    """
    check_count("size", size)
    model = HiddenModel(environment)
    if kind == "policy-value":
        values = _closed_values(model, rng, size, size)
        policies = _answers(model, values, rng, size)
    elif kind == "policy":
        values = _with_optimal_values(model, rng, size)
        _, policies = _halved(model, rng, size, values_too=False)
    elif kind == "both":
        values, policies = _halved(model, rng, size, values_too=True)
    else:
        raise ValueError(f"kind: {kind!r} is none of {', '.join(COMPLETENESS)}")
    return (
        ValueClassByLevel(
            [value_class(model, h, rows, rng) for h, rows in enumerate(values, 1)]
        ),
        PolicyClassByLevel(
            [policy_class(model, h, rows, rng) for h, rows in enumerate(policies, 1)]
        ),
    )


Rows = list[list[Row]]  # Members of each level 1..H


def _closed_values(
    model: HiddenModel, rng: np.random.Generator, size: int, others: int
) -> Rows:
    optimal, found = _optimal(model), Rows()
    later: list[Vector] = [()]
    for h in range(model.horizon, 0, -1):
        backups = dict.fromkeys(
            tuple(model.gains(h, vector).max(axis=1).tolist()) for vector in later
        )
        share = max(1, size * (model.horizon - h + 1) // model.horizon)
        drawn = random_values(model, h, optimal[h - 1], rng, others)
        found.append(_joined(backups, drawn, min(share, len(backups) + others)))
        later = _averages(model, h, found[-1])
    return found[::-1]


def _averages(model: HiddenModel, h: int, rows: Iterable[Row]) -> list[Vector]:
    return list(dict.fromkeys(model.averages(h, row) for row in rows))


def _answers(
    model: HiddenModel, values: Rows, rng: np.random.Generator, size: int
) -> Rows:
    optimal, found = _optimal(model), Rows()
    for h in range(1, model.horizon + 1):
        later = _averages(model, h + 1, values[h]) if h < model.horizon else [()]
        greedy = [tuple(model.gains(h, v).argmax(axis=1).tolist()) for v in later]
        drawn = random_policies(model, h, optimal[h - 1], rng, size)
        found.append(_joined(greedy, drawn, size))
    return found


def _with_optimal_values(
    model: HiddenModel, rng: np.random.Generator, size: int
) -> Rows:
    found = Rows()
    for h, q in enumerate(_optimal(model), 1):
        others = random_values(model, h, q, rng, size)
        found.append(_joined([tuple(q.max(axis=1).tolist())], others, size))
    return found


def _halved(
    model: HiddenModel, rng: np.random.Generator, size: int, *, values_too: bool
) -> tuple[Rows, Rows]:
    """Close Π, and G before it or not, with fewer and fewer others."""
    others, values = size, Rows()
    while True:
        if values_too:
            values = _closed_values(model, rng, size, others)
        policies = _closed_policies(model, rng, size, others, values)
        if policies is not None:
            return values, policies
        others //= 2  # with none, G_h = {g*_h} and Π_h = {π*_h}, which fit


def _closed_policies(
    model: HiddenModel, rng: np.random.Generator, size: int, others: int, values: Rows
) -> Rows | None:
    """Close Π, also for ``values``, with at most so many others; None if too large."""
    optimal, found = _optimal(model), Rows()
    attained: list[Vector] = [()]
    for h in range(model.horizon, 0, -1):
        gains = [model.gains(h, vector) for vector in attained]
        asked = list(gains)
        if values and h < model.horizon:
            later = _averages(model, h + 1, values[h])
            asked += [model.gains(h, vector) for vector in later]
        needed = _greedy(asked, size)
        if needed is None:
            return None
        drawn = random_policies(model, h, optimal[h - 1], rng, others)
        rows = _joined(needed, drawn, min(size, len(needed) + others))
        found.append(rows)
        vectors: dict[Vector, None] = {}
        for q in gains if h > 1 else ():
            vectors |= dict.fromkeys(model.followed(h, q, np.array(rows)))
            if len(vectors) > _MOST_VECTORS:
                return None
        attained = list(vectors)
    return found[::-1]


def _greedy(asked: Iterable[NDArray[Any]], most: int) -> list[Row] | None:
    """Policies such that each of some gains has a greedy one; None if too many."""
    found: list[Row] = []
    patterns: set[bytes] = set()
    for q in asked:
        allowed = best(q)
        if allowed.tobytes() in patterns:
            continue
        patterns.add(allowed.tobytes())
        table = np.array(found, dtype=np.int64).reshape(len(found), len(q))
        if not allowed[np.arange(len(q)), table].all(axis=1).any():
            found.append(tuple(allowed.argmax(axis=1).tolist()))
            if len(found) > most:
                return None
    return found


def _optimal(model: HiddenModel) -> list[NDArray[Any]]:
    return [model.gains(h, model.optimal(h + 1)) for h in range(1, model.horizon + 1)]


def _joined(needed: Iterable[Row], others: Iterable[Row], most: int) -> list[Row]:
    rows = dict.fromkeys(needed)
    for row in others:
        if len(rows) >= most:
            break
        rows[row] = None
    return list(rows)


def value_class(
    model: HiddenModel, h: int, rows: Sequence[Row], rng: np.random.Generator
) -> FiniteValueClass:
    """Make a class of tables over the observable codes, shuffled; 0 elsewhere."""
    table = np.full((len(rows), model.n_codes(h)), Fraction(0), dtype=object)
    table[:, model.codes(h)] = np.array(rows, dtype=object)
    return FiniteValueClass(table[rng.permutation(len(rows))])


def policy_class(
    model: HiddenModel, h: int, rows: Sequence[Row], rng: np.random.Generator
) -> FinitePolicyClass:
    """Make a class of tables over the observable codes, shuffled; 0 elsewhere."""
    table = np.zeros((len(rows), model.n_codes(h)), dtype=np.int64)
    table[:, model.codes(h)] = np.array(rows, dtype=np.int64)
    return FinitePolicyClass(table[rng.permutation(len(rows))], model.n_actions)


CLOSED = "closed-under-evaluation"


def evaluation_closed(
    environment: Environment, values: ValueClass, policies: PolicyClass
) -> Assumption:
    """Check that G is closed under evaluation of the policies of Π."""
    model = HiddenModel.of(environment)
    if isinstance(model, str):
        return Assumption(CLOSED, None, model)
    ahead: list[tuple[Row, Given]] = [((), ())]
    for h in range(model.horizon, 0, -1):
        here, chosen = Values(model, values, h), Policies(model, policies, h)
        if not here.kind == chosen.kind == "finite":
            return Assumption(CLOSED, None, f"G_{h} or Π_{h} is not finite")
        for row, given in ahead:
            gains = model.gains(h, model.averages(h + 1, row))
            for actions in chosen.rows:
                wanted = evaluated(gains, actions)
                found = here.lacks(wanted, given)
                if found is not None:
                    return Assumption(CLOSED, False, str(found), found)
        ahead = [(row, ((h, row),)) for row in here.rows]
    return Assumption(CLOSED, True, "G holds the evaluations of Π")


def evaluation_closed_classes(
    environment: Environment, rng: np.random.Generator, *, others: int = 1
) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """Small finite classes, policy-value complete and closed under evaluation."""
    check_count("others", others)
    model = HiddenModel(environment)
    values, policies = [], []
    ahead: list[Row] = [()]
    for h in range(model.horizon, 0, -1):
        gains = [model.gains(h, model.averages(h + 1, row)) for row in ahead]
        shape = (others, len(model.codes(h)))
        drawn = rng.integers(model.n_actions, size=shape).tolist()
        rows = dict.fromkeys(tuple(q.argmax(axis=1).tolist()) for q in gains)
        rows |= dict.fromkeys(map(tuple, drawn))
        ahead = list(
            dict.fromkeys(
                evaluated(q, np.array(row, dtype=np.int64))
                for q in gains
                for row in rows
            )
        )
        values.append(value_class(model, h, ahead, rng))
        policies.append(policy_class(model, h, list(rows), rng))
    return ValueClassByLevel(values[::-1]), PolicyClassByLevel(policies[::-1])


Classes = tuple[ValueClassByLevel, PolicyClassByLevel]
_ByLevel = TypeVar("_ByLevel", ValueClassByLevel, PolicyClassByLevel)


def violating_classes(
    environment: Environment, rng: np.random.Generator, name: str, *, size: int = 128
) -> Classes:
    """Finite classes without one assumption; ValueError where none were found.

    Where ``name`` is a completeness, both realizabilities hold.
    """
    if name not in _CHANGES:
        raise ValueError(f"violate: {name!r} is none of {', '.join(_CHANGES)}")
    model = HiddenModel(environment)
    drawn = complete_classes(environment, rng, "both", size=size)
    for h in range(environment.horizon, 0, -1):
        q = model.gains(h, model.optimal(h + 1))
        for classes in _CHANGES[name](_Level(model, h, q, drawn, rng)):
            found = check_assumptions(environment, *classes, [name])[name]
            if found.holds is False:
                return classes
    raise ValueError(
        f"violate: no classes found that violate {name} on {environment.name!r} (there "
        "need not be any); take another seed, or more states and actions"
    )


@dataclass(frozen=True, eq=False)
class _Level:
    model: HiddenModel
    h: int
    q: NDArray[Any]
    drawn: Classes
    rng: np.random.Generator

    def with_values(self, rows: list[Any]) -> Classes:
        made = value_class(self.model, self.h, rows, self.rng)
        return _replaced(self.drawn[0], self.h, made), self.drawn[1]

    def with_policies(self, rows: list[Any]) -> Classes:
        made = policy_class(self.model, self.h, rows, self.rng)
        return self.drawn[0], _replaced(self.drawn[1], self.h, made)


def _without_values(at: _Level) -> Iterator[Classes]:
    right = tuple(at.q.max(axis=1).tolist())
    rows = [row for row in Values(at.model, at.drawn[0], at.h).rows if row != right]
    off = right[0] / 2 if right[0] else Fraction(1, 2)
    yield at.with_values(rows or [(off, *right[1:])])


def _without_policies(at: _Level) -> Iterator[Classes]:
    good = best(at.q)
    every = np.arange(len(at.q))
    table = Policies(at.model, at.drawn[1], at.h).rows
    rows = [tuple(row.tolist()) for row in table if not good[every, row].all()]
    yield at.with_policies(rows or [tuple(at.q.argmin(axis=1).tolist())])


def _only_values(at: _Level) -> Iterator[Classes]:
    yield at.with_values([tuple(at.q.max(axis=1).tolist())])


def _only_policies(at: _Level) -> Iterator[Classes]:
    model, right = at.model, tuple(at.q.argmax(axis=1).tolist())
    values, one = at.with_policies([right])
    yield values, one
    # Where that is not enough, later policies that are as bad as can be in some states.
    for _ in range(_ATTEMPTS):
        more = one
        ahead: Vector = ()
        for later in range(model.horizon, at.h, -1):
            gains = model.gains(later, ahead)
            flags = at.rng.integers(2, size=len(model.states(later)))
            bad = flags[model.owner(later)].astype(np.bool_)
            row = np.where(bad, gains.argmin(axis=1), gains.argmax(axis=1))
            ahead = model.averages(later, gains[np.arange(len(row)), row].tolist())
            table = Policies(model, more, later).rows
            rows = [tuple(r.tolist()) for r in (*table, row)]
            changed = policy_class(model, later, rows, at.rng)
            more = _replaced(more, later, changed)
        yield values, more


_ATTEMPTS = 20

_CHANGES: dict[str, Callable[..., Iterator[Classes]]] = {
    POLICY: _without_policies,
    VALUE: _without_values,
    POLICY_VALUE: _only_values,
    CLIPPED: _only_values,
    POLICY_COMPLETE: _only_policies,
}


def _replaced(classes: _ByLevel, h: int, by: Any) -> _ByLevel:
    levels = [by if i == h else c for i, c in enumerate(classes.classes, 1)]
    return type(classes)(levels)
