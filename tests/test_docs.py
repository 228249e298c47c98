"""The pages of the project: what they refer to exists, and the site shows them.

`.ci/run` builds the site strictly; what is held here needs no MkDocs, but for one test.
"""

import logging
import posixpath
import re
import runpy
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import olivine as library
import pytest

from tests.support.commands import ROOT, olivine
from tests.support.depth import with_rows

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


# The site ---------------------------------------------------------------------

DOCS = ROOT / "docs"
SITE = runpy.run_path(str(DOCS / "site.py"))
WRITTEN = {p.relative_to(DOCS).as_posix(): p for p in DOCS.rglob("*.md")}


def source(there: str) -> str:
    """Text of a page of the site, before its links are moved."""
    if there in WRITTEN:
        return WRITTEN[there].read_text("utf-8")
    here = SITE["SOURCES"][there]
    text = (ROOT / here).read_text("utf-8")
    return SITE["cells"](text) if here.endswith(".ipynb") else text


def moved(there: str, text: str) -> str:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=there))
    return SITE["on_page_markdown"](text, page)


def test_the_navigation_holds_each_page_once():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    shown = re.findall(r"[:-] (\S+\.md)$", text, re.MULTILINE)
    assert sorted(shown) == sorted([*WRITTEN, *SITE["SOURCES"]])


@pytest.mark.parametrize("there", [*WRITTEN, *SITE["SOURCES"]])
def test_no_link_of_the_site_is_dead(there, caplog):
    with caplog.at_level(logging.WARNING):
        text = moved(there, source(there))
    assert caplog.messages == []
    on_site = WRITTEN.keys() | SITE["SOURCES"] | set(SITE["FILES"].values())
    for name, _ in SITE["LINK"].findall("".join(SITE["FENCE"].split(text)[::2])):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(there), name))
        assert target in on_site or (DOCS / target).is_file(), name


@with_rows(
    "there, link, expected",
    ("index.md", "../README.md#layout", "project/readme.md#layout"),
    ("project/readme.md", "docs/ties.md", "../ties.md"),
    ("tutorials/sat.md", "../dimacs.md", "../dimacs.md"),
    ("tutorials/teaching.md", "../../examples/lecture.ipynb", "lecture.md"),
    ("tutorials/lecture.md", "../docs/olive.md", "../olive.md"),
    ("ties.md", "https://example.org/a.md", "https://example.org/a.md"),
    ("claims.md", "#theorem-k", "#theorem-k"),
)
def test_links_move_with_their_page(there, link, expected):
    assert moved(there, f"See [it]({link}).") == f"See [it]({expected})."
    code = f"```\n[it]({link})\n```"
    assert moved(there, code) == code


def test_a_link_to_what_is_not_on_the_site_is_a_warning(caplog):
    assert moved("ties.md", "[x](../cli/verify.py)") == "[x](../cli/verify.py)"
    assert "docs/ties.md links to cli/verify.py" in caplog.text


def test_the_reference_has_each_public_name_where_it_is_documented():
    pages = SITE["reference"]()
    modules = set(re.findall("^::: (.*)$", "\n".join(pages.values()), re.MULTILINE))
    row = re.compile(r"^\| \[`olivine\.(\w+)`\]\[(.*?)\] \| \S", re.MULTILINE)
    rows = dict(row.findall(pages["olivine"]))
    assert list(rows) == library.__all__
    assert {home.rpartition(".")[0] for home in rows.values()} <= modules


def test_no_item_of_a_list_scrolls():
    """It would lose its number or dot, which stand outside of it."""
    style = re.sub(r":has\([^()]*\)", "", (DOCS / "site.css").read_text("utf-8"))
    rules = re.findall(
        r"([^{}]+)\{([^{}]+)\}", re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    )
    scrolling = [selectors for selectors, body in rules if "overflow" in body]
    assert scrolling
    assert [rule for rule in scrolling if re.search(r"\bli\b", rule)] == []


def test_a_long_name_breaks_at_underscores_within_tables_only():
    code = "<code>a_long/name_of_a.thing b_short.name</code>"
    page = SITE["on_page_content"](f"<p>{code}</p><td>a_b {code}</td>")
    name = "a_<wbr>long/<wbr>name_<wbr>of_<wbr>a.<wbr>thing"
    loose = f"<code>{name} b_short.name</code>"
    assert page == f"<p>{code}</p><td>a_b {loose}</td>"


def test_figures_on_pages_are_one_column():
    """Of five inches, as `olivine` draws them: legible on a phone."""
    widths = {
        p.name: float(re.search(r'<svg[^>]* width="([\d.]+)pt"', p.read_text())[1])
        for p in DOCS.glob("*.svg")
    }
    assert widths.pop("family.svg") > 400  # which scrolls (site.css)
    assert set(widths.values()) == {360}
    for picture in DOCS.glob("*.png"):
        pixels = int.from_bytes(picture.read_bytes()[16:20], "big")
        assert pixels == 5 * 150


def test_pictures_of_the_lecture_are_on_white():
    """Else their black type cannot be read on a dark page."""
    pictures = re.findall('(?<=">)<svg[^>]*>', source("tutorials/lecture.md"))
    assert len(pictures) == 4
    assert all("background: white" in opening for opening in pictures)


def test_a_wide_picture_of_the_lecture_scrolls():
    shape = SITE["shape"]
    assert shape('<svg width="667.368pt" height="1pt">') == "picture wide"
    assert shape('<svg xmlns:xlink="u" width="360pt">') == "picture"


def test_docstrings_become_markdown():
    pytest.importorskip("griffe", reason="needs the extra docs")
    as_markdown = runpy.run_path(str(DOCS / "docstrings.py"))["as_markdown"]
    session = ">>> 1 + 1\n2"
    section = f"Examples\n--------\n{session}\n"
    assert as_markdown(f"A.\n\n{session}\n\nB.\n\n{section}") == (
        f"A.\n\n```pycon\n{session}\n```\n\nB.\n\n{section}"
    )
    assert as_markdown("So::\n\n    a b\n\n      c\n\nB.") == (
        "So:\n\n```text\n    a b\n\n      c\n```\n\nB."
    )
    stars = "V* and g* of `Q*`, x_{h,a} at V^π(s0). *All* **of** [it](x.md)."
    assert as_markdown(stars) == (
        r"$V^\star$ and $g^\star$ of `Q*`, $x_{h,a}$ at $V^{\pi}(s_0)$. *All* **of** "
        "[it](x.md)."
    )
    assert as_markdown("The V*(root) and V*.") == r"The V\*(root) and $V^\star$."
    fields = "Returns\n-------\npair\n    The pair (V*,\n    π*).\n"
    typeset = fields.replace("(V*,\n    π*)", r"$(V^\star, \pi^\star)$")
    assert as_markdown(f"A.\n\n{fields}\n{section}") == f"A.\n\n{typeset}\n{section}"
    table = "=== ===\na   b\n=== ==="
    assert as_markdown(f"A.\n\n{table}\n\nB.") == f"A.\n\n```text\n{table}\n```\n\nB."
