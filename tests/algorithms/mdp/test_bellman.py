"""Average Bellman errors where denominators go from 1 to beyond 64 bits."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.bellman import as_fractions, average_errors
from olivine.algorithms.mdp.planning import Distribution, Distributions, Pair
from olivine.algorithms.mdp.tabular import TabularMDP

from tests.support.depth import deep
from tests.support.tabular import slow_error

LARGE = [2**31 - 1, 10**9 + 7, 3 * 2**40, 2**61 - 1, 10**25 + 1]


@st.composite
def shares(draw: st.DrawFn, denominators: list[int]) -> Fraction:
    """A number in (0, 1] that keeps its denominator as a rule."""
    whole = draw(st.sampled_from(denominators))
    return Fraction(
        draw(st.sampled_from([1, whole // 5 + 1, max(1, whole - 1)])), whole
    )


@st.composite
def problems(draw: st.DrawFn) -> tuple[TabularMDP, list[Distribution], Pair]:
    """A chain of states that may skip one, each with an action that is not taken."""
    n = draw(st.integers(1, 6))
    # Few large ones in a problem, as else nothing is left to 64 bits.
    chances = [1, 1, 2, draw(st.sampled_from([2**31 - 1, 3 * 2**40, 2**60]))]
    rewards = [1, 1, 6, draw(st.sampled_from(LARGE))]
    wholes, parts = ([1, 6, draw(st.sampled_from([1, 1, *LARGE]))] for _ in range(2))
    states = []
    for i in range(n):
        after = {}
        if i < n - 2:
            share = draw(shares(chances))
            after = {f"s{i + 1}": share, f"s{i + 2}": 1 - share}
        away = ("stay away", draw(shares(LARGE)), {})
        states.append((f"s{i}", i + 1, [("go", draw(shares(rewards)), after), away]))
    mdp = TabularMDP.from_lists(states)
    some = st.lists(st.integers(0, n - 1), unique=True, max_size=3)
    distributions = []
    for chosen in draw(st.lists(some, max_size=6)):
        masses = {s: draw(shares(parts)) / len(chosen) for s in chosen}
        distributions.append(Distribution.from_fractions(masses, 1))
    values = [draw(shares(wholes)) for _ in range(n)]
    return mdp, distributions, Pair.from_fractions(values, [0] * n)


@settings(max_examples=deep(500, 100), deadline=None)
@given(problems())
def test_errors_are_those_of_the_definition(
    problem: tuple[TabularMDP, list[Distribution], Pair],
) -> None:
    mdp, distributions, pair = problem
    flat = Distributions.from_iterable(distributions)
    found = average_errors(mdp, flat, pair)
    expected = [slow_error(mdp, d, pair) for d in distributions]
    assert as_fractions(*found, flat) == expected
