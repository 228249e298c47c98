from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.reduction.family.family import Instance
from olivine.reduction.family.variants import Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.program.witness import check
from olivine.reduction.verify.decision import ENGINES, _confirm, decide
from olivine.reduction.verify.optimise import shown

from tests.support.depth import spread


@st.composite
def formulas(draw):
    n = draw(st.integers(0, 4))
    literal = st.integers(1, n).flatmap(lambda v: st.sampled_from([v, -v]))
    clause = st.lists(literal, min_size=0, max_size=5) if n else st.just([])
    return Formula.from_clauses(draw(st.lists(clause, max_size=8)), n)


def is_satisfiable(formula: Formula) -> bool:
    return any(
        formula.satisfied(np.array(bits, dtype=np.bool_)).all()
        for bits in product([False, True], repeat=formula.n_variables)
    )


@pytest.mark.parametrize("engine", spread(ENGINES, 1))
@given(formula=formulas(), variant=st.sampled_from(list(Variant)))
@settings(max_examples=10)
def test_decisions_are_right_and_certified(engine, formula, variant) -> None:
    instance = Instance.of(formula, variant)
    decision = decide(instance, engine)
    assert decision.satisfiable is is_satisfiable(formula)
    if not decision.satisfiable:
        assert decision.assignment is decision.pair is decision.value is None
        assert decision.decided_by == "sat"
        return
    assert decision.decided_by == engine
    best = instance.family.parameters.best
    assert decision.value == best == check(instance.family, decision.pair)
    assert decision.assignment.shape == (formula.n_variables,)
    assert formula.satisfied(decision.assignment).all()


@pytest.mark.children
def test_a_limit_leaves_it_open() -> None:
    instance = Instance.of(Formula.from_clauses([[1], [-1]]))
    decision = decide(instance, time_limit=0.0)
    assert decision.satisfiable is None
    assert decision.decided_by == ""
    assert "time limit" in decision.remarks[0]


def test_engines_assignments_and_costs_that_are_none_are_refused():
    with pytest.raises(ValueError, match="oracle"):
        decide(Instance.of(Formula.from_clauses([[1]])), "oracle")
    instance = Instance.of(Formula.from_clauses([[1, 2, 3], [-1]]))
    with pytest.raises(RuntimeError, match="3-SAT form gives a pair of value 5/6"):
        _confirm(instance, np.array([True, False, False]))
    # Where the penalty caps the optimum, 3 and 4 have the same.
    instance = Instance.of(Formula.from_clauses([[1]] * 4 + [[-1]] * 4))
    model = np.array([True])
    assert shown(instance, 4, model, "optimal", ()).cost == 4
    with pytest.raises(RuntimeError, match="the pair's assignment has 4, not 3"):
        shown(instance, 3, model, "optimal", ())
    with pytest.raises(RuntimeError, match="weight 2 gives a pair of value 7/8"):
        shown(instance, 2, model, "optimal", ())


@pytest.mark.parametrize(("hard", "words"), [(1, "^1 hard clause: "), (2, "^2 hard c")])
def test_hard_clauses_are_counted_and_refused(hard, words) -> None:
    flags = np.arange(3) < hard
    formula = Formula.from_clauses([[1], [2], [-1]], 2, [1, 1, 1], hard=flags)
    with pytest.raises(ValueError, match=words):
        Instance.of(formula)
