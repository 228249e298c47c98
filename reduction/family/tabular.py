"""A family's MDP in the flat arrays of `TabularMDP`, each chance in lowest terms.

And how large a family and OLIVE's program over it are, before they are built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import exact_sum
from ...algorithms.mdp.tabular import TabularMDP
from .layout import CLAUSE_BITS, QUIT, Layout
from .variants import Parameters, Variant, as_variant

_Long = NDArray[np.int64]


def tabular(
    layout: Layout,
    parameters: Parameters,
    literal_states: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    policy: NDArray[np.int64] | None = None,
) -> TabularMDP:
    """Build the all-zero member, with all actions or with those of a policy.

    `literal_states`: (m, 3), the states o_{j,k}^1; `weights`: int64 (m,) or None.
    """
    offsets, targets, numerators, denominators = _transitions(
        layout, literal_states, weights, policy
    )
    table = _reward_table(parameters)
    indices = _zero_rewards(layout, parameters, table)
    names: Sequence[str] = layout.action_names()
    offsets_of_actions = action_offsets(layout)
    if policy is not None:
        actions = offsets_of_actions[:-1] + policy
        indices, names = indices[actions], _Chosen(names, actions)
        offsets_of_actions = np.arange(layout.n_states + 1)
    return TabularMDP(
        horizon=layout.horizon,
        start=layout.start,
        state_level=_levels(layout),
        action_offset=offsets_of_actions,
        transition_offset=offsets,
        transition_target=targets,
        transition_numerator=numerators,
        transition_denominator=denominators,
        reward_index=indices,
        reward_table=table,
        state_names=layout.state_names(),
        action_names=names,
    )


class _Chosen(Sequence[str]):
    """Some of the names, made on demand."""

    def __init__(self, names: Sequence[str], indices: NDArray[np.int64]) -> None:
        self._names, self._indices = names, indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._names[i] for i in self._indices[index].tolist()]
        return self._names[int(self._indices[index])]


def _levels(layout: Layout) -> NDArray[np.int32]:
    levels = np.full(layout.n_states, layout.literal_level, dtype=np.int32)
    levels[: layout.first_literal_state] = 2
    if layout.second_bottom_state is not None:
        levels[layout.second_bottom_state] = 2
    if layout.n_sides:
        side = layout.first_side_state
        levels[side - layout.n_sides : side] = 2
    levels[layout.start] = 1
    return levels


def action_offsets(layout: Layout) -> NDArray[np.int64]:
    """First action of each state, and the number of actions, shape (states + 1,)."""
    counts = np.ones(layout.n_states + 1, dtype=np.int64)
    counts[0] = 0
    counts[1] = layout.first_clause_action
    counts[2 : 2 + layout.n_clauses] = layout.clause_actions
    return np.cumsum(counts, out=counts)


def _zero_rewards(
    layout: Layout, parameters: Parameters, table: tuple[Fraction, ...]
) -> NDArray[np.int32]:
    n, rewards = layout.n_variables, parameters.rewards
    indices = np.full(layout.n_actions, table.index(Fraction(0)), dtype=np.int32)
    indices[:n] = table.index(rewards.try_variable)
    indices[n : layout.solve] = table.index(rewards.try_clause)
    indices[layout.solve] = table.index(rewards.solve)
    first = layout.first_literal_action
    false, true = map(table.index, parameters.literal_rewards)
    indices[first : first + 2 * n : 2] = true
    indices[first + 1 : first + 2 * n : 2] = false
    sides = layout.declaration.sides
    if sides is None:
        return indices
    # From the literal states on each state has one action, in their order.
    own = indices[first - layout.first_literal_state :]
    k, side, spare = layout.n_sides, layout.first_side_state, rewards.top
    indices[layout.solve + 1] = table.index(sides.rest)
    own[layout.bottom_state] = table.index(sides.end)
    own[layout.first_spare_state :][:n] = table.index(sides.spare * spare)
    own[side : side + k] = table.index(sides.reward)
    own[side + k :] = table.index(sides.beside * spare)
    return indices


def _reward_table(parameters: Parameters) -> tuple[Fraction, ...]:
    paid = {Fraction(0), *parameters.rewards, *parameters.literal_rewards}
    sides, top = parameters.variant.declaration.sides, parameters.top
    if sides:
        paid |= {sides.reward, sides.rest, sides.end}
        paid |= {sides.spare * top, sides.beside * top}
    return tuple(sorted(paid))


def _transitions(
    layout: Layout,
    literal_states: NDArray[np.int32],
    weights: NDArray[np.int64] | None,
    policy: NDArray[np.int64] | None,
) -> tuple[_Long, NDArray[np.int32], _Long, _Long]:
    """Build offsets (A+1,), targets (T,), numerators (T,), denominators (A,)."""
    clauses = slice(1, 1 + layout.n_clauses)
    first = _start_actions(layout, weights)
    if policy is not None:
        first = _one(first, int(policy[layout.start]))
    chosen = None if policy is None else policy[clauses]
    parts = [first, _clause_actions(literal_states, layout, chosen), _others(layout)]
    all_targets, shares, *rest = zip(*parts, strict=True)
    del parts
    targets = np.concatenate(all_targets)
    counts, denominators = map(np.concatenate, rest)
    if all((own == 1).all() for own in shares):
        # Nearly always; then they are one number, whatever their count.
        numerators = np.broadcast_to(np.int64(1), targets.shape)
    else:
        numerators = np.concatenate([own.astype(np.int64) for own in shares])
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets, targets, numerators, denominators


_Part = tuple[
    NDArray[np.int32],
    NDArray[np.int64] | NDArray[np.int8],
    NDArray[np.int64],
    NDArray[np.int64],
]  # Targets and numerators, flat; counts and denominators, one entry for each action


def _start_actions(layout: Layout, weights: NDArray[np.int64] | None) -> _Part:
    n, m = layout.n_variables, layout.n_sides or layout.n_clauses
    rests = layout.first_clause_action - layout.solve - 1
    if layout.declaration.variable_states:
        tries = np.arange(n, dtype=np.int32) + np.int32(layout.first_variable_state)
    else:
        tries = _literals(layout)
    each = len(tries) // n
    solved, chances, total = _solve_chances(layout, weights)
    counts = np.ones(layout.first_clause_action, dtype=np.int64)
    denominators = counts.copy()
    counts[:n] = denominators[:n] = each
    counts[layout.solve], denominators[layout.solve] = len(solved), total
    start = layout.first_side_state - m if layout.n_sides else 1
    tried = np.arange(start, start + m, dtype=np.int32)
    targets = [tries, tried, solved, solved[-1:].repeat(rests)]
    ones = np.ones(len(tries) + m, dtype=np.int64)
    shares = np.concatenate([ones, chances, ones[:rests]])
    return np.concatenate(targets), shares, counts, denominators


def _others(layout: Layout) -> _Part:
    pairs, n = _literals(layout), layout.n_variables
    if not layout.declaration.variable_states:
        pairs, n = pairs[:0], 0
    first = 1 + layout.n_clauses
    counts = np.zeros(layout.n_states - first, dtype=np.int64)
    denominators = np.ones_like(counts)
    counts[:n] = denominators[:n] = 2
    parts, shares = [pairs], [np.ones(len(pairs), dtype=np.int64)]
    if layout.n_sides:
        spares = np.arange(n, dtype=np.int32) + np.int32(layout.first_spare_state)
        parts = [np.column_stack([pairs.reshape(n, 2), spares]).ravel()]
        shares = [np.tile(np.array([1, 1, 2]), n)]
        counts[:n], denominators[:n] = 3, 4
    if layout.second_bottom_state is not None:
        # Its [go] leads to the other worthless one.
        counts[layout.second_bottom_state - first] = 1
        parts.append(np.array([layout.bottom_state], dtype=np.int32))
        shares.append(np.ones(1, dtype=np.int64))
    if layout.n_sides:
        sides = np.arange(layout.n_sides, dtype=np.int32) + layout.first_side_state
        both = np.column_stack([sides, sides + layout.n_sides]).astype(np.int32)
        parts.append(both.ravel())
        shares.append(np.ones(both.size, dtype=np.int64))
        tries = slice(sides[0] - layout.n_sides - first, sides[0] - first)
        counts[tries] = denominators[tries] = 2
    return np.concatenate(parts), np.concatenate(shares), counts, denominators


def _literals(layout: Layout) -> NDArray[np.int32]:
    states = np.arange(2 * layout.n_variables, dtype=np.int32)
    return states + np.int32(layout.first_literal_state)


def _one(part: _Part, action: int) -> _Part:
    targets, numerators, counts, denominators = part
    end = int(counts[: action + 1].sum())
    entries = slice(end - int(counts[action]), end)
    own = slice(action, action + 1)
    return targets[entries], numerators[entries], counts[own], denominators[own]


def _solve_chances(
    layout: Layout, weights: NDArray[np.int64] | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    states = np.arange(1, layout.n_clauses + 1, dtype=np.int32)
    if weights is None:
        weights = np.ones(layout.n_clauses, dtype=np.int64)
    total = exact_sum(weights)
    reach = layout.declaration.reach
    if reach == 1:
        divisor = math.gcd(total, int(np.gcd.reduce(weights)))
        return states, weights // divisor, total // divisor
    # reach = a/b: a w_j of b W for each clause, (b - a) W for the worthless state.
    rest = (reach.denominator - reach.numerator) * total
    whole = reach.denominator * total
    idle = layout.second_bottom_state
    assert idle is not None  # a declaration with reach < 1 has one
    chances = np.append(weights * reach.numerator, np.int64(rest))
    divisor = math.gcd(whole, int(np.gcd.reduce(chances)))
    states = np.append(states, np.int32(idle))
    return states, chances // divisor, whole // divisor


def _clause_actions(
    literal_states: NDArray[np.int32], layout: Layout, chosen: NDArray[np.int64] | None
) -> _Part:
    """Successors of clause actions (or of those `chosen`), equal ones merged."""
    m = len(literal_states)
    if chosen is None:
        chosen = np.arange(layout.clause_actions)[None]
    else:
        chosen = chosen[:, None]
    actions = chosen.shape[1]
    quits = np.broadcast_to(chosen == QUIT, (m, actions))
    local = np.broadcast_to(chosen, (m, actions))
    if layout.n_sides:
        chosen, quits = chosen % 7, np.zeros_like(quits)
    first = np.int32(layout.first_literal_state)
    # o^0 is the other state of its pair; pairs start at an even distance.
    opposite = ((literal_states - first) ^ 1) + first
    bits = CLAUSE_BITS[np.where(chosen == QUIT, 0, chosen)]
    targets = np.where(bits == 1, literal_states[:, None], opposite[:, None])
    numerators = np.ones((m, actions, 3), dtype=np.int8)
    kept = np.ones((m, actions, 3), dtype=np.bool_)
    denominators = np.full((m, actions), 3, dtype=np.int64)
    variables = (literal_states - first) // 2
    _merge_equal_targets(variables, targets, numerators, kept, denominators)
    if layout.declaration.quit:
        targets[quits] = layout.bottom_state
        numerators[quits], kept[quits] = 1, (True, False, False)
        denominators[quits] = 1
    if layout.n_sides:  # half of it to the literals, half to the side state
        sides = layout.side_state(np.arange(m)[:, None], local).astype(np.int32)
        targets = np.dstack([targets, sides])
        numerators = np.dstack([numerators, denominators.astype(np.int8)])
        kept = np.dstack([kept, np.ones_like(quits)])
        denominators *= 2
    every = bool(kept.all())
    return (
        targets.ravel() if every else targets[kept],
        numerators.ravel() if every else numerators[kept],
        kept.sum(axis=2, dtype=np.int64).ravel(),
        denominators.ravel(),
    )


def _merge_equal_targets(
    variables: NDArray[np.int32],
    targets: NDArray[np.int32],
    numerators: NDArray[np.int8],
    kept: NDArray[np.bool_],
    denominators: NDArray[np.int64],
) -> None:
    """Add up the chances of equal targets in clauses that repeat a variable."""
    a, b, c = variables.T
    repeats = np.flatnonzero((a == b) | (a == c) | (b == c))
    if not len(repeats):
        return
    a, b, c = np.moveaxis(targets[repeats], 2, 0)
    ab, ac, bc = a == b, a == c, b == c
    same = ab & ac
    chances = np.ones((*a.shape, 3), dtype=np.int8)
    chances[..., 0] += ab
    chances[..., 0] += ac
    chances[..., 1] += bc
    chances[same, 0] = 1
    numerators[repeats] = chances
    kept[repeats, :, 1] = ~ab
    kept[repeats, :, 2] = ~(ac | bc)
    denominators[repeats] = np.where(same, 1, 3)


class Sizes(NamedTuple):
    """Size of a family's MDPs and of OLIVE's program over them."""

    states: int  # Numbers of states and of actions, the latter counted state by state
    actions: int
    transitions: int  # Entries (action, successor) of positive probability
    constraints: int  # Distributions that OLIVE's program constrains


def declared_sizes(
    variant: Variant | str,
    n_variables: int,
    n_clauses: int,
    clause_transitions: int | None = None,
) -> Sizes:
    """Size of a family as a function of the formula's size."""
    n, m = n_variables, n_clauses
    layout = Layout(as_variant(variant), n, m)
    inner = 21 * m if clause_transitions is None else clause_transitions
    declared = layout.declaration
    between = n if declared.variable_states else 0
    quits, bottom = m if declared.quit else 0, declared.n_bottom
    # Two more in `strict`: [solve] to the worthless state and on from there.
    idle = 2 if declared.reach < 1 else 0
    if declared.sides:
        copies, k = declared.sides.copies, layout.n_sides
        behind = copies * (inner + 7 * m)  # each action leads to a side state, too
        return Sizes(
            states=layout.n_states,
            actions=layout.n_actions,
            transitions=4 * n + 3 * k + m + 1 + behind + idle,
            constraints=4 + 2 * (n + k),
        )
    return Sizes(
        states=1 + m + 2 * n + between + bottom,
        actions=1 + 8 * m + 3 * n + between + quits + bottom,
        transitions=2 * n + 2 * m + between + inner + quits + idle,
        constraints=1 + m + n + between + int(declared.quit),
    )


def clause_transitions(clauses: NDArray[np.int32]) -> int:
    """Transitions of the actions 001..111 over all clauses, int32 (m, 3).

    Fewer than 21 where literals share a variable: 18 when two are equal and 17 when two
    are complementary, the third apart; 13 when all are equal, 12 when one is opposite.
    """
    a, b, c = clauses[:, 0], clauses[:, 1], clauses[:, 2]
    equal = (a == b).astype(np.int8) + (a == c) + (b == c)
    opposite = (a == -b).astype(np.int8) + (a == -c) + (b == -c)
    # Pairs (equal, opposite) that occur: (0,0), (1,0), (0,1), (3,0), (1,2).
    table = np.zeros((4, 3), dtype=np.int64)
    table[0, 0], table[1, 0], table[0, 1] = 21, 18, 17
    table[3, 0], table[1, 2] = 13, 12
    return int(table[equal, opposite].sum())
