"""OLIVE's programs as mixed-integer linear models, in two forms, and back to pairs.

``value-policy`` and ``q-function`` are exact (docs/olive.md). Only the start state, the
states of the distributions, and successors of their actions have variables; elsewhere
any value and action will do. Equal actions share a binary, read back as the first. With
a policy fixed, the program is a linear one (`PolicyLp`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...solvers.lp import LpSession
from ...solvers.model import LinearModel, Sense
from ...solvers.outcome import LinearOutcome, Status
from ..mdp.planning import Distribution, Pair
from .bulk_model import bulk_model, fits
from .program import (
    Affine,
    Form,
    OliveProgram,
    Program,
    action_classes,
    backup_of,
    backup_range,
    bellman_rows,
    distinct_actions,
    needed_states,
    single_state_constraints,
    support_states,
)
from .sampled_program import NOTHING, SampledProgram


@dataclass
class PairModel:
    """A linear model of a program, with the way back to pairs."""

    # program, form: what was modelled, and how
    program: Program
    form: Form
    # The mixed-integer linear model; its objective is the program's, maximised
    model: LinearModel
    # Variable of g(x), or of max_a f(x,a), of each state that has one
    value_index: MutableMapping[int, int] = field(default_factory=dict)
    # For each state whose action matters, the binary of each of its distinct actions by
    # local index. (``q-function``: the start states, too.)
    policy_index: MutableMapping[int, dict[int, int]] = field(default_factory=dict)
    # ``q-function`` only: variable of f(x,a) by (state, local action)
    q_index: MutableMapping[tuple[int, int], int] = field(default_factory=dict)

    def policy(self, values: Sequence[Fraction] | Sequence[float]) -> NDArray[np.int32]:
        """Read the policy off the largest binaries, floats too; else action 0."""
        policy = np.zeros(len(self.program.action_counts), dtype=np.int32)
        for state, binaries in self.policy_index.items():
            policy[state] = max(binaries, key=lambda local: values[binaries[local]])
        return policy

    def pair(self, values: Sequence[Fraction | int]) -> Pair:
        """Read an exactly feasible pair off an exact point of the model.

        States without a variable get the value of the range nearest to 0.
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
        g = _values(self.program, self.value_index, values)
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
        """Add a variable, within `ends`, of the chosen action's term, by big-M rows."""
        low, high = ends
        y = self.model.add_variable(name, low, high)
        for local, term in terms.items():
            indices = [y, self.policy_index[state][local], *self.variables(term)]
            minus = term.minus()
            cuts: tuple[tuple[str, Sense, int, Fraction], ...] = (
                ("above", "<=", 1, high - term.low),
                ("below", ">=", -1, term.high - low),
            )
            for side, sense, sign, room in cuts:
                if room > 0:  # else the row could never cut
                    self.model.add_row(
                        indices,
                        [Fraction(1), sign * room, *minus],
                        sense,
                        term.constant + sign * room,
                        f"{side}({labels[local]})",
                    )
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
        """Add ``|coefficients · x[indices] + constant| <= φ`` as constraint i."""
        for sense, rhs, sign in bellman_rows(self.program.tolerance, constant):
            self.model.add_row(indices, coefficients, sense, rhs, f"bellman({i}){sign}")


def _values(
    program: Program, variable_of: Mapping[int, int], point: Sequence[Any]
) -> list[Fraction]:
    """Read g off a point; without a variable it is its range's value nearest to 0."""
    g = [program.nearest_to_zero(x) for x in range(len(program.action_counts))]
    for x, variable in variable_of.items():
        g[x] = Fraction(point[variable])
    return g


@dataclass
class ProgramModel(PairModel):
    """A linear model of an `OliveProgram`."""

    program: OliveProgram
    # Variable b(x) of each support state with several distinct actions
    backup_index: MutableMapping[int, int] = field(default_factory=dict)

    def point(self, pair: Pair) -> list[Fraction]:
        """Exact point of a pair, feasible if the pair is; unchosen f(x,a) lowest."""
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

    def add_distribution(self, i: int, distribution: Distribution) -> None:
        """|E_D[g(x) − b(x)]| ≤ φ; the backup of an x without b(x) is written out."""
        indices: list[int] = []
        coefficients: list[Fraction] = []
        constant = Fraction(0)
        for state, share in distribution.probabilities().items():
            indices.append(self.value_index[state])
            coefficients.append(share)
            if state in self.backup_index:
                indices.append(self.backup_index[state])
                coefficients.append(-share)
                continue
            backup = backup_of(self.program, self.program.mdp.actions(state)[0])
            indices += self.variables(backup)
            coefficients += [-share * c for c in backup.coefficients]
            constant -= share * backup.constant
        self.add_constraint(indices, coefficients, constant, i)


LARGE = 2000
"""Actions of an MDP from which on its program is modelled in bulk, to the same end."""


@overload
def program_model(program: OliveProgram, form: Form = ...) -> ProgramModel: ...


@overload
def program_model(program: Program, form: Form = ...) -> PairModel: ...


def program_model(program: Program, form: Form = "value-policy") -> PairModel:
    """Write a program as a mixed-integer linear model (docs/olive.md)."""
    if form not in ("value-policy", "q-function"):
        raise ValueError(f"unknown form {form!r}: value-policy or q-function")
    if isinstance(program, OliveProgram):
        return _exact_model(program, form)
    if isinstance(program, SampledProgram):
        return _sampled_model(program, form)
    raise TypeError(f"no model of a {type(program).__name__}")


def _exact_model(program: OliveProgram, form: Form) -> ProgramModel:
    if program.mdp.n_actions > LARGE and fits(program):
        return ProgramModel(program, form, *bulk_model(program, form))
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
                low = min(backup.low for backup in backups.values())
                high = max(backup.high for backup in backups.values())
                ends = backup_range(program, state, (low, high), alone.get(state))
                built.backup_index[state] = built.add_switch(
                    state, f"backup({name})", labels, backups, ends
                )
    for i, distribution in enumerate(program.distributions):
        built.add_distribution(i, distribution)
    start = built.value_index[mdp.start]
    built.model.set_objective([start], [1], maximise=True)
    return built


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


def policy_optimum(program: OliveProgram, policy: ArrayLike) -> Pair | None:
    """Best pair with a given policy (n,), by one exact linear program."""
    program.mdp.global_actions(policy)
    lp = PolicyLp(program, np.asarray(policy, dtype=np.int32))
    outcome = lp.session.solve(exact=True)
    return lp.pair(outcome) if outcome.status is Status.OPTIMAL else None


class PolicyLp:
    """The linear program of a policy, which can be moved to another policy."""

    def __init__(self, program: OliveProgram, policy: NDArray[np.int32]) -> None:
        self.program = program
        self.policy = policy.copy()
        self.supports = [d.probabilities() for d in program.distributions]
        self.variable: dict[int, int] = {}
        model = LinearModel(name="olive, one policy")
        for state in needed_states(program):
            self.variable[state] = model.add_variable(
                program.mdp.state_names[state], program.lower, program.upper_of(state)
            )
        start = self.variable[program.mdp.start]
        model.set_objective([start], [1], maximise=True)
        self.row_constraint: list[int] = []
        for i in range(len(self.supports)):
            for sense, indices, coefficients, rhs in self._rows(i):
                model.add_row(indices, coefficients, sense, rhs)
                self.row_constraint.append(i)
        self.session = LpSession(model)

    def _rows(
        self, constraint: int
    ) -> list[tuple[Sense, list[int], list[Fraction], Fraction]]:
        """|Σ_x D(x)(g(x) − E[r + g(x′) | x, π(x)])| ≤ φ as one row or two."""
        mdp = self.program.mdp
        indices: list[int] = []
        coefficients: list[Fraction] = []
        constant = Fraction(0)
        for state, share in self.supports[constraint].items():
            action = mdp.actions(state)[int(self.policy[state])]
            backup = backup_of(self.program, action)
            indices += [self.variable[state]]
            coefficients += [share]
            indices += [self.variable[s] for s in backup.states]
            coefficients += [-share * c for c in backup.coefficients]
            constant += share * backup.constant
        sides = bellman_rows(self.program.tolerance, -constant)
        return [(sense, indices, coefficients, rhs) for sense, rhs, _ in sides]

    def move(self, choice: Mapping[int, int]) -> None:
        """Change the policy in some states, and the rows that it occurs in."""
        changed = {s for s, local in choice.items() if self.policy[s] != local}
        for state in changed:
            self.policy[state] = choice[state]
        row = 0
        for i, support in enumerate(self.supports):
            width = 1 if self.program.tolerance == 0 else 2
            if not changed.isdisjoint(support):
                for k, (sense, indices, coefs, rhs) in enumerate(self._rows(i)):
                    self.session.replace_row(row + k, indices, coefs, sense, rhs)
            row += width

    def states_of(self, rows: Iterable[int]) -> set[int]:
        """States of the distributions that rows are about."""
        return {s for row in rows for s in self.supports[self.row_constraint[row]]}

    def pair(self, outcome: LinearOutcome) -> Pair:
        """Read the pair off an exact solution; AssertionError if it is infeasible."""
        assert outcome.exact
        assert outcome.values is not None
        program = self.program
        values = _values(program, self.variable, outcome.values)
        pair = Pair.from_fractions(values, self.policy.copy())  # it moves on
        broken = program.violations(pair)
        if broken:
            raise AssertionError(f"an exact solution breaks the program: {broken[0]}")
        return pair
