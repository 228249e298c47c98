import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from olivine.solvers.sat.clauses import Clauses
from olivine.solvers.sat.proof import ProofCheck, check_drat
from olivine.solvers.sat.sat import solve_sat

VALID = ProofCheck(True, "")
FULL_3 = [list(c) for c in itertools.product([1, -1], [2, -2], [3, -3])]


def check(lists, *lines):
    return check_drat(Clauses.from_lists(lists), lines)


# --- a checker after the definition, for small formulas


def propagates_to_conflict(clauses, true):
    """Whether unit propagation from the literals `true` falsifies a clause."""
    true = set(true)
    changed = True
    while changed:
        changed = False
        for clause in clauses:
            if any(x in true for x in clause):
                continue
            left = [x for x in clause if -x not in true]
            if not left:
                return True
            if len(left) == 1:
                true.add(left[0])
                changed = True
    return False


def is_rup(clauses, clause):
    return propagates_to_conflict(clauses, [-x for x in clause]) or any(
        -x in clause for x in clause
    )


def is_rat(clauses, clause):
    if not clause:
        return False
    pivot = clause[0]
    return all(
        is_rup(clauses, clause + [x for x in other if x != -pivot])
        for other in clauses
        if -pivot in other
    )


def follows_definition(lists, steps, *, rat, deletions):
    clauses = [sorted(set(c)) for c in lists]
    for kind, clause in [*steps, ("a", [])]:
        if kind == "d":
            if deletions and sorted(set(clause)) in clauses:
                clauses.remove(sorted(set(clause)))
        elif not is_rup(clauses, clause) and not (rat and is_rat(clauses, clause)):
            return False
        elif not clause:
            return True
        else:
            clauses.append(sorted(set(clause)))
    return False


def is_satisfiable(lists):
    n = max((abs(x) for c in lists for x in c), default=0)
    return any(
        all(any(values[abs(x) - 1] == (x > 0) for x in c) for c in lists)
        for values in itertools.product([False, True], repeat=n)
    )


def line(step):
    kind, clause = step
    return " ".join((["d"] if kind == "d" else []) + [*map(str, clause), "0"])


# --- proofs that are right


def test_resolution_proof():
    assert check(FULL_3, "1 2 0", "1 -2 0", "1 0", "-1 2 0", "0") == VALID


def test_the_last_step_may_be_missing():
    assert check(FULL_3, "1 2 0", "1 0", "2 0") == VALID


@pytest.mark.parametrize("lists", [[[]], [[1], []], [[1], [-1]], [[1], [-1, 2], [-2]]])
def test_an_empty_proof_is_right_where_unit_propagation_refutes(lists):
    assert check(lists) == VALID
    assert check(lists, "0") == VALID


def test_lines_after_the_empty_clause_are_not_needed():
    assert check(FULL_3, "1 2 0", "1 0", "2 0", "0", "d 1 2 0", "7 0", "0") == VALID


def test_blank_lines_comments_and_spaces():
    lines = [
        "c a comment",
        "",
        "  1   2 0  ",
        "\t1 0",
        "c",
        "2 0",
        "d  1 2 0\n",
        "0\r\n",
    ]
    assert check(FULL_3, *lines) == VALID


def test_deletions_after_use():
    lines = ["1 2 0", "d 3 2 1 0", "d -3 1 2 0", "1 0", "d 1 2 0", "2 0", "0"]
    assert check(FULL_3, *lines) == VALID


def test_deletions_of_units_and_of_unknown_clauses_are_harmless():
    lines = ["1 2 0", "1 0", "d 1 0", "d 4 5 0", "d 0", "d 6 0", "2 0", "0"]
    assert check(FULL_3, *lines) == VALID


def test_a_new_variable_by_definition():
    lines = ["4 -1 -2 0", "-4 1 0", "-4 2 0", "-4 3 0", "-4 0", "1 0", "0"]
    assert check(FULL_3, *lines) == VALID


def test_a_clause_that_is_rat_but_not_rup():
    lists = [[1, 2], [-1, -2], [1, 3], [2, 3], [-3, 4], [-3, -4]]
    assert not follows_definition(lists, [("a", [5])], rat=False, deletions=True)
    assert check(lists, "5 0", "-3 0", "0") == VALID


def test_tautologies_repeats_and_large_variables():
    big = 2**31 - 1
    lists = [[big, -big], [5, 5, big], [5, -big, 5], [-5, big, big], [-big, -5]]
    assert check(lists, "5 5 0", "d 5 5 0", f"{big - 1} 5 0", "0") == VALID


# --- proofs that are wrong


def test_an_empty_proof_of_a_satisfiable_formula():
    assert check([[1, 2]]) == ProofCheck(
        False, "end of proof: the empty clause does not follow"
    )
    assert check([]) == check([[1, 2]])


def test_a_step_too_far():
    assert check([*FULL_3, [-1, 4]], "c", "1 0", "0") == ProofCheck(
        False, "line 2: clause is neither RUP nor RAT"
    )
    assert check(FULL_3, "1 2 0", "0") == ProofCheck(
        False, "line 2: the empty clause does not follow"
    )


def test_rat_after_the_deletion_of_a_reason():
    """Dratify itself accepts this refutation of a satisfiable formula."""
    assert not check([[1], [-1, -2]], "d -1 -2 0", "2 0", "0").valid


@pytest.mark.parametrize(
    "bad",
    [
        "1 2",
        "1 -2 d 0",
        "1 0 2 0",
        "1 0 0",
        "d",
        "0 0",
        "1,2 0",
        "1.0 0",
        "+1 0",
        "1_0 0",
        "- 1 0",
        "--1 0",
        "-0 0",
        "01 0",
        "x 0",
        "a 1 0",
        "comment 0",
        "\u0661 0",
        "1\u00a00",
        "\x00",
        "2147483648 0",
        "-2147483648 0",
        "9" * 5000 + " 0",
        "1 0\n2 0",
    ],
)
def test_malformed_lines(bad):
    for lines, number in (([bad], 1), (["1 2 0", "1 0", "0", bad], 4)):
        result = check(FULL_3, *lines)
        assert not result.valid
        assert result.reason.startswith(f"line {number}: ")
        assert result.reason.endswith(" is no step")
        assert len(result.reason) < 400


def test_malformed_clauses_are_the_callers_error():
    with pytest.raises(ValueError, match="0 is no literal"):
        check([[1, 0]], "0")


# --- properties

literal_4 = st.sampled_from([1, -1, 2, -2, 3, -3, 4, -4])
small_clause = st.lists(literal_4, min_size=1, max_size=3)
formulas = st.lists(small_clause, min_size=1, max_size=12)


@st.composite
def proofs(draw, lists):
    literal = st.sampled_from([1, -1, 2, -2, 3, -3, 4, -4, 5, -5])
    added = st.lists(literal, min_size=1, max_size=3).map(lambda c: ("a", c))
    known = st.sampled_from(lists).flatmap(st.permutations)
    deleted = known.map(lambda c: ("d", c))
    return draw(st.lists(added | deleted, max_size=6))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_no_proof_refutes_a_satisfiable_formula(data):
    lists = data.draw(formulas)
    assume(is_satisfiable(lists))
    steps = data.draw(proofs(lists))
    assert not check(lists, *map(line, steps), "0").valid


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_verdicts_lie_between_two_definitions(data):
    lists = data.draw(formulas)
    steps = data.draw(proofs(lists))
    verdict = check(lists, *map(line, steps)).valid
    if follows_definition(lists, steps, rat=False, deletions=True):
        assert verdict
    if verdict:
        assert follows_definition(lists, steps, rat=True, deletions=False)


def random_unsatisfiable(rng):
    while True:
        n = int(rng.integers(3, 7))
        m = 7 * n
        variables = np.array([rng.permutation(n)[:3] + 1 for _ in range(m)])
        lists = (variables * rng.choice([-1, 1], (m, 3))).tolist()
        if not is_satisfiable(lists):
            return lists, n


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.data())
def test_damaged_proofs_are_rejected_unless_still_right(seed, data):
    lists, n = random_unsatisfiable(np.random.default_rng(seed))
    proof = solve_sat(Clauses.from_lists(lists), n, proof=True).proof
    assert check(lists, *proof) == VALID
    steps = [
        ("a", [*map(int, text.split()[:-1])])
        if text[0] != "d"
        else ("d", [*map(int, text.split()[1:-1])])
        for text in proof
    ]
    assert [line(step) for step in steps] == list(proof)
    position = data.draw(st.integers(0, len(steps) - 1))
    kind, clause = steps[position]
    damage = data.draw(st.sampled_from(["drop", "shorten", "flip"]))
    if damage == "drop" or not clause:
        del steps[position]
    else:
        victim = data.draw(st.integers(0, len(clause) - 1))
        changed = [-clause[victim]] if damage == "flip" else []
        steps[position] = kind, clause[:victim] + changed + clause[victim + 1 :]
    verdict = check(lists, *map(line, steps)).valid
    if follows_definition(lists, steps, rat=False, deletions=True):
        assert verdict
    if verdict:
        assert follows_definition(lists, steps, rat=True, deletions=False)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_proof_of_another_formula_is_rejected(seed):
    rng = np.random.default_rng(seed)
    lists, n = random_unsatisfiable(rng)
    proof = solve_sat(Clauses.from_lists(lists), n, proof=True).proof
    values = rng.random(n) < 0.5
    other = [c for c in lists if any(values[abs(x) - 1] == (x > 0) for x in c)]
    assert not check(other, *proof).valid


@pytest.mark.long
def test_no_random_proof_refutes_a_satisfiable_formula():
    rng = np.random.default_rng(2)
    for _ in range(50_000):
        n = int(rng.integers(1, 5))

        def clause(variables, largest):
            width = int(rng.integers(1, largest))
            signs = rng.choice([-1, 1], width)
            return (rng.integers(1, variables + 1, width) * signs).tolist()

        lists = [clause(n, 4) for _ in range(rng.integers(1, 9))]
        if not is_satisfiable(lists):
            continue
        steps = [
            ("d", lists[rng.integers(len(lists))])
            if rng.random() < 0.4
            else ("a", clause(n + 1, 4))
            for _ in range(rng.integers(1, 7))
        ]
        assert not check(lists, *map(line, steps)).valid, (lists, steps)
