"""The claims about the barriers hold, each within seconds."""

from fractions import Fraction

import olivine.cli.ledger.backup_barrier
import olivine.cli.ledger.exploration_barriers
import pytest
from olivine.algorithms.barriers.backup_probability import exact_fair_tail
from olivine.cli.ledger import load

from tests.support.pages import run_page

MODULES = (
    olivine.cli.ledger.backup_barrier.__name__,
    olivine.cli.ledger.exploration_barriers.__name__,
)
CLAIMS = [c for c in load() if c.check and c.check.__module__ in MODULES]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim(claim):
    evidence = claim.check()
    assert evidence.holds, evidence.text
    assert evidence.text
    assert claim.verdict(evidence) == (
        "holds as corrected" if claim.erratum else "holds"
    )


def test_every_erratum_of_the_barriers_has_a_claim():
    assert {"19", "20", "23"} == {c.erratum for c in CLAIMS if c.erratum}


def test_the_page_about_barriers_runs(tmp_path):
    assert run_page("barriers.md", tmp_path)["runs"].runs == 20


def test_strict_failures_need_no_tie():
    """P[S > n/2 + d] ≥ 1/4 for 0 < d ≤ √(n/32), where n/2 + d is an integer."""
    for n in range(8, 400):
        for twice in range(1, 10):
            if 8 * twice**2 > n or (n + twice) % 2:
                continue
            assert exact_fair_tail(n, (n + twice) // 2 + 1) >= Fraction(1, 4)
