"""OLIVE's programs as mixed-integer linear models, in two forms.

``value-policy`` and ``q-function`` are exact (docs/olive.md). Only the start state, the
states of the distributions, and successors of their actions have variables; elsewhere
any value and action will do. Equal actions share a binary, read back as the first.
"""

from __future__ import annotations

from fractions import Fraction
from typing import overload

from ...solvers.model import LinearModel
from .bulk_model import bulk_model, fits
from .pair_model import (
    PairModel,
    ProgramModel,
    add_exact_constraint,
    backup_of,
    backup_range,
    distinct_actions,
    needed_states,
    single_state_constraints,
    support_states,
)
from .program import Form, OliveProgram, Program
from .sampled_program import NOTHING, SampledProgram

__all__ = ["PairModel", "ProgramModel", "program_model"]

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
                low = min(backup.low for backup in backups.values())
                high = max(backup.high for backup in backups.values())
                ends = backup_range(program, state, (low, high), alone.get(state))
                built.backup_index[state] = built.add_switch(
                    state, f"backup({name})", labels, backups, ends
                )
    for i, distribution in enumerate(program.distributions):
        add_exact_constraint(built, i, distribution)
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
