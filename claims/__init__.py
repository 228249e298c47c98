"""The ledger: the paper's claims and our own, each with the check that decides it.

A file that registers claims is a subject (`olivine.claims.claim`); the others hold
what claims share. Every check is deterministic: its seeds are in it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from .claim import Claim, registered


def load() -> list[Claim]:
    """All entries: subjects by the name of their file, entries as they stand in it."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return sorted(registered(), key=lambda entry: entry.subject)
