"""The ledger's words "proved in Coq" are held to theorems and to statements."""

import re

import pytest
from olivine.claims import PROOFS, digest, load

from tests.support.commands import ROOT

THEOREMS = (ROOT / "proofs" / "Theorems.v").read_text("utf-8")
PAGE = (ROOT / "docs" / "proofs.md").read_text("utf-8")


@pytest.mark.parametrize("name", sorted(PROOFS))
def test_an_entry_names_theorems_and_its_statement_is_the_one_proved(name):
    (entry,) = [e for e in load() if e.id == name]
    assert digest(entry.statement) == PROOFS[name].statement, (
        "hold the new statement against the theorem, then renew its digest"
    )
    sources = "".join(file.read_text("utf-8") for file in (ROOT / "proofs").glob("*.v"))
    for theorem in PROOFS[name].theorems:
        assert f"Print Assumptions {theorem}." in THEOREMS
        assert f"`{theorem}`" in PAGE
        assert re.search(rf"^(Theorem|Lemma|Corollary) {theorem}\b", sources, re.M)
