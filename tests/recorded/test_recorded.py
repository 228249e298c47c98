"""What comparing with a record tells."""

import json

import pytest
from olivine.cli.main import VERBS

from tests.claims import test_ledger
from tests.cli.test_figures import DRAWN
from tests.recorded import (
    test_constants,
    test_declared,
    test_learning,
    test_library,
    test_runs,
    test_verbs,
)
from tests.support import recorded as record
from tests.support.depth import with_rows
from tests.support.recorded import COMMAND, FOLDER, first_difference, plain, recorded

ASKED = {
    "claims": [e.id for e in test_ledger.ENTRIES if e.id not in test_ledger.SLOW],
    "constants": [*(name for name, _ in test_constants.CASES), "more"],
    "declared": test_declared.KEYS,
    "figures": [draw.__name__ for draw in DRAWN],
    "learning": test_learning.KEYS,
    "library": test_library.KEYS,
    "noticed": [entry.id for entry in test_ledger.ENTRIES],
    "options": VERBS,
    "runs": test_runs.KEYS,
    "verbs": test_verbs.KEYS,
}
"""Keys by subject, where tables list them."""


@pytest.mark.parametrize("subject", ASKED)
def test_each_row_is_asked_for(subject: str) -> None:
    """Remaking some rows leaves those whose test is gone."""
    text = (FOLDER / f"{subject}.jsonl").read_text("utf-8")
    keys = {json.loads(line)["key"] for line in text.splitlines()}
    assert keys - set(ASKED[subject]) == set(), f"remove them, or {COMMAND}"


@with_rows(
    "old, new, words",
    ({"a": 1, "b": [1, 2.0]}, {"a": 1, "b": [1, 2.5]}, "b[1] is 2.5, was 2.0"),
    ({"a": {"b": 1}}, {"a": {}}, "a.b is missing"),
    ({}, {"a": 1}, "a is new"),
    ({"a": [1, 2]}, {"a": [1]}, "a has 1, not 2"),
    ({"a": 1}, {"a": True}, "a is True, was 1"),
    ({"a": "x"}, {"a": None}, "a is None, was 'x'"),
    ({"a": [0.1, 0]}, {"a": [0.1 + 1e-12, 1e-13]}, ""),
)
def test_the_first_difference_is_named(old, new, words) -> None:
    assert first_difference(old, new) == words


def test_what_changes_from_run_to_run_is_left_out() -> None:
    found = plain({"seconds": 1, "a": (float("inf"), "in 0.5 s", "/x/y")}, "/x")
    assert found == {"a": ["inf", "in … s", "FOLDER/y"]}
    assert plain({"pi": 3.14159265358979}) == {"pi": 3.14159265}


def test_another_result_is_refused_with_the_command(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.delenv(record.REMAKING, raising=False)
    (tmp_path / "some.jsonl").write_text(json.dumps({"key": "a", "n": 3}) + "\n")
    recorded("some", "a", {"n": 3})
    for key, n, words in ("a", 4, "n is 4, was 3"), ("b", 3, "no row 'b'"):
        with pytest.raises(AssertionError) as refusal:
            recorded("some", key, {"n": n})
        assert words in str(refusal.value)
        assert str(refusal.value).endswith(COMMAND)
