"""Is a function in a class? Exactly, for tabular and for enumerated finite classes.

"For all x" means all observations of hidden states that some path reaches. Classes in
Fractions are compared exactly; for those in floats a wanted value is rounded first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..classes import (
    FinitePolicyClass,
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
)
from ..environments.finite import FiniteTruth, law
from ..environments.protocol import Environment

Vector = tuple[Fraction, ...]  # By reachable state
Row = tuple[Any, ...]  # A function as a table over the observable codes

_ZERO = Fraction(0)


class HiddenModel:
    """Exact one-step expectations of a finite environment.

    Tables have one row for each observable code of a level, in order of the codes;
    vectors one entry for each reachable hidden state. Levels are 1..H; level H+1 has no
    states. Raises ValueError if observations are not finite.

    Examples
    --------
    >>> from olivine.algorithms.environments import make
    >>> model = HiddenModel(make("tabular", 0, horizon=1))
    >>> bool(model.gains(1, ()).max() == make("tabular", 0, horizon=1)
    ...      .truth.optimal_value)
    True
    """

    def __init__(self, environment: Environment) -> None:
        truth = environment.truth
        levels = range(1, environment.horizon + 1)
        finite = all(environment.space(h).is_finite for h in levels)
        if not (finite and isinstance(truth, FiniteTruth)):
            raise ValueError(
                f"environment: observations of {environment.name!r} are not finite"
            )
        self._truth, self._model = truth, truth.model
        self.horizon = environment.horizon
        self.n_actions = environment.n_actions
        self._states = [*(sorted(truth.reachable(h)) for h in levels), []]
        self._codes: list[NDArray[np.int64]] = []
        self._emissions: list[list[list[tuple[int, Fraction]]]] = []
        self._weights: list[NDArray[Any]] = []
        self._rewards: list[NDArray[Any]] = []
        self._moves: list[list[list[list[tuple[int, Fraction]]]]] = []
        self._owner: list[NDArray[np.int64]] = []
        for h, level in enumerate(self._model.levels):
            states, ahead = self._states[h : h + 2]
            codes = np.flatnonzero(level.emissions[states].sum(axis=0))
            self._codes.append(codes.astype(np.int64))
            self._emissions.append([_shares(level.emissions[s], codes) for s in states])
            self._weights.append(level.emissions[:, codes].sum(axis=0).astype(object))
            self._rewards.append(level.mean_rewards[codes] / self._model.unit)
            self._owner.append(np.searchsorted(states, level.state_of_code[codes]))
            self._moves.append(
                [[_shares(row, ahead) for row in level.transitions[s]] for s in states]
            )

    @classmethod
    def of(cls, environment: Environment) -> Self | str:
        """Return the model, or why there is none."""
        try:
            return cls(environment)
        except ValueError as error:
            return str(error)

    def codes(self, level: int) -> NDArray[np.int64]:
        """Observable codes of a level, ascending."""
        return self._codes[level - 1]

    def n_codes(self, level: int) -> int:
        """Return the number of codes of a level, observable or not."""
        return self._model.level(level).n_codes

    def states(self, level: int) -> list[int]:
        """Reachable hidden states of a level 1..H+1, ascending."""
        return self._states[level - 1]

    def owner(self, level: int) -> NDArray[np.int64]:
        """For each observable code the position of its state among `states`."""
        return self._owner[level - 1]

    def shares(self, level: int, position: int) -> list[tuple[int, Fraction]]:
        """(Row of the table, probability) of what a state emits, ascending."""
        return self._emissions[level - 1][position]

    def successors(self, level: int, position: int) -> list[list[tuple[int, Fraction]]]:
        """For each action the (position, probability) of the next states."""
        return self._moves[level - 1][position]

    def moves_surely(self, level: int) -> bool:
        """Whether states of a level 1..H-1 lead to one state for each action."""
        return all(len(row) == 1 for moves in self._moves[level - 1] for row in moves)

    def rewards(self, level: int) -> NDArray[Any]:
        """E[r_h | x, a]: Fractions, shape (observable codes, K)."""
        return self._rewards[level - 1]

    def averages(self, level: int, table: Sequence[Any]) -> Vector:
        """E[g(x_h) | s] for each reachable state; () at level H+1."""
        if level == self.horizon + 1:
            return ()
        return tuple(
            sum((p * table[row] for row, p in shares), _ZERO)
            for shares in self._emissions[level - 1]
        )

    def gains(self, level: int, ahead: Vector) -> NDArray[Any]:
        """E[r_h + v(s_{h+1}) | x, a] for a vector v: shape (observable codes, K)."""
        moves = self._moves[level - 1]
        later = np.full((len(moves), self.n_actions), _ZERO, dtype=object)
        for s, a in np.ndindex(later.shape):
            later[s, a] = sum((p * ahead[t] for t, p in moves[s][a]), _ZERO)
        return np.asarray(self.rewards(level) + later[self.owner(level)])

    def optimal(self, level: int) -> Vector:
        """V*(s) for each reachable state of a level 1..H+1."""
        if level > self.horizon:
            return ()
        return tuple(self._truth.state_value(level, s) for s in self.states(level))

    def followed(
        self, level: int, gains: NDArray[Any], rows: NDArray[np.int64]
    ) -> dict[Vector, int]:
        """Distinct E[gains(x, π(x)) | s] of the policies ``rows``, each with a row."""
        scale = math.lcm(*(v.denominator for v in gains.ravel().tolist()))
        whole = (gains * scale).astype(object)
        for cell in np.ndindex(whole.shape):
            whole[cell] = int(whole[cell])
        weights = self._weights[level - 1]
        if int(weights.sum()) * max(map(abs, whole.ravel().tolist())) < 2**62:
            whole, weights = whole.astype(np.int64), weights.astype(np.int64)
        weighted = whole[np.arange(len(whole)), rows] * weights
        owner = self.owner(level)
        states = range(len(self.states(level)))
        sums = [weighted[:, owner == s].sum(axis=1).tolist() for s in states]
        totals = [scale * int(weights[owner == s].sum()) for s in states]
        first: dict[tuple[int, ...], int] = {}
        for i, key in enumerate(zip(*sums, strict=True)):
            first.setdefault(key, i)
        return {
            tuple(Fraction(v, t) for v, t in zip(key, totals, strict=True)): i
            for key, i in first.items()
        }


def best(gains: NDArray[Any]) -> NDArray[np.bool_]:
    """Which actions attain the maximum of each row, shape as ``gains``."""
    return np.asarray(gains == gains.max(axis=1)[:, None], dtype=np.bool_)


def evaluated(gains: NDArray[np.object_], actions: NDArray[np.int64]) -> Row:
    """Give what a policy gains at each observable code."""
    return tuple(gains[np.arange(len(gains)), actions].tolist())


def _shares(
    weights: NDArray[np.int64], among: Sequence[int] | NDArray[np.int64]
) -> list[tuple[int, Fraction]]:
    """Places in an ascending list, and probabilities."""
    return [(int(np.searchsorted(among, i)), p) for i, p in law(weights)]


Missing = Literal["value", "policy"]


@dataclass(frozen=True)
class Counterexample:
    """A function that an assumption asks for and a class lacks."""

    missing: Missing  # Whether a value function of G or a policy of Π is missing
    level: int  # h of the class that lacks it, 1..H
    codes: tuple[int, ...]  # observable; tables are over these
    wanted: tuple[Any, ...]  # the missing function, or all actions that would do
    observation: int  # where the nearest member is wrong first, and its state
    state: int
    nearest: Fraction | float | int | None  # there; None: all are out of [0, 1]
    # By level: g' of level h+1, or the later policies; empty for g* or π*
    given: tuple[tuple[int, tuple[Any, ...]], ...] = ()

    def __str__(self) -> str:
        name = f"{'G' if self.missing == 'value' else 'Π'}_{self.level}"
        where = f"observation {self.observation} (hidden state {self.state})"
        at = self.wanted[self.codes.index(self.observation)]
        if self.missing == "policy":
            need = f"action {' or '.join(map(str, at))}"
        else:
            need = f"value {_word(at)}"
        if self.nearest is None:
            short = f"{need} at {where} is outside [0, 1]"
        else:
            short = f"{need} needed at {where}, the nearest member has "
            short += _word(self.nearest)
        given = ""
        if self.given:
            letter = "g'" if self._given_kind == "value" else "π"
            tables = ", ".join(
                f"{letter}_{h} = [{_listed(row)}]" for h, row in self.given
            )
            given = f" for {tables}"
        kind = "value function" if self.missing == "value" else "policy"
        return f"{name} lacks a {kind}{given}: {short}"

    @property
    def _given_kind(self) -> Missing:
        exact = any(isinstance(v, Fraction) for _, row in self.given for v in row)
        return "value" if exact else "policy"

    def to_json(self) -> dict[str, Any]:
        """Plain values; Fractions as strings."""
        return {
            "missing": self.missing,
            "level": self.level,
            "codes": list(self.codes),
            "wanted": [_plain(v) for v in self.wanted],
            "observation": self.observation,
            "state": self.state,
            "nearest": _plain(self.nearest),
            "given": {str(h): [_plain(v) for v in row] for h, row in self.given},
        }


_SHOWN = 12
_LARGE = 10**6


def _listed(row: tuple[Any, ...]) -> str:
    rest = " ..." if len(row) > _SHOWN else ""
    return " ".join(map(_word, row[:_SHOWN])) + rest


def _word(value: Any) -> str:
    if isinstance(value, Fraction) and value.denominator > _LARGE:
        return f"{float(value):.6g}..."
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Assumption:
    """Whether an assumption holds of an environment and classes."""

    name: str  # As in the registry of algorithms, say "policy-completeness"
    holds: bool | None  # None: not decided, `reason` says why
    reason: str  # One sentence
    counterexample: Counterexample | None = None  # where it fails

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        example = self.counterexample
        return {
            "holds": self.holds,
            "reason": self.reason,
            "counterexample": None if example is None else example.to_json(),
        }


Given = tuple[tuple[int, tuple[Any, ...]], ...]


class _Members:
    """A class on the codes of level h; `kind`: "tabular", "finite" or another one."""

    missing: Missing

    def __init__(self, model: HiddenModel, given: Any, level: int) -> None:
        self._model, self._level = model, level
        self._class: Any = given.at_level(level)
        self._codes = self._class.admit(model.codes(level))
        self.kind = type(self._class).__name__
        if isinstance(self._class, TabularValueClass | TabularPolicyClass):
            self.kind = "tabular"
        elif isinstance(self._class, FiniteValueClass | FinitePolicyClass):
            self.kind = "finite"

    def _example(
        self, wanted: tuple[Any, ...], row: int, nearest: Any, given: Given
    ) -> Counterexample:
        model, level = self._model, self._level
        codes = tuple(model.codes(level).tolist())
        state = model.states(level)[int(model.owner(level)[row])]
        return Counterexample(
            self.missing, level, codes, wanted, codes[row], state, nearest, given
        )


class Values(_Members):
    """G_h."""

    missing = "value"

    @cached_property
    def _exact(self) -> bool:
        tables = (getattr(m, "exact", None) for m in self._class.members)
        return all(table is not None for table in tables)

    @cached_property
    def rows(self) -> list[tuple[Fraction, ...]]:
        """Members without repetition (a finite class): floats as they are."""
        found: dict[tuple[Fraction, ...], None] = {}
        for member in self._class.members:
            exact: Any = getattr(member, "exact", None)
            if exact is None:
                found[tuple(map(Fraction, member(self._codes).tolist()))] = None
            else:
                found[tuple(exact[x] for x in self._codes)] = None
        return list(found)

    @cached_property
    def _set(self) -> frozenset[tuple[Any, ...]]:
        return frozenset(self.rows)

    def _rounded(self, wanted: Sequence[Fraction]) -> tuple[Fraction, ...]:
        if self._exact:
            return tuple(wanted)
        return tuple(Fraction(float(v)) for v in wanted)

    def lacks(
        self, wanted: Sequence[Fraction], given: Given = ()
    ) -> Counterexample | None:
        """Show that a function is not in the tabular or finite class; None if it is."""
        if self.kind == "tabular":
            bad = [i for i, v in enumerate(wanted) if not 0 <= v <= 1]
            return self._example(tuple(wanted), bad[0], None, given) if bad else None
        target = self._rounded(wanted)
        if target in self._set:
            return None
        nearest = max(
            self.rows,
            key=lambda row: sum(u == v for u, v in zip(row, target, strict=True)),
        )
        wrong = [u != v for u, v in zip(nearest, target, strict=True)].index(True)
        value = nearest[wrong] if self._exact else float(nearest[wrong])
        return self._example(tuple(wanted), wrong, value, given)


class Policies(_Members):
    """Π_h."""

    missing = "policy"

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Members without repetition (a finite class), shape (members, codes)."""
        table = self._class.evaluate_all(self._codes)
        _, first = np.unique(table, axis=0, return_index=True)
        return np.asarray(table[np.sort(first)], dtype=np.int64)

    def lacks(
        self, allowed: NDArray[np.bool_], given: Given = ()
    ) -> Counterexample | None:
        """Show that no policy stays within ``allowed`` (codes, K); None if one does."""
        if self.kind == "tabular":
            return None
        within = allowed[np.arange(len(allowed)), self.rows]
        counts = within.sum(axis=1)
        nearest = int(counts.argmax())
        if counts[nearest] == len(allowed):
            return None
        row = int(within[nearest].argmin())
        wanted = tuple(tuple(np.flatnonzero(a).tolist()) for a in allowed)
        action = int(self.rows[nearest, row])
        return self._example(wanted, row, action, given)
