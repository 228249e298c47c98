"""The default profile cuts the examples of a property test; `long` tries them all."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

QUICK, ASKED = 10, 60
seen: list[int] = []


@settings(max_examples=ASKED, database=None)
@given(st.integers())
def test_a_property(number) -> None:
    seen.append(number)


def test_how_often_it_was_tried() -> None:
    seen.clear()
    test_a_property()
    long = os.environ.get("HYPOTHESIS_PROFILE") == "long"
    assert len(seen) == (ASKED if long else QUICK)
