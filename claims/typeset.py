"""Formulas in plain text, like V^π(s0) ≥ V* − √(M/n_test), as LaTeX for the pages.

A formula is a run of words and signs of mathematics, in which something has an index,
a power, a root, a hat or a star. All else stays text, escaped for Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_POWERS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
_INDICES = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_NAMES = """
α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa
λ lambda μ mu ξ xi π pi ρ rho σ sigma τ tau φ varphi ω omega Δ Delta Π Pi Σ sum
Ω Omega ℓ ell ⊥ bot ∞ infty ∅ emptyset ≤ le ≥ ge ≠ ne ≈ approx ~ sim ∈ in ∉ notin
⊆ subseteq ⊂ subset ∪ cup ∩ cap ∖ smallsetminus · cdot × times ± pm ∘ circ → to ¬ neg
∧ wedge ∨ vee ∏ prod … dots ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor ⟨ langle ⟩ rangle
{ lbrace } rbrace ‖ Vert
"""
_SIGNS = dict(zip(*[iter(_NAMES.split())] * 2, strict=True)) | {"ℝ": "mathbb R"}
_FUNCTIONS = {
    **{name: rf"\{name}" for name in ("argmax", "argmin", "max", "min", "exp", "ln")},
    "log2": r"\log_2",
    "log": r"\log",
    **{name: rf"\mathrm{{{name}}}" for name in ("gap", "cost", "dev", "tol")},
}
_HATS = str.maketrans({"ĝ": "g\u0302", "Ê": "E\u0302", "ŷ": "y\u0302", "â": "a\u0302"})
_RELATIONS = set("-−+=<>≤≥≠≈/·×∈∉⊆⊂∪∩∖∘→∧∨~|")
_OPENING, _CLOSING = "([{⌈⌊⟨", ")]}⌉⌋⟩"
_END = ".,;:!?"

_FUNCTION = re.compile(rf"(?:{'|'.join(_FUNCTIONS)})(?![a-z])")
_LETTER = re.compile(r"([A-Za-zα-ωΔΣΩΠℓℝ⊥])\u0302?")
_SCRIPT = re.compile(r"[⁰¹²³⁴-⁹⁻]+|[₀-₉]+")
_ATOM = re.compile(
    rf"{_FUNCTION.pattern}|{_LETTER.pattern}|\d+(?:[.,]\d+)*|{_SCRIPT.pattern}"
    r"|[-−+=<>≤≥≠≈/·×∈∉⊆⊂∪∩∖∘→¬∧∨∞∏…∅±~|‖(){}\[\]⌈⌉⌊⌋⟨⟩,;:!%√*'′ᵀ_^]"
)
_STRONG = re.compile(rf"[_^√\u0302]|{_SCRIPT.pattern}|(?<![A-Za-z])[A-Za-zπ]\u0302?\*")
_SPACE = re.compile(r" +| *\n *")  # within a paragraph
_SPECIAL = re.compile(r"[*]|\](?=[(\[])")  # not "[", as "\[" begins a formula
_TWICE = re.compile(
    r"(?:^|[_^*²³])[_^⁰¹²³⁴-⁹⁻₀-₉]|[_^]$|_[^\W_]*_|\^\w*\^|\*\*"
)  # scripts
_NUMBER = re.compile(r"[\d.,·⁰¹²³⁴-⁹⁻]*")
_OPERATOR = re.compile(rf"(?:\b(?:{'|'.join(_FUNCTIONS)})|[Σ∏])(?:_\{{?\w+\}}?)?$")
_FACTOR = re.compile(r"\d*(?:\.\d+)?[HKMN]?|[dmnu]")


def typeset(text: str, *, escape: bool = True) -> str:
    """Write a text in Markdown, its formulas in LaTeX; code is between backquotes."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        pieces = _prose(parts[i].translate(_HATS)).split("$")
        if escape:
            pieces[::2] = [_escaped(piece) for piece in pieces[::2]]
        parts[i] = "$".join(pieces)
    return "".join(parts)


def _escaped(text: str) -> str:
    """Keep marks of Markdown as they are; MkDocs knows no backslash before "<"."""
    return _SPECIAL.sub(r"\\\g<0>", text).replace("<", "&lt;")


def _prose(text: str) -> str:
    pieces = re.split(r"(\s+|(?<=[\w\u0302])'s\b\s*)", text)
    words, spaces = pieces[::2], [*pieces[1::2], ""]
    found, first = "", 0
    while first < len(words):
        last, depth = first, _depth(words[first])
        while _SPACE.fullmatch(spaces[last]) and _goes_on(
            words[last], words[last + 1], depth
        ):
            last += 1
            depth += _depth(words[last])
        found += _formula(" ".join(words[first : last + 1])) + spaces[last]
        first = last + 1
    parts = found.split("$")
    for i in range(2, len(parts) - 1, 2):
        if parts[i] == " ":  # between factors of a product
            parts[i] = "\0"
    return "$".join(parts).replace("$\0$", " ")


def _depth(word: str) -> int:
    return sum((c in _OPENING) - (c in _CLOSING) for c in word)


def _goes_on(word: str, following: str, depth: int) -> bool:
    """Whether a formula goes on from one word to the next."""
    if not (_is_formula(word) and _is_formula(following)) or word[-1] in ".:":
        return False
    if word[-1] in ",;":
        return depth > 0
    open_end = word[-1] in _RELATIONS or _OPERATOR.search(word)
    joined = open_end or _FACTOR.fullmatch(word) or following[0] in _RELATIONS
    joined = joined or following in "HKMN"
    return bool(depth > 0 or joined)


def _is_formula(word: str) -> bool:
    """Whether a word is a formula, or a letter, number or sign that may be in one."""
    bare = re.sub(rf"{_FUNCTION.pattern}(?=[_^²(])", "x", word.rstrip(_END))
    if not bare or _TWICE.search(bare) or _ATOM.sub("", re.sub(r"_\w+", "_", bare)):
        return False
    letters = re.sub(rf"[_^]\{{?\w+|{_FUNCTION.pattern}", "", bare)
    names = re.findall("[A-Za-z]+", letters)
    return all(len(name) == 1 or (name.isupper() and len(name) < 4) for name in names)


def _formula(run: str) -> str:
    """Put what is a formula in a run of words between dollars."""
    if not _STRONG.search(run) or not all(map(_is_formula, run.split())):
        return run
    opening = re.match(r"[\s,;:]*(?:[-−+=<>≤≥·/|]\s+)*", run)
    assert opening is not None
    before, core, after = opening[0], run[opening.end() :], ""
    while core:
        wrong = [*_unmatched(core)]
        ends = core[-1] in _END or re.search(r"\s[-−+=<>≤≥·/|]?$", core)
        if ends or len(core) - 1 in wrong:
            core, after = core[:-1], core[-1] + after
        elif 0 in wrong:
            before, core = before + core[0], core[1:]
        elif not wrong:
            break
        elif " " in run:
            return "".join(map(_formula, re.split(r"(\s+)", run)))
        else:
            return run
    if not _STRONG.search(core) or _NUMBER.fullmatch(core):
        return run
    return f"{before}${latex(core)}${after}"


def _unmatched(text: str) -> Iterator[int]:
    """Yield where brackets have no other end."""
    open_ones = list[int]()
    for i, c in enumerate(text):
        if c in _OPENING:
            open_ones.append(i)
        elif c in _CLOSING:
            kind = _OPENING[_CLOSING.index(c)]
            if open_ones and text[open_ones[-1]] == kind:
                open_ones.pop()
            else:
                yield i
    yield from open_ones


def latex(text: str) -> str:
    """Translate a formula."""
    found, i, bars = "", 0, 0
    conditional = text.count("|") % 2  # E[r | x], not |x|
    while i < len(text):
        c, rest = text[i], text[i:]
        if c in "_^√":
            inner, i = _argument(text, i + 1, root=c == "√")
            found += rf"\sqrt{{{latex(inner)}}}" if c == "√" else _script(c, inner)
            continue
        if run := _SCRIPT.match(rest):
            digits = "".join((_POWERS | _INDICES)[d] for d in run[0])
            found += _script("_" if c in _INDICES else "^", digits)
        elif run := _FUNCTION.match(rest):
            found += _FUNCTIONS[run[0]] + " "
        elif run := re.match(r"([a-z])(\d)(?![\w.])", rest):  # s0
            found += f"{run[1]}_{run[2]}"
        elif (run := _LETTER.match(rest)) and len(run[0]) == 2:
            found += rf"\hat {latex(run[1])} "
        elif c == "|":
            bars += 1
            found += r"\mid " if conditional else (r"\rvert ", r"\lvert ")[bars % 2]
        elif c in "'′":
            index = re.search(r"_(\w)$", found)  # of x′, not the prime of what has it
            found = f"{found[:-1]}{{{index[1]}'}}" if index else f"{found}'"
        elif c in _SIGNS:  # \0: a space that stays
            found += rf"\{_SIGNS[c]} " + "\0" * (c in _RELATIONS)
        else:
            found += {"*": r"^\star ", "ᵀ": r"^\top ", "−": "-", "%": r"\%"}.get(c, c)
        i += run.end() if run else 1
    found = re.sub(r"(?<=[A-Za-z]) +(?=[^A-Za-z\s\\=<>+-])| +(?=[_^})\],'])", "", found)
    return re.sub(r"[\0 ]+", " ", found).replace(" )", ")").strip()


def _script(sign: str, text: str) -> str:
    if sign == "_" and re.fullmatch("[A-Za-z]{2,}", text):
        inner = r"\max" if text == "max" else rf"\text{{{text}}}"
    else:
        inner = latex(text)
    return f"{sign}{inner}" if len(inner) == 1 else f"{sign}{{{inner}}}"


def _argument(text: str, start: int, *, root: bool) -> tuple[str, int]:
    """What a script or a root is about, without its brackets, and where it ends."""
    first = text[start : start + 1]
    if first in ("(", "{"):
        depth = 0
        for end in range(start, len(text)):
            depth += (text[end] in "({") - (text[end] in ")}")
            if depth == 0:
                return text[start + 1 : end], end + 1
    if first in ("-", "−"):
        end = _argument(text, start + 1, root=root)[1]
    elif first == "|":
        end = text.index("|", start + 1) + 1
    else:
        kind = r"\d+(?:\.\d+)?|[^\W\d_]\u0302?" + ("(?:_[^\\W_]+)?" if root else "")
        name = "" if root else "[A-Za-z]{2,}|"
        found = re.match(name + kind, text[start:])
        end = start + (found.end() if found else 1)
    return text[start:end], end
