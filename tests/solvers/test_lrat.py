"""LRAT proofs, replayed by a checker that shares nothing with what makes them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.sat.clauses import Clauses
from olivine.solvers.sat.lrat import lrat_lines
from olivine.solvers.sat.sat import solve_sat

from tests.support.certificates import replay
from tests.support.depth import deep, with_rows

N = 6
LITERALS = st.integers(1, N).flatmap(lambda v: st.sampled_from([v, -v]))
CLAUSES = st.lists(st.lists(LITERALS, max_size=3), max_size=40)


def refutable(seed: int, n: int = 20) -> tuple[list[list[int]], list[str]]:
    """Random clauses of width 3, and an engine's proof against them."""
    draw = random.Random(seed)
    while True:
        clauses = [
            [v * draw.choice((-1, 1)) for v in draw.sample(range(1, n + 1), 3)]
            for _ in range(6 * n)
        ]
        outcome = solve_sat(Clauses.from_lists(clauses), n, proof=True)
        if outcome.proof is not None:
            return clauses, list(outcome.proof)


@given(CLAUSES, st.sampled_from(["cadical153", "glucose4"]))
def test_what_an_engine_proves_is_replayed(clauses, engine) -> None:
    """Empty, unit, repeated and tautological clauses included."""
    outcome = solve_sat(Clauses.from_lists(clauses), N, engine=engine, proof=True)
    if outcome.proof is None:
        with pytest.raises(ValueError, match="without the empty clause"):
            list(lrat_lines(clauses, []))
    else:
        assert replay(clauses, lrat_lines(clauses, outcome.proof)) == ""


@given(CLAUSES, st.lists(st.lists(LITERALS, max_size=2), max_size=6), st.randoms())
def test_whatever_is_accepted_can_be_replayed(clauses, steps, draw) -> None:
    """With deletions of any clause between the steps, and steps that prove nothing."""
    lines = [" ".join(map(str, [*step, 0])) for step in steps]
    for place in range(len(lines), 0, -1):
        if clauses and draw.random() < 0.3:
            gone = draw.choice(clauses)
            lines.insert(place, " ".join(map(str, ["d", *gone, 0])))
    try:
        made = list(lrat_lines(clauses, lines))
    except ValueError:
        return
    assert replay(clauses, made) == ""


def test_a_thousand_mutants_are_refused() -> None:
    """A changed number is seen, or the line still follows as it stands."""
    clauses, proof = refutable(0)
    lines = list(lrat_lines(clauses, proof))
    assert replay(clauses, lines) == ""
    draw, refused = random.Random(0), 0
    count = deep(1000, 200)
    while refused < count:
        changed = list(lines)
        place = draw.randrange(len(lines))
        words = changed[place].split()
        kind = draw.randrange(3)
        if words[1] == "d":
            continue
        if kind == 0:  # without its last hint, the conflict
            del words[-2]
        elif kind == 1:  # a hint that is not there yet
            words[-2] = str(10**6)
        else:  # a literal that no clause has
            words.insert(1, "99")
            words[-2:-1] = []
        changed[place] = " ".join(words)
        assert replay(clauses, changed) != ""
        refused += 1


@with_rows(
    "proof, reason",
    (["1 0", "0"], "step 1: the clause is not RUP"),
    (["2 0", "-2 1"], "step 2: a line of DRAT ends"),
    (["1 0 2 0"], "step 1: a line of DRAT ends"),
    (["2 0"], "the proof ends without the empty clause"),
)
def test_what_is_no_refutation_is_refused_by_step(proof, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        list(lrat_lines([[1, 2], [-1, 2]], proof))
