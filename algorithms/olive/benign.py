"""Ties broken in OLIVE's favour on any layered tabular MDP (Theorem K, docs/ties.md).

OLIVE may take any maximiser and bind any level with a positive error. While s0 is not
bound, g(s0) = 1 is a maximiser whatever else g is. So the rule here binds s0 last and
spends the rounds before on distributions that pin g down, from the last level to the
second. At a level it keeps directions ℓ, functions of the level's states whose mean is
0 under each distribution bound there. It plans for the roll-in with the largest mean of
ℓ and plays it with g = V^π but for V^π + ηℓ at the level: the error there is η E[ℓ] > 0
and all constraints hold. A direction with mean 0 under every roll-in is dropped, and
each round takes one out of the others. So at the end each distribution of the level
that a policy meets lies in the span of those bound, and every feasible pair has error 0
under it; once s0 is bound, too, g(s0) = V^π(s0).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..mdp.bellman import Pair
from ..mdp.distributions import Distribution
from ..mdp.tabular import TabularMDP

_Direction = dict[int, Fraction]


def benign_rounds(mdp: TabularMDP) -> Iterator[tuple[Pair, int]]:
    """Yield a maximiser and a level for each round, as `ScriptedTiebreak` takes them.

    For exact expectations, φ = 0, all g with values in [0, 1] and all policies. With
    all V^π(x) in (0, 1), OLIVE binds at most |X| distributions, all optima but the last
    are 1, and the last is V*. The work is polynomial: at most two plans per state.

    A value on the edge leaves one sign: where V^π(x) = 0, ℓ(x) >= 0 is needed, where
    V^π(x) = 1, ℓ(x) <= 0 (the policy avoids the edge where some action does). Each
    round is legal then, too, but a direction may be left that has no legal sign, and
    OLIVE may have to go on after the rule's last round. Raises ValueError if a state is
    met at two levels, or a value leaves [0, 1].

    Notes
    -----
    Source: ours; docs/ties.md has the proof.
    """
    if not mdp.is_layered:
        raise ValueError("the rule needs a layered MDP: a state is met at two levels")
    best = mdp.optimal_values()
    if not all(0 <= v <= 1 for v in best.values()):
        raise ValueError("the rule needs values in [0, 1]")
    for level in range(mdp.horizon, 1, -1):
        policy = _off_the_edge(mdp, best, level)
        yield from _rounds_of_level(mdp, policy, level)
    last = _promising(mdp, best)
    if best.value(mdp.start) < 1:
        yield last, 1


def _rounds_of_level(
    mdp: TabularMDP, policy: NDArray[np.int32], level: int
) -> Iterator[tuple[Pair, int]]:
    values = mdp.evaluate(policy).values()
    live: list[_Direction] = [
        {int(s): Fraction(1)} for s in np.flatnonzero(mdp.state_level == level)
    ]
    index = 0
    while index < len(live):
        move, reached = _best_roll_in(mdp, policy, live[index], values, level)
        if not reached:
            live.pop(index)
        elif move is None:
            index += 1
        else:
            direction, rolled = move
            yield _raised(mdp, rolled, direction), level
            met = mdp.distribution(rolled, level)
            live = _orthogonal(live, live.pop(index), met)
            index = 0  # a direction without a legal sign may have one now


def _best_roll_in(
    mdp: TabularMDP,
    policy: NDArray[np.int32],
    direction: _Direction,
    values: list[Fraction],
    level: int,
) -> tuple[tuple[_Direction, NDArray[np.int32]] | None, bool]:
    """Plan for ±ℓ: a legal one with a positive mean; and whether any mean is not 0."""
    reached = False
    for sign in (1, -1):
        signed = {s: sign * v for s, v in direction.items()}
        mean, rolled = _plan(mdp, policy, signed, level)
        reached |= mean != 0
        legal = all(values[s] < 1 if v > 0 else values[s] for s, v in signed.items())
        if mean > 0 and legal:
            return (signed, rolled), True
    return None, reached


def _plan(
    mdp: TabularMDP, policy: NDArray[np.int32], direction: _Direction, level: int
) -> tuple[Fraction, NDArray[np.int32]]:
    """Largest mean of a function at a level, and the policy with the roll-in to it."""
    means, rolled = dict(direction), policy.copy()
    for above in range(level - 1, 0, -1):
        for state in np.flatnonzero(mdp.state_level == above).tolist():
            worth = [_mean(dict(mdp.successors(a)), means) for a in mdp.actions(state)]
            means[state] = max(worth)
            rolled[state] = worth.index(means[state])
    return means[mdp.start], rolled


def _raised(mdp: TabularMDP, policy: NDArray[np.int32], direction: _Direction) -> Pair:
    """G = V^π but for V^π + ηℓ at the level, with the largest η, and g(s0) = 1."""
    values = mdp.evaluate(policy).values()
    size = min(
        (1 - values[s] if v > 0 else values[s]) / abs(v) for s, v in direction.items()
    )
    for state, v in direction.items():
        values[state] += size * v
    return _promising(mdp, Pair.from_fractions(values, policy))


def _promising(mdp: TabularMDP, pair: Pair) -> Pair:
    values = pair.values()
    values[mdp.start] = Fraction(1)
    return Pair.from_fractions(values, pair.policy)


def _orthogonal(
    live: list[_Direction], taken: _Direction, met: Distribution
) -> list[_Direction]:
    """Give each direction mean 0 under `met` by what it needs of the one taken."""
    shares, kept = met.probabilities(), []
    for direction in live:
        factor = _mean(shares, direction) / _mean(shares, taken)
        merged = {
            s: direction.get(s, Fraction()) - factor * taken.get(s, Fraction())
            for s in {**direction, **taken}
        }
        kept.append({s: v for s, v in merged.items() if v})
    return kept


def _off_the_edge(mdp: TabularMDP, best: Pair, level: int) -> NDArray[np.int32]:
    """Change the optimal policy at a level to actions worth more than 0, less than 1.

    Where there is none it stays.
    """
    policy, ahead = best.policy.copy(), dict(enumerate(best.values()))
    for state in np.flatnonzero(mdp.state_level == level).tolist():
        for local, action in enumerate(mdp.actions(state)):
            worth = mdp.reward(action) + _mean(dict(mdp.successors(action)), ahead)
            if 0 < worth < 1:
                policy[state] = local
                break
    return policy


def _mean(shares: dict[int, Fraction], of: dict[int, Fraction]) -> Fraction:
    """Sum of shares times a function that is 0 where it is not given."""
    return sum((p * of[s] for s, p in shares.items() if s in of), Fraction())
