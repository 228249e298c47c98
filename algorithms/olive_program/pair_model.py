"""Linear models of OLIVE's programs with the way back to pairs, and their rows."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...solvers.model import LinearModel, Sense
from ..exact.arrays import gather
from ..mdp.planning import Distribution, Pair
from .program import Form, OliveProgram, Program

if TYPE_CHECKING:
    from ..mdp.tabular import TabularMDP
    from .program import OliveProgram


@dataclass(frozen=True)
class Affine:
    """The affine function constant + Σ coefficients · g[states], in [`low`, `high`]."""

    constant: Fraction
    states: tuple[int, ...]
    coefficients: tuple[Fraction, ...]
    low: Fraction
    high: Fraction

    def minus(self) -> list[Fraction]:
        """Negate the coefficients; of one object there comes one object."""
        distinct = {id(c): c for c in self.coefficients}
        negative = {name: -c for name, c in distinct.items()}
        return [negative[id(c)] for c in self.coefficients]

    def at(self, values: Sequence[Fraction]) -> Fraction:
        """Value under values of all states."""
        terms = (
            c * values[s] for s, c in zip(self.states, self.coefficients, strict=True)
        )
        return sum(terms, self.constant)


def backup_of(program: OliveProgram, action: int) -> Affine:
    """E[r + g(x′)] of a global action, with its range in the program."""
    successors = program.mdp.successors(action)
    reward = program.mdp.reward(action)
    future = 1 if successors else 0
    return Affine(
        reward,
        tuple(s for s, _ in successors),
        tuple(p for _, p in successors),
        reward + future * program.lower,
        reward + program.greatest_mean(successors),
    )


def action_classes(mdp: TabularMDP, state: int) -> list[int]:
    """First equal action (reward, successors' shares) of each action of a state."""
    first: dict[object, int] = {}
    return [
        first.setdefault(_action_key(mdp, action), local)
        for local, action in enumerate(mdp.actions(state))
    ]


def _action_key(mdp: TabularMDP, action: int) -> object:
    low, high = (int(t) for t in mdp.transition_offset[action : action + 2])
    targets = mdp.transition_target[low:high].tolist()
    numerators = mdp.transition_numerator[low:high].tolist()
    divisor = math.gcd(*numerators)
    shares = sorted(
        (target, share // divisor)
        for target, share in zip(targets, numerators, strict=True)
    )
    reward = mdp.reward(action)
    return reward.numerator, reward.denominator, tuple(shares)


def distinct_actions(mdp: TabularMDP, state: int) -> list[int]:
    """Local indices of the first of each group of equal actions of a state."""
    return sorted(set(action_classes(mdp, state)))


def support_states(program: OliveProgram) -> list[int]:
    """States of the distributions, in order: the only ones whose action matters."""
    states: list[int] = np.unique(program.distributions.states).tolist()
    return states


def needed_states(program: OliveProgram) -> list[int]:
    """States whose value occurs: start, support, successors of its actions."""
    mdp = program.mdp
    support = np.unique(program.distributions.states)
    actions = gather(mdp.action_offset, support)[0]
    entries = gather(mdp.transition_offset, actions)[0]
    found = [np.array([mdp.start]), support, mdp.transition_target[entries]]
    needed: list[int] = np.unique(np.concatenate(found)).tolist()
    return needed


def backup_range(
    program: OliveProgram,
    state: int,
    ends: tuple[Fraction, Fraction],
    alone: Fraction | None,
) -> tuple[Fraction, Fraction]:
    """Range of the backup of a state, whose actions' backups lie between the ends."""
    low, high = ends
    if alone is not None:
        slack = program.tolerance / alone
        upper = program.upper_of(state)
        tight = max(low, program.lower - slack), min(high, upper + slack)
        if tight[0] <= tight[1]:  # else no policy is feasible; the rows say so
            return tight
    return low, high


def single_state_constraints(program: OliveProgram) -> dict[int, Fraction]:
    """Largest probability of each state in a distribution over it alone."""
    flat = program.distributions
    alone: dict[int, Fraction] = {}
    for i in np.flatnonzero(np.diff(flat.offsets) == 1).tolist():
        entry = int(flat.offsets[i])
        state = int(flat.states[entry])
        share = Fraction(int(flat.numerators[entry]), int(flat.denominators[i]))
        alone[state] = max(share, alone.get(state, Fraction(0)))
    return alone


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
        """Add a variable, within `ends`, of the chosen action's term, by big-M rows."""
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
        """Add ``|coefficients · x[indices] + constant| <= φ`` as constraint i."""
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
    """Terms (state, whether of its b(x), coefficient) of E_D[g(x) − b(x)]; constant.

    Where a state has no variable b(x), its one action's backup is written out.
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
