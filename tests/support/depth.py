"""How deep tests go: all of it is kept, and by default a share of it is tried.

Cases that are left out have the marker ``long``; sizes that are cut are whole with
HYPOTHESIS_PROFILE=long.
"""

import os
from collections.abc import Iterable

import pytest

CASE = type(pytest.param())
LEFT_OUT = pytest.mark.long
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def deep(whole, quick):
    """The whole size, or the one that is tried by default."""
    return whole if LONG else quick


def spread(cases: Iterable[object], keep: int) -> list[object]:
    """Mark all cases as long but `keep` of them, which are spread evenly."""
    made = [
        case
        if isinstance(case, CASE)
        else pytest.param(*(case if isinstance(case, tuple) else (case,)))
        for case in cases
    ]
    last = len(made) - 1
    kept = {round(i * last / max(keep - 1, 1)) for i in range(keep)}
    return [
        case
        if i in kept
        else pytest.param(*case.values, marks=[*case.marks, LEFT_OUT], id=case.id)
        for i, case in enumerate(made)
    ]


def with_rows(names: str, *cases: object, keep: int | None = None, **options: object):
    """Try a test with each of the cases; by default with `keep` of them, if given."""
    chosen = cases if keep is None else spread(cases, keep)
    return pytest.mark.parametrize(names, chosen, **options)
