"""PySAT's formulas, taken and given."""

import olivine
import pytest
from hypothesis import given
from olivine.reduction.formula.prepare import as_formula, to_pysat
from pysat.formula import CNF, WCNF, CNFPlus, WCNFPlus

from tests.support.depth import with_rows
from tests.support.formulas import formulas

AT_MOST = "1 2 <= 1\n"


@given(formulas(hard=True, large_weights=False))
def test_a_formula_comes_back(formula) -> None:
    """But that hard clauses are in front."""
    back = as_formula(to_pysat(formula))
    if formula.hard is None:
        assert back == formula
        return
    order = sorted(range(len(formula)), key=lambda j: not formula.hard[j])
    assert list(back.clauses()) == [formula.clause(j) for j in order]
    assert back.weights.tolist() == formula.weights[order].tolist()
    assert back.n_variables == formula.n_variables


def test_verify_family_and_decide_take_them() -> None:
    cnf = CNF(from_clauses=[[1, 2], [-1, 2], [1, -2], [-1, -2]])
    formula = olivine.Formula.from_clauses(cnf.clauses)
    assert olivine.verify(cnf).optimum == olivine.verify(formula).optimum
    assert olivine.Family(cnf).mdp() == olivine.Family(formula.three_sat()).mdp()
    assert olivine.decide(cnf).satisfiable is False
    weighted = WCNF()
    weighted.append([1], weight=3)
    weighted.append([-1], weight=1)
    assert olivine.verify(weighted, "gap").unsatisfied == 1


@with_rows(
    "source, error, reason",
    ([[1]], TypeError, r"list is no formula: olivine.Formula.from_clauses\("),
    ("a.cnf", TypeError, r"str is no formula: olivine.read_dimacs\("),
    ({}, TypeError, "dict is no formula: give a Formula, or PySAT's"),
    (None, TypeError, "NoneType is no formula"),
    (CNFPlus(from_string="p cnf+ 2 1\n1 2 <= 1\n"), ValueError, "cardinal"),
    (WCNFPlus(from_string="p wcnf+ 2 1 9\n9 1 2 <= 1\n"), ValueError, "cardinal"),
    (CNF(from_clauses=[[2**31]]), ValueError, "variables"),
)
def test_what_is_no_formula_is_refused(source, error, reason) -> None:
    with pytest.raises(error, match=reason):
        olivine.verify(source)


def test_a_weight_that_is_no_integer_is_refused() -> None:
    weighted = WCNF()
    weighted.append([1], weight=0.5)
    with pytest.raises(ValueError, match=r"weight 0\.5"):
        olivine.verify(weighted)
