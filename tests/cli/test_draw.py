"""Pictures of families, and what is said below them."""

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
from olivine.cli.figures.scene import Line, Scene, draw_scene, mathtext, tikz
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
    done = olivine("draw", hard, "-o", out, "--time-limit", "0.0001", status=3)
    assert "not decided within the limits" in done.err
    assert "No witness is shown: not decided within the limits." in out.read_text()


def test_other_names_are_refused_before_reading(tmp_path) -> None:
    done = olivine("draw", tmp_path / "missing.cnf", "-o", tmp_path / "x.gif", status=2)
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


def drawn_of(clauses, n=None, *, variant="paper", penalty=None, values=None, hard=None):
    """Draw clauses, with an assignment of the variables as read where it is given."""
    weights = None if hard is None else [5 if h else 1 for h in hard]
    form = Formula.from_clauses(clauses, n, weights).three_sat()
    assignment = None if values is None else form.extend(values)
    kept = None if hard is None else np.array(hard)
    return scene(Family(form, variant, penalty), assignment, hard=kept)


def between(drawn: Scene, start: str, end: str) -> list[Line]:
    """Lines from a box to another, named by how their texts begin, in order."""
    from_, to = (
        next(n for n in drawn.nodes if n.width and n.text.startswith(text))
        for text in (start, end)
    )
    return [
        line
        for line in drawn.lines
        if np.allclose(line.start, from_.right, atol=0.05)
        and np.allclose(line.end, to.left, atol=0.05)
    ]


REPEAT = "fewer than three different literals and repeat"
ORIGINS = [
    ([[1, 2, 3], [2, 2, 1], [1, -1, 2]], 3, f"C2 has {REPEAT}s the last one."),
    ([[1], [1, 2], [1, 2, 3]], 3, f"C1, C2 have {REPEAT} the last one."),
    ([[1], [2], [3], [1, 2]], 3, f"4 clauses have {REPEAT} the last one."),
    (
        [[1, 2, 3], [], [1, 2, -3]],
        3,
        "clause 2 as read, empty, became C2, C3 with the new variable x4 (dashed).",
    ),
    (
        [[1, 2, 3, 4, 5], [1, 2, 3]],
        5,
        "clause 1 as read, of 5 literals, became C1…C3 with the new variables x6, x7"
        " (dashed).",
    ),
    ([[]] * 4, 0, "4 empty clauses became 8 with 4 new variables (dashed)."),
    (
        [[1, 2, 3, 3], []],
        3,
        "x4 (dashed); a literal that a long clause repeats is kept once.",
    ),
    ([], 3, "there is no clause; C1, which always holds, stands for that (dashed)."),
    ([], 0, "stands for that with the new variable x1 (dashed)."),
]


@pytest.mark.parametrize(("clauses", "n", "told"), ORIGINS)
def test_the_caption_tells_what_the_three_sat_form_made(clauses, n, told) -> None:
    (line,) = [s for s in drawn_of(clauses, n).caption if s.startswith("3-SAT form: ")]
    assert line.endswith(told)


@given(
    st.lists(st.lists(st.integers(1, 3), max_size=5), max_size=5),
    st.sampled_from(VARIANTS),
)
def test_made_states_are_marked_and_no_others(clauses, variant) -> None:
    form = Formula.from_clauses(clauses, 3).three_sat()
    drawn = scene(Family(form, variant))
    made = [node.text for node in drawn.nodes if node.made]
    fresh = range(4, form.n_variables + 1)
    empty = [j for j, s in enumerate(form.source) if not clauses or not clauses[s]]
    if not drawn.bundled:
        expected = {f"x{i}^{b}" for i in fresh for b in (0, 1)}
        expected |= {f"C{j + 1}" for j in empty}
        if variant.declaration.variable_states:
            expected |= {f"X{i}" for i in fresh}
        assert {text.split(":")[0] for text in made} == expected


def test_made_states_are_dashed_and_clauses_in_form_say_nothing():
    drawn = drawn_of([[], [1, 2, 3]], 3, values=[True] * 3)
    boxes = [p for p in draw_scene(drawn).axes[0].patches if p.get_linestyle() == "--"]
    assert len(boxes) == sum(node.made for node in drawn.nodes) == 4
    assert tikz(drawn).count(", dashed") == 4
    for clause in ([1, 2, 3], [1, -1, 2], [2, -1, -1], [2, 2, 2]):
        assert "3-SAT form" not in " ".join(drawn_of([clause], 3).caption)


def test_hard_clauses_are_named_and_so_is_a_broken_one() -> None:
    clauses, hard = [[1], [-1], [2, 3, 1], [-2]], [True, True, False, False]
    drawn = drawn_of(clauses, 3, values=[True, False, False], hard=hard)
    (bad,) = texts(drawn, "bad")
    assert bad == "C2: ¬x1 ∨ ¬x1 ∨ ¬x1, hard (weight 5) → 001 ✗"
    assert any(text.endswith("x1, weight 1 → 001") for text in texts(drawn, "good"))
    caption = " ".join(drawn.caption)
    assert "weight 5 (a hard clause is broken)" in caption
    assert "Hard: a clause that has to hold; its weight 5 is one more" in caption
    drawn = drawn_of([[1], [2]], values=[True, False], hard=[True, False])
    assert "weight 1 (no hard clause is broken)" in " ".join(drawn.caption)


def test_hard_clauses_are_counted_and_handed_on(tmp_path):
    clauses, hard = [[1, 2, 3]] * 17 + [[-1, -2, -3]], [True] * 4 + [False] * 14
    assert texts(drawn_of(clauses, hard=hard), "state")[-8].endswith(
        "2 clauses, 2 hard"
    )
    drawn = drawn_of(clauses, hard=hard, values=[False] * 3)
    assert texts(drawn, "bad")[0] == "C1, C2: 0 of 2 satisfied, 2 hard, 2 broken ✗"
    assert "(4 hard clauses are broken)" in " ".join(drawn.caption)
    file, out = tmp_path / "x.wcnf", tmp_path / "x.tex"
    file.write_text("p wcnf 2 3 9\n9 1 0\n9 -1 0\n3 2 0\n")
    olivine("draw", file, "-o", out, "--witness", status=0)
    text = out.read_text()
    assert text.count("hard (weight 4)") == 2
    assert "a hard clause is broken" in text


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_pi_does_is_orange_and_chance_is_labelled(variant: Variant) -> None:
    clauses = [[1, 2, 3], [-1, -2, -3]]
    drawn = drawn_of(clauses, variant=variant, values=[True, False, True])
    assert "1/2 to xi^0, 1/2 to xi^1" in " ".join(texts(drawn, "heading"))
    declared = variant.declaration
    worthless = ["bottom2"] * (declared.reach < 1)
    for state in ["C1", "C2", *worthless]:
        assert [line.kind for line in between(drawn, "[solve]", state)] == ["policy"]
    if worthless:
        assert "\n1/2 to bottom2" in " ".join(texts(drawn, "label"))
        (on,) = between(drawn, "bottom2", "bottom")
        assert on.kind == "chosen"
    quits = [line for line in drawn.lines if line.kind == "quit"]
    assert len(quits) == 2 * declared.quit
    assert ("by [quit]: 0" in texts(drawn, "heading")) == declared.quit


def test_the_clause_that_pi_tries_is_named() -> None:
    clauses = [[1, 2, 3]] + [[-1]] * 9
    drawn = drawn_of(clauses, penalty=1, values=[True] * 3)
    assert "at s0 it takes" not in " ".join(drawn.caption)
    drawn = drawn_of(clauses, values=[True] * 3)
    assert "at s0 it takes [try C1]" in " ".join(drawn.caption)
    (line,) = between(drawn, "[try Cj]", "C1")
    assert line.kind == "chosen"
    assert [line.kind for line in between(drawn, "[solve]", "C1")] == ["random"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_arrows_to_many_states_end_at_brackets(variant: Variant) -> None:
    drawn = drawn_of([[1, 2, 3]], variant=variant)
    tries = {n.right for n in drawn.nodes if n.text.startswith("[try")}
    ends = [line.end for line in drawn.lines if line.start in tries]
    brackets = [line for line in drawn.lines if line.kind == "bracket"]
    assert len(ends) == 2
    assert len(brackets) == 6  # three sides each
    for x, y in ends:
        assert any(
            a <= x <= c and min(b, d) <= y <= max(b, d)
            for (a, b), (c, d) in ((line.start, line.end) for line in brackets)
        )
    assert not {node.left for node in drawn.nodes} & set(ends)


@given(
    st.lists(
        st.lists(st.sampled_from([1, -1, 2, -2]), min_size=1, max_size=3), max_size=6
    )
)
def test_no_line_hides_another_and_chances_add_up(clauses) -> None:
    form = Formula.from_clauses(clauses, 2).three_sat()
    drawn = scene(Family(form, "paper"), form.extend([True, False]))
    ends = [(line.start, line.end) for line in drawn.lines if line.kind != "bracket"]
    assert len(set(ends)) == len(ends)
    clause_x = max(line.start[0] for line in drawn.lines if "policy" in line.kind)
    thirds: dict[int, int] = {}
    for line in drawn.lines:
        if line.kind.startswith("policy") and line.start[0] == clause_x:
            clause = round(line.start[1] / 0.34 - drawn.lines[0].start[1] / 0.34)
            count = {"": 1, "2/3": 2, "1": 3}[line.mark]
            thirds[clause] = thirds.get(clause, 0) + count
    assert list(thirds.values()) == [3] * form.n_clauses


def test_repeated_literals_have_their_chance_written() -> None:
    drawn = drawn_of([[4, 4, 4], [1, 2, 2], [1, -1, 3]], values=[True] * 4)
    marks = [node.text for node in drawn.texts() if node.kind == "mark"]
    assert sorted(marks) == ["1", "1", "2/3", "2/3"]
    assert "2/3 or 1 on a line" in " ".join(drawn.caption)
    # x1 by bit 1 and its negation by bit 0 lead to one state, side by side.
    solid, dotted = between(drawn, "C3", "x1^1")
    assert (solid.kind, dotted.kind) == ("policy", "policy-negated")
    assert solid.start[1] - dotted.start[1] == pytest.approx(0.06)
    assert "2/3 or 1" not in " ".join(drawn_of([[1, 2, 3]]).caption)


def test_bundles_show_bits_thickness_and_how_much_is_unsatisfied() -> None:
    rng = np.random.default_rng(1)
    clauses = rng.integers(1, 101, (160, 3)) * rng.choice([-1, 1], (160, 3))
    drawn = drawn_of(clauses.tolist(), 100, values=[True] * 100)
    bits = [t for t in texts(drawn, "note") if t.startswith("y = ")]
    assert sorted(map(len, bits)) == [16] * 4 + [17] * 4  # 12 or 13 bits each
    widths = [line.width for line in drawn.lines if line.kind == "own"]
    assert (min(widths), max(widths)) == pytest.approx((0.3, 2.3))
    for node in drawn.nodes:
        if node.kind == "bad":
            held, count = (int(word) for word in node.text.split() if word.isdigit())
            assert node.strength == pytest.approx(1 - 0.75 * held / count)
            assert node.text.endswith(" ✗")
    long = drawn_of([[1, 2, 3]], 200, values=[True] * 200)
    assert f"y = {'1' * 12}…" in texts(long, "note")
    caption = " ".join(long.caption)
    assert "the first 12 bits that y gives" in caption
    assert "A line to literal states stands for 3 literals." in caption


def test_variables_left_out_and_best_assignments_are_told(tmp_path):
    file, out = tmp_path / "x.cnf", tmp_path / "x.tex"
    file.write_text("p cnf 30000 1\n7 -20000 9 0\n")
    olivine("draw", file, "-o", out, status=0)
    assert "the other 3 are numbered 1 to 3" in " ".join(out.read_text().split())
    out = tmp_path / "x.tex"
    file = CASES / "odd" / "contradicting-units.cnf"
    olivine("draw", file, "-o", out, "--witness", status=0)
    assert "The formula is unsatisfiable; no assignment does better." in out.read_text()
