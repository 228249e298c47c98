"""Every entry of the reduction in the ledger of claims is checked and holds."""

import olivine.cli.ledger
import pytest
from olivine.cli.ledger import load

EXPECTED = {
    "lemma-1",
    "theorem-o",
    "theorem-o-paper",
    "theorem-o-normalized",
    "theorem-o-gap",
    "theorem-o-all-levels",
    "possible-optima",
    "four-values",
    "range-remark",
    "polynomially-small-error",
    "vertex-lemma",
    "clause-cut",
    "formulations-agree",
    "olive-nphard-g-simple",
    "olive-nphard-f-simple",
    "constant-gap",
    "least-affine-penalty",
    "random-assignment-is-sharp",
    "erratum-1",
    "erratum-2",
    "erratum-3",
    "erratum-4",
    "erratum-6",
}
ENTRIES = [entry for entry in load() if entry.id in EXPECTED]


def test_all_are_registered():
    assert {entry.id for entry in ENTRIES} == EXPECTED
    assert olivine.cli.ledger.__doc__


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_holds(entry):
    evidence = entry.check()
    assert evidence.holds, evidence.text
    assert any(c.isdigit() for c in evidence.text)
    numbered = entry.id.startswith("erratum-")
    assert entry.erratum == (entry.id.removeprefix("erratum-") if numbered else "")
    verdict = "holds as corrected" if numbered else "holds"
    assert entry.verdict(evidence) == verdict


@pytest.mark.parametrize("name", ["lemma-1", "vertex-lemma", "theorem-o-paper"])
def test_it_is_deterministic(name):
    (entry,) = (e for e in ENTRIES if e.id == name)
    assert entry.check() == entry.check()
