"""docs/claims.md and the pages beside it are what the ledger says, entry by entry."""

import re

import pytest
from olivine.claims.page import NOTATION, claims_pages

from tests.support.commands import ROOT, olivine

PAGE = ROOT / "docs" / "claims.md"
FOLDER = PAGE.with_suffix("")
ENTRY = re.compile(r"^## (.+)$", re.MULTILINE)
VERDICT = re.compile(r"^- Verdict: (.+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def records():
    return olivine("claims", "--json").records


def written() -> dict[str, str]:
    pages = {file.stem: file.read_text("utf-8") for file in FOLDER.iterdir()}
    return pages | {"": PAGE.read_text("utf-8")}


def up_to_the_verdicts(page: str) -> dict[str, str]:
    """Statement, source and method of every entry of a page, in its order."""
    parts = ENTRY.split(page)
    texts = (text.split("- Verdict:")[0] for text in parts[2::2])
    return {"": parts[0], **dict(zip(parts[1::2], texts, strict=True))}


def test_the_pages_have_the_entries_and_a_summary_of_a_screen(records):
    found, wanted = written(), claims_pages(records)
    assert found.keys() == wanted.keys(), "make the pages again (CONTRIBUTING, A claim)"
    listed = []
    for name in wanted.keys() - {"", "statements"}:  # these have verdicts
        own, theirs = map(up_to_the_verdicts, (found[name], wanted[name]))
        assert list(own) == list(theirs), f"make docs/claims/{name}.md again"
        assert own == theirs, f"make docs/claims/{name}.md again"
        listed += [entry for entry in own if entry]
    assert sorted(listed) == sorted(record["id"] for record in records)
    assert len(claims_pages(records)[""].splitlines()) <= 45


def test_the_pages_say_that_all_hold_and_typeset_stars(records):
    texts = written()
    verdicts = sorted(v for text in texts.values() for v in VERDICT.findall(text))
    assert verdicts == sorted(
        f"holds as corrected ([erratum](../errata.md) {record['erratum']})"
        if "erratum" in record
        else "holds"
        for record in records
    )
    corrected = sum("erratum" in record for record in records)
    counts = f"holds {len(records) - corrected}, holds as corrected {corrected}"
    assert f"| all | {len(records)} | {counts} |" in texts[""]
    assert all(f"*{where}.*" in texts["notation"] for where, _ in NOTATION)
    texts = claims_pages(records)
    assert r"$V^\star = g^\star$ averaged" in texts["setting"]
    for name in texts.keys() - {"", "notation"}:
        shown = re.sub(r"`[^`]*`", "", texts[name])
        assert not re.findall(r"(?<!\\)\*", shown), name


@pytest.mark.long
def test_the_pages_made_again_are_the_same(tmp_path):
    again = tmp_path / "claims.md"
    done = olivine("claims", "--run", "--json", "--page", again, status=0)
    for record in done.records:
        assert record["verdict"] in ("holds", "holds as corrected")
        assert record["evidence"]
        assert record["seconds"] >= 0
    assert again.read_text("utf-8") == PAGE.read_text("utf-8")
    made = {
        file.name: file.read_text("utf-8") for file in (tmp_path / "claims").iterdir()
    }
    assert made == {file.name: file.read_text("utf-8") for file in FOLDER.iterdir()}
