"""The family with deterministic hidden dynamics: MDPs, program, ways between."""

from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st
from olivine.algorithms.olive_program.optimisers import enumerate_policies
from olivine.reduction.formula.formula import Formula
from olivine.reduction.hidden import BEST, LITERAL, HiddenFamily

from tests.support.families import best_assignments
from tests.support.formulas import assignments, formulas
from tests.support.refusals import refused

SMALL = formulas(max_variables=2, max_clauses=3, large_weights=False)


@st.composite
def members(draw):
    """A family and truth values of its 3-SAT form, not too many."""
    hidden = HiddenFamily(draw(SMALL))
    n = hidden.three_sat.n_variables
    return hidden, draw(assignments(n))


@given(members())
def test_the_environment_is_the_mdp_over_its_observations(made) -> None:
    hidden, bits = made
    environment, mdp = hidden.environment(bits), hidden.mdp(bits)
    assert environment.deterministic
    best = mdp.optimal_values()
    assert environment.truth.optimal_value == best.value(mdp.start)
    values = [v for h in (1, 2, 3) for v in environment.truth.values(h)]
    assert values == best.values()
    n, m = hidden.three_sat.n_variables, hidden.three_sat.n_clauses
    assert mdp.n_states == m + 4 * n + 1
    assert environment.n_actions == 2 * n
    assert mdp.action_counts.tolist() == [
        n + 1,
        *[2 * n] * m,
        *[2] * 2 * n,
        *[1] * 2 * n,
    ]


@given(members())
def test_members_share_the_program(made) -> None:
    hidden, bits = made
    mdp, program = hidden.mdp(bits), hidden.program()
    for distribution in hidden.distributions():
        if distribution.level == 3:
            rewards = [mdp.reward(mdp.actions(s)[0]) for s in distribution.states]
            assert sum(rewards) == LITERAL
    assert program.is_feasible(hidden.forward(bits))
    for state in range(mdp.n_states - 2 * len(bits)):
        ours, theirs = (
            [(m.reward(a), dict(m.successors(a))) for a in m.actions(state)]
            for m in (mdp, program.mdp)
        )
        assert ours == theirs


@given(members(), st.data())
def test_there_and_back(made, data) -> None:
    """Worth what the assignment leaves; back no worse, for any literals chosen."""
    hidden, bits = made
    pair, form = hidden.forward(bits), hidden.three_sat
    left = form.unsatisfied_weight(bits)
    program = hidden.program()
    assert program.objective(pair) == BEST - LITERAL * Fraction(
        left, hidden.total_weight
    )
    assert form.unsatisfied_weight(hidden.back(pair)) <= left
    m, n = form.n_clauses, form.n_variables
    policy = pair.policy.copy()
    policy[1 : m + 1] = data.draw(
        st.lists(st.integers(0, 2 * n - 1), min_size=m, max_size=m)
    )
    other = hidden.mdp(bits).evaluate(policy)
    assert program.is_feasible(other)
    found = form.unsatisfied_weight(hidden.back(other))
    worth = BEST - LITERAL * Fraction(found, hidden.total_weight)
    assert worth >= program.objective(other)


@given(formulas(max_variables=2, max_clauses=2, large_weights=False))
def test_the_optimum_is_that_of_the_closed_form(formula) -> None:
    hidden = HiddenFamily(formula)
    n, m = hidden.three_sat.n_variables, hidden.three_sat.n_clauses
    assume((n + 1) * (2 * n) ** m * 4**n <= 4000)
    found = enumerate_policies(hidden.program())
    assert found.optimum == hidden.optimum(best_assignments(hidden.three_sat)[0])


def test_what_is_no_input_is_refused() -> None:
    hard = Formula.from_clauses([[1], [2]], hard=[True, False], weights=[1, 1])
    refused("clause 0 is hard", HiddenFamily, hard)
    heavy = Formula.from_clauses([[1], [-1]], weights=[2**31 - 2, 2])
    refused("add up to 2147483648; probabilities hold", HiddenFamily, heavy)
    refused("assignment of shape", HiddenFamily(Formula.from_clauses([[1]])).mdp, [])
