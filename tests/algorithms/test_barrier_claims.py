"""The claims about the barriers hold, each within seconds."""

import pytest

import algorithms.barriers.claims
import algorithms.barriers.claims_exploration
from algorithms.claims import registered

MODULES = (
    algorithms.barriers.claims.__name__,
    algorithms.barriers.claims_exploration.__name__,
)
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
