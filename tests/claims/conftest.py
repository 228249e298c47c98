"""Claims at the sizes of the quick suite."""

import pytest
from olivine.claims import samples


@pytest.fixture(scope="module")
def fewer_runs():
    """One seed, few instances: ``olivine claims --run`` has them all, and so has the
    long test of the page (test_claims_page.py)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "MOST", 1)
        patch.setattr(samples, "INSTANCES", 2)
        patch.setattr(samples, "LARGEST", 6)
        yield
