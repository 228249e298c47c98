"""The claims about the barriers hold, each within seconds."""

import runpy
from fractions import Fraction
from pathlib import Path

import pytest

import algorithms.barriers.claims
import algorithms.barriers.claims_exploration
from algorithms.barriers.backup_probability import exact_fair_tail
from algorithms.claims import registered

MODULES = (
    algorithms.barriers.claims.__name__,
    algorithms.barriers.claims_exploration.__name__,
)
PAGE = Path(__file__).parents[2] / "docs" / "barriers.md"
CLAIMS = [c for c in registered() if c.check and c.check.__module__ in MODULES]


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
    text = PAGE.read_text("utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    script = tmp_path / "barriers_page.py"
    script.write_text("\n".join(blocks), "utf-8")
    assert runpy.run_path(str(script))["runs"].runs == 20


def test_strict_failures_need_no_tie():
    """P[S > n/2 + d] ≥ 1/4 for 0 < d ≤ √(n/32), where n/2 + d is an integer."""
    for n in range(8, 400):
        for twice in range(1, 10):
            if 8 * twice**2 > n or (n + twice) % 2:
                continue
            assert exact_fair_tail(n, (n + twice) // 2 + 1) >= Fraction(1, 4)
