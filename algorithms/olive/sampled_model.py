"""OLIVE's program over data sets as a mixed-integer linear model.

Like `olivine.algorithms.olive.model`, with one difference: how much an observation
weighs in a constraint depends on the action taken there, because data sets
weigh actions as they happened to be drawn. So each constraint i and observation
x of it has a variable e(i,x), its contribution, which big-M rows make equal to
the term of the action that π takes:

    e(i,x) − term(i,x,a) ≤ M⁺ (1 − π(x,a)),   term(i,x,a) − e(i,x) ≤ M⁻ (1 − π(x,a)),

with the least M⁺, M⁻ that never cut, and the constraint is |Σ_x e(i,x)| ≤ φ.
Observations with one action contribute their term itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from olivine.algorithms.mdp.pair import Pair
from olivine.algorithms.olive.model import add_constraint
from olivine.algorithms.olive.sampled_program import NOTHING, Term
from olivine.solvers.model import LinearModel

if TYPE_CHECKING:
    from olivine.algorithms.olive.program import Form
    from olivine.algorithms.olive.sampled_program import SampledProgram


@dataclass
class SampledModel:
    """A linear model of a `SampledProgram`, with the way back to pairs.

    Attributes
    ----------
    program, form
        What was modelled, and how.
    model
        The model; its objective is the average initial value, maximised.
    value_index
        Variable of g(x), or of max_a f(x,a), of each observation that has one.
    policy_index
        Binary of each action of each observation with a choice that matters.
    """

    program: SampledProgram
    form: Form
    model: LinearModel
    value_index: dict[int, int] = field(default_factory=dict)
    policy_index: dict[int, dict[int, int]] = field(default_factory=dict)

    def pair(self, values: Sequence[Fraction | int]) -> Pair:
        """Read an exactly feasible pair off an exact point of the model.

        Observations without a variable get the value of the range nearest to 0,
        those without binaries action 0.

        Raises
        ------
        ValueError
            If the pair breaks the program (then the point breaks the model).
        """
        program = self.program
        states = range(len(program.action_counts))
        g = [program.nearest_to_zero(state) for state in states]
        for state, variable in self.value_index.items():
            g[state] = Fraction(values[variable])
        policy = np.zeros(len(g), dtype=np.int32)
        for state, binaries in self.policy_index.items():
            policy[state] = max(binaries, key=lambda local: values[binaries[local]])
        pair = Pair.from_fractions(g, policy)
        if not program.is_feasible(pair):
            raise ValueError("the point does not satisfy the program")
        return pair


def sampled_model(program: SampledProgram, form: Form) -> SampledModel:
    """Build the model of a program; see the module's text."""
    if form not in ("value-policy", "q-function"):
        raise ValueError(f"unknown form {form!r}: choose from value-policy, q-function")
    built = SampledModel(program, form, LinearModel(f"olive, sampled, {form}"))
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
        if program.action_counts[state] > 1:
            _add_choice(built, state)
            if form == "q-function":
                _add_greedy_rows(built, state)
    for i in range(len(program.constraints)):
        _add_sampled_constraint(built, i)
    shares = program.start_shares
    built.model.set_objective(
        [built.value_index[s] for s in shares], list(shares.values()), maximise=True
    )
    return built


def _add_choice(built: SampledModel, state: int) -> None:
    """Binaries that choose one of the actions."""
    binaries = {
        local: built.model.add_variable(f"pi({state},{local})", 0, 1, integer=True)
        for local in range(int(built.program.action_counts[state]))
    }
    built.policy_index[state] = binaries
    built.model.add_row(
        list(binaries.values()), [1] * len(binaries), "==", 1, f"choice({state})"
    )


def _add_greedy_rows(built: SampledModel, state: int) -> None:
    """g(x) = max_a f(x,a), attained by the action chosen."""
    program, v = built.program, built.value_index[state]
    upper = program.upper_of(state)
    width = upper - program.lower
    for local, binary in built.policy_index[state].items():
        label = f"{state},{local}"
        f = built.model.add_variable(f"f({label})", program.lower, upper)
        built.model.add_row([v, f], [1, -1], ">=", 0, f"maximum({label})")
        built.model.add_row(
            [v, f, binary], [1, -1, width], "<=", width, f"greedy({label})"
        )


def _add_sampled_constraint(built: SampledModel, i: int) -> None:
    """|Σ_x contribution of x| ≤ φ."""
    program = built.program
    indices: list[int] = []
    coefficients: list[Fraction] = []
    constant = Fraction(0)
    for state, by_action in program.constraints[i].terms.items():
        if state in built.policy_index:
            indices.append(_add_contribution(built, i, state, by_action))
            coefficients.append(Fraction(1))
            continue
        term = by_action.get(0, NOTHING)
        own, coefs = _linear(built, state, term)
        indices += own
        coefficients += coefs
        constant += term.reward
    add_constraint(
        built.model, indices, coefficients, constant, program.tolerance, f"bellman({i})"
    )


def _linear(
    built: SampledModel, state: int, term: Term
) -> tuple[list[int], list[Fraction]]:
    """Write a term without its constant, −reward."""
    indices = [built.value_index[state]]
    indices += [built.value_index[s] for s, _ in term.successors]
    return indices, [term.weight, *(-c for _, c in term.successors)]


def _add_contribution(
    built: SampledModel, i: int, state: int, by_action: Mapping[int, Term]
) -> int:
    """e(i,x), made equal to the term of the action that is chosen."""
    program, model = built.program, built.model
    binaries = built.policy_index[state]
    terms = {local: by_action.get(local, NOTHING) for local in binaries}
    ends = {a: t.ends(state, program) for a, t in terms.items()}
    low = min(end[0] for end in ends.values())
    high = max(end[1] for end in ends.values())
    e = model.add_variable(f"e({i},{state})", low, high)
    for local, binary in binaries.items():
        own, coefs = _linear(built, state, terms[local])
        indices, minus = [e, binary, *own], [-c for c in coefs]
        label, shift = f"{i},{state},{local}", terms[local].reward
        above, below = high - ends[local][0], ends[local][1] - low
        if above > 0:
            model.add_row(
                indices, [1, above, *minus], "<=", above - shift, f"above({label})"
            )
        if below > 0:
            model.add_row(
                indices, [1, -below, *minus], ">=", -below - shift, f"below({label})"
            )
    return e
