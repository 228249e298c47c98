"""The ledger: the paper's claims and our own, each with the check that decides it.

One file for each subject; the instances and runs that only claims need are in
`support`. This room may import everything, and only the command line imports it.
A subject registers its claims when it is imported (`olivine.claims.claim`).
Every check is deterministic: its seeds are in it.
"""

from __future__ import annotations

from importlib import import_module

from .claim import Claim, registered

# In the order of the ledger.
SUBJECTS = (
    "setting",
    "oracle_definitions",
    "oracles",
    "assumptions",
    "olive",
    "olive_learning",
    "valor",
    "valor_constants",
    "valor_remarks",
    "two_sample",
    "two_sample_constants",
    "global_policy",
    "global_policy_constants",
    "lsvee",
    "lsvee_constants",
    "baselines",
    "optimum",
    "formulations",
    "hardness",
    "complexity",
    "olive_run",
    "ties",
    "variations",
    "efficiency",
    "tolerance",
    "errata",
    "backup_barrier",
    "exploration_barriers",
)


def load() -> list[Claim]:
    """All entries in the ledger's order, whatever was imported before."""
    for subject in SUBJECTS:
        import_module(f"{__name__}.{subject}")
    return sorted(registered(), key=_place)


def _place(entry: Claim) -> int:
    """Place in `SUBJECTS` of the module that has the entry's check."""
    home = "" if entry.check is None else entry.check.__module__
    home = home.removeprefix(f"{__name__}.")
    return SUBJECTS.index(home) if home in SUBJECTS else len(SUBJECTS)
