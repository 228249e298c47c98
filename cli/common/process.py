"""The process of a command: its signals, its standard streams and its memory.

SIGINT, SIGTERM and SIGHUP end the command as exceptions, so everything is undone. One
can be lost in a finaliser or the import of a C library: it is raised again every second
until `signal_status`. Standard streams take every text: none is closed, odd letters are
spelled in ASCII. Want of memory is told from errors of ours, also where libraries hide
it.
"""

import codecs
import errno
import io
import os
import re
import signal
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
]
_AGAIN = 1.0
_received: int | None = None
_answer: int | None = None


def leave_at_once() -> None:
    """End quietly on SIGINT; for the time before there is anything to undo."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))


def raise_signals() -> None:
    """Raise from now on, unless the caller wants a signal ignored."""
    global _received, _answer
    _received = _answer = None
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _receive)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _receive)


def signal_received() -> int | None:
    """Return the signal that is to end the command, if one came."""
    return _received


def ignore_signals(answer: int | None = None) -> None:
    """Raise nothing more; `answer`: the exit status, if a signal meant a time limit."""
    global _answer
    _answer = answer
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    for each in _ENDING:
        if signal.getsignal(each) is _receive:
            signal.signal(each, signal.SIG_IGN)


def signal_status() -> int | None:
    """Return the exit status if a signal came, and raise nothing more."""
    if _received is None:
        for each in _ENDING:
            if signal.getsignal(each) is _receive:
                signal.signal(each, signal.SIG_DFL)
        return None
    ignore_signals(_answer)
    return 128 + _received if _answer is None else _answer


def _receive(number: int, _frame: FrameType | None) -> None:
    global _received
    if _received is None:
        _received = number
        sys.unraisablehook = lambda _: None
        if hasattr(signal, "SIGALRM"):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
    elif hasattr(signal, "SIGALRM") and number != signal.SIGALRM:
        return  # some senders send it twice
    if _received == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + _received)


SPELLED = "olivine.spelled"  # error handler of codecs that spells

_SPELLED = """
ε eps, ϵ eps, ∈ in, ⊆ subset of, ∪ union, ∖ \\, ∅ {}, ∞ inf, √ sqrt, ∑ sum, ∏ prod,
∫ int, ∇ grad, ∘ o, → ->, ← <-, ↔ <->, ↦ |->, ⇒ =>, ⇔ <=>, ≤ <=, ≥ >=, ≠ !=, ≈ ~,
∼ ~, ∝ ~, ≡ ==, − -, – -, — -, ± +-, × x, · *, ⋆ *, • *, ∧ and, ∨ or, ⌈ ceil(, ⌉ ),
⌊ floor(, ⌋ ), ⟨ <, ⟩ >, ‖ ||, ′ ', ‘ ', ’ ', “ ", ” ", … ..., Ê Ehat
"""
_WORD = dict(pair.split(" ", 1) for pair in " ".join(_SPELLED.split()).split(", ")) | {
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
    if character in _WORD:
        return _WORD[character]
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


_WANT = ("Cannot allocate memory", "failed to map segment", "can't start new thread")
# What Python says where it had no memory for a MemoryError.
_LOST = ("error return without exception set", "without setting an exception")
_LOADING, _CPU_SECONDS = 60, 5
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12} | {
    f"{letter}I": 1 << 10 * k for k, letter in enumerate("KMGT", 1)
}
_chosen: list[int] = []  # limits that hold, the innermost last


def is_exhausted(error: BaseException) -> bool:
    """Whether an error is want of memory; then it lets go of its frames to say so."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    if not any(map(_says_so, chain)):
        return False
    for each in chain:
        each.__traceback__ = None
    return True


def _says_so(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno in (errno.ENOMEM, errno.EAGAIN):
        return True
    if isinstance(error, SystemError):
        return any(word in str(error) for word in _LOST)
    return isinstance(error, (ImportError, RuntimeError)) and any(
        word in str(error) for word in _WANT
    )


def parse_bytes(text: str) -> int:
    """Read an amount of memory, as in 2GB, 512MiB or 2000000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?I?)B?", text.strip().upper())
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"{text!r} is no amount of memory, as 2GB or 512MiB is")
    try:
        import resource
    except ImportError:
        raise ValueError("this platform cannot limit a process's memory") from None
    if not hasattr(resource, "RLIMIT_AS"):
        raise ValueError("this platform cannot limit a process's memory")
    amount = int(float(found[1]) * _UNITS[found[2]])
    if amount >= 1 << 62:
        raise ValueError(f"{text!r} is no limit for a machine's memory")
    return amount


@contextmanager
def limited_memory(limit: int | None) -> Iterator[None]:
    """Limit the address space of this process and of what it starts, in bytes."""
    if limit is None:
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    known = [end for end in (limit, before, hard) if end != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), hard))
    _chosen.append(limit)
    try:
        yield
    finally:
        _chosen.pop()
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


def want_of_memory() -> str:
    """Say that memory ran out, and by whose limit.

    >>> want_of_memory()
    'out of memory'
    """
    return reached(_chosen[-1] if _chosen else None)


def reached(limit: int | None) -> str:
    """Say that memory ran out under a limit of ``--memory``, or without one."""
    if limit is None:
        return "out of memory"
    unit = next(u for u in "TGMK " if limit >= _UNITS[u.strip()])
    amount = f"{limit / _UNITS[unit.strip()]:.4g} {unit.strip()}B"
    return f"the memory limit of {amount} was reached"


def why_too_small() -> str:
    """Say why a limit on address space is too small for the libraries, or "".

    OpenBLAS without its buffers waits for ever, sends SIGINT to its own process or ends
    it with status 1. So under a limit a child first loads and uses the libraries.
    """
    if sys.platform == "win32":
        return ""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    from ...solvers.child.child import run_in_child

    child = run_in_child(_load, time_limit=_LOADING, cpu_limit=_CPU_SECONDS)
    if child.status == "done":
        return ""
    if _chosen:
        return f"{want_of_memory()} while numpy and scipy were loaded"
    return (
        f"out of memory: under the limit of {limit // 1024} KiB of address space "
        "(ulimit -v) numpy and scipy do not load"
    )


def _load() -> None:
    import numpy as np
    import scipy.linalg
    import scipy.sparse

    scipy.linalg.lstsq(np.eye(64), np.ones(64) @ np.ones((64, 64)))
    scipy.sparse.eye(2)
