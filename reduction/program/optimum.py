"""The exact optimum of OLIVE's program over a family, and the pairs that show it.

Theorem O (docs/reduction.md has the proof). Let u be the least total weight of
unsatisfied clauses, W the total weight (the number m of clauses without weights), p the
penalty and `top` the reward of a rewarded literal state. With tolerance 0 the optimum
of OLIVE's program is exactly

    best - min(reach * top * u / (3 W), p).

Here `top` is 1 in `paper`, 3/4 in `gap`, 1/10 in `strict` and 1 - p otherwise; [solve]
leads to the clauses with probability `reach`, 1/2 in `strict` and else 1; `best`, the
optimum of a satisfiable formula, is 3/20 in `strict` and else 1. In `gap` and `strict`
the minimum is always the first term.

`forward` turns an assignment into a feasible pair (g, π) whose value depends on the
weight it leaves unsatisfied alone; `back` turns any feasible pair into an assignment
worth at least as much; `check` verifies every constraint of the program exactly;
`certify` goes there and back. So an optimum is believed without trusting an engine.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...algorithms.exact.arrays import IntArray, check_type, fits_int64
from ...algorithms.mdp.planning import Pair
from ..family.family import Family, as_assignment
from ..family.variants import Parameters
from ..formula.formula import literal_truth

DEFAULT_ACCURACY = Fraction(1, 10**6)
"""Accuracy to which engines are trusted: their feasibility tolerance, 1e-6."""


class Rounded(NamedTuple):
    """A possible optimum and how far from it the given value was."""

    value: Fraction
    distance: Fraction


class Unsatisfied(NamedTuple):
    """What an optimum says about the least unsatisfied weight u."""

    at_least: int  # u is at least this
    exact: bool  # Whether u is exactly that; false when the penalty caps the optimum

    @property
    def satisfiable(self) -> bool:
        """Whether the formula is satisfiable. An optimum always tells."""
        return self.at_least == 0

    def __str__(self) -> str:
        return f"u = {self.at_least}" if self.exact else f"u >= {self.at_least}"


def step(parameters: Parameters) -> Fraction:
    """Loss of [solve] for each unit of unsatisfied weight, reach top / (3 W)."""
    return parameters.reach * parameters.top / (3 * parameters.total_weight)


def optimum(parameters: Parameters, unsatisfied: int) -> Fraction:
    """Compute the optimum of OLIVE's program by Theorem O."""
    largest = parameters.total_weight // 2
    if not 0 <= unsatisfied <= largest:
        raise ValueError(
            f"least unsatisfied weight {unsatisfied} is outside 0..{largest}, half of "
            "the total (an assignment or its complement satisfies each clause)"
        )
    return _possible(parameters, unsatisfied)


def number_of_possible_optima(parameters: Parameters) -> int:
    """Count the values that the optimum can take."""
    return min(_cap(parameters), parameters.total_weight // 2) + 1


def possible_optima(parameters: Parameters) -> list[Fraction]:
    """List the values that the optimum can take for some u, falling from `best`.

    They are best - k * step above best - p, and best - p where some u <= W/2 reaches
    it.
    """
    count = number_of_possible_optima(parameters)
    return [_possible(parameters, k) for k in range(count)]


def least_difference(parameters: Parameters) -> Fraction | None:
    """Least difference of two possible optima; None if there is one only."""
    last = number_of_possible_optima(parameters) - 1
    if last == 0:
        return None
    return _possible(parameters, last - 1) - _possible(parameters, last)


def least_better(parameters: Parameters, value: Fraction, unit: int = 1) -> Fraction:
    """Return a value that the optimum reaches if it is greater than `value` at all.

    By Theorem O the loss best - optimum is p or some k * unit * step below p; if it is
    less than a loss L <= p, it is at most the greatest k * unit * step below L.
    """
    loss = parameters.best - value
    if loss > parameters.penalty:
        return parameters.best - parameters.penalty
    size = step(parameters) * unit
    return parameters.best - size * (math.ceil(loss / size) - 1)


def round_to_possible(
    parameters: Parameters,
    value: float | Fraction,
    accuracy: float | Fraction = DEFAULT_ACCURACY,
) -> Rounded:
    """Round an engine's objective to the one possible optimum near it.

    That is what the optimum is if the engine was right up to `accuracy`: to be
    confirmed in exact arithmetic before it is believed.
    """
    exact, slack = _finite(value), _finite(accuracy)
    last = number_of_possible_optima(parameters) - 1
    # The possible optima fall with k, in equal steps but perhaps for the last;
    # the nearest two are next to where the steps reach the value, or the last.
    steps = (parameters.best - exact) / step(parameters)
    reached = min(max(steps, Fraction(0)), Fraction(last))
    floor = int(reached // 1)
    near = {k for k in range(floor - 1, floor + 3) if 0 <= k <= last}
    near |= {last, max(last - 1, 0)}
    ranked = sorted(
        (abs(candidate - exact), candidate)
        for candidate in (_possible(parameters, k) for k in sorted(near))
    )
    distance, nearest = ranked[0]
    if distance > slack:
        raise ValueError(
            f"{float(exact)!r} is no possible optimum: the nearest, {nearest}, is "
            f"{float(distance):.3g} away and the accuracy is {float(slack):.3g}"
        )
    if len(ranked) > 1 and ranked[1][0] <= slack:
        raise ValueError(
            f"{float(exact)!r} is ambiguous: {nearest} and {ranked[1][1]} are both "
            f"possible optima within the accuracy {float(slack):.3g}"
        )
    return Rounded(nearest, distance)


def unsatisfied_from_optimum(parameters: Parameters, value: Fraction) -> Unsatisfied:
    """Say what an exact optimum implies about u, the inverse of Theorem O.

    At best - p it says only that u is at least the least k whose loss by [solve]
    reaches p.
    """
    loss = (parameters.best - value) / step(parameters)
    cap, largest = _cap(parameters), parameters.total_weight // 2
    if loss.denominator == 1 and 0 <= loss < cap and loss <= largest:
        return Unsatisfied(int(loss), exact=True)
    if value == parameters.best - parameters.penalty and cap <= largest:
        return Unsatisfied(cap, exact=cap == largest)
    raise ValueError(f"{value} is no possible optimum of {parameters}")


def _cap(parameters: Parameters) -> int:
    """Least k at which [try C_j] does as well as [solve]: ceil(p / step)."""
    return -int(-(parameters.penalty / step(parameters)) // 1)


def _possible(parameters: Parameters, k: int) -> Fraction:
    return parameters.best - min(step(parameters) * k, parameters.penalty)


def _finite(value: float | Fraction) -> Fraction:
    try:
        return Fraction(value)
    except (OverflowError, ValueError):
        raise ValueError(f"{value!r} is not a finite number") from None


def forward(family: Family, assignment: ArrayLike) -> Pair:
    """Turn an assignment into a feasible pair.

    The true literals are worth `top`, the false ones 0. A satisfied clause takes the
    action that spells its truth values and is worth `top`, an unsatisfied one takes 001
    and is worth 2/3 of it. s0 takes [solve] unless [try C_j] on the first satisfied
    clause is strictly better.

    Parameters
    ----------
    family
    assignment
        n truth values, of the variables of the 3-SAT form.

    Returns
    -------
    Pair
        Feasible; g(s0) is best - min(reach top v / (3 W), p) where v < W is the
        weight that the assignment leaves unsatisfied (best - reach top / 3 where
        v = W). Hence optimal if the assignment is an optimum of MaxSAT, by Theorem O,
        and `best` if it satisfies the formula.

    Raises
    ------
    ValueError
        If `assignment` is not n truth values.
    """
    check_type("family", family, Family, "Family")
    layout, n = family.layout, family.n_variables
    truth_of_variables = as_assignment(assignment, n)
    truth = literal_truth(family.clauses, truth_of_variables)
    satisfied: NDArray[np.bool_] = np.any(truth, axis=1)
    unsatisfied = _weight_of(family, ~satisfied)
    start, action = _best_start(family, satisfied, unsatisfied)
    top, sides, k = family.top, layout.declaration.sides, layout.n_sides
    side, part, end = Fraction(0), Fraction(1), Fraction(0)
    if sides:
        side, part, end = sides.reward + sides.beside * top, Fraction(1, 2), sides.end
    denominator = math.lcm(
        12 * top.denominator,
        2 * side.denominator,
        end.denominator,
        start.denominator,
        family.penalty.denominator,
    )

    def scaled(value: Fraction) -> int:
        return int(value * denominator)

    dtype = np.int64 if fits_int64(denominator) else object
    values = np.zeros(layout.n_states, dtype=dtype)
    policy = np.zeros(layout.n_states, dtype=np.int32)
    values[layout.start], policy[layout.start] = scaled(start), action
    clauses = slice(1, 1 + family.n_clauses)
    values[clauses][satisfied] = scaled(side / 2 + part * top)
    values[clauses][~satisfied] = scaled(side / 2 + part * top * 2 / 3)
    spelled = truth @ np.array([4, 2, 1], dtype=np.int32) - 1
    policy[clauses] = np.where(satisfied, spelled, 0)
    if layout.declaration.variable_states:
        middle = slice(1 + family.n_clauses, layout.first_literal_state)
        values[middle] = scaled(part * top / 2)
    true_literals = 2 * np.arange(n) + truth_of_variables + layout.first_literal_state
    values[true_literals] = scaled(top)
    if sides:
        first = layout.first_side_state
        values[[layout.bottom_state, layout.bottom_state + 1]] = scaled(end)
        values[first - k : first] = scaled(side / 2)
        values[first : first + k] = scaled(side)
    return Pair(values, denominator, policy)


def back(family: Family, pair: Pair) -> NDArray[np.bool_]:
    """Turn any feasible pair into an assignment worth at least as much.

    Literal values of 0 and `top` are read off; fractional ones are rounded as
    docs/reduction.md says. Contract, for every feasible pair:

    - g(s0) of ``forward(family, back(family, pair))`` is at least that of the
      pair, and the same if the pair is optimal;
    - if pi(s0) is [solve], the assignment leaves at most
      ``3 W (best - g(s0)) / (reach top)`` unsatisfied; so it attains the least
      unsatisfied weight u if the pair is optimal, and it satisfies the formula
      if g(s0) = best (only [solve] reaches it);
    - if pi(s0) is [try C_j] and the pair is optimal, it satisfies C_j. Such a
      pair says no more about the other clauses than that u is large enough for
      the penalty to cap the optimum, and neither does the assignment.

    Parameters
    ----------
    family
    pair
        Feasible, or a ValueError names a violated constraint; need not be optimal, nor
        come from `forward`.

    Returns
    -------
    numpy.ndarray
        bool, shape (n,): values of the variables of the 3-SAT form.
    """
    check_type("family", family, Family, "Family")
    check_type("pair", pair, Pair, "pair (g, π) such as `forward` gives")
    check(family, pair)
    layout, n = family.layout, family.n_variables
    first = layout.first_literal_state
    pairs = pair.numerators[first : first + 2 * n].reshape(n, 2)
    assignment: NDArray[np.bool_] = (pairs[:, 1] >= pairs[:, 0]).astype(np.bool_)
    # A pair is worth top together; in `forced` at most.
    top = family.top * pair.denominator  # as a numerator, if it is a whole number
    whole = pairs.max(axis=1) == (int(top) if top.denominator == 1 else -1)
    fractional = ~(whole & (pairs == 0).any(axis=1)).astype(np.bool_)
    if not fractional.any():
        return assignment
    # What s0 does decides; where it is indifferent, [solve] does.
    slopes = _slopes(family, pair)
    action = int(pair.policy[layout.start])
    decisive = [slopes]
    if n <= action < layout.solve and not layout.n_sides:
        decisive.insert(0, _slopes(family, pair, clause=action - n))
    undecided = fractional.copy()
    for slope in decisive:
        decided = undecided & (slope != 0).astype(np.bool_)
        assignment[decided] = (slope > 0)[decided]
        undecided &= ~decided
    return assignment


def check(family: Family, pair: Pair) -> Fraction:
    """Verify a pair exactly and return its objective g(s0).

    Checked are the range of every value, that the policy takes an action of each state,
    and that the average Bellman error under every distribution of the program is 0, in
    integers. Raises ValueError with the first violated constraint and by how much.
    """
    found = violations(family, pair)
    if found:
        raise ValueError(f"the pair is not feasible: {found[0]}")
    return pair.value(family.start)


def certify(family: Family, assignment: NDArray[np.bool_]) -> Fraction:
    """Exact value of the certificate forward, with every constraint checked.

    The certificate back of it must be worth no less; else RuntimeError.
    """
    pair = forward(family, assignment)
    try:
        value = check(family, pair)
        again = check(family, forward(family, back(family, pair)))
    except ValueError as error:
        raise RuntimeError(
            f"the certificate of an assignment fails: {error}"
        ) from error
    if again < value:
        raise RuntimeError(
            f"a pair of value {value} came back as an assignment worth {again}"
        )
    return value


def violations(family: Family, pair: Pair) -> list[str]:
    """Describe every constraint of the program that a pair violates.

    Raises ValueError if the pair does not have the family's states and actions.
    """
    if pair.n_states != family.layout.n_states:
        raise ValueError(
            f"the pair has {pair.n_states} states, the family {family.layout.n_states}"
        )
    lines = []
    # The pair's own actions are all that its errors depend on.
    alone = Pair(pair.numerators, pair.denominator, np.zeros_like(pair.policy))
    program = family.program(family.chain(pair.policy))
    for broken in program.violations(alone):
        if broken.kind == "value":
            state = broken.index
            name, value = family.layout.state_name(state), pair.value(state)
            end = program.upper_of(state)
            lines.append(f"g({name}) = {value} lies outside [0, {end}]")
        else:
            name = family.distribution_name(broken.index)
            lines.append(f"average Bellman error {broken.amount} at {{{name}}}, not 0")
    return lines


def _best_start(
    family: Family, satisfied: NDArray[np.bool_], unsatisfied: int
) -> tuple[Fraction, int]:
    """Value of s0 and its local action, given which clauses are satisfied."""
    solve = family.parameters.best - step(family.parameters) * unsatisfied
    capped = family.try_clause_reward + family.top
    if capped > solve and satisfied.any() and not family.layout.n_sides:
        return capped, family.layout.try_clause(int(np.argmax(satisfied)))
    return solve, family.layout.solve


def _weight_of(family: Family, chosen: NDArray[np.bool_]) -> int:
    if family.weights is None:
        return int(np.count_nonzero(chosen))
    return int(family.weights[chosen].sum())  # at most W, which fits int64


def _slopes(family: Family, pair: Pair, clause: int | None = None) -> IntArray:
    """Differentiate the clauses' value in each g(x_i^1), best actions fixed."""
    chosen = slice(None) if clause is None else slice(clause, clause + 1)
    literals = family.clauses[chosen]
    own = family.literal_states_of_clauses[chosen]
    first = np.int32(family.layout.first_literal_state)
    twin = ((own - first) ^ 1) + first
    bits = (pair.numerators[own] >= pair.numerators[twin]).astype(np.bool_)
    # 000 is no action: the best one flips the bit of the largest value.
    none = np.flatnonzero(~bits.any(axis=1))
    bits[none, np.argmax(pair.numerators[own[none]], axis=1)] = True
    signs = np.where(bits == (literals > 0), 1, -1)
    exact = not fits_int64(3 * family.total_weight)
    slopes = np.zeros(family.n_variables, dtype=object if exact else np.int64)
    if family.weights is not None and clause is None:
        signs = (
            signs.astype(slopes.dtype) * family.weights.astype(slopes.dtype)[:, None]
        )
    np.add.at(slopes, (np.abs(literals) - 1).ravel(), signs.ravel())
    return slopes
