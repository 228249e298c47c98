"""The ledger's entries about the two-sample algorithm, and the page about it."""

import pytest
from olivine.cli.ledger import load
from olivine.cli.ledger import two_sample as claims
from olivine.cli.ledger import two_sample_constants as claims_constants

from tests.support.pages import run_page

ENTRIES = [c for c in load() if c.id.startswith("two-sample-")]


@pytest.fixture(scope="module", autouse=True)
def fewer_runs():
    """One seed instead of six: the long run of ``olivine claims`` has them all."""
    patch = pytest.MonkeyPatch()
    patch.setattr(claims, "_RUNS", 1)
    claims._runs.cache_clear()
    yield
    patch.undo()
    claims._runs.cache_clear()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda c: c.id)
def test_claims_hold(entry) -> None:
    evidence = entry.check()
    assert evidence.holds, evidence.text
    corrected = entry.verdict(evidence) == "holds as corrected"
    assert corrected is bool(entry.erratum)


def test_errata_14_to_16_have_an_entry() -> None:
    assert claims_constants.SOURCE == claims.SOURCE
    assert {"14", "15", "16"} <= {e.erratum for e in ENTRIES}


def test_the_page_about_the_two_sample_algorithm_runs(tmp_path) -> None:
    names = run_page("two-sample.md", tmp_path)
    assert names["result"].succeeded
