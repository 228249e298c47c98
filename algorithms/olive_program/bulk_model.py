"""OLIVE's program of a large MDP as a model, in arrays.

The variables and rows of `model`, sort by sort (`olivine.solvers.model.large`), as
64-bit integers over common denominators (`fits`).
"""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solvers.model import Sense
from ...solvers.model.large import CHUNK, LargeModel, Names, Rows, offsets
from ..exact.arrays import fits_int64, gather, magnitude, segment_sums
from .program import Form, OliveProgram, action_classes, backup_range, bellman_rows

Ints = NDArray[Any]

_ONE = Fraction(1)


def fits(program: OliveProgram) -> bool:
    """Whether 64 bits hold every number of the model over its common denominator."""
    flat, mdp = program.distributions, program.mdp
    if object in (flat.numerators.dtype, flat.denominators.dtype):
        return False
    ends, _ = program.upper_kinds()
    shares, rewards = magnitude(flat.denominators), _over(mdp.reward_table)
    most = max(magnitude(mdp.transition_denominator), 1)
    return fits_int64(
        max(
            2 * shares * _common(mdp.transition_denominator),
            shares * max(rewards[1], *map(abs, rewards[0])) if rewards[0] else 0,
            most * max(map(abs, (*_over(ends)[0], _over(ends)[1]))),
        )
    )


def bulk_model(
    program: OliveProgram, form: Form
) -> tuple[LargeModel, *tuple[MutableMapping[Any, Any], ...]]:
    """Write a program as a model, with the four maps of `model.ProgramModel`."""
    builder = _Builder(program, form == "q-function")
    return builder.model, *builder.maps()


class _Builder:
    def __init__(self, program: OliveProgram, with_q: bool) -> None:
        self._program, self._mdp, self._with_q = program, program.mdp, with_q
        self.model = LargeModel("olive")
        self._ends, kinds = program.upper_kinds()
        n = self._mdp.n_states
        self._range = np.zeros(n, dtype=np.int64) if kinds is None else kinds
        self._value = np.full(n, -1, dtype=np.int64)
        self._backup = np.full(n, -1, dtype=np.int64)
        support = np.zeros(n, dtype=np.bool_)
        support[program.distributions.states] = True
        self._needed = self._add_values(support)
        choosing = support.copy()
        choosing[self._mdp.start] |= with_q
        self._all = np.flatnonzero(choosing)
        # States with several distinct actions, their number, and these actions
        self._states, self._counts, self._actions = self._distinct(self._all)
        self._owner = np.repeat(np.arange(len(self._states)), self._counts)
        self._backed = support[self._states]
        names = self._mdp.state_names, self._mdp.action_names
        self._each = names, (self._states[self._owner], self._actions)
        self._add_choices()
        self._add_switches()
        self._add_constraints()
        start = int(self._value[self._mdp.start])
        self.model.set_objective([start], [1], maximise=True)

    def maps(self) -> tuple[MutableMapping[Any, Any], ...]:
        bounds, offset = offsets(self._counts).tolist(), self._mdp.action_offset

        def by_action(first: Ints) -> dict[int, dict[int, int]]:
            local = (self._actions - offset[self._states][self._owner]).tolist()
            pairs = list(zip(local, first.tolist(), strict=True))
            return {
                state: dict(pairs[bounds[k] : bounds[k + 1]])
                for k, state in enumerate(self._states.tolist())
            }

        def q_values() -> dict[tuple[int, int], int]:
            chosen = by_action(self._f)
            return {
                (state, local): variable
                for state in self._all.tolist()
                for local, variable in chosen.get(
                    state, {0: int(self._value[state])}
                ).items()
            }

        backed = self._states[self._backed]
        return (
            Late(lambda: _pairs(self._needed, self._value[self._needed])),
            Late(lambda: by_action(self._taken)),
            Late(q_values) if self._with_q else {},
            Late(lambda: _pairs(backed, self._backup[backed])),
        )

    def _add_values(self, support: NDArray[np.bool_]) -> Ints:
        mdp, needed = self._mdp, support.copy()
        needed[mdp.start] = True
        actions, _ = gather(mdp.action_offset, np.flatnonzero(support))
        entries, _ = gather(mdp.transition_offset, actions)
        needed[mdp.transition_target[entries]] = True
        states = np.flatnonzero(needed)
        kinds = self._kinds([(self._program.lower, end) for end in self._ends])
        names = _Named("g(%s)", (mdp.state_names,), (states,))
        first = self.model.variables.add(kinds[self._range[states]], names)
        self._value[states] = first + np.arange(len(states))
        return states

    def _kinds(self, ranges: list[tuple[Fraction, Fraction]]) -> Ints:
        kind_of = self.model.variables.kind_of
        return np.array([kind_of(*ends, False) for ends in ranges], dtype=np.int64)

    def _distinct(self, states: Ints) -> tuple[Ints, Ints, Ints]:
        """States with several distinct actions, by hash first; how many; which."""
        mdp = self._mdp
        states = states[mdp.action_counts[states] > 1]
        actions, bounds = gather(mdp.action_offset, states)
        counts = np.diff(bounds)
        owner = np.repeat(np.arange(len(states)), counts)
        marks = self._hashes(actions)
        order = np.lexsort((marks, owner))
        same = (np.diff(marks[order]) == 0) & (np.diff(owner[order]) == 0)
        kept = np.ones(len(actions), dtype=np.bool_)
        for k in np.unique(owner[order[1:][same]]).tolist():
            classes = action_classes(mdp, int(states[k]))
            kept[bounds[k] : bounds[k + 1]] = [
                c == local for local, c in enumerate(classes)
            ]
        counts = np.bincount(owner[kept], minlength=len(states))
        several = counts > 1
        return states[several], counts[several], actions[kept & several[owner]]

    def _hashes(self, actions: Ints) -> NDArray[np.uint64]:
        mdp = self._mdp
        entries, bounds = gather(mdp.transition_offset, actions)
        shares = mdp.transition_numerator[entries]
        filled = bounds[:-1] < bounds[1:]
        starts = bounds[:-1][filled]
        sums = np.zeros(len(actions), dtype=np.uint64)
        if len(starts):
            divisors = np.gcd.reduceat(shares, starts)
            shares = shares // np.repeat(divisors, np.diff(bounds)[filled])
            marks = mixed(mdp.transition_target[entries]) * mixed(shares)
            sums[filled] = np.add.reduceat(mixed(marks), starts)
        rewards, _ = _over(mdp.reward_table)
        _, equal = np.unique(np.array(rewards), return_inverse=True)
        return sums + mixed(equal[mdp.reward_index[actions]])

    def _add_choices(self) -> None:
        """π(x,·) and f(x,·) with the rows over these and g(x)."""
        variables, rows = self.model.variables, self.model.rows
        k, places = len(self._actions), np.arange(len(self._actions))
        binary = variables.kind_of(Fraction(0), _ONE, True)
        names = _Named("pi(%s,%s)", *self._each)
        self._taken = places + variables.add(np.full(k, binary), names)
        choice = _Named("choice(%s)", (self._mdp.state_names,), (self._states,))
        bounds, zeros = offsets(self._counts), np.zeros(k, dtype=np.uint8)
        sides: list[tuple[Sense, Fraction]] = [("==", _ONE)]
        side = np.zeros(len(self._states), dtype=np.uint8)
        rows.add(_rows(bounds, self._taken, zeros, [_ONE], side, sides, choice))
        if not self._with_q:
            return
        own = self._range[self._states][self._owner]
        lower = self._program.lower
        kinds = self._kinds([(lower, end) for end in self._ends])
        names = _Named("f(%s,%s)", *self._each)
        self._f = places + variables.add(kinds[own], names)
        columns = [self._value[self._states][self._owner], self._f, self._taken]
        widths = [end - lower for end in self._ends]
        above: list[tuple[Sense, Fraction]] = [(">=", Fraction(0))] * len(widths)
        below: list[tuple[Sense, Fraction]] = [("<=", width) for width in widths]
        for width, text, ends in ((2, "maximum", above), (3, "greedy", below)):
            codes = np.column_stack([0 * own, 0 * own + 1, 2 + own][:width])
            rows.add(
                _rows(
                    width * np.arange(k + 1),
                    np.column_stack(columns[:width]).ravel(),
                    codes.ravel(),
                    [_ONE, -_ONE, *widths],
                    own,
                    ends,
                    _Named(f"{text}(%s,%s)", *self._each),
                )
            )

    def _add_switches(self) -> None:
        """b(x), the value of the backup of the chosen action, by big-M rows."""
        on = self._backed[self._owner]
        actions = self._actions[on]
        kinds, terms = self._terms(actions)
        counts, states = self._counts[self._backed], self._states[self._backed]
        which, pairs = self._ranges(states, counts, kinds, terms)
        names = _Named("backup(%s)", (self._mdp.state_names,), (states,))
        first = self.model.variables.add(self._kinds(pairs)[which], names)
        self._backup[states] = first + np.arange(len(states))
        of = np.repeat(np.arange(len(states)), counts)
        both = np.column_stack([which[of], kinds])
        places, key = distinct_rows(both)
        cases = [(pairs[p], terms[kind]) for p, kind in both[places].tolist()]
        entries, bounds = gather(self._mdp.transition_offset, actions)
        successors = self._value[self._mdp.transition_target[entries]]
        shares = np.column_stack(
            [
                self._mdp.transition_numerator[entries],
                np.repeat(self._mdp.transition_denominator[actions], np.diff(bounds)),
            ]
        )
        places, codes = distinct_rows(shares)
        minus = [Fraction(-a, b) for a, b in shares[places].tolist()]
        heads = np.column_stack([first + of, self._taken[on]])
        (state_names, action_names), (owners, _) = self._each
        cuts: tuple[tuple[Sense, str, int], ...] = (
            ("<=", "above", 1),
            (">=", "below", -1),
        )
        for sense, text, sign in cuts:
            rooms = [
                high - t.low if sign > 0 else t.high - low for (low, high), t in cases
            ]
            positive = np.array([room > 0 for room in rooms], dtype=np.bool_)
            chosen = np.flatnonzero(positive[key])  # else the row could never cut
            own, parts = gather(bounds, chosen)
            fixed = np.column_stack([np.zeros_like(chosen), 1 + key[chosen]])
            indptr, indices = _joined(heads[chosen], successors[own], parts)
            _, numbers = _joined(fixed, 1 + len(rooms) + codes[own], parts)
            named = owners[on][chosen], actions[chosen]
            self.model.rows.add(
                _rows(
                    indptr,
                    indices,
                    numbers,
                    [_ONE, *(sign * room for room in rooms), *minus],
                    key[chosen],
                    [
                        (sense, t.reward + sign * room)
                        for room, (_, t) in zip(rooms, cases, strict=True)
                    ],
                    _Named(f"{text}(%s,%s)", (state_names, action_names), named),
                )
            )

    def _terms(self, actions: Ints) -> tuple[Ints, list[_Term]]:
        mdp, lower = self._mdp, self._program.lower
        ends, scale = _over(self._ends)
        entries, bounds = gather(mdp.transition_offset, actions)
        most = np.array(ends)[self._range[mdp.transition_target[entries]]]
        table = np.column_stack(
            [
                mdp.reward_index[actions],
                mdp.transition_denominator[actions],
                segment_sums(mdp.transition_numerator[entries] * most, bounds),
                np.diff(bounds) > 0,
            ]
        )
        places, which = distinct_rows(table)
        terms = []
        for index, whole, greatest, future in table[places].tolist():
            reward = mdp.reward_table[index]
            high = reward + Fraction(greatest, whole * scale)
            terms.append(_Term(reward, reward + future * lower, high))
        return which, terms

    def _ranges(
        self, states: Ints, counts: Ints, kinds: Ints, terms: list[_Term]
    ) -> tuple[Ints, list[tuple[Fraction, Fraction]]]:
        """Which range the backup of each state has, and the ranges."""
        if not len(states):
            return np.zeros(0, dtype=np.int64), []
        starts = offsets(counts)[:-1]
        lows, low = _ranked([t.low for t in terms])
        highs, high = _ranked([t.high for t in terms])
        shares, alone = self._alone()
        table = np.column_stack(
            [
                np.minimum.reduceat(low[kinds], starts),
                np.maximum.reduceat(high[kinds], starts),
                alone[states],
                self._range[states],
            ]
        )
        places, which = distinct_rows(table)
        ranges = []
        for k, (least, greatest, single, _) in zip(
            places.tolist(), table[places].tolist(), strict=True
        ):
            only = shares[single] if single >= 0 else None
            ends = lows[least], highs[greatest]
            ranges.append(backup_range(self._program, int(states[k]), ends, only))
        return which, ranges

    def _alone(self) -> tuple[list[Fraction], Ints]:
        """Find the largest share of each state in a distribution over it alone."""
        flat = self._program.distributions
        single = np.flatnonzero(np.diff(flat.offsets) == 1)
        entries = flat.offsets[single]
        table = np.column_stack([flat.numerators[entries], flat.denominators[single]])
        places, which = distinct_rows(table)
        shares, rank = _ranked([Fraction(a, b) for a, b in table[places].tolist()])
        codes = np.full(self._mdp.n_states, -1, dtype=np.int64)
        np.maximum.at(codes, flat.states[entries], rank[which])
        return shares, codes

    def _add_constraints(self) -> None:
        """|E_D[g(x) − b(x)]| ≤ φ; the backup of an x without b(x) is written out."""
        flat, mdp = self._program.distributions, self._mdp
        scale = _common(mdp.transition_denominator)
        owner = np.repeat(np.arange(len(flat)), np.diff(flat.offsets))
        states, shares = flat.states, flat.numerators
        backed = self._backup[states] >= 0
        actions = mdp.action_offset[states[~backed]]
        entries, bounds = gather(mdp.transition_offset, actions)
        of = np.repeat(np.arange(len(actions)), np.diff(bounds))
        part = mdp.transition_numerator[entries]
        part = part * (scale // mdp.transition_denominator[actions])[of]
        row = np.concatenate([owner, owner[backed], owner[~backed][of]])
        variable = np.concatenate(
            [
                self._value[states],
                self._backup[states[backed]],
                self._value[mdp.transition_target[entries]],
            ]
        )
        number = np.concatenate(
            [shares * scale, -shares[backed] * scale, -shares[~backed][of] * part]
        )
        order = np.lexsort((variable, row))
        row, variable, number = row[order], variable[order], number[order]
        new = (np.diff(row, prepend=-1) != 0) | (np.diff(variable, prepend=-1) != 0)
        places = np.flatnonzero(new)
        row, variable = row[places], variable[places]
        if len(places):
            number = np.add.reduceat(number, places)
        row, variable, number = (x[number != 0] for x in (row, variable, number))
        table = np.column_stack([number, flat.denominators[row]])
        places, codes = distinct_rows(table)
        values = [Fraction(a, b * scale) for a, b in table[places].tolist()]
        rewards, common = _over(mdp.reward_table)
        earned = np.zeros(len(shares), dtype=np.int64)
        earned[~backed] = np.array(rewards)[mdp.reward_index[actions]]
        sums = segment_sums(earned * shares, flat.offsets)
        table = np.column_stack([sums, flat.denominators])
        places, side = distinct_rows(table)
        means = [Fraction(a, b * common) for a, b in table[places].tolist()]
        indptr = offsets(np.bincount(row, minlength=len(flat)))
        sides = [bellman_rows(self._program.tolerance, -mean) for mean in means]
        signs = bellman_rows(self._program.tolerance, Fraction(0))
        for k, (_, _, sign) in enumerate(signs):
            ends = [(found[k][0], found[k][1]) for found in sides]
            numbers: tuple[Ints, ...] = (np.arange(len(flat)),)
            names = _Named(f"bellman(%d){sign}", (range(len(flat)),), numbers)
            rows = _rows(indptr, variable, codes, values, side, ends, names)
            self.model.rows.add(rows)


@dataclass(frozen=True)
class _Term:
    """What actions of a kind earn, and the range of what they are worth."""

    reward: Fraction
    low: Fraction
    high: Fraction


class Late(UserDict[Any, Any]):
    """A dictionary that is made when it is first read."""

    def __init__(self, make: Callable[[], dict[Any, Any]]) -> None:
        self._make = make

    @cached_property
    def data(self) -> dict[Any, Any]:  # type: ignore[override]
        """Make it."""
        return self._make()


@dataclass(frozen=True, eq=False)
class _Named:
    """Names with the names of states and actions in them, made some at a time."""

    text: str
    names: tuple[Sequence[Any], ...]
    places: tuple[Ints, ...]  # Of each of `names`, arrays of one length

    def __call__(self) -> Iterator[str]:
        for k in range(0, len(self.places[0]), CHUNK):
            columns = [
                _taken(names, places[k : k + CHUNK])
                for names, places in zip(self.names, self.places, strict=True)
            ]
            yield from map(self.text.__mod__, zip(*columns, strict=True))


def _taken(names: Sequence[Any], places: Ints) -> list[Any]:
    """Choose names; those of neighbours are asked for together."""
    first, last = int(places.min()), int(places.max()) + 1
    if last - first > 2 * len(places):
        return [names[i] for i in places.tolist()]
    near = names[first:last]
    return [near[i] for i in (places - first).tolist()]


def _rows(
    indptr: Ints,
    indices: Ints,
    codes: Ints,
    values: Sequence[Fraction],
    side: Ints,
    sides: Sequence[tuple[Sense, Fraction]],
    names: Names,
) -> Rows:
    kind = np.min_scalar_type(len(values))
    indices, side = indices.astype(np.int32), side.astype(np.int32)
    return Rows(indptr, indices, codes.astype(kind), values, side, sides, names)


def _joined(heads: Ints, rest: Ints, bounds: Ints) -> tuple[Ints, Ints]:
    """Put a line of `heads` before each segment of `rest`; bounds and entries."""
    k, width = heads.shape
    found = np.empty(k * width + len(rest), dtype=np.int64)
    indptr = bounds + width * np.arange(k + 1)
    found[indptr[:-1, None] + np.arange(width)] = heads
    shift = np.repeat(width * np.arange(1, k + 1), np.diff(bounds))
    found[np.arange(len(rest)) + shift] = rest
    return indptr, found


def _pairs(keys: Ints, values: Ints) -> dict[int, int]:
    return dict(zip(keys.tolist(), values.tolist(), strict=True))


def _common(denominators: Ints) -> int:
    return math.lcm(*np.unique(denominators).tolist())


def _over(numbers: Iterable[Fraction]) -> tuple[list[int], int]:
    listed = list(numbers)
    scale = math.lcm(*(number.denominator for number in listed))
    return [int(number * scale) for number in listed], scale


def _ranked(numbers: list[Fraction]) -> tuple[list[Fraction], Ints]:
    """Distinct numbers in order, and the place of each among them."""
    ordered = sorted(set(numbers))
    place = {number: k for k, number in enumerate(ordered)}
    return ordered, np.array([place[number] for number in numbers], dtype=np.int64)


def distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """First place of each kind of row, each row's kind: by hash, then compared."""
    marks = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        marks = mixed(marks) + column.astype(np.uint64)
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    if not (table == table[first][which]).all():  # two kinds with the same mark
        _, first, which = np.unique(
            table, axis=0, return_index=True, return_inverse=True
        )
    return first, which.ravel()


def mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Scatter numbers over 64 bits (SplitMix64's finaliser)."""
    bits = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
