"""docs/claims.md is what the ledger says, entry by entry and as a whole."""

import re

import pytest
from olivine.claims.page import NOTATION, claims_page

from tests.support.commands import ROOT, olivine

PAGE = ROOT / "docs" / "claims.md"
ENTRY = re.compile(r"^### (.+)$", re.MULTILINE)
VERDICT = re.compile(r"^- Verdict: (.+)$", re.MULTILINE)


def up_to_the_verdicts(page: str) -> dict[str, str]:
    """Statement, source and method of every entry of a page, in its order."""
    parts = ENTRY.split(page)
    texts = (text.split("- Verdict:")[0] for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))


def test_the_page_has_the_entries_of_the_ledger():
    records = olivine("claims", "--json").records
    found = up_to_the_verdicts(PAGE.read_text("utf-8"))
    wanted = up_to_the_verdicts(claims_page(records))
    assert list(found) == list(wanted) == [record["id"] for record in records]
    assert found == wanted


def test_the_page_says_that_all_of_them_hold():
    records = olivine("claims", "--json").records
    text = PAGE.read_text("utf-8")
    wanted = [
        f"holds as corrected (erratum {record['erratum']})"
        if "erratum" in record
        else "holds"
        for record in records
    ]
    assert VERDICT.findall(text) == wanted
    assert all(words in text for _, words in NOTATION)


@pytest.mark.long
def test_the_page_made_again_is_the_same(tmp_path):
    again = tmp_path / "claims.md"
    done = olivine("claims", "--run", "--json", "--page", again)
    assert done.status == 0
    for record in done.records:
        assert record["verdict"] in ("holds", "holds as corrected")
        assert record["evidence"]
        assert record["seconds"] >= 0
    assert again.read_text("utf-8") == PAGE.read_text("utf-8")
