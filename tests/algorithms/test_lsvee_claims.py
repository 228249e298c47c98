"""LSVEE's entries in the ledger."""

import pytest

import algorithms.lsvee.claims
import algorithms.lsvee.claims_constants  # noqa: F401
from algorithms.claims import registered

CLAIMS = [entry for entry in registered() if entry.id.startswith("lsvee-")]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_the_claim_holds(entry):
    evidence = entry.check()
    assert entry.verdict(evidence) == "holds", evidence.text
    assert evidence.text


def test_all_claims_are_there():
    assert len(CLAIMS) == 10
