"""The ledger's entries about OLIVE as a learning algorithm, and the page about it."""

import pytest
from olivine.cli.ledger import load
from olivine.cli.ledger import olive_learning as claims_learning

from tests.support.pages import run_page

NAMES = {
    "olive-bellman-rank",
    "olive-constants",
    "olive-good-event",
    "olive-q-functions-as-pairs",
    "olive-stochastic-dynamics",
}
ENTRIES = [c for c in load() if c.id in NAMES]


def test_all_are_registered() -> None:
    assert {entry.id for entry in ENTRIES} == NAMES
    assert claims_learning.__doc__


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda c: c.id)
def test_claims_hold(entry) -> None:
    evidence = entry.check()
    assert evidence.holds, evidence.text
    assert entry.verdict(evidence) == "holds"


def test_the_page_about_olive_runs(tmp_path) -> None:
    names = run_page("olive.md", tmp_path)
    assert names["result"].status == names["exact"].status == "finished"
