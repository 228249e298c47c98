"""OLIVE's program of a large MDP as a model, each kind of action written once.

The same model as `olivine.algorithms.olive.model` builds state by state, down to the
order of rows and variables. Of a million states there are few kinds: two actions with
equal rewards, probabilities and ranges of their successors have rows that differ in
the variables alone. So the rows of the first of a kind are computed exactly, by the
code that the small models use, and the others are copies of them
(`olivine.solvers.model.flat_model`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...solvers.model.flat_model import (
    FlatModel,
    Kind,
    Numbered,
    Shape,
    kind_of,
    narrow,
    row_kind,
)
from ...solvers.model.model import LinearModel
from ..exact.arrays import gather
from .backups import action_classes, backup_range
from .bulk_kinds import (
    Actions,
    Alone,
    distinct_rows,
    mixed,
    ranks,
)
from .bulk_names import (
    Choices,
    Ints,
    Late,
    StateNames,
)
from .pair_model import (
    ProgramModel,
    add_exact_constraint,
    bellman_rows,
    error_terms,
    switch_rows,
)
from .program import Form, OliveProgram

_STATES = 4096
"""States that are worked on at a time."""
_FEW = 3
"""States of a distribution, at most, whose constraint may be one of a kind."""
_ZERO, _ONE = Fraction(0), Fraction(1)


def bulk_model(program: OliveProgram, form: Form) -> ProgramModel:
    """Write a program as a model; see `olivine.algorithms.olive.model`."""
    builder = _Builder(program, form)
    built = builder.built
    del builder.built  # no circle: who keeps the rows alone lets the MDP go
    return built


class _Builder:
    """Builds the model block by block."""

    def __init__(self, program: OliveProgram, form: Form) -> None:
        self._program, self._mdp = program, program.mdp
        self._with_q = form == "q-function"
        model = FlatModel("olive")
        self._rows = model.rows
        self._variables = model.variables
        self._actions = Actions(program)
        self._ends, self._range_of = program.upper_kinds()
        self._texts: dict[int, tuple[str, ...]] = {}
        self._pairs: list[tuple[Fraction, Fraction]] = [(_ZERO, _ZERO)]
        self._pair_numbers: dict[tuple[Fraction, Fraction], int] = {}
        self._made: dict[object, int] = {}
        self._blocks: list[Choices] = []
        self._alone = Alone(program)
        n = self._mdp.n_states
        self._is_support = np.zeros(n, dtype=np.bool_)
        self._is_support[program.distributions.states] = True
        self._value = np.full(n, -1, dtype=np.int32)
        self._backup = np.full(n, -1, dtype=np.int32)
        needed = self._add_values()
        choosing = self._is_support.copy()
        choosing[self._mdp.start] |= self._with_q
        (states,) = np.nonzero(choosing)
        for k in range(0, len(states), _STATES):
            self._add_choices(states[k : k + _STATES])
        self.built = ProgramModel(
            program,
            form,
            model,
            Late(lambda: dict(zip(needed.tolist(), range(len(needed)), strict=True))),
            Late(self._policies),
            Late(lambda: self._q_values(states)) if self._with_q else {},
            Late(self._backups),
        )
        self._add_constraints()
        del self._actions  # no more kinds to come; some are long
        model.set_objective([int(self._value[self._mdp.start])], [1], maximise=True)

    # Maps back --------------------------------------------------------------

    def _policies(self) -> dict[int, dict[int, int]]:
        return dict(
            itertools.chain.from_iterable(b.policies(self._mdp) for b in self._blocks)
        )

    def _backups(self) -> dict[int, int]:
        return dict(itertools.chain.from_iterable(b.backups() for b in self._blocks))

    def _q_values(self, states: Ints) -> dict[tuple[int, int], int]:
        chosen = dict(
            itertools.chain.from_iterable(b.q_values(self._mdp) for b in self._blocks)
        )
        return {
            (state, local): variable
            for state in states.tolist()
            for local, variable in chosen.get(
                state, {0: int(self._value[state])}
            ).items()
        }

    # Values -----------------------------------------------------------------

    def _add_values(self) -> Ints:
        """g(x) of the states that occur in the program, in order."""
        mdp = self._mdp
        needed = self._is_support.copy()
        needed[mdp.start] = True
        (support,) = np.nonzero(self._is_support)
        for k in range(0, len(support), _STATES):
            actions, _ = gather(mdp.action_offset, support[k : k + _STATES])
            entries, _ = gather(mdp.transition_offset, actions)
            needed[mdp.transition_target[entries]] = True
        (states,) = np.nonzero(needed)
        self._value[states] = np.arange(len(states))
        lower = self._program.lower
        kinds = [self._variables.kind_of(lower, end, False) for end in self._ends]
        for k in range(0, len(states), _STATES):
            own = states[k : k + _STATES]
            codes = np.array(kinds, dtype=np.int32)[self._ranges(own)]
            self._variables.add(codes, StateNames(mdp.state_names, own))
        return states

    def _ranges(self, states: Ints) -> Ints:
        if self._range_of is None:
            return np.zeros(len(states), dtype=np.int64)
        return self._range_of[states]

    # Choices ----------------------------------------------------------------

    def _add_choices(self, states: Ints) -> None:
        """π(x,·), f(x,·) and b(x) of some states, and their rows."""
        states, counts, actions = self._distinct(states)
        if not len(states):
            return
        backed = self._is_support[states]
        kinds = self._actions.kinds_of(actions)
        ends = self._backup_ranges(states, counts, kinds, backed)
        width = counts * (1 + self._with_q) + backed
        first = np.cumsum(width) - width
        codes = np.full(int(width.sum()), self._variables.kind_of(_ZERO, _ONE, True))
        owner = np.repeat(np.arange(len(states)), counts)
        rank = np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        if self._with_q:
            lower = self._program.lower
            own = [self._variables.kind_of(lower, end, False) for end in self._ends]
            codes[first[owner] + rank] = np.array(own)[self._ranges(states)][owner]
        own = [self._variables.kind_of(*pair, False) for pair in self._pairs]
        codes[(first + width - 1)[backed]] = np.array(own, dtype=np.int64)[ends[backed]]
        first += len(self._variables)
        rows, variables = self._items(
            states, counts, actions, backed, kinds, ends, first, owner, rank
        )
        near = range(int(actions[0]), int(actions[-1]) + 1)
        block = Choices(
            self._mdp.state_names,
            self._mdp.action_names,
            states,
            counts,
            near if len(near) == len(actions) else actions.astype(np.int32),
            first,
            backed,
            self._with_q,
            rows,
            self._texts,
        )
        self._blocks.append(block)
        self._backup[states[backed]] = (first + width - 1)[backed]
        self._variables.add(codes.astype(np.int32), block.variable_names)
        self._rows.add(rows, variables, block.row_names)

    def _items(
        self,
        states: Ints,
        counts: Ints,
        actions: Ints,
        backed: NDArray[np.bool_],
        kinds: Ints,
        ends: Ints,
        first: Ints,
        owner: Ints,
        rank: Ints,
    ) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Kinds and variables of the rows of some states.

        In order: the choice; the greedy rows of each f(x,a); the switch of b(x).
        `owner` and `rank` are the place of each action's state, and its own there.
        """
        q = int(self._with_q)
        taken = (first + counts * q)[owner] + rank
        sizes = 1 + counts * (q + backed)
        place = np.cumsum(sizes) - sizes  # of each state's first item
        found = np.empty(int(sizes.sum()), dtype=np.int64)
        widths = np.empty(len(found), dtype=np.int64)
        found[place] = self._by(counts, self._choice_kind)
        widths[place] = counts
        greedy = place[owner] + 1 + rank if q else np.zeros(0, dtype=np.int64)
        if q:
            found[greedy] = self._by(self._ranges(states), self._greedy_kind)[owner]
            widths[greedy] = 3
        on = backed[owner]
        switch = (place[owner] + 1 + counts[owner] * q + rank)[on]
        of = owner[on]
        pairs = kinds[on] * (len(self._pairs) + 1) + ends[of]
        found[switch] = self._by(pairs, self._switch_kind)
        targets, bounds = self._actions.targets(actions[on])
        widths[switch] = 2 + np.diff(bounds)
        start = np.cumsum(widths) - widths
        variables = np.empty(int(widths.sum()), dtype=np.int32)
        variables[start[place][owner] + rank] = taken
        if q:
            variables[start[greedy]] = self._value[states][owner]
            variables[start[greedy] + 1] = first[owner] + rank
            variables[start[greedy] + 2] = taken
        variables[start[switch]] = (first + counts * (1 + q))[of]
        variables[start[switch] + 1] = taken[on]
        shift = np.repeat(start[switch] + 2 - bounds[:-1], np.diff(bounds))
        variables[shift + np.arange(len(targets))] = self._value[targets]
        return narrow(found, len(self._rows.kinds)), variables

    def _by(self, codes: Ints, make: Callable[[int], int]) -> Ints:
        """Look up the kind of rows for each code; there are few codes."""
        distinct, which = np.unique(codes, return_inverse=True)
        found = [make(code) for code in distinct.tolist()]
        return np.array(found, dtype=np.int64)[which.ravel()]

    def _kind(self, key: object, make: Callable[[], Kind], *texts: str) -> int:
        if key not in self._made:
            number = self._made[key] = self._rows.add_kind(make())
            self._texts[number] = tuple(f"{text}(" for text in texts)
        return self._made[key]

    def _choice_kind(self, count: int) -> int:
        ones = (_ONE,) * count
        return self._kind(("choice", count), lambda: row_kind(ones, "==", _ONE))

    def _greedy_kind(self, code: int) -> int:
        width = self._ends[code] - self._program.lower

        def make() -> Kind:
            item = LinearModel()
            v, f, taken = (item.add_variable(name, 0, 1) for name in "vfp")
            item.add_row([v, f], [1, -1], ">=", 0)
            item.add_row([v, f, taken], [1, -1, width], "<=", width)
            return kind_of(item)

        return self._kind(("greedy", code), make, "maximum", "greedy")

    def _switch_kind(self, pair: int) -> int:
        action, ends = divmod(pair, len(self._pairs) + 1)
        term = self._actions.kinds[action]
        rows = list(switch_rows(term, self._pairs[ends]))
        width = 2 + len(term.coefficients)
        shapes = [Shape(range(width), tuple(c), sense, r) for c, sense, r, _ in rows]
        texts = [called for _, _, _, called in rows]
        key = "switch", action, self._pairs[ends]
        return self._kind(key, lambda: Kind(width, tuple(shapes)), *texts)

    def _distinct(self, states: Ints) -> tuple[Ints, Ints, Ints]:
        """States with several distinct actions; how many; and which those are.

        Equal actions have equal hashes; only where two hashes agree are the actions
        themselves compared.
        """
        mdp = self._mdp
        states = states[mdp.action_counts[states] > 1]
        actions, offsets = gather(mdp.action_offset, states)
        counts = np.diff(offsets)
        owner = np.repeat(np.arange(len(states)), counts)
        marks = self._hashes(actions)
        order = np.lexsort((marks, owner))
        same = np.diff(marks[order]) == 0
        same &= np.diff(owner[order]) == 0
        kept = np.ones(len(actions), dtype=np.bool_)
        for k in np.unique(owner[order[1:][same]]).tolist():
            classes = action_classes(mdp, int(states[k]))
            kept[offsets[k] : offsets[k + 1]] = [
                c == local for local, c in enumerate(classes)
            ]
        counts = np.bincount(owner[kept], minlength=len(states))
        several = counts > 1
        return states[several], counts[several], actions[kept & several[owner]]

    def _hashes(self, actions: Ints) -> NDArray[np.uint64]:
        """Hash the actions; equal rewards and successors' shares give equal hashes."""
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
        return sums + mixed(self._rewards[mdp.reward_index[actions]])

    @cached_property
    def _rewards(self) -> Ints:
        """First equal entry of the table of rewards."""
        table = self._mdp.reward_table
        first = {reward: k for k, reward in reversed(list(enumerate(table)))}
        return np.array([first[reward] for reward in table], dtype=np.int64)

    def _backup_ranges(
        self, states: Ints, counts: Ints, kinds: Ints, backed: NDArray[np.bool_]
    ) -> Ints:
        """Find the range of each backup among `_pairs`; 0 stands for none."""
        terms = self._actions.kinds
        starts = np.cumsum(counts) - counts
        low = np.minimum.reduceat(ranks([t.low for t in terms])[kinds], starts)
        high = np.maximum.reduceat(ranks([t.high for t in terms])[kinds], starts)
        alone = self._alone.of(states)
        table = np.column_stack([low, high, alone, self._ranges(states), backed])
        first, which = distinct_rows(table)
        numbers = []
        for k in first.tolist():
            if not backed[k]:
                numbers.append(0)
                continue
            own = kinds[starts[k] : starts[k] + counts[k]]
            backups = [terms[kind] for kind in np.unique(own).tolist()]
            share = self._alone.shares[alone[k]] if alone[k] >= 0 else None
            pair = backup_range(self._program, int(states[k]), backups, share)
            if pair not in self._pair_numbers:
                self._pair_numbers[pair] = len(self._pairs)
                self._pairs.append(pair)
            numbers.append(self._pair_numbers[pair])
        return np.array(numbers, dtype=np.int64)[which]

    # Constraints ------------------------------------------------------------

    def _add_constraints(self) -> None:
        """|E_D[g(x) − b(x)]| ≤ φ: in bulk where few states are far apart."""
        flat = self._program.distributions
        sizes = np.diff(flat.offsets)
        for k in range(0, len(sizes), _STATES):
            end = min(k + _STATES, len(sizes))
            for low, high in _runs(sizes[k:end] <= _FEW):
                self._add_run(k + low, k + high)

    def _add_run(self, low: int, high: int) -> None:
        """Constraints low..high-1, all short or all long."""
        flat = self._program.distributions
        size = np.diff(flat.offsets[low : high + 1])
        if size[0] > _FEW:
            for i in range(low, high):
                add_exact_constraint(self.built, i, flat[i])
            return
        entries, bounds = gather(flat.offsets, np.arange(low, high))
        states = flat.states[entries]
        backed = self._backup[states] >= 0
        actions = self._mdp.action_offset[states]
        kinds = np.where(backed, -1, 0)
        kinds[~backed] = self._actions.kinds_of(actions[~backed])
        targets, ends = self._actions.targets(actions)
        behind = np.where(backed, 1, np.diff(ends))
        place = np.cumsum(1 + behind) - 1 - behind
        variables = np.empty(int((1 + behind).sum()), dtype=np.int64)
        variables[place] = self._value[states]
        variables[place[backed] + 1] = self._backup[states[backed]]
        own = np.repeat(~backed, np.diff(ends))
        shift = np.repeat(place + 1 - ends[:-1], np.diff(ends)) + np.arange(len(own))
        variables[shift[own]] = self._value[targets[own]]
        table = np.full((high - low, 1 + 2 * _FEW), -2, dtype=np.int64)
        table[:, 0] = flat.denominators[low:high]
        owner = np.repeat(np.arange(high - low), size)
        rank = np.arange(len(owner)) - bounds[:-1][owner]
        table[owner, 1 + 2 * rank] = flat.numerators[entries]
        table[owner, 2 + 2 * rank] = kinds
        widths = np.zeros(high - low, dtype=np.int64)
        np.add.at(widths, owner, 1 + behind)
        self._copy_constraints(low, table, widths, variables)

    def _copy_constraints(
        self, low: int, table: Ints, widths: Ints, variables: Ints
    ) -> None:
        """Add constraints: those with equal rows of `table` have the same terms."""
        item = np.repeat(np.arange(len(widths)), widths)
        order = np.lexsort((variables, item))
        twice = (np.diff(variables[order]) == 0) & (np.diff(item[order]) == 0)
        odd = np.zeros(len(widths), dtype=np.bool_)
        odd[item[order[1:][twice]]] = True
        odd |= widths == 0
        flat, phi = self._program.distributions, self._program.tolerance
        texts = tuple(f"bellman(%d){sign}" for _, _, sign in bellman_rows(phi, _ZERO))
        first, which = distinct_rows(table)
        kinds = np.empty(len(first), dtype=np.int32)
        for k, row in enumerate(first.tolist()):
            if odd[row]:  # its copies may not be
                odd |= which == k
                continue
            key = table[row].tobytes()
            if key not in self._made:
                terms, constant = error_terms(
                    self._program, flat[low + row], _Backed(self._backup)
                )
                shapes = [
                    Shape(range(len(terms)), tuple(c for _, _, c in terms), sense, rhs)
                    for sense, rhs, _ in bellman_rows(phi, constant)
                ]
                kind = Kind(len(terms), tuple(shapes))
                self._made[key] = self._rows.add_kind(kind)
            kinds[k] = self._made[key]
        bounds = np.concatenate([[0], np.cumsum(widths)])
        for start, end in _runs(~odd):
            if odd[start]:
                for i in range(low + start, low + end):
                    add_exact_constraint(self.built, i, flat[i])
                continue
            self._rows.add(
                kinds[which[start:end]],
                variables[bounds[start] : bounds[end]].astype(np.int32),
                Numbered(texts, range(low + start, low + end)),
            )


@dataclass(frozen=True)
class _Backed:
    """Which states have a variable for their backup."""

    variables: NDArray[np.int32]

    def __contains__(self, state: object) -> bool:
        return isinstance(state, int) and bool(self.variables[state] >= 0)


def _runs(marks: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of runs of equal entries."""
    ends = [*(np.flatnonzero(np.diff(marks)) + 1).tolist(), len(marks)]
    yield from zip([0, *ends[:-1]], ends, strict=True)
