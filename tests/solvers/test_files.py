"""LP and MPS files, and large models in arrays: they mean what the model means."""

from __future__ import annotations

import json
import math
import os
import pickle
import stat
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.solvers.files import write_target
from olivine.solvers.milp import milp
from olivine.solvers.milp.engines import cbc, readers
from olivine.solvers.model import (
    LinearModel,
    Row,
    integer_form,
    integer_row,
    large,
    program_files,
)
from olivine.solvers.model.integer_form import IntegerForm, json_pairs
from olivine.solvers.model.large import (
    LargeModel,
    Numbered,
    Rows,
    RowTable,
    VariableTable,
)
from olivine.solvers.model.program_files import lp_lines, mps_lines
from olivine.solvers.outcome import Status

from tests.support.depth import deep, spread
from tests.support.files import plain_lp, plain_mps
from tests.support.linear import (
    brute_force_milp,
    linear_models,
    market_split,
    small_knapsack,
)
from tests.support.refusals import refused

WRITERS = {".lp": milp.write_lp, ".mps": milp.write_mps}
# SCIP's LP reader refuses programs without rows, which the family never has.
READERS = [engine for engine in readers() if engine != "scip"]
every_format = pytest.mark.parametrize("suffix", WRITERS)
every_reader = pytest.mark.parametrize("engine", READERS)
STEPS = dict.fromkeys(READERS, deep(15, 4)) | {"highs": deep(25, 6)}  # a child each


def check_file(path: str, model: LinearModel, engine: str) -> None:
    optimum = brute_force_milp(model)
    read = milp.read_optimum(path, engine)
    assert not read.exact
    if optimum is None:
        assert read.status is Status.INFEASIBLE
        return
    assert read.status is Status.OPTIMAL
    sign = -1 if model.maximise else 1
    assert sign * read.objective == pytest.approx(float(optimum), abs=1e-6)
    assert len(read.values) == len(IntegerForm(model).variables)


@pytest.mark.parametrize("engine", READERS)
def test_written_files_have_the_models_optimum(engine, tmp_path):
    @given(linear_models(integer=True))
    @settings(max_examples=STEPS[engine])
    def check(model: LinearModel) -> None:
        for suffix, write in WRITERS.items():
            path = tmp_path / f"program{suffix}"
            assert write(model, path) == IntegerForm(model).names
            check_file(path, model, engine)

    check()


@pytest.mark.parametrize("method", spread(["writeLP", "writeMPS"], 1))
def test_pulps_own_files_have_the_models_optimum(method, tmp_path):
    suffix = ".lp" if method == "writeLP" else ".mps"

    @given(linear_models(integer=True))
    @settings(max_examples=deep(20, 6))  # two engines each
    def check(model: LinearModel) -> None:
        path = tmp_path / f"program{suffix}"
        getattr(milp.to_pulp(model).problem, method)(str(path))
        optimum = brute_force_milp(model)
        read = milp.read_optimum(path)
        if optimum is None:
            assert read.status is Status.INFEASIBLE
        else:
            sign = -1 if model.maximise else 1
            assert sign * read.objective == pytest.approx(float(optimum), abs=1e-6)

    check()


@every_reader
@every_format
def test_long_rows_and_long_numbers(suffix, engine, tmp_path):
    """Rows go over many lines; 15 digits come back to the last one."""
    rng = np.random.default_rng(5)
    size, largest = 2000, 10**15 - 1
    model = LinearModel("long")
    for j in range(size):
        model.add_variable(f"variable {j}", 0, 1)
    row = [largest, *rng.integers(1, largest, size - 1).tolist()]
    model.add_row(range(size), row, "==", row[0])
    model.add_row(range(1, size), [1] * (size - 1), "==", 0)
    model.set_objective(range(size), [largest] * size, maximise=False)
    path = tmp_path / f"long{suffix}"
    WRITERS[suffix](model, path)
    text = path.read_text()
    assert max(map(len, text.splitlines())) <= 255
    assert text.count(str(largest)) == size + 2
    read = milp.read_optimum(path, engine)
    assert read.status is Status.OPTIMAL
    assert read.objective == pytest.approx(largest, rel=1e-12)
    assert read.values[0] == pytest.approx(1, rel=1e-12)


@every_format
def test_longer_numbers_are_refused_and_nothing_is_written(suffix, tmp_path):
    write = WRITERS[suffix]
    path = tmp_path / f"program{suffix}"
    path.write_text("before")
    heavy = small_knapsack()
    heavy.add_row([0, 1], [1, Fraction(1, 10**15 + 1)], "<=", 1, "heavy")
    wide = small_knapsack()
    wide.add_variable("wide", -(10**15), 0)
    far = small_knapsack()
    far.set_objective([0], [Fraction(1, 10**20)], maximise=True)
    for model, where in ((heavy, "'heavy'"), (wide, "'wide'"), (far, "objective")):
        refused(where, write, model, path)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == [path.name]


@every_format
def test_a_failed_write_leaves_nothing(suffix, tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space left"):
        WRITERS[suffix](small_knapsack(), tmp_path / f"program{suffix}")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileNotFoundError):
        WRITERS[suffix](small_knapsack(), tmp_path / "nowhere" / f"program{suffix}")


@every_format
def test_files_are_plain(suffix, tmp_path):
    """The same bytes every time, readable by whom the umask says, any path."""
    folder = tmp_path / "a folder, with ü"
    folder.mkdir()
    first, second = folder / f"a b{suffix}", folder / f"c{suffix}"
    old = os.umask(0o027)
    try:
        for path in (first, second):
            WRITERS[suffix](small_knapsack(), str(path))
    finally:
        os.umask(old)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().isascii()
    assert first.stat().st_mode & 0o777 == 0o640
    for engine in READERS:
        check_file(first, small_knapsack(), engine)


def test_a_maximum_is_the_least_negative_unscaled(tmp_path):
    model = LinearModel("values")
    g = model.add_variable("g(s0)", 0, 1)
    model.add_row([g], [24], "<=", 23)
    model.set_objective([g], [1], maximise=True)
    for suffix, write in WRITERS.items():
        path = tmp_path / f"program{suffix}"
        assert write(model, path) == {"x0": "g(s0)", "c0": "row0"}
        read = milp.read_optimum(path)
        assert read.objective == pytest.approx(-23 / 24)
        assert read.bound == pytest.approx(-23 / 24)


def test_names_lead_back(tmp_path):
    model = LinearModel("names")
    model.add_variable("free", Fraction(1, 3), 1)
    model.add_variable("e5", Fraction(1, 2), Fraction(1, 2))
    model.add_row([], [], "<=", 1, "x+ y")
    model.set_objective([0, 1], [1, 1], maximise=True, constant=1)
    names = milp.write_lp(model, tmp_path / "names.lp")
    assert names == {
        "x0": "free",
        "x1": "e5",
        "c0": "x+ y",
        "x2": "constant 0",
        "c1": "lower bound of free",
        "c2": "value of e5",
        "x3": "objective of the model",
        "c3": "definition of the objective",
    }


@every_reader
def test_what_cannot_be_read_is_told(engine, tmp_path):
    with pytest.raises(FileNotFoundError):
        milp.read_optimum(tmp_path / "nothing.lp", engine)
    for suffix, text in ((".lp", "Minimize\n obj: + + x\n"), (".mps", "ROWS\n Q  r\n")):
        path = tmp_path / f"garbage{suffix}"
        path.write_text(text)
        refused("cannot read it", milp.read_optimum, path, engine)
    path = tmp_path / "program.txt"
    path.write_text("")
    refused("neither", milp.read_optimum, path, engine)
    refused("not available", milp.read_optimum, path, "no engine")


@pytest.mark.children
@every_reader
def test_reading_within_limits_of_time_and_memory(engine, tmp_path):
    path = tmp_path / "hard.mps"
    milp.write_mps(market_split(4, 32, 0), path)
    read = milp.read_optimum(path, engine, time_limit=0.2)
    assert read.status in (Status.FEASIBLE, Status.UNKNOWN)
    assert read.reason
    killed = milp.read_optimum(path, engine, memory_limit=1, time_limit=60)
    assert killed.status is Status.UNKNOWN
    assert "memory" in killed.reason


def test_without_cbc_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(cbc, "cbc_path", lambda: None)
    assert "cbc" not in milp.available_engines()
    refused("'cbc' is not available", milp.read_optimum, tmp_path / "program.lp", "cbc")


def test_mps_keeps_to_fixed_columns_or_says_that_it_is_free():
    model = LinearModel("fixed")
    x = model.add_variable("x", -3, 5, integer=True)
    y = model.add_variable("y", 0, Fraction(7, 2))
    model.add_row([x, y], [Fraction(1, 3), -2], "<=", 10**8, "r")
    model.set_objective([x], [1], maximise=False)
    text = "".join(program_files.mps_lines(IntegerForm(model), "t"))
    assert "free" not in text
    section, seen = "", 0
    for line in text.splitlines():
        if not line.startswith(" "):
            section = line.split()[0]
        elif "'MARKER'" in line:  # which has fields 2, 3 and 5: columns 40-47
            assert line[:39] == f"    MARKER    'MARKER'{' ' * 17}"
            assert line[39:] in ("'INTORG'", "'INTEND'")
            seen += 1
        elif section in ("COLUMNS", "RHS", "BOUNDS"):
            # Fields 1 to 4 of the format: columns 2-3, 5-12, 15-22, 25-36.
            gaps = line[0:1] + line[3:4] + line[12:14] + line[22:24]
            assert gaps == " " * 6
            assert len(line) <= 36
            fields = [line[1:3], line[4:12], line[14:22], line[24:36]]
            assert [f.strip() for f in fields if f.strip()] == line.split()
            int(fields[3])
            seen += 1
    assert seen >= 8
    model.add_row([x], [10**12 + 1], "<=", 1, "long")
    text = "".join(program_files.mps_lines(IntegerForm(model), "t"))
    assert text.splitlines()[1].startswith("* free MPS")


def tiny_model() -> LinearModel:
    tiny = LinearModel("tiny")
    x = tiny.add_variable("x", 0, 1, integer=True)
    tiny.add_row([x], [1], "<=", 1, "r")
    tiny.set_objective([x], [1], maximise=True)
    return tiny


def test_names_that_nothing_has_yet(tmp_path) -> None:
    assert write_target(tmp_path / "new") == tmp_path.resolve() / "new"
    assert write_target(tmp_path / "no" / "new") == tmp_path.resolve() / "no" / "new"


@pytest.mark.parametrize("write", [milp.write_lp, milp.write_mps])
def test_links_are_followed(tmp_path, write) -> None:
    (tmp_path / "end").write_text("old")
    (tmp_path / "link").symlink_to("end")
    write(tiny_model(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert "tiny" in (tmp_path / "end").read_text()


@pytest.mark.parametrize("write", [milp.write_lp, milp.write_mps])
def test_pipes_and_folders_are_refused(tmp_path, write) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        refused(name, write, tiny_model(), tmp_path / name, error=OSError)
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert len(list(tmp_path.iterdir())) == 3


@given(linear_models(max_rows=3, integer=True))
def test_tables_hold_the_rows_and_variables_given(model: LinearModel) -> None:
    kept = replace(
        model, variables=VariableTable.of(model.variables), rows=RowTable.of(model.rows)
    )
    assert kept.rows == model.rows
    assert kept.variables == model.variables
    assert list(kept.rows) == model.rows
    assert kept.variables.integral() == sum(v.integer for v in model.variables)
    for i in range(-len(model.rows), len(model.rows)):
        assert kept.rows[i] == model.rows[i]
    assert kept.rows[1:-1] == model.rows[1:-1]
    assert kept.rows[::-2] == model.rows[::-2]
    with pytest.raises(IndexError):
        kept.rows[len(model.rows)]
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert list(IntegerForm(kept).rows) == list(IntegerForm(model).rows)
    if model.variables:
        for each in (kept, model):
            each.add_row([0, 0], [1, Fraction(1, 2)], "<=", 3, "more")
            each.add_variable("more", 0, 1)
        assert kept.rows == model.rows
        assert kept.variables == model.variables
        assert kept.rows != model.rows[:-1]


NUMBERS = st.fractions(-5, 5, max_denominator=6) | st.sampled_from(
    [Fraction(0), Fraction(10**18, 7), Fraction(-(10**30)), Fraction(1, 2**70)]
)
LINES = st.lists(
    st.tuples(
        st.lists(NUMBERS, max_size=4), st.sampled_from(["<=", ">=", "=="]), NUMBERS
    ),
    min_size=1,
    max_size=5,
)


@given(LINES)
def test_rows_are_scaled_as_one_by_one(lines) -> None:
    """Numbers beyond 64 bits among them."""
    rows = [
        Row(f"r{k}", tuple(range(len(numbers))), tuple(numbers), sense, rhs)
        for k, (numbers, sense, rhs) in enumerate(lines)
    ]
    block = Rows.of(rows)
    values, codes, sides, side = block.scaled()
    for k, row in enumerate(rows):
        own = codes[block.indptr[k] : block.indptr[k + 1]].tolist()
        whole, rhs = integer_row(row)
        assert tuple(values[c] for c in own) == whole
        assert all(type(number) is int for number in (*whole, rhs))
        assert math.gcd(*whole, rhs) in (0, 1)
        assert sides[side[k]] == (row.sense, rhs)
        assert max(map(abs, (*whole, rhs))) <= block.bound()


@given(
    linear_models(max_variables=4, max_rows=3, integer=True),
    st.sampled_from([1, 3, 1 << 19]),
    st.sampled_from([1, 2, 1 << 13]),
)
def test_streams_are_the_text_written_entry_by_entry(model, entries, chunk) -> None:
    """Whatever the size of the parts that they are made of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "_ENTRIES", entries)
        for module in (large, program_files, integer_form):
            patch.setattr(module, "CHUNK", chunk)
        form = IntegerForm(model)
        lp, mps = ("".join(w(form, "t", ["one"])) for w in (lp_lines, mps_lines))
        assert lp == plain_lp(form, "t", "one")
        assert mps == plain_mps(form, "t", "one")
        names = form.names
        assert len(names) == len(list(names)) == len({*names})
        assert all(names[short] == meaning for short, meaning in names.items())
        assert json.loads(f"{{{''.join(names.json(','))[1:]}}}") == dict(names)


def test_long_rows_are_wrapped() -> None:
    """Lines of 199 to 202 characters."""
    for n in range(15, 32):
        model = LinearModel("wide")
        for j in range(n):
            model.add_variable(f"v{j}", 0, 2 + j, integer=bool(j % 2))
        for c in (1, 10, 100, 1000):
            model.add_row(range(n), [c] * (n - 1) + [c + 1], "<=", 7)
        form = IntegerForm(model)
        assert "".join(lp_lines(form, "t")) == plain_lp(form, "t")


def test_copies_differ_in_their_variables_alone() -> None:
    item = LinearModel()
    a, b = item.add_variable("a", 0, 1), item.add_variable("b", 0, 1)
    item.add_row([a, b], [1, 2], "<=", 3)
    item.add_row([b], [-1], ">=", 0)
    model = LargeModel("copies")
    kind = model.variables.kind_of(Fraction(0), Fraction(5), False)
    assert model.variables.add_copies([kind, kind], ("p%d", "q%d"), 2) == 0
    pairs = np.array([[0, 1], [3, 2]], dtype=np.int32)
    names = Numbered(("r%d", "s%d"), range(1, 3))
    model.rows.add(Rows.copies(item, pairs, names))
    assert [v.name for v in model.variables] == ["p1", "q1", "p2", "q2"]
    one, two, three = Fraction(1), Fraction(2), Fraction(3)
    assert list(model.rows) == [
        Row("r1", (0, 1), (one, two), "<=", three),
        Row("s1", (1,), (-one,), ">=", Fraction(0)),
        Row("r2", (3, 2), (one, two), "<=", three),
        Row("s2", (2,), (-one,), ">=", Fraction(0)),
    ]


@pytest.mark.parametrize("scale", [1, Fraction(1, 3)])
def test_a_number_too_large_is_refused_by_the_name_of_its_row(scale) -> None:
    words = {"row": "row 'too long'", "bound": "'w'", "objective": "objective"}
    for part in words:
        model = LargeModel("large")
        kind = model.variables.kind_of(Fraction(0), Fraction(1, 3), False)
        model.variables.add_copies([kind], ("v%d",), 3)
        model.add_row([0], [1], "<=", 1, "fine")
        if part == "row":
            rows = [
                Row("short", (1,), (Fraction(10**15),), "<=", Fraction(10**15)),
                Row("too long", (1, 2), (Fraction(10**15), scale), "<=", Fraction(1)),
            ]
            model.rows.add(Rows.of(rows))
        elif part == "bound":
            model.add_variable("w", 0, Fraction(10**15 + 1, 10**3))
            model.add_row([0], [1], "<=", Fraction(1, 3), "fine too")
            model.variables.append(replace(model.variables[3], upper=Fraction(10**16)))
        else:
            model.set_objective([0], [10**16], maximise=True)
        with pytest.raises(ValueError, match=words[part]) as told:
            IntegerForm(model)
        assert "16 digits" in str(told.value) or "17 digits" in str(told.value)


TEXTS = st.text().map(lambda text: text.replace("%", "") + "%d")


@given(
    st.lists(TEXTS, min_size=1, max_size=3),
    st.lists(st.integers(0, 2**32 - 1), max_size=4),
)
def test_numbered_names_are_those_in_a_list(texts, numbers) -> None:
    names = Numbered(tuple(texts), np.array(numbers, dtype=np.int64))
    assert list(names()) == [text % k for k in numbers for text in texts]


@given(
    st.lists(
        st.tuples(st.text(), st.none() | st.booleans() | st.integers() | st.text())
    )
)
def test_pairs_are_written_in_parts_as_in_one(pairs) -> None:
    write = partial(json_pairs, before=";")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(integer_form, "CHUNK", 2)
        parts = list(write(pairs))
    assert len(parts) == -(-len(pairs) // 2)
    one_by_one = "".join(f";{json.dumps(k)}: {json.dumps(v)}" for k, v in pairs)
    assert "".join(parts) == "".join(write(pairs)) == one_by_one
