"""The ledger's entries about the global policy algorithm, and the page about it."""

import pytest
from olivine.cli.ledger import SUBJECTS, load
from olivine.cli.ledger import global_policy as claims
from olivine.cli.ledger import global_policy_constants as claims_constants
from olivine.cli.ledger.support import global_policy_runs as claim_runs

from tests.support.pages import run_page

ENTRIES = [c for c in load() if c.id.startswith("global-policy-")]


@pytest.fixture(scope="module", autouse=True)
def fewer_runs():
    """One seed instead of six: the long run of ``olivine claims`` has them all."""
    patch = pytest.MonkeyPatch()
    patch.setattr(claim_runs, "RUNS", 1)
    claim_runs.runs.cache_clear()
    yield
    patch.undo()
    claim_runs.runs.cache_clear()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda c: c.id)
def test_claims_hold(entry) -> None:
    evidence = entry.check()
    assert evidence.holds, evidence.text
    corrected = entry.verdict(evidence) == "holds as corrected"
    assert corrected is bool(entry.erratum)


def test_errata_17_and_18_have_an_entry() -> None:
    names = {m.__name__.rpartition(".")[2] for m in (claims, claims_constants)}
    assert names <= set(SUBJECTS)
    assert {e.erratum for e in ENTRIES if e.erratum} == {"17", "18"}


def test_the_page_runs(tmp_path) -> None:
    names = run_page("global-policy.md", tmp_path)
    assert names["result"].succeeded
