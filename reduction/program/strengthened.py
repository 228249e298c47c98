"""The program with its policy, tightened by what holds for formulas: `strengthened`.

Tolerance 0 and values in the variant's ranges only. The variables are g(x) and π(x,a)
(`q-function`: f(x,a) too), and a binary t_i for each variable. Vertex lemma,
inequalities in place of equations, disaggregation, a cut a clause and bounds of the
actions of s0 keep the optimum and speed up branch and bound: docs/formulations.md has
the proofs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.olive_program.program import Form
from ...solvers.model import LinearModel, Variable
from ...solvers.model.large import LargeModel, Numbered, Rows
from ..family.family import Family
from ..family.layout import CLAUSE_BITS, QUIT, Layout
from ..family.variants import refuse_sides
from .optimum import forward
from .reduction_model import ReductionModel, Values, clause_weights

_SIGN_WEIGHTS: dict[tuple[int, ...], list[int]] = {
    signs: (CLAUSE_BITS @ np.array(signs)).tolist()
    for signs in itertools.product((1, -1), repeat=3)
}
"""Σ_k σ_k β_k of each clause action, by the signs σ."""
_THIRDS = {s: Fraction(s, 3) for s in (-1, 1)}


def strengthened(family: Family, form: Form = "value-policy") -> StrengthenedModel:
    """Write OLIVE's program (tolerance 0, values in their ranges) in its tight form."""
    refuse_sides(family.variant, "formulation strengthened")
    model = LargeModel(f"strengthened, {form}, {family.variant}")
    n, layout = family.n_variables, family.layout
    _add_values(model, family)
    truth = _add_literals(model, family)
    start = _add_start(model, family, form)
    clauses = len(model.variables)
    width = layout.clause_actions
    _add_clauses(model, family, form, width)
    model.set_objective([family.start], [1], maximise=True)
    runs = _Runs(layout, start, clauses, width, 1 if form == "value-policy" else 2)
    return StrengthenedModel(
        family,
        "strengthened",
        form,
        model,
        range(layout.n_states),
        range(truth, truth + n),
        runs,
        runs.behind if form == "q-function" else {},
    )


@dataclass(frozen=True)
class _Runs(Mapping[int, range]):
    """Variables of s0 and of each clause state, one an action: they stand in runs."""

    layout: Layout  # Of the family
    # start, clauses: first variable of s0 and of C_1
    start: int
    clauses: int
    width: int  # Number of actions of a clause state
    each: int  # Number of runs of a state, which follow one another
    number: int = 0  # Which of them these are

    def __getitem__(self, state: int) -> range:
        if not 0 <= state <= self.layout.n_clauses:
            raise KeyError(state)
        first, width = self.start, self.layout.solve + 1
        if state:
            width = self.width
            first = self.clauses + (state - 1) * self.each * width
        first += self.number * width
        return range(first, first + width)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.layout.n_clauses + 1))

    def __len__(self) -> int:
        return self.layout.n_clauses + 1

    @property
    def behind(self) -> _Runs:
        """The runs that follow these."""
        return replace(self, number=self.number + 1)


@dataclass(frozen=True, eq=False)
class StrengthenedModel(ReductionModel):
    """See `strengthened`."""

    value_index: range  # Variable of g(x) of each state
    truth_index: range  # Variable t_i of each x_i
    # Variables π(x,a) of s0 and of each clause state, by local action
    policy_index: Mapping[int, range]
    q_index: Mapping[int, range]  # ``q-function`` only: variables f(x,a) of the same

    def assignment(self, values: Values) -> NDArray[np.bool_]:
        """Read an assignment off a point; see `ReductionModel.assignment`."""
        self._check_length(values)
        return np.array([values[i] >= 0.5 for i in self.truth_index], dtype=np.bool_)

    def point(self, assignment: ArrayLike) -> list[Fraction]:
        """Exact point of the certificate; see `ReductionModel.point`."""
        pair = forward(self.family, assignment)
        g = pair.values()
        values = [Fraction(0)] * len(self.model.variables)
        for state, variable in enumerate(self.value_index):
            values[variable] = g[state]
        for i, variable in enumerate(self.truth_index):
            true = g[self.family.literal_state(i, 1)]
            values[variable] = true / self.family.top
        for state, variables in self.policy_index.items():
            values[variables[int(pair.policy[state])]] = Fraction(1)
        for state, variables in self.q_index.items():
            for variable in variables:
                values[variable] = g[state]
        return values

    def lean(self) -> LinearModel:
        """Project π(C_j, ·) and f out; see `ReductionModel.lean`.

        Their rows follow from g(C_j) <= top and the cut, also in the linear relaxation:
        docs/formulations.md has the proof.
        """
        states = range(1, 1 + self.family.n_clauses)
        runs = [self.policy_index[state] for state in states]
        runs += self.q_index.values()
        projected = {variable for run in runs for variable in run}
        rows = [
            row
            for row in self.model.rows
            if row.sense == "==" or projected.isdisjoint(row.indices)
        ]
        return self._changed(rows=rows)


def _add_values(model: LargeModel, family: Family) -> None:
    """g(x) with the ranges that lose nothing."""
    layout, top, zero = family.layout, family.top, Fraction(0)
    variables = model.variables
    model.add_variable("g(s0)", 0, family.parameters.best)
    clause = variables.kind_of(top * 2 / 3, top, False)
    variables.add_copies([clause], ("g(C%d)",), family.n_clauses)
    if layout.declaration.variable_states:  # their equation and the pair's
        middle = variables.kind_of(top / 2, top / 2, False)
        variables.add_copies([middle], ("g(X%d)",), family.n_variables)
    literal = variables.kind_of(zero, top, False)
    both = ("g(x%d^0)", "g(x%d^1)")
    variables.add_copies([literal] * 2, both, family.n_variables)
    for state in range(len(variables), layout.n_states):  # bottom: its equation
        model.add_variable(f"g({layout.state_name(state)})", 0, 0)


def _add_copies(
    model: LargeModel, item: LinearModel, variables: NDArray[Any], *texts: str
) -> None:
    """Add the rows of an item over each line of variables, numbered from 1 on."""
    names = Numbered(texts, range(1, 1 + len(variables)))
    model.rows.add(Rows.copies(item, variables, names))


def _add_literals(model: LargeModel, family: Family) -> int:
    """Integral literal values; the pair's constraint follows. Return t_1's index."""
    n, top = family.n_variables, family.top
    binary = model.variables.kind_of(Fraction(0), Fraction(1), True)
    truth = model.variables.add_copies([binary], ("t%d",), n)
    item = LinearModel()
    true, false, t = (item.add_variable(name, 0, 1) for name in ("1", "0", "t"))
    item.add_row([true, t], [1, -top], "==", 0)
    item.add_row([false, t], [1, top], "==", top)
    first = family.layout.first_literal_state + 2 * np.arange(n)
    variables = np.column_stack([first + 1, first, truth + np.arange(n)])
    _add_copies(model, item, variables, "x%d true", "x%d false")
    return truth


def _add_tries(model: LargeModel, family: Family, kind: int, letters: str) -> int:
    n, m = family.n_variables, family.n_clauses
    first = model.variables.add_copies([kind], (f"{letters}(s0,[try x%d])",), n)
    model.variables.add_copies([kind], (f"{letters}(s0,[try C%d])",), m)
    model.variables.append(
        Variable(f"{letters}(s0,[solve])", *model.variables.kinds[kind])
    )
    return first


def _add_start(model: LargeModel, family: Family, form: Form) -> int:
    """Bound g(s0) by what each action of s0 allows; return the first of π(s0, ·)."""
    n, m, start = family.n_variables, family.n_clauses, family.start
    best, low = family.parameters.best, family.top * 2 / 3
    zero, one = Fraction(0), Fraction(1)
    first = _add_tries(model, family, model.variables.kind_of(zero, one, True), "pi")
    policy = range(first, len(model.variables))
    model.add_row(policy, [1] * len(policy), "==", 1, "choice(s0)")
    if form == "q-function":
        kind = model.variables.kind_of(zero, one, False)
        f = _add_tries(model, family, kind, "f")
        _add_greedy_start(model, policy, f, best, n)
    most = (
        (family.try_variable_reward + family.top / 2, n),
        (family.try_clause_reward + family.top, m),
        (best, 1),
    )
    minus = [c for u, number in most for c in [-u] * number]
    model.add_row([start, *policy], [1, *minus], "<=", 0, "s0, any action")
    clauses = range(1, 1 + m)
    reward = family.try_clause_reward
    slack = best - reward - low
    item = LinearModel()
    g, of_clause, taken = (item.add_variable(name, 0, 1) for name in "gcp")
    item.add_row([g, of_clause, taken], [1, -1, slack], "<=", reward + slack)
    tries = policy[family.layout.try_clause(0)] + np.arange(m)
    variables = np.column_stack([np.full(m, start), clauses, tries])
    _add_copies(model, item, variables, "s0, [try C%d]")
    weights = clause_weights(family)
    reach = family.parameters.reach
    chances = {w: -reach * w / family.total_weight for w in set(weights)}
    least = family.solve_reward + reach * low  # what [solve] is worth in any case
    others = [c for u, number in most[:-1] for c in [-max(u - least, zero)] * number]
    model.add_row(
        [start, *clauses, *policy[:-1]],
        [1, *(chances[w] for w in weights), *others],
        "<=",
        family.solve_reward,
        "s0, [solve]",
    )
    return first


def _add_greedy_start(
    model: LargeModel, policy: range, f: int, best: Fraction, n: int
) -> None:
    """g(s0) = max_a f(s0,a), attained where π is."""
    item = LinearModel()
    g = item.add_variable("g", 0, best)
    taken = item.add_variable("pi", 0, 1)
    _add_greedy(item, g, [taken], ["%s"], "s0")
    size = len(policy)
    places = np.arange(size)
    variables = np.column_stack([0 * places, policy[0] + places, f + places])
    for part, name in (
        (slice(n), "[try x%d]"),
        (slice(n, -1), "[try C%d]"),
        (slice(-1, None), "[solve]%.0s"),
    ):
        texts = [row.name.replace("%s", name) for row in item.rows]
        _add_copies(model, item, variables[part], *texts)


def _add_greedy(
    item: LinearModel, g: int, policy: Sequence[int], actions: list[str], place: str
) -> None:
    """g(x) = max_a f(x,a), attained where π is; the f(x,a) are new variables."""
    top = item.variables[g].upper
    values = [item.add_variable(f"f({place},{name})", 0, 1) for name in actions]
    for name, f, taken in zip(actions, values, policy, strict=True):
        item.add_row([g, f], [1, -1], ">=", 0, f"maximum({place},{name})")
        item.add_row([g, f, taken], [1, -1, top], "<=", top, f"greedy({place},{name})")


def _add_clauses(model: LargeModel, family: Family, form: Form, width: int) -> None:
    """Bound the g(C_j), alike where clauses repeat literals alike."""
    m, own = family.n_clauses, family.literal_states_of_clauses
    # The place of each literal among the distinct ones of its clause.
    places = np.zeros((m, 3), dtype=np.int64)
    places[:, 1] = own[:, 1] != own[:, 0]
    again = [own[:, 2] == own[:, 0], own[:, 2] == own[:, 1]]
    places[:, 2] = np.select(again, [0, places[:, 1]], places[:, 1] + 1)
    patterns, which = np.unique(places, axis=0, return_inverse=True)
    items = [_clause_item(family, form, pattern) for pattern in patterns.tolist()]
    added = items[0].variables[-width * (1 if form == "value-policy" else 2) :]
    first = model.variables.add_copies(
        [model.variables.kind_of(v.lower, v.upper, v.integer) for v in added],
        tuple(v.name for v in added),
        m,
    )
    for k, (item, pattern) in enumerate(zip(items, patterns.tolist(), strict=True)):
        chosen = np.flatnonzero(which.ravel() == k)
        distinct = own[chosen][:, [pattern.index(p) for p in range(max(pattern) + 1)]]
        behind = first + chosen[:, None] * len(added) + np.arange(len(added))
        names = Numbered(tuple(row.name for row in item.rows), chosen + 1)
        variables = np.column_stack([1 + chosen, distinct, behind]).astype(np.int32)
        model.rows.add(Rows.copies(item, variables, names))


def _clause_item(family: Family, form: Form, places: list[int]) -> LinearModel:
    """Bound g(C_j) by its actions: a row a sign pattern, the cut, and [quit].

    The variables are g(C_j), the distinct literals, π(C_j, ·) and f(C_j, ·).
    """
    layout, top, third = family.layout, family.top, family.top / 3
    item, place = LinearModel(), "C%d"
    g = item.add_variable(f"g({place})", top * 2 / 3, top)
    distinct = [item.add_variable(f"v{k}", 0, top) for k in range(max(places) + 1)]
    literals = [distinct[k] for k in places]
    names = [
        layout.action_name(layout.first_clause_action + a)
        for a in range(layout.clause_actions)
    ]
    policy = [item.add_variable(f"pi({place},{name})", 0, 1) for name in names]
    item.add_row(policy, [1] * len(policy), "==", 1, f"choice({place})")
    if form == "q-function":
        _add_greedy(item, g, policy, names, place)
    multiples = {w: third * w for w in range(-3, 4)}
    for signs, weights in _SIGN_WEIGHTS.items():
        item.add_row(
            [g, *policy[:7], *literals],
            [1, *(multiples[w] for w in weights), *(_THIRDS[-s] for s in signs)],
            "<=",
            top,
            f"{place}, signs {''.join('+' if s > 0 else '-' for s in signs)}",
        )
    item.add_row(
        [g, *distinct],
        [1, *[_THIRDS[-1]] * len(distinct)],
        "<=",
        2 * third,
        f"{place}, cut",
    )
    if layout.declaration.quit:
        item.add_row([g, policy[QUIT]], [1, top], "<=", top, f"{place}, [quit]")
    return item
