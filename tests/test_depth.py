"""The default profile cuts the examples of a property test; `long` tries them all.

Nor does it fork, but for tests with the marker ``children``.
"""

import gc
import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.solvers.child.child import run_in_child

from tests.support.depth import LONG

QUICK, ASKED = 10, 60
seen: list[int] = []


@settings(max_examples=ASKED, database=None)
@given(st.integers())
def test_a_property(number) -> None:
    seen.append(number)


def test_how_often_it_was_tried() -> None:
    seen.clear()
    test_a_property()
    assert len(seen) == (ASKED if LONG else QUICK)


def test_a_call_is_made_in_the_process_of_its_test() -> None:
    assert (run_in_child(os.getpid).value == os.getpid()) is not LONG


@pytest.mark.children
def test_a_test_about_children_has_them() -> None:
    assert run_in_child(os.getpid).value != os.getpid()


def use_up() -> None:
    os.chdir("/")
    tempfile.tempdir = "/"
    gc.disable()
    raise SystemExit


def test_what_a_call_does_to_its_process_is_undone() -> None:
    before = os.getcwd(), tempfile.tempdir, gc.isenabled()
    assert run_in_child(use_up).message == "SystemExit: "
    assert (os.getcwd(), tempfile.tempdir, gc.isenabled()) == before
