"""The error that names file and line of a formula that cannot be read."""

from __future__ import annotations


class DimacsError(ValueError):
    """An input is no formula in DIMACS form (or its compression is damaged).

    It is a type of its own because the command line and editors want file and
    line apart. An input that the system cannot open or read (missing, a
    folder, no permission) raises `OSError` instead.

    Attributes
    ----------
    source
        Name of the file, or what stands for it ("<stdin>").
    line
        Number of the line, from 1; None when no line can be named.
    reason
        What was found and what was expected, in one line.
    """

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        super().__init__(source, line, reason)  # all three, so that it pickles
        self.source = source
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        """``file:line: reason``."""
        return located(self.source, self.line, self.reason)


def located(source: str, line: int | None, text: str) -> str:
    """Put file and line in front of a message."""
    place = source if line is None else f"{source}:{line}"
    return f"{place}: {text}"


def shown(token: bytes, limit: int = 40) -> str:
    """Quote bytes found in a file, escaped to ASCII and cut to `limit`."""
    text = repr(token[:limit])[1:]
    return text if len(token) <= limit else f"{text}... ({len(token)} bytes)"
