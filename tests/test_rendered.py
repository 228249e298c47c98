"""Pages as the site renders them: no star lost, no table broken, no raw formula."""

import re
import runpy
from functools import cache
from html.parser import HTMLParser

import pytest

from tests.support.commands import ROOT
from tests.support.depth import with_rows

markdown = pytest.importorskip("markdown", reason="needs the extra docs")
pytest.importorskip("pymdownx", reason="needs the extra docs")
pytest.importorskip("l2m4m", reason="needs the extra docs")

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
PAGES += [ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
EXTENSIONS = ["admonition", "attr_list", "tables", "pymdownx.highlight"]
EXTENSIONS += ["sane_lists", "pymdownx.superfences", "l2m4m:LaTeX2MathMLExtension"]
HIDDEN = ("code", "pre", "math")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
STARRED = re.compile(r"(?<!\w)[VgQπu]\*(?!\*)")
# What is to be typeset: LaTeX, powers and indices, hats, roots, stars.
RAW = re.compile(
    r"\$[^$\n]*\$|\\[a-z]{2,}|[_^]\{|\w\^\S|(?<![\w.])[A-Za-zα-ωΔΠΣ]_\w+|[\u0302√]"
    r"|(?<![A-Za-z])[A-Za-zα-ω)][⁰¹²³⁴-⁹₀-₉]|" + STARRED.pattern
)


class Reader(HTMLParser):
    """Text outside of code and formulas, cells of tables' rows, numbers of items."""

    def __init__(self) -> None:
        super().__init__()
        self.text = self.formulas = ""
        self.rows: list[int] = []
        self.items: list[int] = []
        self._lists: list[int | None] = []  # the next number, None without numbers
        self._code = self._math = 0

    def handle_starttag(self, tag, attributes) -> None:
        self._code += tag in HIDDEN
        self._math += tag == "math"
        if tag in ("ol", "ul"):
            start = int(dict(attributes).get("start", 1))
            self._lists.append(start if tag == "ol" else None)
        elif tag == "li" and (number := self._lists[-1]) is not None:
            self.items.append(number)
            self._lists[-1] = number + 1
        elif tag == "tr":
            self.rows.append(0)
        elif tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_endtag(self, tag) -> None:
        self._code -= tag in HIDDEN
        self._math -= tag == "math"
        if tag in ("ol", "ul"):
            self._lists.pop()

    def handle_data(self, data) -> None:
        self.text += "" if self._code else data
        self.formulas += data if self._math else ""


@cache
def rendered(source: str) -> Reader:
    reader = Reader()
    reader.feed(markdown.markdown(source, extensions=EXTENSIONS))
    return reader


def faults(source: str) -> list[str]:
    """What rendering loses of a page."""
    found, plain = [], CODE.sub("", source).replace("\\*", "*")
    seen = rendered(source)
    wanted, kept = STARRED.findall(plain), STARRED.findall(seen.text)
    if sorted(wanted) != sorted(kept):
        found.append(f"{len(wanted)} stars, {len(kept)} after rendering")
    lines = [line for line in CODE.sub("x", source).splitlines() if line[:2] == "| "]
    rows = [line for line in lines if not re.fullmatch(r"[|\-: ]+", line)]
    if len(rows) != len(seen.rows):
        found.append(f"{len(rows)} rows, {len(seen.rows)} after rendering")
    items = [int(n) for n in re.findall(r"^ *(\d+)\. ", CODE.sub("", source), re.M)]
    if items != seen.items:
        found.append(f"items {items}, {seen.items} after rendering")
    found += [line for line in seen.text.splitlines() if re.match(r"\| .* \|", line)]
    # A formula that holds another, whose escapes Markdown took for its own, or with a
    # sign that fonts lack (\setminus).
    found += re.findall(r"[$\\\u29f5]|klzzwxh", seen.formulas)
    return found + RAW.findall(seen.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_nothing_of_a_page_is_lost(page) -> None:
    assert faults(page.read_text("utf-8")) == []


def test_nothing_of_the_lecture_is_lost() -> None:
    cells = runpy.run_path(str(ROOT / "docs" / "site.py"))["cells"]
    lecture = cells((ROOT / "examples" / "lecture.ipynb").read_text("utf-8"))
    assert faults(re.sub("<svg.*?</svg>", "", lecture)) == []
    assert "<math" in markdown.markdown(lecture, extensions=EXTENSIONS)


@with_rows(
    "source, number",
    ("The optima (V*, g*), `V*` is code.", 1),
    (r"The optimum V\*.", 1),
    (r"The optima $(V^\star, g^\star)$, `V*` and `x_1` are code.", 0),
    ("The value V^π(s0), or 2^n.", 2),
    ("A state x_{h,a} and n_test draws of π̂, √n.", 4),
    ("Of x⁰, s₀ and (m + 1)², not of 10⁵.", 3),
    ("snake_case, a cake_lpr and G_test_b.", 1),
    (r"The bound $\frac{1}{3m}$ is $\varepsilon$.", 0),
    (r"A raw \frac.", 1),
    (r"A set $A \setminus B$.", 1),
    ("1. A.\n\n```\nb\n```\n\n2. C.", 0),
    ("1. A.\n3. C.", 1),
    (r"Braces $\{0, 1\}$ go wrong, $\lbrace 0, 1 \rbrace$ do not.", 2),
    (r"\[try $C_j$\] is worth 1.", 2),
    ("| a | b |\n| --- | --- |\n| 1 | 2 |\n", 0),
    ("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n| 3 | 4 |\n", 2),
)
def test_a_lost_star_and_a_broken_table_are_found(source, number) -> None:
    assert len(faults(source)) == number
