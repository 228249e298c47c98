"""Replaying a run of OLIVE on any tabular MDP, each round checked exactly.

After each round the pair (g, π) that the Q-function induces is to be feasible, and the
distribution at the chosen level (or every one) becomes a constraint. Its average
Bellman error depends on π and g in its support and on g at the successors of π's
actions there alone. So only constraints known to be violated, or with a changed state
or a predecessor of a changed value in their support, are evaluated again; a new one
counts as violated until it has been. By induction that finds what evaluating all would.
The stated run then takes O(m + n), a round what the clauses of one variable take.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...algorithms.mdp.planning import Distribution
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import Ranged, Upper
from .schedule import Setting

_ZERO = Fraction(0)


@dataclass(frozen=True)
class Replayed:
    """What a round of a replay came to."""

    objective: Fraction  # g at the start state
    errors: tuple[Fraction, ...]  # average Bellman errors, by level
    broken: tuple[str, ...]  # what is wrong or infeasible, in words
    added: tuple[Distribution, ...]  # new constraints
    evaluated: int  # How many constraints were evaluated again


class Replay:
    """A run of OLIVE in progress: at first Q-values are 0 and actions the first."""

    def __init__(
        self,
        mdp: TabularMDP,
        lower: Fraction | int = 0,
        upper: Upper = 1,
        *,
        all_levels: bool = False,
    ) -> None:
        self.ranges = Ranged(mdp.n_states, lower, upper)
        least = min(self.ranges.upper_ends, default=self.ranges.upper)
        if not lower <= 0 <= least:
            raise ValueError(f"0 lies outside the range [{lower}, {least}]")
        self.mdp = mdp
        self.all_levels = all_levels
        self.constraints: list[Distribution] = []
        self._values = [_ZERO] * mdp.n_states
        self._policy = [0] * mdp.n_states
        self._known: set[object] = set()
        self._supports: list[dict[int, Fraction]] = []
        self._bound: defaultdict[int, list[int]] = defaultdict(list)
        self._violated: dict[int, Fraction] = {}
        self._wrong: dict[int, str] = {}
        self._predecessors = _Predecessors(mdp)
        self._actions: dict[int, tuple[Fraction, list[tuple[int, Fraction]]]] = {}

    def play(self, changes: Mapping[int, Setting], level: int) -> Replayed:
        """Play a round: change states, check, add the constraint."""
        if not 1 <= level <= self.mdp.horizon:
            raise ValueError(f"level {level} is outside 1..{self.mdp.horizon}")
        touched = self._apply(changes) | self._violated.keys()
        self._violated = {}
        for index in touched:
            error = self._error(self._supports[index])
            if error:
                self._violated[index] = error
        broken = tuple(self._describe())
        levels = list(self._levels())
        errors = tuple(self._error(met) for met in levels)
        chosen = range(1, self.mdp.horizon + 1) if self.all_levels else (level,)
        added = [
            distribution
            for h in chosen
            for distribution in self._add(levels[h - 1], h, errors[h - 1])
        ]
        objective = self._values[self.mdp.start]
        return Replayed(objective, errors, broken, tuple(added), len(touched))

    def action_at(self, state: int) -> int:
        """Global action that the current policy takes in a state."""
        return int(self.mdp.action_offset[state]) + self._policy[state]

    def _apply(self, changes: Mapping[int, Setting]) -> set[int]:
        """Make the changes; return the constraints that they touch."""
        touched: set[int] = set()
        for state, setting in changes.items():
            moved = self._values[state] != setting.value
            if not moved and self._policy[state] == setting.action:
                self._check_setting(state, setting)
                continue
            self._values[state] = setting.value
            self._policy[state] = setting.action
            self._check_setting(state, setting)
            touched.update(self._bound.get(state, ()))
            if moved:
                for source in self._predecessors.of(state):
                    touched.update(self._bound.get(source, ()))
        return touched

    def _check_setting(self, state: int, setting: Setting) -> None:
        """Record whether a state's Q-values are in range and its action greedy."""
        count = len(self.mdp.actions(state))
        if not 0 <= setting.action < count:
            raise ValueError(
                f"state {self.mdp.state_names[state]!r} has no action {setting.action}"
            )
        self._wrong.pop(state, None)
        q = setting.q
        if q is None:
            q = (setting.value,) if count == 1 else (setting.value, _ZERO)
        elif len(q) != count or q[setting.action] != setting.value:
            raise ValueError(
                f"the Q-values of state {self.mdp.state_names[state]!r} do not match "
                f"its {count} actions and its value {setting.value}"
            )
        name = self.mdp.state_names[state]
        lower, upper = self.ranges.lower, self.ranges.upper_of(state)
        if not lower <= min(q) <= max(q) <= upper:
            self._wrong[state] = f"the Q-values at {name} leave [{lower}, {upper}]"
        elif max(q) != setting.value:
            self._wrong[state] = f"the action at {name} is not greedy"

    def _error(self, distribution: Mapping[int, Fraction]) -> Fraction:
        total = _ZERO
        for state, mass in distribution.items():
            reward, successors = self._action(state)
            error = self._values[state] - reward
            for target, probability in successors:
                value = self._values[target]
                if value:
                    error -= probability * value
            total += mass * error
        return total

    def _action(self, state: int) -> tuple[Fraction, list[tuple[int, Fraction]]]:
        action = self.action_at(state)
        known = self._actions.get(action)
        if known is None:
            known = self.mdp.reward(action), self.mdp.successors(action)
            self._actions[action] = known
        return known

    def _levels(self) -> Iterator[dict[int, Fraction]]:
        met = {int(self.mdp.start): Fraction(1)}
        for _ in range(self.mdp.horizon):
            yield met
            after: defaultdict[int, Fraction] = defaultdict(Fraction)
            for state, mass in met.items():
                for target, probability in self._action(state)[1]:
                    after[target] += mass * probability
            met = dict(sorted(after.items()))

    def _add(
        self, met: dict[int, Fraction], level: int, error: Fraction
    ) -> Iterator[Distribution]:
        key = tuple(met.items())
        if not met or key in self._known:
            return
        self._known.add(key)
        index = len(self.constraints)
        distribution = Distribution.from_fractions(met, level)
        self.constraints.append(distribution)
        self._supports.append(met)
        for state in met:
            self._bound[state].append(index)
        self._violated[index] = error  # evaluated in the next round in any case
        yield distribution

    def _describe(self) -> Iterator[str]:
        yield from self._wrong.values()
        for index, error in sorted(self._violated.items()):
            names = ", ".join(self.mdp.state_names[s] for s in self._supports[index])
            yield f"the average Bellman error at {{{names}}} is {error}, not 0"


class _Predecessors:
    def __init__(self, mdp: TabularMDP) -> None:
        offsets = mdp.transition_offset[mdp.action_offset]
        sources = np.repeat(np.arange(mdp.n_states), np.diff(offsets))
        targets = mdp.transition_target.astype(np.int64)
        pairs = np.unique(targets * mdp.n_states + sources)
        self._sources: list[int] = (pairs % mdp.n_states).tolist()
        self._bounds: list[int] = np.searchsorted(
            pairs, np.arange(mdp.n_states + 1) * mdp.n_states
        ).tolist()

    def of(self, state: int) -> list[int]:
        low, high = self._bounds[state : state + 2]
        return self._sources[low:high]
