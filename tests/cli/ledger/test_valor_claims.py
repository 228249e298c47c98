"""The ledger's entries about VALOR, and the page about it."""

import pytest
from olivine.cli.ledger import load
from olivine.cli.ledger import valor as claims_valor

from tests.support.pages import run_page

ENTRIES = [c for c in load() if c.id.startswith("valor-")]


@pytest.fixture(scope="module", autouse=True)
def fewer_runs():
    """One seed instead of six: the long run of ``olivine claims`` has them all."""
    patch = pytest.MonkeyPatch()
    patch.setattr(claims_valor, "_RUNS", 1)
    claims_valor._runs.cache_clear()
    yield
    patch.undo()
    claims_valor._runs.cache_clear()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda c: c.id)
def test_claims_hold(entry) -> None:
    evidence = entry.check()
    assert evidence.holds, evidence.text
    corrected = entry.verdict(evidence) == "holds as corrected"
    assert corrected is bool(entry.erratum)


def test_errata_9_to_13_have_an_entry() -> None:
    assert {e.erratum for e in ENTRIES if e.erratum} == {"9", "10", "11", "12", "13"}


def test_the_page_about_valor_runs(tmp_path) -> None:
    names = run_page("valor.md", tmp_path)
    assert names["result"].succeeded
