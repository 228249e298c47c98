"""OLIVE's program as a mixed-integer linear model, in two forms.

Both are exact reformulations: the optimum is the program's, and every optimal
point of the model is read back as an optimal pair.

Only some states have variables: the start state, the states of the
distributions (the *support*), and the successors of the support's actions.
No other value and no other state's action occurs in the program, so any value
in the range and any action will do there.

``value-policy``
    Variables g(x) ∈ [lower, upper]. A support state with more than one distinct
    action has a binary π(x,a) for each of them, adding up to 1, and a variable
    b(x) for the backup, which the rows

        b(x) − E[r + g(x′) | x, a] ≤ M⁺ (1 − π(x,a)),
        E[r + g(x′) | x, a] − b(x) ≤ M⁻ (1 − π(x,a))

    make equal to the backup of the action taken. M⁺ and M⁻ are the least
    constants that never cut: the differences between the end points of the
    ranges of b(x) and of the action's backup, in rationals. A constraint is
    |Σ_x D(x)(g(x) − b(x))| ≤ φ, the program's own. So the points of the model
    are exactly the feasible pairs (with their backups), and g(s0) is its
    objective.

``q-function``
    Variables f(x,a) ∈ [lower, upper] for the support and the start state, and
    v(x) = f(x, π_f(x)) = max_a f(x,a), by v ≥ f(x,a) and v ≤ f(x,a) + (upper −
    lower)(1 − π(x,a)): π may be any maximiser, as ties are OLIVE's to break.
    The constraints are those above with v for g. The optimum is the same: a
    pair (g, π) gives f(x, π(x)) = g(x) and f(x,a) = lower elsewhere, whose
    greedy policy is π (or tied with it); and f gives (v, π_f). Of the other
    states only v(x) occurs; it stands for a function constant in a.
    φ bounds the conditional expectation, as in the other form: the paper's
    Q-function form has no factor K and there φ means a K-th (erratum 6).

Actions of a state with equal reward and transitions share one binary; the
policy read back takes the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.mdp.pair import Pair
from olivine.algorithms.olive.backups import (
    Backup,
    action_classes,
    backup_range,
    distinct_actions,
    needed_states,
    single_state_constraints,
    support_states,
)
from olivine.solvers.model import LinearModel

if TYPE_CHECKING:
    from olivine.algorithms.olive.program import Form, OliveProgram


@dataclass
class ProgramModel:
    """A linear model of OLIVE's program, with the way back to pairs.

    Attributes
    ----------
    program, form
        What was modelled, and how.
    model
        The mixed-integer linear model; its objective is g(start), maximised.
    value_index
        Variable of g(x), or of max_a f(x,a), of each state that has one.
    policy_index
        For each support state with several distinct actions, the binary of
        each of them by local index. (``q-function``: the start state, too.)
    backup_index
        Variable b(x) of each support state with several distinct actions.
    q_index
        ``q-function`` only: variable of f(x,a) by (state, local action).
    """

    program: OliveProgram
    form: Form
    model: LinearModel
    value_index: dict[int, int] = field(default_factory=dict)
    policy_index: dict[int, dict[int, int]] = field(default_factory=dict)
    backup_index: dict[int, int] = field(default_factory=dict)
    q_index: dict[tuple[int, int], int] = field(default_factory=dict)

    def policy(self, values: Sequence[Fraction] | Sequence[float]) -> NDArray[np.int32]:
        """Read the policy off the binaries; floats are welcome.

        Each state takes the action of its largest binary; states without
        binaries take action 0.
        """
        policy = np.zeros(self.program.mdp.n_states, dtype=np.int32)
        for state, binaries in self.policy_index.items():
            policy[state] = max(binaries, key=lambda local: values[binaries[local]])
        return policy

    def pair(self, values: Sequence[Fraction | int]) -> Pair:
        """Read an exactly feasible pair off an exact point of the model.

        States without a variable get the value of the range nearest to 0.

        Raises
        ------
        ValueError
            If a value is no exact rational, or the pair breaks the program
            (then the point breaks the model).
        """
        if len(values) != len(self.model.variables):
            raise ValueError(
                f"{len(values)} values for {len(self.model.variables)} variables"
            )
        for variable in self.value_index.values():
            if not isinstance(values[variable], Fraction | int):
                raise ValueError(
                    f"value {values[variable]!r} of "
                    f"{self.model.variables[variable].name!r} is not exact"
                )
        states = range(self.program.mdp.n_states)
        g = [self.program.nearest_to_zero(state) for state in states]
        for state, variable in self.value_index.items():
            g[state] = Fraction(values[variable])
        exact = [Fraction(v) for v in values]
        pair = Pair.from_fractions(g, self.policy(exact))
        broken = self.program.violations(pair)
        if broken:
            raise ValueError(f"the point does not satisfy the program: {broken[0]}")
        return pair

    def point(self, pair: Pair) -> list[Fraction]:
        """Exact point of the model for a pair, feasible when the pair is.

        Unchosen f(x,a) get the lower end of the range.
        """
        mdp, g = self.program.mdp, pair.values()
        values = [self.program.lower] * len(self.model.variables)
        for state, variable in self.value_index.items():
            values[variable] = g[state]
        taken: dict[int, int] = {}
        for state, binaries in self.policy_index.items():
            taken[state] = action_classes(mdp, state)[int(pair.policy[state])]
            for local, variable in binaries.items():
                values[variable] = Fraction(int(local == taken[state]))
        for state, variable in self.backup_index.items():
            action = mdp.actions(state)[int(pair.policy[state])]
            values[variable] = Backup.of(self.program, action).at(g)
        for (state, local), variable in self.q_index.items():
            # without a choice f(x,a) is the variable of g(x)
            if taken.get(state, local) == local:
                values[variable] = g[state]
        return values


def program_model(program: OliveProgram, form: Form) -> ProgramModel:
    """Build the model of a program; see the module's text and `OliveProgram`."""
    if form not in ("value-policy", "q-function"):
        raise ValueError(f"unknown form {form!r}: value-policy or q-function")
    built = ProgramModel(program, form, LinearModel(name="olive"))
    mdp = program.mdp
    for state in needed_states(program):
        built.value_index[state] = built.model.add_variable(
            f"g({mdp.state_names[state]})", program.lower, program.upper_of(state)
        )
    alone = single_state_constraints(program)
    support = set(support_states(program))
    choosing = support | ({mdp.start} if form == "q-function" else set())
    for state in sorted(choosing):
        labels = _labels(program, state)
        if form == "q-function":
            _add_q_values(built, state, labels)
        if len(labels) > 1:
            _add_choice(built, state, labels)
            if form == "q-function":
                _add_greedy_rows(built, state, labels)
            if state in support:
                _add_backup(built, state, labels, alone.get(state))
    _add_constraints(built)
    start = built.value_index[mdp.start]
    built.model.set_objective([start], [1], maximise=True)
    return built


def _labels(program: OliveProgram, state: int) -> dict[int, str]:
    """Label "state,action" of each distinct action of a state."""
    mdp = program.mdp
    name, first = mdp.state_names[state], int(mdp.action_offset[state])
    return {
        local: f"{name},{mdp.action_names[first + local]}"
        for local in distinct_actions(mdp, state)
    }


def _add_q_values(built: ProgramModel, state: int, labels: Mapping[int, str]) -> None:
    """f(x,a) for the distinct actions; with one action it is v(x) itself."""
    if len(labels) == 1:
        built.q_index[state, next(iter(labels))] = built.value_index[state]
        return
    for local, label in labels.items():
        built.q_index[state, local] = built.model.add_variable(
            f"f({label})", built.program.lower, built.program.upper_of(state)
        )


def _add_choice(built: ProgramModel, state: int, labels: Mapping[int, str]) -> None:
    """Binaries that choose one of the distinct actions."""
    binaries = {
        local: built.model.add_variable(f"pi({label})", 0, 1, integer=True)
        for local, label in labels.items()
    }
    built.policy_index[state] = binaries
    name = built.program.mdp.state_names[state]
    built.model.add_row(
        list(binaries.values()), [1] * len(binaries), "==", 1, f"choice({name})"
    )


def _add_greedy_rows(
    built: ProgramModel, state: int, labels: Mapping[int, str]
) -> None:
    """v(x) = max_a f(x,a), attained by the action chosen."""
    width = built.program.upper_of(state) - built.program.lower
    v = built.value_index[state]
    for local, binary in built.policy_index[state].items():
        f, label = built.q_index[state, local], labels[local]
        built.model.add_row([v, f], [1, -1], ">=", 0, f"maximum({label})")
        built.model.add_row(
            [v, f, binary], [1, -1, width], "<=", width, f"greedy({label})"
        )


def _add_backup(
    built: ProgramModel, state: int, labels: Mapping[int, str], alone: Fraction | None
) -> None:
    """b(x), made equal to the chosen action's backup by big-M rows."""
    program, model = built.program, built.model
    actions = program.mdp.actions(state)
    backups = {local: Backup.of(program, actions[local]) for local in labels}
    low, high = backup_range(program, state, list(backups.values()), alone)
    b = model.add_variable(f"backup({program.mdp.state_names[state]})", low, high)
    built.backup_index[state] = b
    for local, backup in backups.items():
        indices = [b, built.policy_index[state][local]]
        indices += [built.value_index[s] for s in backup.states]
        minus = [-c for c in backup.coefficients]
        above, below = high - backup.low, backup.high - low
        reward, label = backup.constant, labels[local]
        if above > 0:  # else b(x) never exceeds the backup
            coefs: list[Fraction | int] = [1, above, *minus]
            model.add_row(indices, coefs, "<=", reward + above, f"above({label})")
        if below > 0:
            coefs = [1, -below, *minus]
            model.add_row(indices, coefs, ">=", reward - below, f"below({label})")


def _add_constraints(built: ProgramModel) -> None:
    """|E_D[g(x) − b(x)]| ≤ φ for every distribution."""
    program, model = built.program, built.model
    for i, distribution in enumerate(program.distributions):
        indices: list[int] = []
        coefficients: list[Fraction] = []
        constant = Fraction(0)
        for state, share in distribution.probabilities().items():
            indices.append(built.value_index[state])
            coefficients.append(share)
            if state in built.backup_index:
                indices.append(built.backup_index[state])
                coefficients.append(-share)
                continue
            backup = Backup.of(program, program.mdp.actions(state)[0])
            indices.extend(built.value_index[s] for s in backup.states)
            coefficients.extend(-share * c for c in backup.coefficients)
            constant += share * backup.constant
        add_constraint(
            model, indices, coefficients, constant, program.tolerance, f"bellman({i})"
        )


def add_constraint(
    model: LinearModel,
    indices: Sequence[int],
    coefficients: Sequence[Fraction],
    constant: Fraction,
    tolerance: Fraction,
    name: str,
) -> None:
    """Add ``|coefficients · x[indices] − constant| <= tolerance``.

    One equation if the tolerance is 0, else two rows.
    """
    if tolerance == 0:
        model.add_row(indices, coefficients, "==", constant, name)
        return
    model.add_row(indices, coefficients, "<=", constant + tolerance, f"{name}+")
    model.add_row(indices, coefficients, ">=", constant - tolerance, f"{name}-")
