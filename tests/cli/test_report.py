import html
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from olivine.cli.figures import family_scene
from olivine.cli.report import DARK, escape, figure, table, verdict
from olivine.reduction.family.family import Family
from olivine.reduction.family.variants import Parameters, Variant
from olivine.reduction.formula.dimacs import read_dimacs, write_dimacs
from olivine.reduction.formula.formula import Formula
from olivine.reduction.formula.random_formula import random_ksat
from olivine.reduction.program.optimum import forward
from olivine.reduction.verify.verification import verify

from tests.support.commands import CASES, olivine, small_files
from tests.support.depth import spread, with_rows

FULL2 = CASES / "cadical" / "full2.cnf"
UF20 = CASES / "satlib" / "uf20-01.cnf"
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

    def handle_comment(self, data) -> None:
        """Keep a label of a picture, whose mathematics is cut into pieces beside it."""
        self.text += data


def look(path) -> Balance:
    text = path.read_text(encoding="utf-8")
    page = Balance()
    page.feed(text)
    page.close()
    assert page.open == []
    assert all(link.startswith("#") for link in page.links)
    assert "http" not in text
    assert not {"link", "img", "iframe"} & page.tags
    return page


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A function that reports on a file, once, and returns the run and the page."""

    @cache
    def report(file, variant="paper"):
        out = tmp_path_factory.mktemp("report") / "page.html"
        return olivine("report", file, "-o", out, "--variant", variant, "--json"), out

    return report


@pytest.mark.parametrize("variant", spread(VARIANTS, 1))
def test_the_page_of_a_small_formula(reported, variant: str) -> None:
    done, out = reported(FULL2, variant)
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
    # The caption is the page's, so that it can be read on a phone.
    assert "Green: satisfied." in page.text
    assert "Green" not in svgs[1]
    caption = re.findall("<figcaption>(.*?)</figcaption>", out.read_text("utf-8"))[1]
    assert "M<sub>y</sub> for each of the 2<sup>2</sup> assignments y" in caption
    assert "action b<sub>1</sub>b<sub>2</sub>b<sub>3</sub> (any but 000)" in caption
    assert not re.search(r"\w[_^]\w", caption)
    assert "Theorem O" in page.text
    p = record["penalty"]
    assert f"with p = {p}, top = " in page.text
    assert "The orange point is this formula's, u = 1." in page.text
    assert "The formula is unsatisfiable; no assignment does better." in page.text


def luminance(colour: str) -> float:
    """Relative luminance of a colour, as WCAG defines it."""
    parts = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(a: str, b: str) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_each_colour_of_a_picture_has_a_dark_one_that_can_be_read() -> None:
    form = Formula.from_clauses([[], [1, 2, 3]]).three_sat()
    family = Family(form, "all-levels")
    drawn = family_scene.scene(family, form.extend([True] * 3))
    plot = family_scene.draw_theorem_o(family.parameters, 1, weighted=False)
    text = figure(family_scene.draw_family(drawn), wide=True) + figure(plot)
    used = set(re.findall(r"var\(--c([0-9a-f]{6}), #\1\)", text))
    assert {f"#{c}" for c in used} <= set(DARK)
    assert not re.search(r"(?<!, )#[0-9a-f]{6}\b", text)
    pale = {"#dcfce7", "#f3f4f6", "#fca5a5", "#ffffff"}
    for shade in (dict(zip(DARK, DARK, strict=True)), DARK):
        for fill in pale:
            assert contrast(shade["#111827"], shade[fill]) > 4.5
        for fill in pale - {"#fca5a5"}:
            assert contrast(shade["#4b5563"], shade[fill]) > 4.5
        assert contrast(shade["#422006"], shade["#fde68a"]) > 4.5
    # The caption's words stay true: what is called green is.
    for light, part in (("#dcfce7", 1), ("#fca5a5", 0)):
        channels = [int(DARK[light][k : k + 2], 16) for k in (1, 3, 5)]
        assert channels[part] > 1.5 * sorted(channels)[1]
    red, green, blue = (int(DARK["#fde68a"][k : k + 2], 16) for k in (1, 3, 5))
    assert min(red, green) > 200 > blue


@pytest.mark.parametrize("u", [0, 1, 30, 10_000, 4 * 10**6])
def test_the_own_point_is_drawn_whatever_u(u: int) -> None:
    parameters = Parameters(Variant.GAP, Fraction(1, 4), 10**8)
    shown = family_scene._values_of_u(parameters, u)
    assert shown[0] == 0
    assert shown[-1] == 2 * u + 4
    assert shown == sorted(set(shown))
    assert len(shown) <= 63
    assert (
        family_scene.draw_theorem_o(parameters, u, weighted=True).count("#c2410c") >= 1
    )
    # The bend of a small penalty is among them.
    low = Parameters(Variant.PAPER, Fraction(1, 10**4), 10**8)
    if u > 30_000:
        assert {30_000, 30_001} <= set(family_scene._values_of_u(low, u))


def test_weights_and_hard_clauses_are_named_on_the_page(tmp_path):
    file, out = tmp_path / "x.wcnf", tmp_path / "x.html"
    file.write_text("p wcnf 2 3 9\n9 1 0\n9 -1 0\n3 2 0\n")
    olivine("report", file, "-o", out, status=0)
    page = look(out)
    assert page.text.count("hard (weight 4)") == 2
    assert "a hard clause is broken" in page.text
    out, weighted = tmp_path / "page.html", tmp_path / "w.wcnf"
    done = olivine("report", FULL2, "-o", out)
    assert "Every assignment leaves at least one clause unsatisfied." in done.out
    assert "u, least number of unsatisfied clauses" in out.read_text()
    weighted.write_text("5 1 0\n3 -1 0\n")
    done = olivine("report", weighted, "-o", out)
    assert "leaves at least clauses of weight 3 unsatisfied." in done.out
    assert "u, least weight of unsatisfied clauses" in out.read_text()


def test_pages_bundle_what_is_large_and_explain_their_terms(reported):
    done, out = reported(UF20)
    assert done.status == 0
    page = look(out)
    assert "Satisfiable" in page.text
    assert "$C_{1}$…$C_{11}$: 11 of 11 satisfied" in page.text
    assert out.read_text(encoding="utf-8").count("<svg") == 2
    _, out = reported(FULL2, "paper")
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


def test_names_are_escaped_and_control_characters_spelled(tmp_path):
    file = tmp_path / "<script>&\udcff.cnf"
    file.write_bytes(FULL2.read_bytes())
    out = tmp_path / "page.html"
    olivine("report", file, "-o", out, status=0)
    page = look(out)
    assert "<script>&" in page.text
    formula, page = tmp_path / "a\x1b[31m\x07b.cnf", tmp_path / "r.html"
    formula.write_text("p cnf 1 1\n1 0\n")
    olivine("report", formula, "-o", page, status=0)
    text = page.read_text("utf-8")
    assert r"a\x1b[31m\x07b.cnf" in text
    assert all(c.isprintable() or c in "\n\xa0" for c in text)
    assert escape('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert "<td>&lt;b&gt;</td>" in table([["<b>"]])


@pytest.mark.children
def test_undecided_pages_say_so(tmp_path) -> None:
    out = tmp_path / "page.html"
    file = CASES / "satlib" / "uuf100-01.cnf"
    olivine("report", file, "-o", out, "--time-limit", "0.001", status=3)
    page = look(out)
    assert "Undecided" in page.text
    assert "literal states" in page.text  # the drawing
    assert "This formula's u is not known." in page.text
    assert "satisfiable was not decided within the limits" in page.text


def test_bad_input_writes_nothing(tmp_path) -> None:
    out = tmp_path / "page.html"
    olivine("report", CASES / "odd" / "garbage.cnf", "-o", out, status=2)
    done = olivine("report", FULL2, "-o", tmp_path / "no" / "page.html", status=2)
    assert "No such file" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of files")
@pytest.mark.parametrize("size", [10_000, 0])
def test_a_full_disk_leaves_nothing(tmp_path, size: int) -> None:
    out = tmp_path / "page.html"
    with small_files(size):
        done = olivine("report", FULL2, "-o", out)
    assert done.status == 2
    assert done.err == f"olivine: {out}: File too large\n"
    assert re.search("(Unsat|Undec).*: the optimum", done.out)  # engines write too
    assert list(tmp_path.iterdir()) == []


def test_an_unproved_optimum_is_a_bound_on_the_page(monkeypatch) -> None:
    monkeypatch.setattr("olivine.reduction.verify.routes.FLIPS", 1000)
    formula = read_dimacs(FULL2).formula
    answer = verify(formula, routes="witness")
    assert verdict(answer, weighted=False) == (
        "Undecided: the optimum was not proved within the limits; it is at least 11/12."
    )


FRAME = '<iframe src="{}" style="width:{}px;height:900px"></iframe>\n'
PROBE = """<script>onload = () => {
  const look = frame => {
    const page = frame.contentDocument.documentElement;
    const pictures = page.getElementsByTagName("svg");
    const seen = [...pictures].every(p => p.getBoundingClientRect().height > 50);
    const inside = e => e.getBoundingClientRect().right <= page.clientWidth;
    const cells = page.querySelectorAll(".scroll td, .plot svg");
    const letters = page.querySelector(".wide svg text");
    const clear = [...cells].every(inside) &&
      (!letters || letters.getBoundingClientRect().height > 10);
    return [page.scrollWidth <= page.clientWidth, pictures.length, seen, clear]
      .join(" ");
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches;
  const frames = [...document.getElementsByTagName("iframe")];
  document.title = [...frames.map(look), scheme].join(", ");
}</script>"""


needs_chromium = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="needs chromium"
)


def seen_in_chromium(folder, dark: bool, **frames: int) -> tuple[list[str], list[str]]:
    """What the probe says of pages of a folder and of the scheme; the console's lines.

    Pages are named without their suffix, each with its width.
    """
    # A frame is as narrow as a phone; headless windows are not.
    shown = "".join(FRAME.format(f"{name}.html", w) for name, w in frames.items())
    (folder / "probe.html").write_text(shown + PROBE)
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
    log = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return title[1].split(", "), log


@needs_chromium
@pytest.mark.parametrize("dark", spread([True, False], 2))
def test_a_browser_shows_pages_without_overflow(reported, tmp_path, dark) -> None:
    """And the probe sees overflow and errors, where there are some."""
    shutil.copy(reported(FULL2, "paper")[1], tmp_path / "small.html")
    shutil.copy(reported(UF20)[1], tmp_path / "larger.html")
    wide = (
        '<!doctype html><div class="scroll"><table><td style="min-width:900px">x'
        "</table></div><script>lost()</script>"
    )
    (tmp_path / "wide.html").write_text(wide)
    said, log = seen_in_chromium(tmp_path, dark, small=400, larger=1280, wide=400)
    good, bad = "true 2 true true", "false 0 true false"
    assert said == [good, good, bad, str(dark).lower()]
    assert log
    assert all("wide.html" in line for line in log)


def played(page, folder, assignments) -> list[list[str]]:
    """Value, unsatisfied weight and clauses that a page's own script finds."""
    script = (
        "<script>document.title = JSON.stringify("
        f"{json.dumps(assignments)}.map(bits => {{ olivinePlay.set(bits); "
        "const {value, left, missed} = olivinePlay.found(); "
        "const shown = document.querySelector('.play-found').textContent; "
        "return [value, `${left}`, missed.join(), shown]; }))</script>"
    )
    copy = folder / "played.html"
    copy.write_text(page.read_text("utf-8").replace("</body>", f"{script}</body>"))
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={folder / 'player'}", "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    title = re.search("<title>(.*)</title>", done.stdout)
    return json.loads(html.unescape(title[1]))


PLAYED = spread(
    [("paper", False), ("strict", True), ("gap", True), ("normalized", False)], 2
)


@needs_chromium
@pytest.mark.parametrize(("variant", "weighted"), PLAYED)
def test_a_flip_on_the_page_gives_the_value_of_the_pair(tmp_path, variant, weighted):
    """Against `forward` on 200 assignments: value, weight left, clauses left."""
    rng = np.random.default_rng(0)
    plain = random_ksat(6, 14, 3, rng)
    weights = rng.integers(1, 10**9, size=14) if weighted else None
    formula = Formula(6, plain.literals, plain.offsets, weights)
    path, page = tmp_path / "f.cnf", tmp_path / "r.html"
    write_dimacs(formula, path)
    olivine("report", path, "-o", page, "--variant", variant, status=0)
    assignments = rng.integers(0, 2, size=(200, 6)).astype(bool)
    family = Family(formula, variant)
    found = played(page, tmp_path, assignments.tolist())
    for values, (value, left, missed, shown) in zip(assignments, found, strict=True):
        assert value == str(forward(family, values).value(family.start))
        assert int(left) == formula.unsatisfied_weight(values)
        unsatisfied = np.flatnonzero(~formula.satisfied(values))
        assert missed == ",".join(map(str, unsatisfied))
        assert f"is worth {value}; the optimum is " in shown


PAGES = ["cadical/full3.cnf", "satlib/uf20-01.cnf", "satlib/uuf100-01.cnf"]


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize("dark", [True, False])
@pytest.mark.parametrize("file", PAGES)
def test_a_browser_shows_each_page_at_each_width(reported, tmp_path, file, dark):
    for name in ("narrow", "broad"):
        shutil.copy(reported(CASES / file)[1], tmp_path / f"{name}.html")
    said, log = seen_in_chromium(tmp_path, dark, narrow=400, broad=1280)
    assert said == ["true 2 true true", "true 2 true true", str(dark).lower()]
    assert log == []


@with_rows("text", "0 0", "3 1\n1 2 3 0", "1 1\n1 -1 0", "1 1\n0", "2 1\n1 0")
def test_a_formula_of_weight_at_most_1_has_a_report(tmp_path, text) -> None:
    """By Theorem O its optimum can take one value only: the figure is one point."""
    formula, page = tmp_path / "f.cnf", tmp_path / "r.html"
    formula.write_text(f"p cnf {text}\n")
    olivine("report", formula, "-o", page, status=0)
    assert "svg" in look(page).tags
