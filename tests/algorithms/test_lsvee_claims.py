"""LSVEE's entries in the ledger, and the page about it."""

import runpy
from pathlib import Path

import pytest

import algorithms.lsvee.claims
import algorithms.lsvee.claims_constants  # noqa: F401
from algorithms.claims import registered

PAGE = Path(__file__).parents[2] / "docs" / "lsvee.md"
CLAIMS = [entry for entry in registered() if entry.id.startswith("lsvee-")]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_the_claim_holds(entry):
    evidence = entry.check()
    assert entry.verdict(evidence) == "holds", evidence.text
    assert evidence.text


def test_all_claims_are_there():
    assert len(CLAIMS) == 10


def test_the_page_about_lsvee_runs(tmp_path):
    text = PAGE.read_text("utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    for number, block in enumerate(blocks):
        script = tmp_path / f"block{number}.py"
        script.write_text(block, "utf-8")
        runpy.run_path(str(script))
