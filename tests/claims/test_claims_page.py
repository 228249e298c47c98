"""docs/claims.md and the pages beside it are what the ledger says, entry by entry.

Formulas of its texts are typeset on them, and nothing else is.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.claims import load
from olivine.claims.page import NOTATION, claims_pages, latex, typeset

from tests.support.commands import ROOT, olivine
from tests.support.depth import with_rows

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


@with_rows(
    "text, expected",
    ("V^π(s0) ≥ 2 − √(M/n_a)", r"$V^{\pi}(s_0) \ge 2 - \sqrt{M/n_a}$"),
    ("n_test draws, g_bad.", r"$n_{\text{test}}$ draws, $g_{\text{bad}}$."),
    ("[try C_j] is worth (g*, V*)", r"[try $C_j$] is worth $(g^\star, V^\star)$"),
    ("at most |V_a − V^π̂| of G", r"at most $\lvert V_a - V^{\hat \pi}\rvert$ of G"),
    ("E_D[r + g(x′) | x_1]", r"$E_D[r + g(x') \mid x_1]$"),
    ("r + c_x′ ≤ c_x, say", r"$r + c_{x'} \le c_x$, say"),
    ("ε²/(2⁸3⁴M²H⁴) and x₂", r"$\varepsilon^2/(2^83^4M^2H^4)$ and $x_2$"),
    ("{0,1}^n, K^-(h-1)", r"$\lbrace 0,1\rbrace^n$, $K^{-(h-1)}$"),
    ("Q* = max_a E[r + g'(x')]", r"$Q^\star = \max_a E[r + g'(x')]$"),
    ("ĝ_h of 3√M, π_{h+1:H}", r"$\hat g_h$ of $3\sqrt{M}$, $\pi_{h+1:H}$"),
    ("5 H T_max K of them", r"$5H T_{\max}K$ of them"),
    ("π̂'s values, V_a's", r"$\hat \pi$'s values, $V_a$'s"),
)
def test_formulas_are_typeset(text, expected):
    assert typeset(text).replace(" ", "") == expected.replace(" ", "")


@with_rows(
    "text",
    "`V*` and `n_test` are code",
    "thm:olive_nphard_f_simple",
    "3/20 − u/(60m)",
    "4·10⁵ trajectories at ε = 0.3, H = 3",
    "a (single) word; another, too",
    "",
)
def test_the_rest_is_text(text):
    assert typeset(text) == text


WORDS = st.sampled_from(
    [
        *("V*", "g*(x)", "V^π", "n_test", "E_D[r", "x]", "≤", "+", "−", "(x_1", "H)"),
        *("of", "a", "|V_a|", "√K", "√(1 + h)", "π̂_h", "2^(h−1)", "{0,1}^n", "max_a"),
        *("Σ_h", "³", "_", "^", "x_1_2", "V*^π", "a_", "V_a's"),
    ]
)


@given(st.lists(WORDS).map(" ".join))
def test_dollars_come_in_pairs_and_text_stays(text):
    found = typeset(text)
    parts = re.split(r"\$([^$]+)\$", found)
    assert "$" not in "".join(parts)
    kept, left = re.sub(r"\\([*<\]])", r"\1", "".join(parts[::2])), iter(text)
    assert all(letter in left for letter in kept)  # in its order
    converter = pytest.importorskip("latex2mathml.converter")
    assert all(converter.convert(formula) for formula in parts[1::2])


def test_each_formula_of_the_ledger_can_be_rendered():
    converter = pytest.importorskip("latex2mathml.converter")
    seen = 0
    for entry in load():
        for formula in re.findall(r"\$([^$]+)\$", typeset(entry.statement)):
            assert converter.convert(formula)
            assert not re.search(r"[√²π*\u0302]", formula), formula
            seen += 1
    assert seen > 100
    assert latex("2^(h−1)") == "2^{h-1}"
