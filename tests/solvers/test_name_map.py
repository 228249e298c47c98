"""The map of names written in bulk is the one that is read pair by pair."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.solvers.model import bulk_text
from olivine.solvers.model.bulk_text import json_pairs
from olivine.solvers.model.flat_form import FlatForm
from olivine.solvers.model.flat_model import Numbered
from olivine.solvers.model.flat_model import given as listed
from olivine.solvers.model.name_map import Called

from tests.support.linear import linear_models

TEXTS = st.text().map(lambda text: text.replace("%", "") + "%d")


def one_by_one(pairs, before: str) -> str:
    return "".join(f"{before}{json.dumps(k)}: {json.dumps(v)}" for k, v in pairs)


@given(
    st.sampled_from(["x", "c"]),
    st.sampled_from([0, 9, 10**6 - 1]),
    st.lists(TEXTS, min_size=1, max_size=3),
    st.lists(st.integers(0, 2**32 - 1), max_size=4),
)
def test_numbered_names_are_written_as_those_in_a_list(
    letter, first, texts, numbers
) -> None:
    names = Numbered(tuple(texts), np.array(numbers, dtype=np.int64))
    count = len(texts) * len(numbers)
    bulk = Called(letter, first, count, names)
    plain = Called(letter, first, count, listed(names()))
    assert list(bulk) == list(plain)
    assert len(list(plain)) == count
    for written in (bulk, plain):
        assert "".join(written.json(",\n  ")) == one_by_one(plain, ",\n  ")


@given(linear_models(max_variables=4, max_rows=3))
def test_names_of_models_are_written_as_they_are_read(model) -> None:
    names = FlatForm(model).names
    assert len(names) == len(list(names)) == len({*names})
    assert all(names[short] == meaning for short, meaning in names.items())
    assert "".join(names.json(", ")) == one_by_one(names.items(), ", ")


@given(
    st.lists(
        st.tuples(st.text(), st.none() | st.booleans() | st.integers() | st.text())
    )
)
def test_pairs_are_written_in_parts_as_in_one(pairs) -> None:
    write = partial(json_pairs, before=";")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk_text, "_PAIRS", 2)
        parts = list(write(pairs))
    assert len(parts) == -(-len(pairs) // 2)
    assert "".join(parts) == "".join(write(pairs)) == one_by_one(pairs, ";")
