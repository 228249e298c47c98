"""The entries on the run of OLIVE in the ledger of claims are checked and hold."""

import olivine.cli.ledger
import pytest
from olivine.cli.ledger import load

CORRECTED = {"olive-nphard-g": "5", "olive-nphard-f": "5", "erratum-5": "5"}
HOLDING = {
    "olive-nphard-all-levels",
    "run-same-for-all-members",
    "run-stopping-threshold",
}
ENTRIES = [e for e in load() if e.id in CORRECTED.keys() | HOLDING]


def test_all_are_registered():
    assert olivine.cli.ledger.__doc__
    assert {entry.id for entry in ENTRIES} == CORRECTED.keys() | HOLDING


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_holds(entry):
    evidence = entry.check()
    assert evidence.holds, evidence.text
    assert any(c.isdigit() for c in evidence.text)
    assert entry.erratum == CORRECTED.get(entry.id, "")
    verdict = "holds as corrected" if entry.id in CORRECTED else "holds"
    assert entry.verdict(evidence) == verdict
