"""Registry of the paper's claims and of what checks them.

A claim is registered beside the code that checks it, by decorating the check:

>>> from olivine.cli.ledger.claim import Evidence, claim
>>> @claim("example", source="arithmetic", statement="1 + 1 = 2", method="exact")
... def _check() -> Evidence:
...     return Evidence(1 + 1 == 2, "one addition")

The verb ``olivine claims`` imports the modules that register claims and lists
or runs them. An entry without a check is shown as open, never hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Method = Literal[
    "exact",
    "exhaustive on small instances",
    "monitored in runs",
    "statistical with confidence",
    "by certificate",
]
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
    """

    id: str
    source: str
    statement: str
    method: Method
    check: Callable[[], Evidence] | None
    erratum: str = ""

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


def claim(
    id: str, *, source: str, statement: str, method: Method, erratum: str = ""
) -> Callable[[Callable[[], Evidence]], Callable[[], Evidence]]:
    """Register the decorated function as the check of a claim."""

    def decorate(check: Callable[[], Evidence]) -> Callable[[], Evidence]:
        register(Claim(id, source, statement, method, check, erratum))
        return check

    return decorate


def registered() -> tuple[Claim, ...]:
    """All entries in order of registration."""
    return tuple(_REGISTRY.values())
