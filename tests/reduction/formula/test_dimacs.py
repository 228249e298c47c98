"""What the DIMACS reader accepts, by both of its paths; what it says of the rest."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from olivine.reduction.formula.dimacs import (
    CHUNK,
    DimacsError,
    dimacs_lines,
    parse_dimacs,
    read_dimacs,
)
from olivine.reduction.formula.formula import MAX_WEIGHT
from pysat.solvers import Solver

from tests.support.cases import CASES, case_parameters
from tests.support.depth import deep, spread, with_rows
from tests.support.formulas import formulas


def parse(text, **options):
    data = text.encode() if isinstance(text, str) else text
    return parse_dimacs(data, source="f", **options)


def clauses(text, **options):
    return list(parse(text, **options).formula.clauses())


def error(text, **options):
    with pytest.raises(DimacsError) as caught:
        parse(text, **options)
    assert str(caught.value).startswith("f:")
    return caught.value


# -- the cases


@pytest.mark.parametrize("case", case_parameters())
def test_the_cases_are_read_as_expected(case):
    expected = case.expected
    if not expected.get("accepted", True):
        with pytest.raises(DimacsError) as caught:
            read_dimacs(case.path)
        assert caught.value.line is not None
        return
    file = read_dimacs(case.path)
    formula = file.formula
    assert formula.n_variables == expected["variables"]
    assert len(formula) == expected["clauses"]
    assert bool(file.warnings) == expected.get("warns", False)
    assert file.source == str(case.path)
    assert file.format == "cnf"
    assert file.hard is None
    with Solver("cadical153", bootstrap_with=map(list, formula.clauses())) as solver:
        assert solver.solve() == expected["satisfiable"]
    if file.warnings:
        with pytest.raises(DimacsError):
            read_dimacs(case.path, strict=True)
    else:
        assert read_dimacs(case.path, strict=True).formula == formula


@with_rows(
    "name, line, reason",
    ("unterminated.cnf", 3, "clause without its closing 0"),
    ("no-header.cnf", 1, "no 'p cnf' header"),
    ("garbage.cnf", 1, "found '@'"),
    ("xor.cnf", 2, "XOR clauses are not supported"),
    ("two-headers.cnf", 3, "second header 'p cnf 2 1'; the first is on line 1"),
    ("huge-index.cnf", 2, "'99999999999' is out of range"),
    ("cnf-plus.cnf", 1, "format 'cnf\\+' is not supported"),
)
def test_refused_cases_name_line_and_reason(name, line, reason):
    path = CASES / "odd" / name
    with pytest.raises(DimacsError, match=reason) as caught:
        read_dimacs(path)
    assert (caught.value.source, caught.value.line) == (str(path), line)
    assert str(caught.value) == f"{path}:{line}: {caught.value.reason}"


def test_warnings_name_file_and_line():
    (warning,) = parse("p cnf 2 1\n1 0\n-1 0\n").warnings
    assert warning == "f:1: the header's number of clauses is 1, the file has 2"
    text = "c x\np cnf 2 2\n1 0\n\n3 -9 0\n"
    (warning,) = parse(text).warnings
    assert warning.startswith("f:5: variable 3 is above the header's number")
    assert "the largest used is 9" in warning
    assert (error(text, strict=True).line, parse(text).formula.n_variables) == (5, 9)
    assert len(parse("p cnf 1 2\n2 0").warnings) == 2


# -- the rules, one by one


@with_rows(
    "text, expected",
    ("p cnf 2 2\n1 2 0 -1 0", [(1, 2), (-1,)]),
    ("p cnf 2 1\n1\nc in a clause 0\n 2\n0\n", [(1, 2)]),
    ("p cnf 2 1\n1 2 0 c behind a clause\n", [(1, 2)]),
    ("p cnf 2 2\n1 0 2 0 c\n", [(1,), (2,)]),
    ("p cnf 2 1\nc1 0\nc-2 0\ncnf 1 0\n\t cc\n1 0\n", [(1,)]),
    ("p cnf 2 2\n007 -02 00 1 0\n", [(7, -2), (1,)]),
    ("p cnf 2 1\n1 0\n%\n0\n", [(1,)]),
    ("p cnf 2 1\n1 0\n  %% anything @ 1 -\n\0\xff", [(1,)]),
    ("p cnf 2 1\n1 0\n%", [(1,)]),
    ("p\tcnf \f2\v1\r\n\t1\v-2\f0\r\n", [(1, -2)]),
    ("\ufeffc x\np cnf 1 1\n1 0", [(1,)]),
    ("\n\n  \np cnf 1 1\n\n1\n\n0\n\n", [(1,)]),
    ("  p cnf 1 1\n1 0", [(1,)]),
    ("p cnf 2 3\n0 0\n0", [(), (), ()]),
    ("p cnf 0 0", []),
    ("p cnf 0 0\n%\n1 0", []),
)
def test_what_is_read(text, expected):
    assert clauses(text, max_variables=10) == expected


@with_rows(
    "text, line, reason",
    ("", 1, "empty"),
    ("\ufeff", 1, "nothing but comments"),
    ("c x\n\nc y\n", 3, "nothing but comments and white space"),
    ("c p cnf 1 1\n1 0\n", 2, "no 'p cnf' header"),
    ("%\n", 1, "no 'p cnf' header: expected it or a comment, found '%'"),
    ("1 0\np cnf 1 1\n", 1, "no 'p cnf' header"),
    ("x1 0\n", 1, "found 'x1'"),
    ("\x00\x00\n", 1, r"found '\\x00\\x00'"),
    ("p", 1, "malformed header"),
    ("p cnf", 1, "malformed header 'p cnf': expected 'p cnf VARIABLES CLAUSES'"),
    ("p cnf 1", 1, "malformed header"),
    ("p cnf 1 1 1", 1, "malformed header"),
    ("p cnf 1 -1", 1, "malformed header"),
    ("p cnf +1 1", 1, "malformed header"),
    ("p cnf 1_0 1", 1, "malformed header"),
    ("p cnf ١ 1", 1, "malformed header"),
    ("p cnf 1 1.0", 1, "malformed header"),
    ("pcnf 1 1", 1, "malformed header"),
    ("p wcnf 1 1 1 1", 1, "malformed header"),
    ("p wcnf 1 1 0", 1, "top weight is 0"),
    ("p knf 1 1", 1, "format 'knf' is not supported"),
    ("p CNF 1 1", 1, "format 'CNF' is not supported"),
    ("p cnf 99999999999999999999 1", 1, "above the limit of 10000000"),
    ("p cnf 10000001 1", 1, "declares 10000001 variables, above the limit"),
    ("p cnf 1 1\n1 +1 0", 2, r"expected a literal .* found '\+1'"),
    ("p cnf 1 1\n1_0 0", 2, "found '1_0'"),
    ("p cnf 1 1\n１ 0", 2, "expected a literal"),
    ("p cnf 1 1\n1 -0", 2, "found '-0'"),
    ("p cnf 1 1\n1-1 0", 2, "found '1-1'"),
    ("p cnf 1 1\n- 1 0", 2, "found '-'"),
    ("p cnf 1 1\n--1 0", 2, "found '--1'"),
    ("p cnf 1 1\n1\xa00", 2, "expected a literal"),
    ("p cnf 1 1\n1 0\n\n1 \x00 0", 4, r"found '\\x00'"),
    ("p cnf 1 1\n1.5 0", 2, "found '1.5'"),
    ("p cnf 1 1\n1 c 0\n0", 2, "found 'c'"),
    ("p cnf 1 1\nh 1 0", 2, "found 'h'"),
    ("p cnf 1 1\n1 0 %\n", 2, "found '%'"),
    ("p cnf 1 1\n1 0 p cnf 1 1\n", 2, "found 'p'"),
    ("p cnf 1 1\n1\np cnf 1 1\n", 3, "second header"),
    ("p cnf 1 1\n1 0\nx 1 0\n", 3, "XOR"),
    ("p cnf 1 1\n-2147483648 0", 2, "'-2147483648' is out of range"),
    ("p cnf 1 1\n4294967297 0", 2, "'4294967297' is out of range"),
    ("p cnf 1 1\n-9223372036854775808 0", 2, "out of range"),
    ("p cnf 1 1\n9223372036854775808 0", 2, "out of range"),
    ("p cnf 1 1\n10000001 0", 2, "variable 10000001 is above the limit of"),
    ("p cnf 1 1\n1 0\n1\n\n-1\n", 3, "clause without its closing 0"),
    ("p cnf 1 1\n1 0 1\n1\nc 0", 2, "clause without its closing 0"),
    ("p cnf 1 1\n1\n%\n0\n", 2, "clause without its closing 0"),
)
def test_errors_name_line_and_reason(text, line, reason):
    caught = error(text)
    assert caught.line == line
    with pytest.raises(DimacsError, match=reason):
        raise caught
    assert "\n" not in str(caught)


def test_an_error_can_be_pickled():
    caught = error("p cnf 1 1\n1")
    copy = pickle.loads(pickle.dumps(caught))
    assert (str(copy), copy.source, copy.line) == (str(caught), "f", 2)
    assert isinstance(caught, ValueError)


@pytest.mark.parametrize("limit", [0, 5, 2**31 - 1])
def test_the_limit_on_variables(limit):
    assert parse(f"p cnf {limit} 0", max_variables=limit).formula.n_variables == limit
    assert error(f"p cnf {limit + 1} 0", max_variables=limit).line == 1
    text = f"p cnf 0 1\n{-limit - 1} 0"
    assert error(text, max_variables=limit).line == 2


@pytest.mark.parametrize("options", [{"max_variables": -1}, {"max_variables": 2**31}])
def test_impossible_limits(options):
    with pytest.raises(ValueError, match="max_variables"):
        parse("p cnf 1 1\n1 0", **options)


# -- WCNF


@with_rows(
    "text, options, rows, weights, hard",
    ("p wcnf 2 2\n3 1 0\n9 -1 2 0", {}, [(1,), (-1, 2)], [3, 9], None),
    ("p wcnf 2 2 9\n3 1 0\n9 2 0", {}, [(1,), (2,)], [3, 0], [False, True]),
    ("p wcnf 2 1 9\n10\n2 0", {}, [(2,)], [0], [True]),
    ("p wcnf 0 2\n3 0 4 0", {}, [(), ()], [3, 4], None),
    ("p wcnf 1 1 99999999999999999999\n1 1 0", {}, [(1,)], [1], None),
    ("p wcnf 1 1 5\n99999999999999999999 1 0", {}, [(1,)], [0], [True]),
    (f"p wcnf 1 1\n{MAX_WEIGHT} 1 0", {}, [(1,)], [MAX_WEIGHT], None),
    ("h 1 0\n4 2 0", {}, [(1,), (2,)], [0, 4], [True, False]),
    ("c x\n4 2 0\nh 1 0 h 0", {}, [(2,), (1,), ()], [4, 0, 0], [False, True, True]),
    ("4 -2 0", {"input_format": "wcnf"}, [(-2,)], [4], None),
    ("5 0", {"input_format": "wcnf"}, [()], [5], None),
    (
        "3 1\n2 0 c x\n4 2 0\n%\n",
        {"input_format": "wcnf"},
        [(1, 2), (2,)],
        [3, 4],
        None,
    ),
    ("p wcnf 0 0", {}, [], [], None),
)
def test_weights(text, options, rows, weights, hard):
    formula = parse(text, **options).formula
    assert list(formula.clauses()) == rows
    assert formula.weights.tolist() == weights
    assert (None if formula.hard is None else formula.hard.tolist()) == hard


@with_rows(
    "text, line, reason",
    ("p wcnf 1 1\n0 1 0", 2, "expected a weight >= 1, found '0'"),
    ("p wcnf 1 2\n3 1 0 0 1 0", 2, "expected a weight >= 1, found '0'"),
    ("p wcnf 1 1\n-1 1 0", 2, "found '-1'"),
    ("p wcnf 1 1\n1.5 1 0", 2, "found '1.5'"),
    ("p wcnf 1 1\n1e3 1 0", 2, "found '1e3'"),
    ("p wcnf 1 1\nh 1 0", 2, "headerless WCNF only; this file has a header"),
    (f"p wcnf 1 1\n{MAX_WEIGHT + 1} 1 0", 2, "weight '9223372036854775808' is"),
    ("p wcnf 1 1\n3\n", 2, "clause without its closing 0"),
    ("h 1 0\n0 1 0", 2, "expected a weight of at least 1 or 'h', found '0'"),
    ("h 1 0\nh h 0", 2, "expected a literal .* found 'h'"),
    ("h 1 0\nh1 0", 2, "or 'h', found 'h1'"),
    ("h 1 0\np cnf 1 1", 2, "header 'p cnf 1 1' after the first clause"),
    ("2 1 0\n3 1 0\n@\nh 1 0\n", 1, "no 'p cnf' header"),
    ("2 1 0\n3 1 0\n", 1, "no 'p cnf' header: expected it or a comment, found '2'"),
)
def test_weights_that_are_none(text, line, reason):
    with pytest.raises(DimacsError, match=reason) as caught:
        parse(text)
    assert caught.value.line == line


def test_how_the_format_is_told():
    text = b"3 1 0\n"
    for name in ("f.wcnf", "f.WCNF", "f.wcnf.gz", "f.wcnf.bz2", "f.wcnf.xz"):
        file = parse_dimacs(text, source=name)
        assert (file.format, file.formula.weights.tolist()) == ("wcnf-headerless", [3])
    for name in ("f.cnf", "f.wcnf.txt", "wcnf", "f.gz"):
        with pytest.raises(DimacsError, match=":1: no 'p cnf' header"):
            parse_dimacs(text, source=name)
    plain = b"p cnf 1 1\n1 0"
    assert parse_dimacs(plain, source="f.wcnf").format == "cnf"
    with pytest.raises(DimacsError, match="where wcnf was asked for"):
        parse_dimacs(plain, input_format="wcnf")
    with pytest.raises(DimacsError, match="where cnf was asked for"):
        parse_dimacs(b"p wcnf 1 1\n1 1 0", input_format="cnf")
    with pytest.raises(DimacsError, match="no 'p cnf' header"):
        parse_dimacs(b"h 1 0", source="f.wcnf", input_format="cnf")
    with pytest.raises(DimacsError, match=r":1: expected a weight .* found '@'"):
        parse_dimacs(b"@ 1 0", source="f.wcnf")
    with pytest.raises(ValueError, match="unknown input format 'dimacs'"):
        parse_dimacs(plain, input_format="dimacs")


def error_of(data):
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
    assert error_of(data).line == line
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
    assert error_of(data + b"-1").line == 3
    assert error_of(data[:-3]).line == 2
    formula = parse_dimacs(b"p cnf 1 1\n" + b"0" * 10**7 + b"1 0").formula
    assert list(formula.clauses()) == [(1,)]


@with_rows("head", b"", b"p cnf ", b"p cnf 1 1\n", b"h 1 0\n", b"p cnf 1 1\n-", keep=3)
def test_a_number_of_millions_of_digits(head):
    assert len(str(error_of(head + b"9" * deep(10**7, 10**6) + b" 0"))) < 300


JUNK = {
    "nul": b"\0" * 10**6,
    "bytes": bytes(range(256)) * 4000,
    "random": np.random.default_rng(0).bytes(10**6),
    "blank": b" " * deep(10**7, 10**6) + b"x",
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_binary_junk(junk):
    error_of(junk)
    error_of(b"p cnf 3 2\n1 0\n" + junk)
