"""DIMACS files: compression, standard input, what cannot be read, writing."""

import bz2
import gzip
import io
import lzma
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.reduction.formula import dimacs
from olivine.reduction.formula.dimacs import (
    DimacsError,
    dimacs_lines,
    parse_dimacs,
    read_dimacs,
    write_dimacs,
)
from olivine.reduction.formula.formula import Formula

from tests.support.formulas import formulas
from tests.support.refusals import refused

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("suffix", ["", ".cnf", ".gz"])
def test_compression_is_told_by_content(tmp_path, compression, suffix):
    path = tmp_path / f"f{suffix}"
    text = b"p cnf 3 2\n1 -3 0\n2 0\n"
    path.write_bytes(COMPRESS[compression](text))
    file = read_dimacs(path)
    assert file.formula == parse_dimacs(text).formula
    assert file.source == str(path)


@pytest.mark.parametrize("compression", COMPRESS)
def test_damaged_compression(tmp_path, compression):
    path = tmp_path / "f"
    text = b"p cnf 3 2\n" + b"1 -3 2 0\n" * 1000
    whole = COMPRESS[compression](text)
    for cut in (8, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(DimacsError, match="damaged or incomplete") as caught:
            read_dimacs(path)
        assert caught.value.line is None
        assert str(caught.value).startswith(f"{path}: ")
    middle = len(whole) // 2
    changed = bytes([whole[middle] ^ 0x55])
    path.write_bytes(whole[:middle] + changed + whole[middle + 1 :])
    with pytest.raises(DimacsError):
        read_dimacs(path)


def test_gzip_members_and_single_bytes_are_one_text(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"p cnf 2 2\n1 0\n2") + gzip.compress(b" 0\n"))
    assert list(read_dimacs(path).formula.clauses()) == [(1,), (2,)]
    text = b"p cnf 3 2\n1 -3 0\n2 0\n"
    reader, writer = os.pipe()
    os.write(writer, text)
    os.close(writer)
    with open(reader, "rb", buffering=0) as pipe:
        file = parse_dimacs(iter(lambda: pipe.read(1), b""))
    assert len(file.formula) == 2


@pytest.mark.parametrize(
    ("head", "name"), [(b"\x28\xb5\x2f\xfd....", "zstandard"), (b"PK\x03\x04..", "zip")]
)
def test_other_compression_is_named(tmp_path, head, name):
    path = tmp_path / "f.cnf"
    path.write_bytes(head)
    refused(f"{name} data; gzip", read_dimacs, path, error=DimacsError)


def set_stdin(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("pack", [bytes, *COMPRESS.values()])
def test_standard_input(monkeypatch, pack):
    set_stdin(monkeypatch, pack(b"p cnf 3 1\n1 -3 0\n"))
    file = read_dimacs("-")
    assert list(file.formula.clauses()) == [(1, -3)]
    assert file.source == "<stdin>"
    assert not sys.stdin.buffer.closed


@pytest.mark.parametrize("data", [b"", b"p", b"\x1f", b"\x1f\x8b", b"BZh"])
def test_short_standard_input(monkeypatch, data):
    set_stdin(monkeypatch, data)
    refused(r"^<stdin>", read_dimacs, "-", error=DimacsError)


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    refused("standard input is closed", read_dimacs, "-", error=OSError)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.cnf"):
        read_dimacs(tmp_path / "absent.cnf")
    refused(str(tmp_path), read_dimacs, tmp_path, error=OSError)
    secret = tmp_path / "secret.cnf"
    secret.write_text("p cnf 0 0")
    secret.chmod(0)
    if not os.access(secret, os.R_OK):
        with pytest.raises(PermissionError):
            read_dimacs(secret)


# -- writing


@given(formulas(max_variables=20, hard=True), st.lists(st.text(), max_size=2))
def test_what_was_written_is_read_back(formula, comments):
    text = "".join(dimacs_lines(formula, comments=comments))
    assert text.isascii() or comments
    file = parse_dimacs(text.encode("utf-8", "surrogatepass"), strict=True)
    assert file.formula == formula
    assert file.format == ("wcnf" if formula.is_weighted else "cnf")


@given(formulas(max_variables=20, weighted=True, hard=True))
def test_headerless_wcnf_is_read_back_or_refused(formula):
    largest = int(np.abs(formula.literals).max(initial=0))
    if largest < formula.n_variables or not len(formula):
        with pytest.raises(ValueError, match="headerless WCNF cannot hold"):
            dimacs_lines(formula, format="wcnf-headerless")
        return
    text = "".join(dimacs_lines(formula, format="wcnf-headerless"))
    assert not text.startswith("p")
    data = text.encode()
    assert parse_dimacs(data, input_format="wcnf").formula == formula
    if formula.hard is not None:
        assert parse_dimacs(data).formula == formula


def test_formats_that_cannot_hold_a_formula():
    plain, weighted = (
        Formula.from_clauses([(1,)], weights=weights) for weights in (None, [2])
    )
    for formula, format in (
        (plain, "wcnf"),
        (plain, "wcnf-headerless"),
        (weighted, "cnf"),
    ):
        refused("cannot hold", dimacs_lines, formula, format=format)
    refused("unknown format", dimacs_lines, plain, format="opb")


def test_writing_is_all_or_nothing(tmp_path):
    path = tmp_path / "f.cnf"
    first = Formula.from_clauses([(1, -2), ()], 3)
    write_dimacs(first, path, comments=["made by a test\nof two lines"])
    assert path.read_text() == (
        "c made by a test\nc of two lines\np cnf 3 2\n1 -2 0\n0\n"
    )
    assert read_dimacs(path).formula == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~current_umask()
    before = path.read_bytes()
    refused("cannot hold", write_dimacs, first, path, format="wcnf")
    refused("absent", write_dimacs, first, tmp_path / "absent" / "f.cnf", error=OSError)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["f.cnf"]
    write_dimacs(Formula.from_clauses([]), path)
    assert path.read_text() == "p cnf 0 0\n"


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_writing_to_standard_output(capsys):
    formula = Formula.from_clauses([(1, -2)], weights=[4], hard=[True])
    write_dimacs(formula, "-")
    assert capsys.readouterr().out == "p wcnf 2 1 1\n1 1 -2 0\n"


def test_a_line_has_as_many_bytes_as_allowed(tmp_path, monkeypatch) -> None:
    """Where it is read in pieces, a line that has ended in them is left to parsing."""
    path = tmp_path / "f"
    for text, line in (b"p cnf 123 0\n", 1), (b"c\np cnf 3 1\n-1 2 3 -1 0", 3):
        path.write_bytes(text)
        for most in 11, 10:
            monkeypatch.setattr(dimacs, "CHUNK", most - 4)
            words = f":{line}: a line of more than {most} bytes"
            if most == 11:
                assert parse_dimacs(text, max_line=most)
                assert dimacs.read_bytes(str(path), None, most) == text
                continue
            refused(words, parse_dimacs, text, max_line=most, error=DimacsError)
            if not text.endswith(b"\n"):
                refused(words, dimacs.read_bytes, str(path), None, most)
