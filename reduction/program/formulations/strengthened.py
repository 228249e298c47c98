"""The program with its policy, tightened by what holds for formulas: `strengthened`.

Tolerance 0 and values in the variant's ranges only. The variables are those of the
program, g(x) and π(x,a) (`q-function`: f(x,a) too), and a binary t_i for each variable.
Five changes keep the optimum and speed up branch and bound:

1. *Vertex lemma.* g(x_i^1) = top t_i and g(x_i^0) = top (1 − t_i). Under a fixed
   policy g(s0) is affine in the literal values, each pair of which ranges over
   a segment by its constraint, so a vertex of the product of the segments is
   optimal. (With φ > 0 the values are not so tied to the policy, and optimal
   literal values may be fractional.)
2. *Equations as inequalities.* g(s0) and g(C_j) are bounded by the values of
   their actions from above only. g(s0) is maximised and grows with g(C_j), so
   at an optimum nothing is lost. The literal, X_i and bottom states keep their
   equations.
3. *Disaggregation.* With bit k of the clause action β_k = Σ_b b_k π(C_j, b) and
   v_k the truth of literal k, the action is worth top (1 − Σ_k |β_k − v_k| / 3)
   by definition. Written out over the signs σ ∈ {−1, 1}³, without any big M:
   3 g(C_j) <= top (3 − Σ_k σ_k (β_k − v_k)).
4. *The cut.* 3 g(C_j) <= top (2 + Σ v), over the distinct literals, and
   g(C_j) <= top. An action b ≠ 000 has some b_k = 1, whose literal gives v_k,
   and the other two give at most 1 each; the cut holds for fractional values,
   too. For 0/1 values it alone gives the value of the best action, 2/3 top or
   top; hence π(C_j, ·) need not be declared integral. It is so of itself at a
   satisfied clause of value top; at an unsatisfied one it may mix the actions
   001, 010 and 100, which are equally good.
5. *Bounds of the actions of s0.* g(s0) <= Σ_a π(s0,a) U_a with U = `best` for
   [solve], best − p for [try C_j], its reward + top/2 for [try x_i]. Clause values lie
   in [2/3 top, top], since the best action is worth that much at any vertex. So [quit]
   (`all-levels`), worth 0, is never taken.

Hence every feasible point has g(s0) at most that of the certificate of its
literal values, t, and each certificate is a point: the optimum is the
program's. `q-function` adds f(x,a) with g(x) = max_a f(x,a) attained where π
is; f ≡ g always qualifies.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from olivine.algorithms.olive.program import Form
from olivine.reduction.family.family import Family
from olivine.reduction.family.layout import CLAUSE_BITS, QUIT
from olivine.reduction.program.formulations.reduction_model import (
    ReductionModel,
    Values,
    clause_weights,
)
from olivine.reduction.program.witness import forward
from olivine.solvers.model import LinearModel

_SIGN_WEIGHTS: dict[tuple[int, ...], list[int]] = {
    signs: (CLAUSE_BITS @ np.array(signs)).tolist()
    for signs in itertools.product((1, -1), repeat=3)
}
"""Σ_k σ_k β_k of each clause action, by the signs σ."""
_THIRDS = {s: Fraction(s, 3) for s in (-1, 1)}


def strengthened(family: Family, form: Form = "value-policy") -> StrengthenedModel:
    """Write OLIVE's program (tolerance 0, values in their ranges) in its tight form.

    Parameters
    ----------
    family
        The family.
    form
        "value-policy" or "q-function".
    """
    model = LinearModel(name=f"strengthened, {form}, {family.variant}")
    built = StrengthenedModel(family, "strengthened", form, model)
    _add_values(built)
    _add_literals(built)
    _add_start(built)
    for j in range(family.n_clauses):
        _add_clause(built, j)
    model.set_objective([built.value_index[family.start]], [1], maximise=True)
    return built


@dataclass(frozen=True, eq=False)
class StrengthenedModel(ReductionModel):
    """See `strengthened`.

    Attributes
    ----------
    value_index
        Variable of g(x) of each state.
    truth_index
        Variable t_i of each x_i.
    policy_index
        Variables π(x,a) of s0 and of each clause state, by local action.
    q_index
        ``q-function`` only: variables f(x,a) of the same.
    implied_rows
        Rows of the model that `lean` leaves out.
    """

    value_index: list[int] = field(default_factory=list)
    truth_index: list[int] = field(default_factory=list)
    policy_index: dict[int, list[int]] = field(default_factory=dict)
    q_index: dict[int, list[int]] = field(default_factory=dict)
    implied_rows: set[int] = field(default_factory=set)

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

        What is left out are the rows of `implied_rows`: they are the only ones, but
        for Σ_a π(C_j,a) = 1, in which π(C_j, ·) and f occur. Each (g, t, π(s0, ·)) of
        the other rows, also of their linear relaxation, is completed to a point of
        the model. For then

        - a π(C_j, ·) with weight 0 on [quit] has some β for Σ_b b π(C_j, b), and these
          are just the β in [0, 1]³ with β_1 + β_2 + β_3 >= 1, the convex hull of the
          actions. The nearest to v is v itself if Σ_k v_k >= 1, else at distance
          Σ_k |β_k − v_k| = 1 − Σ_k v_k. So some π meets the rows of the signs if

              3 g(C_j) <= top min(3, 2 + Σ_k v_k),

          and that follows from g(C_j) <= top and the cut, whose sum over the distinct
          literals is no greater;
        - [quit] binds nothing at weight 0;
        - f(x, ·) = g(x) meets the rows of f.
        """
        rows = [r for i, r in enumerate(self.model.rows) if i not in self.implied_rows]
        return replace(self.model, rows=rows)


def _add_values(built: StrengthenedModel) -> None:
    """g(x) with the ranges that lose nothing."""
    family, layout = built.family, built.family.layout
    literals = range(
        layout.first_literal_state, layout.first_literal_state + 2 * family.n_variables
    )
    for state in range(layout.n_states):
        lower, upper = Fraction(0), Fraction(0)  # bottom: its equation
        if state == layout.start:
            upper = family.parameters.best
        elif state <= family.n_clauses:
            lower, upper = family.top * 2 / 3, family.top
        elif state < literals.start:
            lower = upper = family.top / 2  # X_i: its equation and the pair's
        elif state in literals:
            upper = family.top
        name = f"g({layout.state_name(state)})"
        built.value_index.append(built.model.add_variable(name, lower, upper))


def _add_literals(built: StrengthenedModel) -> None:
    """Integral literal values; the pair's constraint follows."""
    family, model, g = built.family, built.model, built.value_index
    for i in range(family.n_variables):
        truth = model.add_variable(f"t{i + 1}", 0, 1, integer=True)
        built.truth_index.append(truth)
        false, true = (g[family.literal_state(i, b)] for b in (0, 1))
        name = f"x{i + 1}"
        model.add_row([true, truth], [1, -family.top], "==", 0, f"{name} true")
        model.add_row(
            [false, truth], [1, family.top], "==", family.top, f"{name} false"
        )


def _add_choice(
    built: StrengthenedModel, state: int, actions: list[str], *, integer: bool
) -> list[int]:
    """π(x,a), adding up to 1, and in the Q-function form f(x,a)."""
    model, g = built.model, built.value_index[state]
    place = built.family.layout.state_name(state)
    policy = [
        model.add_variable(f"pi({place},{a})", 0, 1, integer=integer) for a in actions
    ]
    model.add_row(policy, [1] * len(policy), "==", 1, f"choice({place})")
    built.policy_index[state] = policy
    if built.form == "q-function":
        built.q_index[state] = []
        top = model.variables[g].upper
        for name, taken in zip(actions, policy, strict=True):
            f = model.add_variable(f"f({place},{name})", 0, 1)
            built.q_index[state].append(f)
            greedy, label = [g, f, taken], f"greedy({place},{name})"
            built.implied_rows.update(
                (
                    model.add_row([g, f], [1, -1], ">=", 0, f"maximum({place},{name})"),
                    model.add_row(greedy, [1, -1, top], "<=", top, label),
                )
            )
    return policy


def _add_start(built: StrengthenedModel) -> None:
    """Bound g(s0) by what each action of s0 allows it to be."""
    family, model, n = built.family, built.model, built.family.n_variables
    layout, g = family.layout, built.value_index
    start, low = g[family.start], family.top * 2 / 3
    names = [layout.action_name(a) for a in range(layout.solve + 1)]
    policy = _add_choice(built, family.start, names, integer=True)
    most = [family.try_variable_reward + family.top / 2] * n
    most += [family.try_clause_reward + family.top] * family.n_clauses
    most += [family.parameters.best]
    model.add_row([start, *policy], [1, *(-u for u in most)], "<=", 0, "s0, any action")
    clauses = [g[family.clause_state(j)] for j in range(family.n_clauses)]
    reward = family.try_clause_reward
    slack = family.parameters.best - reward - low
    for j, clause in enumerate(clauses):
        model.add_row(
            [start, clause, policy[layout.try_clause(j)]],
            [1, -1, slack],
            "<=",
            reward + slack,
            f"s0, [try C{j + 1}]",
        )
    reach = family.parameters.reach
    chances = [reach * w / family.total_weight for w in clause_weights(family)]
    least = family.solve_reward + reach * low  # what [solve] is worth in any case
    others = [
        (z, max(u - least, Fraction(0)))
        for z, u in zip(policy[:-1], most[:-1], strict=True)
    ]
    model.add_row(
        [start, *clauses, *(z for z, _ in others)],
        [1, *(-c for c in chances), *(-u for _, u in others)],
        "<=",
        family.solve_reward,
        "s0, [solve]",
    )


def _add_clause(built: StrengthenedModel, j: int) -> None:
    """Bound g(C_j) by its actions: a row a sign pattern, the cut, and [quit]."""
    family, model = built.family, built.model
    layout, third = family.layout, family.top / 3
    state = family.clause_state(j)
    g, place = built.value_index[state], layout.state_name(state)
    names = [layout.action_name(layout.first_clause_action + a) for a in range(7)]
    quits = layout.declaration.quit
    policy = _add_choice(
        built, state, [*names, "[quit]"] if quits else names, integer=False
    )
    own = family.literal_states_of_clauses[j].tolist()
    literals = [built.value_index[s] for s in own]
    multiples = {w: third * w for w in range(-3, 4)}
    for signs, weights in _SIGN_WEIGHTS.items():
        row = model.add_row(
            [g, *policy[:7], *literals],
            [
                1,
                *(multiples[w] for w in weights),
                *(_THIRDS[-s] for s in signs),
            ],
            "<=",
            family.top,
            f"{place}, signs {''.join('+' if s > 0 else '-' for s in signs)}",
        )
        built.implied_rows.add(row)
    distinct = list(dict.fromkeys(literals))
    model.add_row(
        [g, *distinct],
        [1, *[_THIRDS[-1]] * len(distinct)],
        "<=",
        2 * third,
        f"{place}, cut",
    )
    if quits:
        row = model.add_row(
            [g, policy[QUIT]], [1, family.top], "<=", family.top, f"{place}, [quit]"
        )
        built.implied_rows.add(row)
