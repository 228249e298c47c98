"""What the pages of the project refer to exists: files, headings, claims, tests."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.commands import ROOT, olivine

PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = ("algorithms", "benchmarks", "claims", "cli", "docs", "examples")
FOLDERS += ("reduction", "solvers", "tests", ".ci")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
TEST = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)


def without_blocks(page: Path) -> str:
    """A page's text outside of fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(page), re.MULTILINE)
    slugs = (re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings)
    return set(slugs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    wrong = []
    for target in LINK.findall(without_blocks(page)):
        if re.match(r"[a-z]+:", target):
            continue  # the web is not asked
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []


def test_the_index_leads_to_every_page():
    """But for those of the claims, to which their summary leads."""
    index = ROOT / "docs" / "index.md"
    linked = {
        target.partition("#")[0]
        for page in (index, index.parent / "claims.md")
        for target in LINK.findall(page.read_text())
    }
    pages = {p.relative_to(index.parent).as_posix() for p in index.parent.rglob("*.md")}
    assert pages - {"index.md"} <= linked


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    wrong = []
    for code in CODE.findall(without_blocks(page)):
        named = code.split(":")[0].rstrip("/")
        if re.fullmatch(r"[\w./\-]+", named) and named.split("/")[0] in FOLDERS:
            found = (ROOT / named, page.parent / named)
            if "/" in named and not any(file.exists() for file in found):
                wrong.append(code)
    assert wrong == []


@pytest.fixture(scope="module")
def claims() -> dict[str, str]:
    """Entries of the ledger and the errata with which they hold ("": none)."""
    records = olivine("claims", "--json").records
    return {record["id"]: record.get("erratum", "") for record in records}


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """Names of all test functions."""
    files = (ROOT / "tests").rglob("test_*.py")
    return {name for file in files for name in TEST.findall(file.read_text("utf-8"))}


def errata() -> dict[int, list[str]]:
    """What shows each erratum, by its number."""
    shown: dict[int, list[str]] = defaultdict(list)
    for line in (ROOT / "docs" / "errata.md").read_text("utf-8").splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        if len(cells) == 6 and cells[1].strip().isdigit():
            shown[int(cells[1])] += CODE.findall(cells[4])
    return shown


def test_every_erratum_is_shown_by_claims_and_tests_that_exist(claims, tests):
    shown = errata()
    assert sorted(shown) == list(range(1, len(shown) + 1))
    assert len(shown) >= 25
    for number, names in shown.items():
        assert names, f"erratum {number}"
        unknown = [name for name in names if name not in tests | claims.keys()]
        assert unknown == [], f"erratum {number}"


def test_claims_and_errata_name_each_other(claims):
    """But for 8, a remark: nothing in the paper is corrected there."""
    shown = errata()
    for claim, number in claims.items():
        if number:
            assert claim in shown[int(number)], f"{claim} is missing at {number}"
    for number, names in shown.items():
        for claim in claims.keys() & names:
            assert claims[claim] == ("" if number == 8 else str(number)), claim


def test_claims_that_pages_speak_of_exist(claims):
    for page in PAGES:
        text = without_blocks(page)
        for names in re.findall(r"[Cc]laims? ((?:`[\w-]+`(?:, | and )?)+)", text):
            named = {n for n in CODE.findall(names) if not n.startswith("test_")}
            assert named <= claims.keys(), page.name


def test_benchmarks_are_run_as_modules_that_exist():
    """By its file a benchmark would not find the packages of a clone."""
    wrong = []
    for file in (*PAGES, *(ROOT / "benchmarks").glob("*.py")):
        text = file.read_text("utf-8")
        names = re.findall(r"python3? -m benchmarks\.(\w+)", text)
        listed = re.findall(r"python3? -m benchmarks((?: (?:--full|[a-z_]+))+)`", text)
        names += " ".join(listed).replace("--full", "").split()
        wrong += [n for n in names if not (ROOT / "benchmarks" / f"{n}.py").exists()]
        wrong += re.findall(r"python3? benchmarks/\S+", text)
    assert wrong == []
