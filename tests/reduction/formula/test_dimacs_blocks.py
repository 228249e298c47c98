"""The reader's two paths, cuts between blocks, and hostile input."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.reduction.formula.dimacs import (
    CHUNK,
    DimacsError,
    dimacs_lines,
    parse_dimacs,
)

from tests.support.depth import deep, spread, with_rows
from tests.support.formulas import formulas


def error(data):
    with pytest.raises(DimacsError) as caught:
        parse_dimacs(data)
    return caught.value


def clean_text(formula, *, spaced):
    """Text of a formula, possibly with odd white space."""
    text = "".join(dimacs_lines(formula))
    return text.replace(" ", " \t\v") if spaced else text


@given(
    formulas(max_variables=40, max_clauses=20, hard=True),
    st.booleans(),
    st.integers(1, 40),
)
def test_cuts_make_no_difference(formula, spaced, size):
    data = clean_text(formula, spaced=spaced).encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    file = parse_dimacs(pieces)
    assert file.formula == formula
    assert not file.warnings


LINES = st.sampled_from(
    [
        "1 2 0",
        "-3",
        "0",
        "2 -1",
        "c 1 0",
        "",
        "\t ",
        "0 0",
        "3 0 c x",
        "7 0",
        "@",
        "-0",
        "h 1 -2 0",
        " h 0",
        "h",
        "h1 0",
        "1 h 2 0",
        "%",
        f"{2**63 - 1} 2 0",
    ]
)


@given(
    st.sampled_from(
        ["p cnf 3 2\n", "p wcnf 3 2 3\n", "c x\np wcnf 9 1\n", "h 1 0\n", "4 1 0\n"]
    ),
    st.lists(LINES, max_size=12),
    st.integers(1, 30),
)
@settings(max_examples=200)
@example("p cnf 3 2\n", ["-3", "c 1 0", "2 -1", "0", "7 0", "-3"], 1)
def test_the_fast_path_agrees_with_the_exact_one(head, lines, size):
    text = head + "\n".join(lines)
    data = text.encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]

    def outcome(chunks, source):
        try:
            file = parse_dimacs(chunks, source=source)
        except DimacsError as found:
            return found.line, found.reason
        return file.formula, file.warnings, file.format

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "olivine.reduction.formula.dimacs_text._plain_numbers", lambda block: None
        )
        exact = outcome([data], "f")
    assert outcome([data], "f") == exact
    assert outcome(pieces, "f") == exact


@pytest.mark.parametrize("behind", spread(["x\n", "1 2\n3\n", "1000\n0\n@ 0\n"], 2))
def test_lines_are_right_far_into_a_file(behind):
    head = "c\n" * 3 + "p cnf 100 30000\n" + "1 2\n 3 0\n\n" * 30_000
    assert len(head) > CHUNK
    line = 4 + 90_000 + 1 + 2 * ("@" in behind)
    data = (head + behind).encode()
    assert error(data).line == line
    pieces = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)]
    with pytest.raises(DimacsError) as caught:
        parse_dimacs(pieces)
    assert caught.value.line == line


def test_a_clause_that_begins_in_an_earlier_block():
    filler = "1 2 3 0\n" * 40_000
    text = "p cnf 9 9\n" + filler + "4 5\n" + "6\n" * 200_000
    data = text.encode()
    pieces = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)]
    with pytest.raises(DimacsError, match="closing 0") as caught:
        parse_dimacs(pieces)
    assert caught.value.line == 40_002
    formula = parse_dimacs([*pieces, b"0\n"]).formula
    assert formula.widths.tolist() == [3] * 40_000 + [200_002]


# -- large and hostile input


def test_many_literals_and_leading_zeros_are_read():
    n = deep(10**6, 10**5)
    numbers = np.arange(1, n + 1)
    data = b"p cnf %d 1\n" % n + " ".join(map(str, numbers)).encode() + b" 0\n"
    formula = parse_dimacs(data).formula
    assert np.array_equal(formula.literals, numbers)
    assert error(data + b"-1").line == 3
    assert error(data[:-3]).line == 2
    formula = parse_dimacs(b"p cnf 1 1\n" + b"0" * 10**7 + b"1 0").formula
    assert list(formula.clauses()) == [(1,)]


@with_rows("head", b"", b"p cnf ", b"p cnf 1 1\n", b"h 1 0\n", b"p cnf 1 1\n-", keep=3)
def test_a_number_of_millions_of_digits(head):
    assert len(str(error(head + b"9" * deep(10**7, 10**6) + b" 0"))) < 300


JUNK = {
    "nul": b"\0" * 10**6,
    "bytes": bytes(range(256)) * 4000,
    "random": np.random.default_rng(0).bytes(10**6),
    "blank": b" " * deep(10**7, 10**6) + b"x",
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_binary_junk(junk):
    error(junk)
    error(b"p cnf 3 2\n1 0\n" + junk)
