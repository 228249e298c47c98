"""The site of the documentation: its pages, its links, its reference.

`.ci/run` builds it strictly; what is held here needs no MkDocs, but for one test.
"""

import logging
import posixpath
import re
import runpy
from types import SimpleNamespace

import olivine
import pytest

from tests.support.commands import ROOT
from tests.support.depth import with_rows

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
    assert list(rows) == olivine.__all__
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
