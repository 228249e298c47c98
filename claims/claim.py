"""Registry of the paper's claims and of what checks them.

A claim is registered beside the code that checks it, by decorating the check, whose
docstring is the statement:

>>> from olivine.claims.claim import EXACT, Refuted, claim
>>> @claim("example", "arithmetic", EXACT)
... def _check() -> str:
...     '''1 + 1 = 2.'''
...     if 1 + 1 != 2:
...         raise Refuted(f"1 + 1 is {1 + 1}")
...     return "one addition"

The verb ``olivine claims`` imports the modules that register claims and lists
or runs them. An entry without a check is shown as open, never hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal

Method = Literal[
    "exact",
    "exhaustive on small instances",
    "exact on drawn instances",
    "monitored in runs",
    "statistical with confidence",
    "by certificate",
]
EXACT: Method = "exact"
EXHAUSTIVE: Method = "exhaustive on small instances"
DRAWN: Method = "exact on drawn instances"
MONITORED: Method = "monitored in runs"
STATISTICAL: Method = "statistical with confidence"
CERTIFIED: Method = "by certificate"
Verdict = Literal["holds", "holds as corrected", "refuted", "open"]


@dataclass(frozen=True)
class Evidence:
    """What a check found.

    Attributes
    ----------
    holds
        Whether the statement, as registered, held in everything checked.
    text
        What was checked, with numbers; the counterexample when refuted.
    """

    holds: bool
    text: str

    def __and__(self, other: Evidence) -> Evidence:
        """Return the evidence that both hold."""
        return Evidence(self.holds and other.holds, f"{self.text}; {other.text}")


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger.

    Attributes
    ----------
    id
        Short stable identifier, kebab-case.
    source
        Where the claim stands: "paper, thm:olive_nphard_g", "docs/reduction.md,
        Theorem O".
    statement
        The claim in our words. Assumptions cited from elsewhere are named.
    method
        How it is checked.
    check
        Runs the check, or None while nobody has written one (then it is open).
    erratum
        The number of the erratum (docs/errata.md) with which the claim holds, if
        the printed claim does not hold as it stands; else "".
    subject
        Name of the file of `claims` that registers it.
    """

    id: str
    source: str
    statement: str
    method: Method
    check: Callable[[], Evidence] | None
    erratum: str = ""
    subject: str = ""

    def verdict(self, evidence: Evidence | None) -> Verdict:
        """Verdict that follows from the evidence of a run of `check`."""
        if evidence is None:
            return "open"
        if not evidence.holds:
            return "refuted"
        return "holds as corrected" if self.erratum else "holds"


_REGISTRY: dict[str, Claim] = {}


def register(entry: Claim) -> None:
    """Add an entry.

    Raises
    ------
    ValueError
        If the identifier is taken.
    """
    if entry.id in _REGISTRY:
        raise ValueError(f"claim {entry.id!r} is registered twice")
    _REGISTRY[entry.id] = entry


class Refuted(Exception):  # noqa: N818
    """What a check raises where the statement fails, with the counterexample."""


_Decorator = Callable[[Callable[[], Evidence | str]], Callable[[], Evidence]]


def claim(
    id: str, source: str, method: Method, erratum: str = "", *, statement: str = ""
) -> _Decorator:
    """Register the decorated function as the check of a claim.

    Parameters
    ----------
    id, source, method, erratum
        As in `Claim`.
    statement
        Of a claim whose statement is put together; else it is the check's docstring.

    Returns
    -------
    The decorator. The check gives its evidence, or only the text of it where the
    statement held, and may raise `Refuted`; what is registered always gives evidence.
    """

    def decorate(check: Callable[[], Evidence | str]) -> Callable[[], Evidence]:
        @wraps(check)
        def evidence() -> Evidence:
            try:
                found = check()
            except Refuted as refuted:
                return Evidence(False, str(refuted))
            return Evidence(True, found) if isinstance(found, str) else found

        # Without docstrings (python -OO) the list has no statements.
        said = statement or " ".join((check.__doc__ or "").split())
        home = check.__module__.rpartition(".")[2]
        register(Claim(id, source, said, method, evidence, erratum, home))
        return evidence

    return decorate


def claims_of(source: str) -> Callable[..., _Decorator]:
    """Give `claim` for what stands in one source: its place there is enough."""

    def below(
        id: str, place: str, method: Method, erratum: str = "", *, statement: str = ""
    ) -> _Decorator:
        whole = f"{source}{' ' if place.startswith('(') else ', '}{place}"
        return claim(id, whole, method, erratum, statement=statement)

    return below


def registered() -> tuple[Claim, ...]:
    """All entries in order of registration."""
    return tuple(_REGISTRY.values())
