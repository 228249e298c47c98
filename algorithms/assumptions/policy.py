"""Policy completeness, decided exactly for tabular and finite classes.

The assumption asks, for every level h and every non-stationary policy
π_{h+1:H}, that Π_h has a policy π with π(x) in argmax_a E[r_h + ... + r_H | x, a,
a_{h+1:H} ~ π_{h+1:H}] for all x. The π_{h+1:H} are those an algorithm may hold:
of Π_{h+1} × ... × Π_H.

There are exponentially many, but only the vector of their values V^π(s) over the
hidden states of level h+1 matters. The vectors are collected level by level, from
the last one, equal ones once. A tabular Π_h has every policy, and its vectors are
products over the hidden states. Where there are too many, the answer is False if
those collected show a violation, and None if not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes import PolicyClass
from ..environments.protocol import Environment
from ..exact.numbers import check_count
from .hidden import HiddenModel, Vector, best
from .members import Assumption, Given, Policies

NAME = "policy-completeness"

Vectors = dict[Vector, Given]
"""Value vectors of a level, each with the policies of that level on that attain it."""


def policy_completeness(
    environment: Environment, policy_class: PolicyClass, *, limit: int = 20_000
) -> Assumption:
    """Check policy completeness (paper, appendix Additional Notation).

    Raises ValueError if the class does not admit the environment's observations, or the
    limit is below 1.
    """
    check_count("limit", limit)
    try:
        model = HiddenModel(environment)
    except ValueError as error:
        return Assumption(NAME, None, str(error))
    classes = [Policies(model, policy_class, h) for h in range(1, model.horizon + 1)]
    restricted = [h for h, c in enumerate(classes, 1) if c.kind != "tabular"]
    if not restricted:
        return Assumption(NAME, True, "Π is tabular at every level")
    later: Vectors = {(): ()}
    doubt = ""
    for h in range(model.horizon, restricted[0] - 1, -1):
        policies = classes[h - 1]
        if policies.kind not in ("tabular", "finite"):
            return Assumption(
                NAME, None, f"Π_{h} is a {policies.kind}, neither tabular nor finite"
            )
        found = _violation(model, h, policies, later)
        if found is not None:
            return Assumption(NAME, False, str(found), found)
        if h > restricted[0]:
            later, all_of_them = _attained(model, h, policies, later, limit)
            if not all_of_them:
                doubt = (
                    f"more than {limit} combinations at level {h}; no violation in "
                    "those looked at"
                )
    if doubt:
        return Assumption(NAME, None, doubt)
    return Assumption(NAME, True, "Π has a best answer to all that follows it")


def _violation(
    model: HiddenModel, h: int, policies: Policies, later: Mapping[Vector, Given]
) -> Any:
    seen: set[bytes] = set()
    for vector, given in later.items() if policies.kind == "finite" else ():
        allowed = best(model.gains(h, vector))
        if allowed.tobytes() not in seen:
            seen.add(allowed.tobytes())
            found = policies.lacks(allowed, given)
            if found is not None:
                return found
    return None


def _attained(
    model: HiddenModel, h: int, policies: Policies, later: Vectors, limit: int
) -> tuple[Vectors, bool]:
    """Value vectors of level h, and whether these are all."""
    vectors: Vectors = {}
    looked = 0
    for ahead, given in later.items():
        gains = model.gains(h, ahead)
        if policies.kind == "finite":
            rows = policies.rows[: limit - looked]
            for vector, i in model.followed(h, gains, rows).items():
                vectors.setdefault(vector, ((h, tuple(rows[i].tolist())), *given))
            if len(rows) < len(policies.rows):
                return vectors, False
            looked += len(rows)
            continue
        for vector, row in _tabular_choices(model, h, gains, limit):
            looked += 1
            if looked > limit:
                return vectors, False
            vectors.setdefault(vector, ((h, tuple(row)), *given))
    return vectors, True


def _tabular_choices(
    model: HiddenModel, h: int, gains: NDArray[Any], limit: int
) -> Iterator[tuple[Vector, list[int]]]:
    """Vectors of all policies: products over states of the values each can have."""
    owner = model.owner(h)
    local = []
    for s in range(len(model.states(h))):
        rows = np.flatnonzero(owner == s)
        shares = model.shares(h, s)
        sums: dict[Fraction, tuple[int, ...]] = {Fraction(0): ()}
        for x, p in shares:
            sums = {
                value + p * gain: (*actions, a)
                for value, actions in itertools.islice(sums.items(), limit + 1)
                for a, gain in enumerate(gains[x].tolist())
            }
        local.append((rows, list(sums.items())))
    for chosen in itertools.product(*(options for _, options in local)):
        row = np.zeros(len(owner), dtype=np.int64)
        for (rows, _), (_, actions) in zip(local, chosen, strict=True):
            row[rows] = actions
        yield tuple(value for value, _ in chosen), row.tolist()
