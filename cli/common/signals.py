"""SIGINT, SIGTERM and SIGHUP end the command as exceptions: everything is undone.

One can be lost in a finaliser or the import of a C library: it is raised again every
second until `ended`.
"""

import os
import signal
import sys
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


def install() -> None:
    """Raise from now on, unless the caller wants a signal ignored."""
    global _received, _answer
    _received = _answer = None
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _receive)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _receive)


def received() -> int | None:
    """Return the signal that is to end the command, if one came."""
    return _received


def stop(answer: int | None = None) -> None:
    """Raise nothing more; `answer`: the exit status, if a signal meant a time limit."""
    global _answer
    _answer = answer
    if hasattr(signal, "SIGALRM"):
        signal.setitimer(signal.ITIMER_REAL, 0)
    for each in _ENDING:
        if signal.getsignal(each) is _receive:
            signal.signal(each, signal.SIG_IGN)


def ended() -> int | None:
    """Return the exit status if a signal came, and raise nothing more."""
    if _received is None:
        for each in _ENDING:
            if signal.getsignal(each) is _receive:
                signal.signal(each, signal.SIG_DFL)
        return None
    stop(_answer)
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
