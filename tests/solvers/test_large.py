"""Large models, kept in arrays, are the models that they stand for."""

import json
import math
import pickle
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.model import integer_form, large, program_files
from olivine.solvers.model.integer_form import IntegerForm, json_pairs
from olivine.solvers.model.large import (
    LargeModel,
    Numbered,
    Rows,
    RowTable,
    VariableTable,
)
from olivine.solvers.model.model import LinearModel, Row, integer_row
from olivine.solvers.model.program_files import lp_lines, mps_lines

from tests.support.files import plain_lp, plain_mps
from tests.support.linear import linear_models


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
