"""The checker's own reading, 3-SAT form, bounds and values, against the project's."""

import ast
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Pair
from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import as_checked, sections
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.program.optimum import check as check_feasible
from olivine.reduction.program.optimum import violations
from olivine.solvers.outcome import SatStatus
from olivine.solvers.sat.clauses import Clauses
from olivine.solvers.sat.sat import solve_sat

from tests.support.cases import case_parameters
from tests.support.families import families
from tests.support.formulas import formulas, least_unsatisfied
from tests.support.refusals import refused

SOURCE = Path(checker.__file__)


def test_the_checker_is_small_and_imports_nothing_of_the_project() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 320
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {name.name.split(".")[0] for name in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            modules.add(node.module.split(".")[0])
    assert modules - set(sys.stdlib_module_names) == {"dratify"}


@pytest.mark.parametrize("case", case_parameters())
def test_reads_the_cases_as_the_project_does(case) -> None:
    compare(case.path, None)


TOKENS = [
    b"p cnf 3 2\n",
    b"p cnf 3 2",
    b"p wcnf 3 2\n",
    b"p wcnf 3 2 7\n",
    b"p wcnf 3 2 0\n",
    b"p  wcnf\t3 2 7 7\n",
    b"pcnf 3 2\n",
    b"p\n",
    *[b"1", b"-2", b"3", b"7", b"0", b"00", b"-0", b"007", b"-03", b"+1", b"1_0"],
    *[b"h", b"c", b"c x", b"%", b"x", b"1.5", b"99999999999999999999", b"2147483648"],
    *[b"\n", b"\n", b"\n", b"\r\n", b"\t", b"\x0b", b"\x1c", b"\xef\xbb\xbf"],
]
PIECES = st.lists(st.sampled_from(TOKENS), max_size=12)


@given(
    st.sampled_from([b"", b"p cnf 3 2\n", b"p wcnf 3 2\n", b"p wcnf 3 2 7\n"]),
    PIECES,
    st.sampled_from([b" ", b" ", b""]),
    st.sampled_from([None, "cnf", "wcnf"]),
    st.sampled_from(["f.cnf", "f.wcnf"]),
)
@example(b"p cnf 2 1\n", [b"1 0 c 2\n-1 0"], b" ", None, "f.cnf")
@example(b"p cnf 2 1\n", [b"10 c 2\n0"], b" ", None, "f.cnf")
@example(b"p cnf 2 1\n", [b"0 c 2\n%\nx"], b" ", None, "f.cnf")
@example(b"p wcnf 2 1\n", [b"2 c 0"], b" ", None, "f.cnf")
@example(b"", [b"\n c\n 5 1 0 % "], b" ", None, "f.wcnf")
@settings(deadline=None, max_examples=300)
def test_reads_any_text_as_the_project_does(
    tmp_path_factory, header, pieces, separator, input_format, name
) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(header + separator.join(pieces))
    compare(path, input_format)


def compare(path: Path, input_format: str | None) -> None:
    """Both readers accept, with the same formula, or both refuse."""
    try:
        ours = read_dimacs(path, input_format=input_format).formula
    except ValueError:
        ours = None
    if ours is None or ours.hard is not None:
        with pytest.raises(OSError):
            checker.read_formula(str(path), input_format)
        return
    theirs = checker.read_formula(str(path), input_format)
    assert theirs == as_checked(ours)
    assert theirs.digest() == ours.digest()


@given(formulas())
@settings(deadline=None, max_examples=100)
def test_three_sat_form_is_the_projects(formula) -> None:
    ours, theirs = formula.three_sat(), checker.three_sat(as_checked(formula))
    assert theirs.n == ours.n_variables
    assert theirs.clauses == ours.clauses.tolist()
    assert sum(theirs.weights) == ours.total_weight
    assert theirs.digest() == ours.as_formula().digest()


@given(formulas(max_variables=3, max_clauses=5, max_width=3), st.data())
def test_bound_formula_is_satisfiable_below_the_bound_only(formula, data) -> None:
    three = checker.three_sat(as_checked(formula))
    least = least_unsatisfied(three.clauses, three.weights, three.n)
    near = st.integers(max(1, least - 2), least + 3)
    bound = data.draw(st.one_of(near, st.integers(1, sum(three.weights) + 1)))
    counted = checker.bound_formula(three, bound)
    outcome = solve_sat(Clauses.from_lists(counted.clauses), counted.n)
    expected = SatStatus.SATISFIABLE if least < bound else SatStatus.UNSATISFIABLE
    assert outcome.status is expected


@given(families(), st.data())
def test_values_are_the_only_feasible_ones(family, data) -> None:
    """The project's own check of the program agrees, and with nothing else."""
    layout, n, m = family.layout, family.n_variables, family.n_clauses
    x = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    start = data.draw(st.integers(0, layout.solve))
    local = st.integers(0, layout.clause_actions - 1)
    actions = data.draw(st.lists(local, min_size=m, max_size=m))
    policy = np.zeros(layout.n_states, dtype=np.int32)
    policy[0], policy[1 : 1 + m] = start, actions
    names = layout.action_names()
    first = layout.first_clause_action
    pi = {"s0": names[start], "C": [names[first + k] for k in actions]}
    three = as_checked(family.three_sat.as_formula())

    g, left = checker.values(three, str(family.variant), family.penalty, x, pi)
    assert left == family.three_sat.unsatisfied_weight(x)
    literals = [v for both in zip(g["x0"], g["x1"], strict=True) for v in both]
    exact = [g["s0"], *g["C"], *g["X"], *literals, *g["bottom"]]
    assert len(exact) == layout.n_states
    pair = Pair.from_fractions(exact, policy)
    if exact[0] < 0:  # [try C_j] by a worthless clause
        assert len(violations(family, pair)) == 1
        return
    assert check_feasible(family, pair) == g["s0"]
    k = data.draw(st.integers(0, layout.n_states - 1))
    exact[k] = data.draw(st.sampled_from([Fraction(1), exact[k] + Fraction(1, 7)]))
    if exact[k] != pair.value(k):
        assert violations(family, Pair.from_fractions(exact, policy))


def test_runs_by_itself(tmp_path) -> None:
    path = tmp_path / "f.cnf"
    path.write_text("p cnf 1 1\n1 0\n")
    instance = Instance.of(read_dimacs(path).formula)
    from tests.support.certificates import certified

    certified(instance).write(tmp_path / "c.json")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(SOURCE), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    done = run("c.json", "f.cnf")
    assert done.returncode == 0
    assert json.loads(done.stdout.removeprefix("valid: "))["optimum"] == "1"
    path.write_text("p cnf 1 1\n-1 0\n")
    assert run("c.json", "f.cnf").returncode == 1
    assert run("c.json", "none.cnf").returncode == 2
    assert run("f.cnf", "f.cnf").returncode == 2
    assert run().returncode == 2


@pytest.mark.parametrize(
    "text",
    ["0.5", "1e3", "01", "-0", "+1", " 1", "1/0", "2/4", "3/1", "0/1", "1/-2", "١", ""],
)
def test_rationals_have_one_spelling(text: str) -> None:
    refused("no rational", checker.rational, text)


def test_rationals_may_have_200_digits() -> None:
    assert checker.rational("9" * 200) == int("9" * 200)
    refused("too long", checker.rational, "9" * 201)
    refused("too long", checker.rational, "1/" + "9" * 201)


PROOFS = [
    ("1 0\n0\n", None),
    ("1 0\n0", None),
    ("1\n0\n0\n", None),  # a clause may span lines, as in drat-trim
    ("", "last step"),
    ("0\n", "not RUP"),
    ("d 1 2 0\n0\n", "not RUP"),
    ("1 0\n", "last step"),
    ("3 0\n0\n", "not RUP"),
    ("x 0\n0\n", "proof"),
    ("1 0\n0\n2", "proof"),
    ("é", "ascii"),
]


@pytest.mark.parametrize(("proof", "problem"), PROOFS)
def test_refutations(proof: str, problem: str | None) -> None:
    formula = checker.Formula(3, [[1, 2], [-1, 2], [1, -2], [-1, -2]], [])
    if problem is None:
        checker.check_refutation(formula, proof.encode())
    else:
        refused(problem, checker.check_refutation, formula, proof.encode())


def test_rat_steps_are_refused() -> None:
    """dratify accepts this refutation of a satisfiable formula by RAT."""
    formula = checker.Formula(2, [[1], [-1, -2]], [])
    refused("not RUP", checker.check_refutation, formula, b"d -1 -2 0\n2 0\n0\n")


def test_sections_are_the_fields_in_order() -> None:
    from olivine.reduction.formula.formula import Formula
    from olivine.reduction.program.optimum import forward

    instance = Instance.of(Formula.from_clauses([[1, 2]]), "all-levels")
    fields = sections(instance, forward(instance.family, [True, True]), 0)
    assert fields["pi"] == {"s0": "[solve]", "C": ["111"]}
    assert fields["g"]["C"] == ["1/2"]
    assert fields["g"]["X"] == ["1/4", "1/4"]
    assert fields["g"]["bottom"] == ["0"]


@pytest.mark.parametrize("digits", [41, 4301, 10**5])
def test_a_number_may_have_any_number_of_zeros_in_front(tmp_path, digits: int) -> None:
    """Python itself refuses to convert more than 4,300 digits."""
    path = tmp_path / "f.wcnf"
    zeros = "0" * digits
    path.write_text(f"p wcnf {zeros}3 {zeros}1\n{zeros}5 -{zeros}2 {zeros}1 {zeros}0\n")
    compare(path, None)
    assert checker.read_formula(str(path)).weights == [5]


@pytest.mark.parametrize("weight", [400, 10**6, 2**63 - 1])
@pytest.mark.parametrize("head", ["", "p wcnf 1 1\n"])
def test_no_weight_is_hard_without_a_top(tmp_path, weight: int, head: str) -> None:
    path = tmp_path / "f.wcnf"
    path.write_text(f"{head}{weight} 1 0\n")
    assert checker.read_formula(str(path)).weights == [weight]


def test_strings_and_tokens_of_any_length_are_read_or_cut():
    assert checker.parse(b'{"[[\\"[": "' + b"[" * 200 + b'"}') == {'[["[': "[" * 200}
    # Each of the escaped quotes could begin a string: 64 KB took 15 s.
    refused("no JSON", checker.parse, b'{"a": "' + b'\\"' * 10**6, error=OSError)
    with pytest.raises(ValueError, match="proof line") as caught:
        checker.check_refutation(checker.Formula(1, [[1], [-1]], []), b"9" * 10**6)
    assert len(str(caught.value)) < 200
