"""Standard streams that take every text: none closed, odd letters spelled in ASCII."""

import codecs
import io
import os
import sys
import unicodedata

SPELLED = "olivine.spelled"  # error handler of codecs that spells

_SPELLED = """
ε eps, ϵ eps, ∈ in, ⊆ subset of, ∪ union, ∖ \\, ∅ {}, ∞ inf, √ sqrt, ∑ sum, ∏ prod,
∫ int, ∇ grad, ∘ o, → ->, ← <-, ↔ <->, ↦ |->, ⇒ =>, ⇔ <=>, ≤ <=, ≥ >=, ≠ !=, ≈ ~,
∼ ~, ∝ ~, ≡ ==, − -, – -, — -, ± +-, × x, · *, ⋆ *, • *, ∧ and, ∨ or, ⌈ ceil(, ⌉ ),
⌊ floor(, ⌋ ), ⟨ <, ⟩ >, ‖ ||, ′ ', ‘ ', ’ ', “ ", ” ", … ..., Ê Ehat
"""
_WORDS = dict(pair.split(" ", 1) for pair in " ".join(_SPELLED.split()).split(", ")) | {
    "¬": "not ",
    "∎": "",
    "\u0302": "hat",
    "\u0303": "tilde",
    "\u0304": "bar",
}


def spell(text: str) -> str:
    """Spell a text in ASCII.

    >>> spell("V^π ≥ V* − ε, 2ᵐ, 10⁻¹², ĝ(s₁)")
    'V^pi >= V* - eps, 2^m, 10^-12, ghat(s1)'
    """
    words, raised = [], False
    for character in text:
        before = raised
        raised = unicodedata.decomposition(character).startswith("<super>")
        words.append("^" * (raised and not before) + _spell_character(character))
    return "".join(words)


def _spell_character(character: str) -> str:
    if character.isascii():
        return character
    if character in _WORDS:
        return _WORDS[character]
    kind, _, rest = unicodedata.name(character, "").partition(" LETTER ")
    if kind in ("GREEK SMALL", "GREEK CAPITAL"):
        # LAMDA is the name in Unicode of what all others spell lambda.
        word = rest.split()[-1].lower().replace("lamda", "lambda")
        return word.capitalize() if kind == "GREEK CAPITAL" else word
    parts = unicodedata.normalize("NFKD", character)
    if parts != character:
        if character < "\u0100":  # a letter of a name, its accent no mathematics
            parts = "".join(c for c in parts if not unicodedata.combining(c))
        return "".join(map(_spell_character, parts))
    if unicodedata.combining(character):
        return ""
    return character.encode("unicode_escape").decode("ascii")


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return spell(error.object[error.start : error.end]), error.end


codecs.register_error(SPELLED, _replace)


def prepare_streams() -> None:
    """Make both streams take any text; a closed one, its descriptor too, is null."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null == descriptor:
                os.set_inheritable(null, True)
            else:
                os.dup2(null, descriptor)
                os.close(null)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Kept open to the end of the process, as the one that is missing.
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stream)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLED)
