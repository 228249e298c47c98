"""Large models, kept as copies of few kinds, are the models that they stand for."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.model import flat_model, mps_columns, program_files
from olivine.solvers.model.flat_form import FlatForm
from olivine.solvers.model.flat_model import (
    FlatModel,
    FlatRows,
    FlatVariables,
    integer_variables,
    kind_of,
)
from olivine.solvers.model.integer_form import integer_form
from olivine.solvers.model.model import LinearModel, Row
from olivine.solvers.model.program_files import lp_lines, mps_lines

from tests.support.linear import linear_models
from tests.support.program_text import plain_lp, plain_mps


@given(linear_models(max_rows=3, integer=True))
def test_tables_hold_the_rows_and_variables_given(model: LinearModel) -> None:
    flat = replace(
        model,
        variables=FlatVariables.of(model.variables),
        rows=FlatRows.of(model.rows),
    )
    assert flat.rows == model.rows
    assert flat.variables == model.variables
    assert list(flat.rows) == model.rows
    assert integer_variables(flat) == sum(v.integer for v in model.variables)
    for i in range(-len(model.rows), len(model.rows)):
        assert flat.rows[i] == model.rows[i]
    assert flat.rows[1:-1] == model.rows[1:-1]
    assert flat.rows[::-2] == model.rows[::-2]
    with pytest.raises(IndexError):
        flat.rows[len(model.rows)]
    assert pickle.loads(pickle.dumps(flat)) == flat
    assert integer_form(flat) == integer_form(model)
    if model.variables:
        for each in (flat, model):
            each.add_row([0, 0], [1, Fraction(1, 2)], "<=", 3, "more")
            each.add_variable("more", 0, 1)
        assert flat.rows == model.rows
        assert flat.variables == model.variables
        assert flat.rows != model.rows[:-1]


@given(
    linear_models(max_variables=4, max_rows=3, integer=True),
    st.sampled_from([1, 3, 1 << 19]),
    st.sampled_from([1, 2, 1 << 13]),
)
def test_streams_are_the_text_written_entry_by_entry(model, entries, block) -> None:
    """Whatever the size of the parts that they are made of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mps_columns, "_ENTRIES", entries)
        patch.setattr(program_files, "BLOCK", block)
        patch.setattr(mps_columns, "BLOCK", block)
        form = integer_form(model)
        flat = FlatForm(model)
        lp, mps = ("".join(w(flat, "t")) for w in (lp_lines, mps_lines))
        assert lp == plain_lp(form, "t")
        assert mps == plain_mps(form, "t")
        assert list(flat.names.items()) == list(form.names.items())
        assert len(flat.names) == len(form.names)


def test_columns_of_long_blocks_are_found_in_their_parts(monkeypatch) -> None:
    model = LinearModel("long")
    for j in range(40):
        model.add_variable(f"v{j}", 0, 2 + j, integer=bool(j % 2))
    for i in range(13):
        model.add_row(
            [3 * i, 3 * i + 1, 39 - i, 0], [1, i + 1, -2, 5], "<=", i, f"r{i}"
        )
    flat = FlatForm(model)
    monkeypatch.setattr(flat_model, "BLOCK", 1)
    monkeypatch.setattr(mps_columns, "_ENTRIES", 4)
    monkeypatch.setattr(mps_columns, "_STRETCH", 1)
    (block,) = flat.rows.blocks
    assert len(list(flat.rows.parts(block))) == 13
    assert "".join(mps_lines(flat, "t")) == plain_mps(integer_form(model), "t")


def test_long_rows_are_wrapped_as_ever() -> None:
    """Lines of 199 to 202 characters, where templates give way to words."""
    for n in range(15, 32):
        model = LinearModel("wide")
        for j in range(n):
            model.add_variable(f"v{j}", 0, 2 + j, integer=bool(j % 2))
        for c in (1, 10, 100, 1000):
            model.add_row(range(n), [c] * (n - 1) + [c + 1], "<=", 7)
        flat = FlatForm(model)
        assert "".join(lp_lines(flat, "t")) == plain_lp(integer_form(model), "t")


def test_copies_differ_in_their_variables_alone() -> None:
    item = LinearModel()
    a, b = item.add_variable("a", 0, 1), item.add_variable("b", 0, 1)
    item.add_row([a, b], [1, 2], "<=", 3)
    item.add_row([b], [-1], ">=", 0)
    model = FlatModel("copies")
    kind = model.variables.kind_of(Fraction(0), Fraction(5), False)
    assert model.variables.add_copies([kind, kind], ("p%d", "q%d"), 2) == 0
    number = model.rows.add_kind(kind_of(item))
    pairs = np.array([[0, 1], [3, 2]], dtype=np.int32)
    model.rows.add_copies(np.full(2, number, dtype=np.int32), pairs, "r%d", "s%d")
    assert [v.name for v in model.variables] == ["p1", "q1", "p2", "q2"]
    one, two, three = Fraction(1), Fraction(2), Fraction(3)
    assert list(model.rows) == [
        Row("r1", (0, 1), (one, two), "<=", three),
        Row("s1", (1,), (-one,), ">=", Fraction(0)),
        Row("r2", (3, 2), (one, two), "<=", three),
        Row("s2", (2,), (-one,), ">=", Fraction(0)),
    ]


def test_a_number_too_large_is_told_by_the_name_of_its_row() -> None:
    words = {"row": "'too long'", "bound": "'w'", "objective": "objective"}
    for part in words:
        model = FlatModel("large")
        kind = model.variables.kind_of(Fraction(0), Fraction(1, 3), False)
        model.variables.add_copies([kind], ("v%d",), 3)
        model.add_row([0], [1], "<=", 1, "fine")
        if part == "row":
            model.add_row([1, 2], [10**15, 1], "<=", 1, "too long")
        elif part == "bound":
            model.add_variable("w", 0, Fraction(10**15 + 1, 10**3))
            model.add_row([0], [1], "<=", Fraction(1, 3), "fine too")
            model.variables.append(replace(model.variables[3], upper=Fraction(10**16)))
        else:
            model.set_objective([0], [10**16], maximise=True)
        with pytest.raises(ValueError, match=words[part]):
            FlatForm(model)
