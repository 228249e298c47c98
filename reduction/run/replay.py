"""A run of OLIVE in progress: its rounds replayed, its optimum bounded, its level.

`Replay` plays rounds on any tabular MDP and checks each exactly. After a round the pair
(g, π) that the Q-function induces is to be feasible, and the distribution at the chosen
level (or every one) becomes a constraint. Its average Bellman error depends on π and g
in its support and on g at the successors of π's actions there alone. So only
constraints known to be violated, or with a changed state or a predecessor of a changed
value in their support, are evaluated again; a new one counts as violated until it has
been. By induction that finds what evaluating all would. The stated run then takes
O(m + n), a round what the clauses of one variable take.

`StartBound` bounds g(s0) in the program of a round, from what is bound already. A state
bound alone is worth no more than the best of its actions, a bound pair of literals
`top`, any other state what its range allows. In the stated runs some pair attains the
bound. Constraints are sorted by what they are over:

============  =================================================================
start         s0
clause        one clause state, as stated by the hard program
clauses       several clause states, after [solve]
variable      X_i, as stated
pair          both literals of a variable, half each, as stated
literals      literal states behind a clause: never stated
bottom        the state behind [quit] alone, as stated
mixed         anything else
============  =================================================================
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from ...algorithms.exact.arrays import check_choice
from ...algorithms.mdp.planning import Distribution
from ...algorithms.mdp.tabular import TabularMDP
from ...algorithms.olive_program.program import Ranged, Upper
from ..family.family import Family
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


Kind = Literal[
    "start", "clause", "clauses", "variable", "pair", "literals", "bottom", "mixed"
]


class StartBound:
    """Keeps the bound on g(s0) while constraints are added."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self.ranges = family.layout.declaration.ranges
        n = family.n_variables
        self._start = False
        self._bound = set[int]()  # clauses, by their states
        # Of each variable: whether its pair, and what leads to it, is bound.
        passes = not family.layout.declaration.variable_states
        self._pairs, self._passes = [False] * n, [passes] * n
        self._tried = Counter({self._worth(0): n})
        self.reach = family.layout.declaration.reach
        self._solved = self.reach * self.ranges.middle
        stated = family.distributions() if family.layout.n_sides else ()
        self._open = {_key(d) for d in stated}  # of `forced`, what is not bound yet

    def add(self, distribution: Distribution) -> None:
        """Bind a distribution: one state, or both literals of a variable."""
        layout, states = self.family.layout, distribution.states.tolist()
        if layout.n_sides:
            self._open.discard(_key(distribution))
            return
        match kind_of(self.family, distribution):
            case "start":
                self._start = True
            case "clause":
                self._bind_clause(states[0])
            case "variable":
                i = states[0] - layout.first_variable_state
                self._bind_variable(i, self._passes)
            case "pair":
                i = (states[0] - layout.first_literal_state) // 2
                self._bind_variable(i, self._pairs)

    def value(self) -> Fraction:
        """Greatest g(s0) that the ranges and the bound states leave possible."""
        family, ranges = self.family, self.ranges
        sides = family.layout.declaration.sides
        if sides:
            if self._open - {_key(family.distributions()[1])}:
                return ranges.start
            idle = (1 - self.reach) * sides.end
            high = family.solve_reward + self._solved + idle
            return high if self._open else family.parameters.best
        if not self._start:
            return ranges.start
        free = len(self._bound) < family.n_clauses
        return min(
            ranges.start,
            max(
                family.try_variable_reward + max(self._tried),
                family.try_clause_reward + (ranges.middle if free else self._clause),
                family.solve_reward + self._solved,
            ),
        )

    @property
    def _clause(self) -> Fraction:
        return min(self.ranges.middle, self.ranges.literal)

    def _bind_clause(self, state: int) -> None:
        if state in self._bound:
            return
        self._bound.add(state)
        family = self.family
        weight = 1 if family.weights is None else int(family.weights[state - 1])
        chance = self.reach * weight / family.total_weight
        self._solved -= chance * (self.ranges.middle - self._clause)

    def _bind_variable(self, i: int, what: list[bool]) -> None:
        before = self._worth(i)
        what[i] = True
        self._tried.subtract({before: 1})
        self._tried[self._worth(i)] += 1
        self._tried = +self._tried  # at most three values

    def _worth(self, i: int) -> Fraction:
        if not self._passes[i]:
            return self.ranges.middle
        return self.family.top / 2 if self._pairs[i] else self.ranges.literal


def _key(distribution: Distribution) -> tuple[tuple[int, Fraction], ...]:
    return tuple(distribution.probabilities().items())


def kind_of(family: Family, distribution: Distribution) -> Kind:
    """Sort a distribution by the states that it is over; see the module."""
    layout, states = family.layout, distribution.states.tolist()
    first = layout.first_literal_state
    last = first + 2 * family.n_variables - 1
    if states == [layout.start]:
        return "start"
    if all(1 <= s <= family.n_clauses for s in states):
        return "clause" if len(states) == 1 else "clauses"
    if len(states) == 1 and family.n_clauses < states[0] < first:
        return "variable"
    if all(s > last for s in states):
        return "bottom"
    if not all(first <= s <= last for s in states):
        return "mixed"
    half = all(p == Fraction(1, 2) for p in distribution.probabilities().values())
    twins = len(states) == 2 and states[1] == states[0] + 1
    if twins and half and (states[0] - first) % 2 == 0:
        return "pair"
    return "literals"


LevelRule = Literal["lowest", "largest", "any"]
LEVEL_RULES: tuple[LevelRule, ...] = get_args(LevelRule)
Levels = LevelRule | Literal["all"]
"""A rule, or that a round binds every level."""
LEVELS: tuple[Levels, ...] = (*LEVEL_RULES, "all")


def allowed_levels(rule: LevelRule, errors: Sequence[Fraction]) -> list[int]:
    """Levels that a rule allows, 1-based, rising; none if no error is positive."""
    positive = [h for h, error in enumerate(errors, start=1) if error > 0]
    if rule == "any":
        return positive
    if rule == "lowest":
        return positive[:1]
    check_choice("level rule", rule, LEVEL_RULES)
    return [h for h in positive if errors[h - 1] == max(errors)]


def chosen_level(rule: LevelRule, errors: Sequence[Fraction]) -> int | None:
    """Return the level that a rule chooses, None if it leaves a choice or has none."""
    allowed = allowed_levels(rule, errors)
    return allowed[0] if len(allowed) == 1 else None
