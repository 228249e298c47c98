import itertools
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from olivine.cli.page import escape, table
from olivine.cli.report import verdict
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.verify.verification import verify

from tests.support.commands import CASES, olivine, run_olivine
from tests.support.depth import spread

FULL3 = CASES / "cadical" / "full3.cnf"
VARIANTS = ["paper", "all-levels"]
VOID = {"meta", "br"}


class Balance(HTMLParser):
    """Insists on balanced tags and collects what a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attributes) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append(value)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes) -> None:
        self.tags.add(tag)

    def handle_data(self, data) -> None:
        self.text += data


def look(path) -> Balance:
    text = path.read_text(encoding="utf-8")
    page = Balance()
    page.feed(text)
    page.close()
    assert page.open == []
    assert all(link.startswith("#") for link in page.links)
    assert "http" not in text
    assert not {"script", "link", "img", "iframe"} & page.tags
    return page


@pytest.mark.parametrize("variant", spread(VARIANTS, 1))
def test_the_page_of_a_small_formula(tmp_path, variant: str) -> None:
    out = tmp_path / "page.html"
    done = olivine("report", FULL3, "-o", out, "--variant", variant, "--json")
    assert done.status == 0
    assert done.err == ""
    record = done.record
    assert record["output"] == str(out)
    assert record["agree"] is True
    page = look(out)
    assert record["optimum"] in page.text
    assert "Unsatisfiable" in page.text
    for word in ("maxsat", "brute", "witness", "maximise", "x1^0", "[solve]"):
        assert word in page.text
    svgs = re.findall(r"<svg.*?</svg>", out.read_text(encoding="utf-8"), re.DOTALL)
    assert len(svgs) == 2
    for svg in svgs:
        ET.fromstring(svg)


def test_the_page_of_a_larger_formula_bundles(tmp_path) -> None:
    out = tmp_path / "page.html"
    done = olivine("report", CASES / "satlib" / "uf20-01.cnf", "-o", out)
    assert done.status == 0
    page = look(out)
    assert "Satisfiable" in page.text
    assert "C1…C11: 11 of 11 satisfied" in page.text
    assert out.read_text(encoding="utf-8").count("<svg") == 2


def test_names_are_escaped(tmp_path) -> None:
    file = tmp_path / "<script>&\udcff.cnf"
    file.write_bytes(FULL3.read_bytes())
    out = tmp_path / "page.html"
    assert olivine("report", file, "-o", out).status == 0
    page = look(out)
    assert "<script>&" in page.text


def test_escaping() -> None:
    assert escape('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert "<td>&lt;b&gt;</td>" in table([["<b>"]])


def test_undecided_pages_say_so(tmp_path) -> None:
    out = tmp_path / "page.html"
    file = CASES / "satlib" / "uuf100-01.cnf"
    done = olivine("report", file, "-o", out, "--time-limit", "0.001")
    assert done.status == 3
    page = look(out)
    assert "Undecided" in page.text
    assert "literal states" in page.text  # the drawing


def test_only_weighted_formulas_have_weight(tmp_path) -> None:
    out, weighted = tmp_path / "page.html", tmp_path / "w.wcnf"
    done = olivine("report", FULL3, "-o", out)
    assert "the least number of unsatisfied clauses 1 " in done.out
    assert "u, least number of unsatisfied clauses" in out.read_text()
    weighted.write_text("5 1 0\n3 -1 0\n")
    done = olivine("report", weighted, "-o", out)
    assert "the least unsatisfied weight 3 " in done.out
    assert "u, least weight of unsatisfied clauses" in out.read_text()


def test_bad_input_writes_nothing(tmp_path) -> None:
    out = tmp_path / "page.html"
    done = olivine("report", CASES / "odd" / "garbage.cnf", "-o", out)
    assert done.status == 2
    done = olivine("report", FULL3, "-o", tmp_path / "no" / "page.html")
    assert done.status == 2
    assert "No such file" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of files")
@pytest.mark.parametrize("size", spread([10_000, 0], 1))
def test_a_full_disk_leaves_nothing(tmp_path, size: int) -> None:
    import resource

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    out = tmp_path / "page.html"
    done = run_olivine("report", FULL3, "-o", out, preexec_fn=small_files)
    assert done.status == 2
    assert done.err == f"olivine: {out}: File too large\n"
    assert re.search("(Unsat|Undec).*: the optimum", done.out)  # engines write too
    assert list(tmp_path.iterdir()) == []


def test_the_page_explains_its_terms_and_remarks(tmp_path) -> None:
    out = tmp_path / "page.html"
    assert olivine("report", FULL3, "-o", out).status == 0
    page = look(out)
    for told in ("p: the penalty", "top: the reward", "W: their total", "u: the least"):
        assert told in page.text
    assert "formulation: " in page.text  # the remark of the MILP, as verify tells it
    assert "x1^0" in page.text
    text = out.read_text(encoding="utf-8")
    assert 'class="verdict unsatisfiable"' in text
    assert "prefers-color-scheme: dark" in text
    # What is wider than a phone scrolls in its own box.
    assert text.count('<div class="scroll"><table>') == 1
    assert text.count('<div class="facts"><table>') == 2


def test_an_unproved_optimum_is_a_bound_on_the_page() -> None:
    formula = read_dimacs(FULL3).formula
    answer = verify(formula, routes="witness")
    assert verdict(answer, weighted=False) == (
        "Undecided: the optimum was not proved within the limits; it is at least 23/24."
    )


PROBE = """<iframe id="f" src="page.html" style="width:{}px;height:900px"></iframe>
<script>onload = () => {{
  const page = document.getElementById("f").contentDocument.documentElement;
  const pictures = page.getElementsByTagName("svg");
  const seen = [...pictures].every(p => p.getBoundingClientRect().height > 50);
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches;
  document.title = [page.scrollWidth <= page.clientWidth, pictures.length, seen,
    scheme].join(" ");
}}</script>"""


needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs chromium"
)


def seen_in_chromium(folder, width: int, dark: bool) -> tuple[str, str]:
    """What the probe says of page.html in a folder, and the browser's log."""
    # A frame is as narrow as a phone; headless windows are not.
    (folder / "probe.html").write_text(PROBE.format(width))
    command = [
        "chromium",
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        "--enable-logging=stderr",
        "--virtual-time-budget=3000",
        "--dump-dom",
        (folder / "probe.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    title = re.search("<title>(.*)</title>", done.stdout)
    assert title is not None, done.stderr
    return title[1], done.stderr


PAGES = ["cadical/full3.cnf", "satlib/uf20-01.cnf", "satlib/uuf100-01.cnf"]
LOOKS = itertools.product(PAGES, (400, 1280), (True, False))


@needs_chromium
@pytest.mark.parametrize(("file", "width", "dark"), spread(LOOKS, 2))
def test_a_browser_shows_the_page_without_overflow(tmp_path, file, width, dark) -> None:
    assert olivine("report", CASES / file, "-o", tmp_path / "page.html").status == 0
    said, log = seen_in_chromium(tmp_path, width, dark)
    assert said == f"true 2 true {str(dark).lower()}"
    assert "CONSOLE" not in log


@needs_chromium
def test_the_probe_sees_overflow_and_errors(tmp_path) -> None:
    wide = '<!doctype html><div style="width:900px">x</div><script>lost()</script>'
    (tmp_path / "page.html").write_text(wide)
    said, log = seen_in_chromium(tmp_path, 400, dark=False)
    assert said == "false 0 true false"
    assert "CONSOLE" in log
