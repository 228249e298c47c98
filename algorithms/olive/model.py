"""OLIVE's programs as mixed-integer linear models, in two forms.

Both, ``value-policy`` and ``q-function``, are exact reformulations (docs/olive.md): the
optimum is the program's, and every optimal point of the model is read back as an
optimal pair. Only some states have variables: the start state, the states of the
distributions (the *support*), and the successors of the support's actions. No other
value and no other state's action occurs in the program, so any value in the range and
any action will do there. Actions of a state with equal reward and transitions share one
binary; the policy read back takes the first of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.mdp.bellman import Pair
from olivine.algorithms.mdp.distributions import Distribution
from olivine.algorithms.olive.backups import (
    Affine,
    action_classes,
    backup_of,
    backup_range,
    distinct_actions,
    needed_states,
    single_state_constraints,
    support_states,
)
from olivine.algorithms.olive.interfaces import Program
from olivine.algorithms.olive.program import Form, OliveProgram
from olivine.algorithms.olive.sampled_program import NOTHING, SampledProgram
from olivine.solvers.model import LinearModel, Sense

LARGE = 2000
"""Actions of an MDP from which on its program is modelled in bulk, to the same end."""


@dataclass
class PairModel:
    """A linear model of a program, with the way back to pairs.

    Attributes
    ----------
    program, form
        What was modelled, and how.
    model
        The mixed-integer linear model; its objective is the program's, maximised.
    value_index
        Variable of g(x), or of max_a f(x,a), of each state that has one.
    policy_index
        For each state whose action matters, the binary of each of its distinct
        actions by local index. (``q-function``: the start states, too.)
    q_index
        ``q-function`` only: variable of f(x,a) by (state, local action).
    """

    program: Program
    form: Form
    model: LinearModel
    value_index: MutableMapping[int, int] = field(default_factory=dict)
    policy_index: MutableMapping[int, dict[int, int]] = field(default_factory=dict)
    q_index: MutableMapping[tuple[int, int], int] = field(default_factory=dict)

    def policy(self, values: Sequence[Fraction] | Sequence[float]) -> NDArray[np.int32]:
        """Read the policy off the binaries; floats are welcome.

        Each state takes the action of its largest binary; states without
        binaries take action 0.
        """
        policy = np.zeros(len(self.program.action_counts), dtype=np.int32)
        for state, binaries in self.policy_index.items():
            policy[state] = max(binaries, key=lambda local: values[binaries[local]])
        return policy

    def pair(self, values: Sequence[Fraction | int]) -> Pair:
        """Read an exactly feasible pair off an exact point of the model.

        States without a variable get the value of the range nearest to 0. Raises
        ValueError if a value is no exact rational, or the pair breaks the program (then
        the point breaks the model).
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
        states = range(len(self.program.action_counts))
        g = [self.program.nearest_to_zero(state) for state in states]
        for state, variable in self.value_index.items():
            g[state] = Fraction(values[variable])
        pair = Pair.from_fractions(g, self.policy([Fraction(v) for v in values]))
        if not self.program.is_feasible(pair):
            raise ValueError("the point does not satisfy the program")
        return pair

    def add_q_values(self, state: int, labels: Mapping[int, str]) -> None:
        """f(x,a) for the distinct actions; with one action it is v(x) itself."""
        for local, label in labels.items():
            self.q_index[state, local] = (
                self.value_index[state]
                if len(labels) == 1
                else self.model.add_variable(
                    f"f({label})", self.program.lower, self.program.upper_of(state)
                )
            )

    def add_choice(self, state: int, name: str, labels: Mapping[int, str]) -> None:
        """Binaries that choose one of the distinct actions."""
        binaries = {
            local: self.model.add_variable(f"pi({label})", 0, 1, integer=True)
            for local, label in labels.items()
        }
        self.policy_index[state] = binaries
        self.model.add_row(
            list(binaries.values()), [1] * len(binaries), "==", 1, f"choice({name})"
        )

    def add_greedy_rows(self, state: int, labels: Mapping[int, str]) -> None:
        """v(x) = max_a f(x,a), attained by the action chosen."""
        width = self.program.upper_of(state) - self.program.lower
        v = self.value_index[state]
        for local, binary in self.policy_index[state].items():
            f, label = self.q_index[state, local], labels[local]
            self.model.add_row([v, f], [1, -1], ">=", 0, f"maximum({label})")
            self.model.add_row(
                [v, f, binary], [1, -1, width], "<=", width, f"greedy({label})"
            )

    def add_switch(
        self,
        state: int,
        name: str,
        labels: Mapping[int, str],
        terms: Mapping[int, Affine],
        ends: tuple[Fraction, Fraction],
    ) -> int:
        """Add a variable with the value of the chosen action's term, by big-M rows.

        `ends` is a range that holds it whenever the program is satisfied.
        """
        low, high = ends
        y = self.model.add_variable(name, low, high)
        for local, term in terms.items():
            indices = [y, self.policy_index[state][local], *self.variables(term)]
            for coefficients, sense, rhs, called in switch_rows(term, ends):
                name = f"{called}({labels[local]})"
                self.model.add_row(indices, coefficients, sense, rhs, name)
        return y

    def variables(self, term: Affine) -> list[int]:
        """Variables of the states of a term."""
        return [self.value_index[s] for s in term.states]

    def add_constraint(
        self,
        indices: Sequence[int],
        coefficients: Sequence[Fraction],
        constant: Fraction,
        i: int,
    ) -> None:
        """Add ``|coefficients · x[indices] + constant| <= φ`` as constraint i.

        One equation if φ is 0, else two rows.
        """
        for sense, rhs, sign in bellman_rows(self.program.tolerance, constant):
            self.model.add_row(indices, coefficients, sense, rhs, f"bellman({i}){sign}")


def switch_rows(
    term: Affine, ends: tuple[Fraction, Fraction]
) -> Iterator[tuple[list[Fraction], Sense, Fraction, str]]:
    """Yield the big-M rows of an action over y, its binary and its term's values."""
    low, high = ends
    rows: tuple[tuple[Sense, int, Fraction, str], ...] = (
        ("<=", 1, high - term.low, "above"),
        (">=", -1, term.high - low, "below"),
    )
    minus = term.minus()
    for sense, sign, room, name in rows:
        if room > 0:  # else the row could never cut
            coefficients = [Fraction(1), sign * room, *minus]
            yield coefficients, sense, term.constant + sign * room, name


def bellman_rows(
    phi: Fraction, constant: Fraction
) -> list[tuple[Sense, Fraction, str]]:
    """Sense, right side and suffix of the rows that say |terms + constant| <= φ."""
    if phi == 0:
        return [("==", -constant, "")]
    return [("<=", phi - constant, "+"), (">=", -constant - phi, "-")]


@dataclass
class ProgramModel(PairModel):
    """A linear model of an `OliveProgram`.

    Attributes
    ----------
    backup_index
        Variable b(x) of each support state with several distinct actions.
    """

    program: OliveProgram
    backup_index: MutableMapping[int, int] = field(default_factory=dict)

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
            values[variable] = backup_of(self.program, action).at(g)
        for (state, local), variable in self.q_index.items():
            # without a choice f(x,a) is the variable of g(x)
            if taken.get(state, local) == local:
                values[variable] = g[state]
        return values


@overload
def program_model(program: OliveProgram, form: Form = ...) -> ProgramModel: ...


@overload
def program_model(program: Program, form: Form = ...) -> PairModel: ...


def program_model(program: Program, form: Form = "value-policy") -> PairModel:
    """Write a program as a mixed-integer linear model (docs/olive.md).

    Parameters
    ----------
    program
        An `OliveProgram` or a `SampledProgram`.
    form
        ``"value-policy"`` over (g, π), or ``"q-function"`` over f.

    Raises
    ------
    ValueError
        If the form is unknown.
    TypeError
        If the program is of another kind.
    """
    if form not in ("value-policy", "q-function"):
        raise ValueError(f"unknown form {form!r}: value-policy or q-function")
    if isinstance(program, OliveProgram):
        return _exact_model(program, form)
    if isinstance(program, SampledProgram):
        return _sampled_model(program, form)
    raise TypeError(f"no model of a {type(program).__name__}")


def _exact_model(program: OliveProgram, form: Form) -> ProgramModel:
    whole = program.distributions
    if program.mdp.n_actions > LARGE and object not in (
        whole.numerators.dtype,
        whole.denominators.dtype,
    ):
        from olivine.algorithms.olive.bulk_model import bulk_model

        return bulk_model(program, form)
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
        name, actions = mdp.state_names[state], mdp.actions(state)
        labels = {
            local: f"{name},{mdp.action_names[actions[local]]}"
            for local in distinct_actions(mdp, state)
        }
        if form == "q-function":
            built.add_q_values(state, labels)
        if len(labels) > 1:
            built.add_choice(state, name, labels)
            if form == "q-function":
                built.add_greedy_rows(state, labels)
            if state in support:
                backups = {a: backup_of(program, actions[a]) for a in labels}
                ends = backup_range(
                    program, state, list(backups.values()), alone.get(state)
                )
                built.backup_index[state] = built.add_switch(
                    state, f"backup({name})", labels, backups, ends
                )
    for i, distribution in enumerate(program.distributions):
        add_exact_constraint(built, i, distribution)
    start = built.value_index[mdp.start]
    built.model.set_objective([start], [1], maximise=True)
    return built


def add_exact_constraint(
    built: ProgramModel, i: int, distribution: Distribution
) -> None:
    """|E_D[g(x) − b(x)]| ≤ φ."""
    terms, constant = error_terms(built.program, distribution, built.backup_index)
    indices = [
        (built.backup_index if is_backup else built.value_index)[state]
        for state, is_backup, _ in terms
    ]
    built.add_constraint(indices, [c for _, _, c in terms], constant, i)


def error_terms(
    program: OliveProgram, distribution: Distribution, with_backup: Container[int]
) -> tuple[list[tuple[int, bool, Fraction]], Fraction]:
    """Terms of E_D[g(x) − b(x)]: state, whether it is its b(x), coefficient.

    And the constant. Where a state has no variable b(x), its one action's backup is
    written out.
    """
    terms: list[tuple[int, bool, Fraction]] = []
    constant = Fraction(0)
    for state, share in distribution.probabilities().items():
        terms.append((state, False, share))
        if state in with_backup:
            terms.append((state, True, -share))
            continue
        backup = backup_of(program, program.mdp.actions(state)[0])
        pairs = zip(backup.states, backup.coefficients, strict=True)
        terms += [(s, False, -share * c) for s, c in pairs]
        constant -= share * backup.constant
    return terms, constant


def _sampled_model(program: SampledProgram, form: Form) -> PairModel:
    built = PairModel(program, form, LinearModel(f"olive, sampled, {form}"))
    support = sorted({s for c in program.constraints for s in c.terms})
    seen = (
        s
        for c in program.constraints
        for by_action in c.terms.values()
        for term in by_action.values()
        for s, _ in term.successors
    )
    for state in sorted({*support, *program.start_shares, *seen}):
        built.value_index[state] = built.model.add_variable(
            f"g({state})", program.lower, program.upper_of(state)
        )
    greedy = {*support, *program.start_shares} if form == "q-function" else set()
    for state in sorted({*support, *greedy}):
        labels = {a: f"{state},{a}" for a in range(int(program.action_counts[state]))}
        if len(labels) > 1:
            built.add_choice(state, f"{state}", labels)
            if form == "q-function":
                built.add_q_values(state, labels)
                built.add_greedy_rows(state, labels)
    for i in range(len(program.constraints)):
        _add_sampled_constraint(built, program, i)
    shares = program.start_shares
    built.model.set_objective(
        [built.value_index[s] for s in shares], list(shares.values()), maximise=True
    )
    return built


def _add_sampled_constraint(built: PairModel, program: SampledProgram, i: int) -> None:
    """|Σ_x contribution of x| ≤ φ."""
    indices: list[int] = []
    coefficients: list[Fraction] = []
    constant = Fraction(0)
    for state, by_action in program.constraints[i].terms.items():
        terms = {
            local: by_action.get(local, NOTHING).affine(state, program)
            for local in built.policy_index.get(state, (0,))
        }
        if state in built.policy_index:
            labels = {local: f"{i},{state},{local}" for local in terms}
            ends = (
                min(term.low for term in terms.values()),
                max(term.high for term in terms.values()),
            )
            indices.append(
                built.add_switch(state, f"e({i},{state})", labels, terms, ends)
            )
            coefficients.append(Fraction(1))
            continue
        indices += built.variables(terms[0])
        coefficients += terms[0].coefficients
        constant += terms[0].constant
    built.add_constraint(indices, coefficients, constant, i)
