"""How OLIVE breaks its ties: which maximiser, and at which level to constrain.

Jiang et al. 2017 leave both open; the paper's proof breaks ties against OLIVE.
`SolverTiebreak` takes the optimiser's maximiser, `RandomTiebreak` a random one;
`ScriptedTiebreak` takes pairs and levels given in advance, each checked first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exact.arrays import check_choice
from ..exact.multinomial import RecordedSeed
from ..mdp.planning import Distribution, Pair
from ..mdp.tabular import TabularMDP
from .program import Answer, Optimiser, Program

_Direction = dict[int, Fraction]


def benign_rounds(mdp: TabularMDP) -> Iterator[tuple[Pair, int]]:
    """Yield a maximiser and a level for each round, as `ScriptedTiebreak` takes them.

    For exact expectations, φ = 0, all g in [0, 1] and all policies. With all V^π(x) in
    (0, 1) OLIVE constrains at most |X| distributions, all optima but the last, V*, are
    1, and the work is polynomial. A value on the edge leaves one sign, ℓ(x) >= 0 where
    V^π(x) = 0 and <= 0 where it is 1: rounds stay legal, but the rule may end before
    OLIVE does. ValueError if a state is met at two levels, or a value leaves [0, 1].
    Source: ours (docs/ties.md).
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
    """Change the optimal policy at a level to actions worth between 0 and 1."""
    policy, ahead = best.policy.copy(), dict(enumerate(best.values()))
    for state in np.flatnonzero(mdp.state_level == level).tolist():
        for local, action in enumerate(mdp.actions(state)):
            worth = mdp.reward(action) + _mean(dict(mdp.successors(action)), ahead)
            if 0 < worth < 1:
                policy[state] = local
                break
    return policy


def _mean(shares: dict[int, Fraction], of: dict[int, Fraction]) -> Fraction:
    return sum((p * of[s] for s, p in shares.items() if s in of), Fraction())


LevelRule = Literal["first", "last", "largest"]

_LEVEL_RULES: dict[str, Callable[[Sequence[Fraction], Sequence[int]], int]] = {
    "first": lambda errors, eligible: eligible[0],
    "last": lambda errors, eligible: eligible[-1],
    "largest": lambda errors, eligible: max(eligible, key=lambda h: errors[h - 1]),
}


@dataclass(frozen=True)
class RoundProblem:
    """A round's program with the one who solves it."""

    program: Program
    optimiser: Optimiser

    @cached_property
    def best(self) -> Answer:
        """The optimiser's own maximiser; solved when first asked for."""
        return self.optimiser.maximise(self.program)


class Tiebreak(Protocol):
    """Makes the choices that OLIVE leaves open."""

    @property
    def seed(self) -> RecordedSeed | None:
        """Its generator as it stands; None if it draws nothing."""

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Choose a maximiser of the round's program."""

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Choose an eligible level (1-based, rising) by ``errors[h-1]`` of each h."""


class SolverTiebreak:
    """The optimiser's own maximiser; ValueError if the rule is unknown."""

    seed = None

    def __init__(self, level: LevelRule = "largest") -> None:
        check_choice("level rule", level, _LEVEL_RULES)
        self.rule: LevelRule = level

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Take the optimiser's answer."""
        return problem.best

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Follow the rule."""
        return _LEVEL_RULES[self.rule](errors, eligible)


class RandomTiebreak:
    """A random maximiser, or one within γ; the optimiser's own where none is found."""

    def __init__(
        self,
        rng: np.random.Generator,
        level: LevelRule | None = None,
        gamma: Fraction = Fraction(0),
    ) -> None:
        if gamma < 0:
            raise ValueError(f"γ = {gamma} is negative")
        self.rng, self.gamma = rng, gamma
        self._ruled = None if level is None else SolverTiebreak(level)

    @property
    def seed(self) -> RecordedSeed | None:
        """The generator as it stands."""
        return RecordedSeed.of(self.rng)

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Solve for the optimum, then for a random pair that attains it, up to γ."""
        best = problem.best
        if best.pair is None or best.value is None:
            return best
        enough = best.value - self.gamma
        drawn = problem.optimiser.another(problem.program, enough, self.rng)
        seconds = best.seconds + drawn.seconds
        if drawn.pair is None:
            reason = f"no other maximiser: {drawn.reason or drawn.status}"
            return best._replace(seconds=seconds, reason=reason)
        return best._replace(
            pair=drawn.pair,
            seconds=seconds,
            engine_seconds=best.engine_seconds + drawn.engine_seconds,
        )

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Follow the rule, or draw an eligible level uniformly."""
        if self._ruled is not None:
            return self._ruled.level(errors, eligible)
        return eligible[int(self.rng.integers(len(eligible)))]


class ScriptedTiebreak:
    """Pairs and levels from a script, each verified; then another tie-break."""

    def __init__(
        self, script: Iterable[tuple[Pair, int]], then: Tiebreak | None = None
    ) -> None:
        self._script = iter(script)
        self._then: Tiebreak = SolverTiebreak() if then is None else then
        self._level: int | None = None

    @property
    def seed(self) -> RecordedSeed | None:
        """That of the tie-break after the script."""
        return self._then.seed

    def maximiser(self, problem: RoundProblem) -> Answer:
        """Take the script's next pair, verified to be a maximiser (ValueError)."""
        move = next(self._script, None)
        if move is None:
            self._level = None
            return self._then.maximiser(problem)
        pair, self._level = move
        program = problem.program
        if not program.is_feasible(pair):
            raise ValueError("the script's pair breaks the program of its round")
        value = program.objective(pair)
        if value == program.upper:
            return Answer("optimal", pair, value, True, 0.0)
        best = problem.best
        if best.value is not None and best.value > value:
            raise ValueError(
                f"the script's pair has objective {value}, the optimum is {best.value}"
            )
        return best._replace(pair=pair, value=value)

    def level(self, errors: Sequence[Fraction], eligible: Sequence[int]) -> int:
        """Take the script's level; ValueError if its error is too small."""
        if self._level is None:
            return self._then.level(errors, eligible)
        if self._level not in eligible:
            raise ValueError(
                f"the script chooses level {self._level}, but only {list(eligible)} "
                "have a large enough average Bellman error"
            )
        return self._level
