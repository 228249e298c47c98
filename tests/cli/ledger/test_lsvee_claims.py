"""LSVEE's entries in the ledger, and the page about it."""

import olivine.cli.ledger.lsvee
import olivine.cli.ledger.lsvee_constants  # noqa: F401
import pytest
from olivine.cli.ledger import load

from tests.support.pages import python_blocks, run_script

CLAIMS = [entry for entry in load() if entry.id.startswith("lsvee-")]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_the_claim_holds(entry):
    evidence = entry.check()
    assert entry.verdict(evidence) == "holds", evidence.text
    assert evidence.text


def test_all_claims_are_there():
    assert len(CLAIMS) == 10


def test_the_page_about_lsvee_runs(tmp_path):
    for block in python_blocks("lsvee.md"):
        run_script(block, tmp_path)
