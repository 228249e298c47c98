"""Checkers of the assumptions, by name: realizability and completeness.

π* in Π and g* in G, at every level: exact for tabular and finite classes, any optimal
policy will do. Other classes over finite observations are asked through their oracles,
in floats. Completeness is decided exactly for tabular and finite classes: only averages
of a g' over the hidden states of level h+1, and vectors of values of later policies,
matter, and each is looked at once (tabular classes: docs/assumptions.md). Where there
are too many, the answer is False if some show a violation, else None.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes import PolicyClass, ValueClass
from ..environments.check import as_environment, check_class
from ..environments.finite import FiniteTruth
from ..environments.protocol import Environment
from ..exact.arrays import check_count, check_type
from ..exact.data import EmpiricalMeasure
from ..oracles.csc import csc
from ..oracles.least_squares import least_squares
from .members import (
    Assumption,
    Counterexample,
    Given,
    HiddenModel,
    Policies,
    Values,
    Vector,
    best,
)

_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Realizability:
    """Whether the two assumptions hold."""

    value: bool | None  # True, False, or None: the oracles cannot tell
    policy: bool | None
    reason: str = ""  # The first violation: which class, which level

    @property
    def holds(self) -> bool | None:
        """Both; None if neither is violated and one is unknown."""
        return _both(self.value, self.policy)


def realizability(
    environment: Environment, value_class: ValueClass, policy_class: PolicyClass
) -> Realizability:
    """Check both at every level: losses below 1e-12 are 0, g* of level 1 not asked."""
    value: bool | None = True
    policy: bool | None = True
    reason = ""
    for h in range(1, environment.horizon + 1):
        if environment.space(h).n_codes is None:
            return Realizability(None, None, "observations have no codes")
        answer = True if h == 1 else value_at_level(environment, value_class, h)
        if answer is False:
            reason = reason or f"value_class: g* of level {h} is not in it"
        value = _both(value, answer)
        answer = policy_at_level(environment, policy_class, h)
        if answer is False:
            reason = reason or f"policy_class: no optimal policy of level {h} in it"
        policy = _both(policy, answer)
    return Realizability(value, policy, reason)


def value_at_level(
    environment: Environment, value_class: ValueClass, level: int
) -> bool | None:
    """Whether g* of a level is in G, by least squares; None: it may be."""
    data, q = _observable(environment, level)
    best = q.max(axis=1)
    fit = least_squares(value_class.at_level(level), data, best, epsilon_sub=_TOLERANCE)
    return _verdict(fit.loss, fit.suboptimality)


def policy_at_level(
    environment: Environment, policy_class: PolicyClass, level: int
) -> bool | None:
    """Whether an optimal policy of a level is in Π, by CSC; None: it may be."""
    data, q = _observable(environment, level)
    costs = q.max(axis=1)[:, None] - q
    found = csc(policy_class.at_level(level), data, costs, epsilon_sub=_TOLERANCE)
    return _verdict(found.cost, found.suboptimality)


def _observable(
    environment: Environment, level: int
) -> tuple[EmpiricalMeasure, NDArray[np.float64]]:
    """Codes of reachable states, once each, and their Q*."""
    truth = environment.truth
    codes = np.arange(len(truth.q_values(level)))
    if isinstance(truth, FiniteTruth):
        emissions = truth.model.level(level).emissions[sorted(truth.reachable(level))]
        codes = np.flatnonzero(emissions.sum(axis=0))
    q = truth.q_values(level)[codes].astype(np.float64)
    return EmpiricalMeasure(codes), q


def _verdict(least: float, suboptimality: float) -> bool | None:
    if least - suboptimality > _TOLERANCE:
        return False
    return None if least > _TOLERANCE else True


def _both(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if None in (first, second) else True


POLICY = "policy-realizability"
VALUE = "value-realizability"

_Judged = Counterexample | bool | None


def policy_realizability(
    environment: Environment, policy_class: PolicyClass
) -> Assumption:
    """Check that Π_h has an optimal policy, for every level h, over finite codes."""

    def judge(model: HiddenModel, h: int, q: NDArray[Any]) -> _Judged:
        policies = Policies(model, policy_class, h)
        if policies.kind in ("tabular", "finite"):
            return policies.lacks(best(q)) or True
        return policy_at_level(environment, policy_class, h)

    missing = "Π_{h} has no optimal policy (by CSC)"
    unknown = "the CSC oracle of Π_{h} cannot tell"
    answers = missing, unknown, "Π has an optimal policy"
    return _at_every_level(POLICY, environment, judge, answers)


def value_realizability(
    environment: Environment, value_class: ValueClass
) -> Assumption:
    """Check that G_h has g*_h, for every level h, also the first, over finite codes."""

    def judge(model: HiddenModel, h: int, q: NDArray[Any]) -> _Judged:
        values = Values(model, value_class, h)
        if values.kind in ("tabular", "finite"):
            return values.lacks(q.max(axis=1).tolist()) or True
        return value_at_level(environment, value_class, h)

    missing = "G_{h} has no g* (by least squares)"
    unknown = "the least-squares oracle of G_{h} cannot tell"
    answers = missing, unknown, "G has g*"
    return _at_every_level(VALUE, environment, judge, answers)


def _at_every_level(
    name: str,
    environment: Environment,
    judge: Callable[[HiddenModel, int, NDArray[Any]], _Judged],
    answers: tuple[str, str, str],
) -> Assumption:
    model = HiddenModel.of(environment)
    if isinstance(model, str):
        return Assumption(name, None, model)
    missing, unknown, right = answers
    doubt = ""
    for h in range(1, model.horizon + 1):
        found = judge(model, h, model.gains(h, model.optimal(h + 1)))
        if isinstance(found, Counterexample):
            return Assumption(name, False, str(found), found)
        if found is False:
            return Assumption(name, False, missing.format(h=h))
        if found is None:
            doubt = doubt or unknown.format(h=h)
    return Assumption(name, None, doubt) if doubt else Assumption(name, True, right)


POLICY_VALUE = "policy-value-completeness"
POLICY_COMPLETE = "policy-completeness"
CLIPPED = "clipped-policy-value-completeness"  # ours: weaker than that

_MOST_ORDERS = 5040


def policy_value_completeness(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    *,
    clipped: bool = False,
) -> Assumption:
    """Check policy-value completeness (paper, appendix Additional Notation)."""
    name = CLIPPED if clipped else POLICY_VALUE
    model = HiddenModel.of(environment)
    if isinstance(model, str):
        return Assumption(name, None, model)
    search = _Search(model, clipped)
    for h in range(model.horizon, 0, -1):
        following = None
        if h < model.horizon:
            following = Values(model, value_class, h + 1)
        values = Values(model, value_class, h)
        found = search.at_level(h, following, values, Policies(model, policy_class, h))
        if found is not None:
            return Assumption(name, False, str(found), found)
    if search.outside is not None:
        reason = str(search.outside)
        if not search.doubts:
            reason += "; of functions to [0, 1] none is missing"
        return Assumption(name, False, reason, search.outside)
    if search.doubts:
        return Assumption(name, None, search.doubts[0])
    how = ", clipped to [0, 1]," if clipped else ""
    return Assumption(
        name, True, f"every backup of G{how} is in G, with its policy in Π"
    )


class _Search:
    """`outside`: a tabular class's first backup outside [0, 1]; `doubts`: undecided."""

    def __init__(self, model: HiddenModel, clipped: bool) -> None:
        self.model, self.clipped = model, clipped
        self.outside: Counterexample | None = None
        self.doubts: list[str] = []

    def at_level(
        self, h: int, following: Values | None, values: Values, policies: Policies
    ) -> Counterexample | None:
        for name, kind in ((f"G_{h}", values.kind), (f"Π_{h}", policies.kind)):
            if kind not in ("tabular", "finite"):
                self.doubts.append(f"{name} is a {kind}, neither tabular nor finite")
        if following is None:
            return self._backup(h, (), (), values, policies)
        if following.kind == "tabular":
            return self._after_tabular(h, values, policies)
        if following.kind != "finite":
            return None  # doubted at its own level
        seen: set[Vector] = set()
        for row in following.rows:
            vector = self.model.averages(h + 1, row)
            if vector not in seen:
                seen.add(vector)
                given: Given = ((h + 1, row),)
                found = self._backup(h, vector, given, values, policies)
                if found is not None:
                    return found
        return None

    def _backup(
        self, h: int, vector: Vector, given: Given, values: Values, policies: Policies
    ) -> Counterexample | None:
        gains = self.model.gains(h, vector)
        found = None
        if policies.kind in ("tabular", "finite"):
            found = policies.lacks(best(gains), given)
        if found is None and values.kind in ("tabular", "finite"):
            wanted = gains.max(axis=1).tolist()
            if self.clipped:
                wanted = [min(v, Fraction(1)) for v in wanted]
            found = values.lacks(wanted, given)
            if found is not None and found.nearest is None:
                self.outside = self.outside or found
                found = None
        return found

    def _after_tabular(
        self, h: int, values: Values, policies: Policies
    ) -> Counterexample | None:
        n = len(self.model.states(h + 1))
        least = self.model.rewards(h).max(axis=1).min()
        count = len(values.rows) if values.kind == "finite" else 0
        # These ask for n + 1 functions, of which a G_h of n lacks one, clipped or not.
        few = [(1 - least) * Fraction(i, max(1, count)) for i in range(count + 1)]
        constants = ((c,) * n for c in (Fraction(1), *few))
        found = self._first(h, constants, values, policies)
        if found is not None or policies.kind != "finite":
            return found
        if math.factorial(n) > _MOST_ORDERS:
            self.doubts.append(f"{n}! orders of the states of level {h + 1}: too many")
            return None
        orders = (
            tuple(Fraction(i, max(1, n - 1)) for i in order)
            for order in itertools.permutations(range(n))
        )
        found = self._first(h, orders, values, policies)
        if found is None and (
            self.model.rewards(h).any() or not self.model.moves_surely(h)
        ):
            self.doubts.append(
                f"G_{h + 1} is tabular, Π_{h} is finite and lacks nothing that was "
                f"tried, but level {h} has rewards or stochastic dynamics"
            )
        return found

    def _first(
        self, h: int, vectors: Iterable[Vector], values: Values, policies: Policies
    ) -> Counterexample | None:
        """Ask for what some functions of the hidden state need, until one lacks."""
        owner = self.model.owner(h + 1).tolist()
        for vector in vectors:
            given: Given = ((h + 1, tuple(vector[s] for s in owner)),)
            found = self._backup(h, vector, given, values, policies)
            if found is not None:
                return found
        return None


Vectors = dict[Vector, Given]  # With policies that attain them


def policy_completeness(
    environment: Environment, policy_class: PolicyClass, *, limit: int = 20_000
) -> Assumption:
    """Check policy completeness (paper, appendix Additional Notation)."""
    check_count("limit", limit)
    model = HiddenModel.of(environment)
    if isinstance(model, str):
        return Assumption(POLICY_COMPLETE, None, model)
    classes = [Policies(model, policy_class, h) for h in range(1, model.horizon + 1)]
    restricted = [h for h, c in enumerate(classes, 1) if c.kind != "tabular"]
    if not restricted:
        return Assumption(POLICY_COMPLETE, True, "Π is tabular at every level")
    later: Vectors = {(): ()}
    doubt = ""
    for h in range(model.horizon, restricted[0] - 1, -1):
        policies = classes[h - 1]
        if policies.kind not in ("tabular", "finite"):
            return Assumption(
                POLICY_COMPLETE,
                None,
                f"Π_{h} is a {policies.kind}, neither tabular nor finite",
            )
        found = _violation(model, h, policies, later)
        if found is not None:
            return Assumption(POLICY_COMPLETE, False, str(found), found)
        if h > restricted[0]:
            later, all_of_them = _attained(model, h, policies, later, limit)
            if not all_of_them:
                doubt = (
                    f"more than {limit} combinations at level {h}; no violation in "
                    "those looked at"
                )
    if doubt:
        return Assumption(POLICY_COMPLETE, None, doubt)
    return Assumption(
        POLICY_COMPLETE, True, "Π has a best answer to all that follows it"
    )


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


Checker = Callable[[Environment, ValueClass, PolicyClass], Assumption]

_CHECKERS: dict[str, Checker] = {
    POLICY: lambda env, _, policies: policy_realizability(env, policies),
    VALUE: lambda env, values, _: value_realizability(env, values),
    POLICY_VALUE: policy_value_completeness,
    POLICY_COMPLETE: lambda env, _, policies: policy_completeness(env, policies),
}
NAMES = tuple(_CHECKERS)  # The assumptions, in the order of the paper

_CHECKERS[CLIPPED] = partial(policy_value_completeness, clipped=True)


def check_assumptions(
    environment: Environment,
    value_class: ValueClass,
    policy_class: PolicyClass,
    names: Iterable[str] = NAMES,
) -> dict[str, Assumption]:
    """Check assumptions of an environment and classes.

    Examples
    --------
    >>> import numpy as np
    >>> from olivine.algorithms.learning.draw_classes import make_classes
    >>> from olivine.algorithms.environments import make
    >>> env = make("random-finite", 0)
    >>> found = check_assumptions(
    ...     env, *make_classes(env, "tabular", np.random.default_rng(0)))
    >>> [found[name].holds for name in NAMES]
    [True, True, False, True]
    """
    environment = as_environment(environment)
    check_class("value_class", value_class, ValueClass)
    check_class("policy_class", policy_class, PolicyClass)
    check_type("names", names, Iterable, "list of names")
    chosen = list(names)
    for name in chosen:
        if name not in _CHECKERS:
            raise ValueError(f"names: {name!r} is none of {', '.join(_CHECKERS)}")
    return {
        name: _CHECKERS[name](environment, value_class, policy_class) for name in chosen
    }
