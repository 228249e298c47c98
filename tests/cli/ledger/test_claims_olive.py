"""The claims about OLIVE, its tolerance and its data are checked and can fail."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import olivine.cli.ledger.olive
import olivine.cli.ledger.tolerance as tolerance_claims
import pytest
from olivine.cli.ledger import load

EXPECTED = {
    "olive-tabular-one-constraint-a-state",
    "olive-sampled-pac",
    "erratum-6-importance-weight",
    "critical-tolerance",
    "critical-tolerance-eight-clauses",
    "olive-meets-hard-program",
}
ENTRIES = {entry.id: entry for entry in load() if entry.id in EXPECTED}


def test_all_are_registered() -> None:
    assert set(ENTRIES) == EXPECTED
    assert olivine.cli.ledger.olive.__doc__


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_it_holds(name: str) -> None:
    entry = ENTRIES[name]
    assert entry.check is not None
    evidence = entry.check()
    assert evidence.holds, evidence.text
    assert any(c.isdigit() for c in evidence.text)
    corrected = name.startswith("erratum")
    assert entry.verdict(evidence) == ("holds as corrected" if corrected else "holds")


def test_a_wrong_closed_form_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    true = tolerance_claims.critical_tolerance

    def wrong(family, u, **options):  # type: ignore[no-untyped-def]
        found = true(family, u, **options)
        return dataclasses.replace(found, lower=found.lower + Fraction(1, 10**6))

    monkeypatch.setattr(tolerance_claims, "critical_tolerance", wrong)
    check = ENTRIES["critical-tolerance"].check
    assert check is not None
    assert not check().holds
