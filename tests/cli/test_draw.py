import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.cli.figures.family_scene import scene
from olivine.cli.figures.family_subject import BUNDLES
from olivine.cli.figures.scene import Line, Scene, mathtext, tikz
from olivine.reduction.family.family import Family
from olivine.reduction.family.variants import Variant
from olivine.reduction.formula.formula import Formula

from tests.support.commands import CASES, ROOT, olivine, run_olivine
from tests.support.depth import with_rows
from tests.support.families import VARIANTS

FULL2 = CASES / "cadical" / "full2.cnf"
FULL3 = CASES / "cadical" / "full3.cnf"
UF20 = CASES / "satlib" / "uf20-01.cnf"
SMALL = Formula.from_clauses([[1, -2, 3], [-1, 2, 4], [-3, -4, 1], [2, 3, 4]])


def texts(drawn: Scene, kind: str) -> list[str]:
    return [node.text for node in drawn.nodes if node.kind == kind]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_state_is_drawn_once_and_no_box_covers_another(variant: Variant) -> None:
    family = Family(SMALL.three_sat(), variant)
    drawn = scene(family)
    boxes = [node for node in drawn.nodes if node.kind in ("start", "state")]
    names = sorted(node.text.split(":")[0] for node in boxes)
    assert names == sorted(family.layout.state_names())
    for k, a in enumerate(boxes):
        assert 0 < a.left[0] < a.right[0] < drawn.width
        assert 0 < a.y < drawn.height
        for b in boxes[:k]:
            apart = abs(a.y - b.y) > 0.3 or a.right[0] < b.left[0]
            assert apart or b.right[0] < a.left[0], (a, b)


def test_lines_are_the_transitions_of_the_clause_states() -> None:
    family = Family(SMALL.three_sat(), "paper")
    drawn = scene(family)
    at = {node.left: node.text for node in drawn.nodes if node.width}
    origin = {node.right: node.text for node in drawn.nodes if node.width}
    own, negated = (
        {
            (origin[line.start][:2], at[line.end])
            for line in drawn.lines
            if line.kind == kind
        }
        for kind in ("own", "negated")
    )
    expected = {
        (f"C{j + 1}", f"x{abs(lit)}^{int(lit > 0)}")
        for j, clause in enumerate(SMALL.clauses())
        for lit in clause
    }
    assert own == expected
    assert negated == {(c, f"{x[:-1]}{1 - int(x[-1])}") for c, x in expected}


def test_a_witness_is_highlighted() -> None:
    family = Family(Formula.from_clauses([[1], [-1]]).three_sat(), "paper")
    drawn = scene(family, np.array([True]))
    assert texts(drawn, "true") == ["x1^1"]
    assert texts(drawn, "good") == ["C1: x1 ∨ x1 ∨ x1 → 111"]
    assert texts(drawn, "bad") == ["C2: ¬x1 ∨ ¬x1 ∨ ¬x1 → 001 ✗"]
    legend = " ".join(drawn.caption)
    assert "leaves 1 of 2 unsatisfied" in legend
    assert "worth 5/6" in legend


@given(st.integers(1, 60), st.integers(1, 200), st.sampled_from(VARIANTS))
def test_bundles_hold_everything_once(n: int, m: int, variant: Variant) -> None:
    rng = np.random.default_rng(n * 1000 + m)
    clauses = rng.integers(1, n + 1, (m, 3)) * rng.choice([-1, 1], (m, 3))
    family = Family(Formula.from_clauses(clauses.tolist(), n).three_sat(), variant)
    drawn = scene(family, rng.random(n) < 0.5).captioned()
    assert drawn.bundled == (n > 10 or m > 16)
    boxes = [text for kind in ("good", "bad") for text in texts(drawn, kind)]
    if m > 16:
        assert len(boxes) == BUNDLES
        assert sum(int(text.split(" of ")[1].split()[0]) for text in boxes) == m
    for line in drawn.lines:
        for x, y in (line.start, line.end):
            assert 0 <= x <= drawn.width
            assert 0 <= y <= drawn.height


@with_rows(
    "suffix, begin, file",
    ("svg", b"<?xml", UF20),
    ("png", b"\x89PNG", FULL2),
    ("pdf", b"%PDF", FULL2),
    *(
        pytest.param(*kind, UF20, marks=pytest.mark.long)
        for kind in (("png", b"\x89PNG"), ("pdf", b"%PDF"))
    ),
)
def test_the_kind_is_the_suffix_and_the_bytes_repeat(
    tmp_path, suffix, begin, file
) -> None:
    out = [tmp_path / f"{k}.{suffix}" for k in (1, 2)]
    for path in out:
        asked = ["--witness"] if file == FULL2 else []  # it is unsatisfiable
        done = olivine("draw", file, "-o", path, "--json", *asked, status=0)
        assert done.record["bundled"] is (file == UF20)
        assert done.record["witness"] is True
    assert out[0].read_bytes().startswith(begin)
    assert out[0].read_bytes() == out[1].read_bytes()


def test_when_a_witness_is_shown(tmp_path) -> None:
    out = tmp_path / "x.svg"
    done = olivine("draw", FULL3, "-o", out)
    why = "unsatisfiable; --witness shows the best assignment"
    assert done.out.endswith(f"variable, without a witness: {why}\n")
    drawn = " ".join(ET.parse(out).getroot().itertext())
    assert "1 − $y_{1}$" in out.read_text("utf-8")  # in a comment beside its parts
    assert f"No witness is shown: {why}." in drawn
    olivine("draw", FULL3, "-o", out, "--witness", status=0)
    assert "leaves 1 of 8 unsatisfied" in "".join(ET.parse(out).getroot().itertext())
    done = olivine("draw", UF20, "-o", out, "--no-witness", "--json")
    assert (done.record["satisfiable"], done.record["witness"]) == (None, False)
    assert "No witness is shown: switched off, " in out.read_text()


@pytest.mark.children
def test_an_undecided_formula_is_drawn_all_the_same(tmp_path) -> None:
    out = tmp_path / "x.svg"
    hard = CASES / "satlib" / "uuf100-01.cnf"
    done = olivine("draw", hard, "-o", out, "--time-limit", "0.0001")
    assert done.status == 3
    assert "not decided within the limits" in done.err
    assert "No witness is shown: not decided within the limits." in out.read_text()


def test_other_names_are_refused_before_reading(tmp_path) -> None:
    done = olivine("draw", tmp_path / "missing.cnf", "-o", tmp_path / "x.gif")
    assert done.status == 2
    assert "ends in .svg, .png, .pdf or .tex" in done.err


@pytest.mark.parametrize("variant", VARIANTS)
def test_tikz_is_balanced_ascii(variant: Variant) -> None:
    family = Family(SMALL.three_sat(), variant)
    text = tikz(scene(family, np.ones(4, dtype=bool)).captioned())
    assert text.isascii()
    assert text.count("{") == text.count("}")
    assert all(line.count("$") % 2 == 0 for line in text.splitlines())
    drawn = re.findall(r"(?m)^\\(?:draw|node)\[.*\] .*;$", text)
    assert len(drawn) == len(re.findall(r"(?m)^\\(?:draw|node)", text)) > 40
    assert "$x_{1}^{0}$" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_takes_the_tikz(tmp_path) -> None:
    path = tmp_path / "x.tex"
    olivine("draw", FULL3, "-o", path, "--witness", status=0)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if b"tikz.sty' not found" in done.stdout:
        pytest.skip("needs TikZ")
    assert done.returncode == 0, done.stdout[-800:]
    assert b"(1 page" in done.stdout
    assert b"Overfull" not in done.stdout


def test_the_readme_shows_what_the_command_draws(tmp_path) -> None:
    out = tmp_path / "family.svg"
    olivine("draw", FULL3, "--witness", "-o", out, status=0)
    kept = ET.parse(ROOT / "docs" / "family.svg").getroot()
    assert list(kept.itertext()) == list(ET.parse(out).getroot().itertext())


ODD_SETTINGS = {
    "a backend that is not there": ({"MPLBACKEND": "module://nowhere"}, b""),
    "a date that is none": ({"SOURCE_DATE_EPOCH": "abc"}, b""),
    "a matplotlibrc": ({}, b"lines.linewidth: 9\nfont.size: 30\ntext.usetex: True\n"),
    "a matplotlibrc that is not UTF-8": ({}, b"font.family: \xff\xfe\n"),
}


@pytest.mark.parametrize("case", ODD_SETTINGS)
def test_a_figure_does_not_depend_on_settings_of_matplotlib(tmp_path, case) -> None:
    environment, settings_file = ODD_SETTINGS[case]
    (tmp_path / "matplotlibrc").write_bytes(settings_file)
    suffix = "pdf" if "SOURCE_DATE_EPOCH" in environment else "svg"
    here, there = tmp_path / f"here.{suffix}", tmp_path / f"there.{suffix}"
    olivine("draw", FULL2, "-o", here, status=0)
    environment |= {"MPLCONFIGDIR": str(tmp_path)}
    run_olivine("draw", FULL2, "-o", there, cwd=tmp_path, env=environment, status=0)
    assert there.read_bytes() == here.read_bytes()


def test_settings_of_a_program_that_imported_matplotlib_stay_its_own(tmp_path) -> None:
    import matplotlib

    plain = tmp_path / "plain.svg"
    olivine("draw", FULL2, "-o", plain)
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30}):
        olivine("draw", FULL2, "-o", tmp_path / "own.svg")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "own.svg").read_bytes() == plain.read_bytes()


@with_rows(
    "text, shown",
    ("x12^0", "$x_{12}^{0}$"),
    ("C3: ¬x1 ∨ x2", r"$C_{3}$: $\bar{x}_{1}$ ∨ $x_{2}$"),
    ("M_y of 2^13", "$M_y$ of $2^{13}$"),
    ("s0 leads by b1b2b3 to x_i", "$s_0$ leads by $b_1b_2b_3$ to x_i"),
    ("exact box 3", "exact box 3"),
)
def test_names_and_powers_are_mathematics(text, shown) -> None:
    assert mathtext(text) == shown


@pytest.mark.parametrize(("bottom", "raised"), [(2.0, 0.0), (0.1, 0.0), (-1.0, 1.1)])
def test_a_scene_is_raised_only_where_something_lies_below_its_edge(bottom, raised):
    drawn = Scene(4.0, 3.0, lines=[Line((0, bottom), (1, 3), "action")])
    found = drawn.fitted()
    assert found.height == pytest.approx(3 + raised)
    assert found.lines[0].start[1] == pytest.approx(bottom + raised)
