import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.cli.common.json_text import pretty_json
from olivine.solvers.model.integer_form import IntegerForm

from tests.support.linear import linear_models

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_pretty_json_is_json(value) -> None:
    assert json.loads("".join(pretty_json(value))) == value


@pytest.mark.parametrize(
    "value", [{"a": 1}, {"a": "é\n", "b": None, "c": 1.5}, {"a": {"b": {"c": True}}}]
)
def test_pretty_json_of_objects_alone_is_that_of_python(value) -> None:
    assert "".join(pretty_json(value)) == json.dumps(value, indent=2)


@given(linear_models(max_variables=3, max_rows=2))
def test_a_map_of_names_is_written_as_a_dictionary(model) -> None:
    names = IntegerForm(model).names
    value = {"names": names, "rest": 1}
    assert "".join(pretty_json(value)) == json.dumps(
        {"names": dict(names), "rest": 1}, indent=2
    )


def test_arrays_are_written_as_lists() -> None:
    value = {"a": np.arange(3), "b": np.zeros(0, dtype=np.int64)}
    assert json.loads("".join(pretty_json(value))) == {"a": [0, 1, 2], "b": []}
