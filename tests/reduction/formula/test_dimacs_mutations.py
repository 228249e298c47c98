"""Twenty thousand damaged files: each is read or refused, never anything else.

A seed gives one file: some good or odd input, or two of them joined, with bytes
flipped, cut, repeated, inserted or swapped. For each of them

- reading ends in a formula or in a `DimacsError` with a line of the file;
- pieces cut elsewhere, gzip, and the exact path alone give the same outcome;
- what was read survives writing and reading;
- where PySAT's reader accepts the text too, it found the same clauses, and so
  the verdict on ours is the verdict on its own;
- the reader of the certificate checker agrees, whatever the name and the limits.
"""

import bz2
import gzip
import lzma

import numpy as np
import pytest
from olivine.reduction.certificate import checker
from olivine.reduction.certificate.certificate import as_checked
from olivine.reduction.formula import dimacs
from pysat.formula import CNF, WCNF
from pysat.solvers import Solver

from tests.support.cases import cases
from tests.support.formulas import least_unsatisfied

WCNF_TEXTS = [
    b"p wcnf 3 4 10\n10 1 -2 0\n3 2 0\n1 -1 3 0\n10 -3 0\n",
    b"p wcnf 2 3\n4 1 0\n2 -1 2 0\n7 -2 0\n",
    b"c headerless\nh 1 2 0\n5 -1 0\n5 -2 0\nh -1 -2 0\n",
    b"h 1 0\n9223372036854775807 -1 0\n1 0\n",
]
TOKENS = [
    *(b"0", b"-0", b"00", b"+1", b"1_0", b"-", b"--1", b"h", b"c", b"p", b"%", b"x1"),
    *(b"p cnf 2 2\n", b"p wcnf 2 2 5\n", b"p cnf+ 1 1\n", b"99999999999", b"1e3"),
    *(b"\xef\xbb\xbf", b"\xc2\xa0", b"\xd9\xa1", b"\0", b"\r", b"\r\n", b"\n%\n0\n"),
    *(b"-2147483648", b"2147483648", b"9223372036854775808", b"\n\n", b"\v", b"1.5"),
]


def originals():
    """Small inputs, plain and compressed."""
    plain = [case.path.read_bytes() for case in cases()]
    plain = [data for data in plain if len(data) < 1500] + WCNF_TEXTS
    packed = [gzip.compress(data) for data in plain[-8:]]
    packed += [bz2.compress(plain[0]), lzma.compress(plain[1])]
    return plain * 3 + packed


ORIGINALS = originals()


def damaged(seed):
    """The file that belongs to a seed, and the generator to go on with."""
    rng = np.random.default_rng(seed)
    data = bytearray(ORIGINALS[rng.integers(len(ORIGINALS))])
    if rng.random() < 0.1:
        data += ORIGINALS[rng.integers(len(ORIGINALS))]
    for _ in range(rng.integers(1, 4)):
        at, to = sorted(rng.integers(0, len(data) + 1, size=2).tolist())
        kind = rng.integers(11)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(data):
            data[at] = int(rng.integers(256))
        elif kind == 2:
            del data[at:]
        elif kind == 3:
            del data[at : min(to, at + 20)]
        elif kind == 4:
            data[at:at] = data[at : min(to, at + 40)]
        elif kind == 5:
            data[at:at] = b" " + TOKENS[rng.integers(len(TOKENS))] + b" "
        elif kind in (6, 7):
            lines = bytes(data).split(b"\n")
            i, j = rng.integers(len(lines), size=2)
            lines[i], lines[j] = lines[j], lines[i]
            data = bytearray(b"\n".join(lines))
        else:
            numbers = [i for i, byte in enumerate(data) if byte in b"0123456789"]
            if numbers:
                data[numbers[rng.integers(len(numbers))]] = b"0123456789"[
                    rng.integers(10)
                ]
    return bytes(data), rng


def outcome(read, *arguments, **options):
    try:
        return read(*arguments, **options)
    except dimacs.DimacsError as error:
        return error


def same(a, b):
    """Whether two outcomes say the same, whatever the name of the source."""
    if isinstance(a, dimacs.DimacsError) or isinstance(b, dimacs.DimacsError):
        return isinstance(b, type(a)) and (a.line, a.reason) == (b.line, b.reason)
    return a.formula == b.formula and a.format == b.format


def check_one(seed, path):
    data, rng = damaged(seed)
    path.write_bytes(data)
    found = outcome(dimacs.read_dimacs, path)
    if isinstance(found, dimacs.DimacsError):
        assert found.source == str(path)
        assert found.line is None or 1 <= found.line <= data.count(b"\n") + 1
        assert str(found).isascii()
        assert len(found.reason) < 300
    compare_with_checker(path, rng)
    if data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
        return "compressed"
    assert getattr(found, "line", 1) is not None
    path.write_bytes(gzip.compress(data, compresslevel=1))
    assert same(outcome(dimacs.read_dimacs, path), found)
    size = int(rng.integers(1, 60))
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    assert same(outcome(dimacs.parse_dimacs, pieces), found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "olivine.reduction.formula.dimacs_text._plain_numbers", lambda block: None
        )
        assert same(outcome(dimacs.parse_dimacs, data), found)
    if isinstance(found, dimacs.DimacsError):
        return "refused"
    again = "".join(dimacs.dimacs_lines(found.formula)).encode()
    assert dimacs.parse_dimacs(again, strict=True).formula == found.formula
    return "agreed" if agrees_with_pysat(found, data) else "read"


def compare_with_checker(path, rng):
    """Both readers find the same formula, or neither finds one without hard clauses."""
    named = path.rename(path.with_suffix([".cnf", ".wcnf"][rng.integers(2)]))
    limits = ([10**7, 2][rng.random() < 0.2], [None, 30][rng.random() < 0.2])
    asked = [None, None, None, "cnf", "wcnf"][rng.integers(5)]
    ours = outcome(
        dimacs.read_dimacs,
        named,
        input_format=asked,
        max_variables=limits[0],
        max_bytes=limits[1],
    )
    if isinstance(ours, dimacs.DimacsError) or ours.formula.hard is not None:
        with pytest.raises(OSError):
            checker.read_formula(str(named), asked, limits)
    else:
        theirs = checker.read_formula(str(named), asked, limits)
        assert theirs == as_checked(ours.formula)
        assert theirs.digest() == ours.formula.digest()
    named.rename(path)


def agrees_with_pysat(found: dimacs.DimacsFile, data: bytes) -> bool:
    """Compare with PySAT's readers; False where they refuse the text."""
    text = data.decode("latin-1")
    # PySAT takes CR for the end of a line, and the text for as long as to a NUL
    if "\r" in text or "\0" in text:
        return False
    formula = found.formula
    ours = [list(clause) for clause in formula.clauses()]
    try:
        theirs = (CNF if found.format == "cnf" else WCNF)(from_string=text)
    except (ValueError, ArithmeticError):
        return False
    if found.format != "cnf":
        hard = [not weight for weight in formula.weights.tolist()]
        assert theirs.hard == [row for row, h in zip(ours, hard, strict=True) if h]
        assert theirs.soft == [row for row, h in zip(ours, hard, strict=True) if not h]
        assert theirs.wght == [w for w in formula.weights.tolist() if w]
        return True
    assert theirs.clauses == ours
    if formula.n_variables <= 6 and len(ours) <= 40:
        least = least_unsatisfied(ours, [1] * len(ours), formula.n_variables)
        with Solver("cadical153", bootstrap_with=theirs.clauses) as solver:
            assert solver.solve() == (least == 0)
    return True


def check_share(seeds, path):
    kinds = [check_one(seed, path) for seed in seeds]
    return {kind: kinds.count(kind) for kind in set(kinds)}


def test_damaged_files(tmp_path):
    counts = check_share(range(250), tmp_path / "f")
    # the mutations reach all there is to reach
    assert set(counts) == {"agreed", "read", "refused", "compressed"}
    assert min(counts["agreed"], counts["refused"]) > 30


LINE_ENDS = [
    *(b"c", b"c x", b"p cnf 1 1", b"p wcnf 2 2 5", b"%", b"0", b"1", b"-1", b"h"),
    *(
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"\v",
        b"\f",
        b"\x85",
        b"\xc2\x85",
        b"\0",
        b"\x1c",
        b" ",
    ),
]


def test_odd_line_ends(tmp_path, rng):
    """Every kind of line end, and the lack of one at the end."""
    drawn = [
        b"".join(LINE_ENDS[k] for k in rng.integers(len(LINE_ENDS), size=size))
        for size in rng.integers(9, size=600).tolist()
    ]
    for text in [b"c \r a\n%\n"] * 9 + [b"c a\n%\r b"] * 9 + drawn:
        (tmp_path / "f").write_bytes(text)
        compare_with_checker(tmp_path / "f", rng)


@pytest.mark.long
@pytest.mark.parametrize("share", range(10))
def test_twenty_thousand_damaged_files(tmp_path, share):
    check_share(range(share * 2000, (share + 1) * 2000), tmp_path / "f")
