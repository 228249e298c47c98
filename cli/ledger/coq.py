"""Which entries of the ledger are proved in Coq, by which theorems (`proofs/`).

The digest is that of the entry's statement as it stood when it was held against the
theorem: a changed statement fails a test until it is held against it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Proof:
    """What Coq proves of an entry.

    Attributes
    ----------
    theorems
        Names in ``proofs/Theorems.v``; docs/proofs.md says what each states.
    statement
        `digest` of the entry's statement.
    part
        Which part of the statement they are; "" for all of it.
    """

    theorems: tuple[str, ...]
    statement: str
    part: str = ""

    def __str__(self) -> str:
        return ", ".join(self.theorems) + (f" ({self.part})" if self.part else "")


def digest(statement: str) -> str:
    """Twelve hexadecimal digits of a statement's SHA-256."""
    return hashlib.sha256(statement.encode()).hexdigest()[:12]


PROOFS = {
    "lemma-1": Proof(("three_sat_back", "three_sat_forth", "lemma_1"), "9a299e89fa05"),
    "theorem-o": Proof(
        (
            "optimum_paper",
            "optimum_normalized",
            "optimum_gap",
            "optimum_all_levels",
            "optimum_strict",
        ),
        "d0907bc6f9f7",
    ),
    "theorem-o-paper": Proof(("optimum_paper",), "ac69d4e1a388"),
    "theorem-o-normalized": Proof(("optimum_normalized",), "c04036b0f391"),
    "theorem-o-gap": Proof(("optimum_gap",), "11b9bbc00589"),
    "theorem-o-all-levels": Proof(("optimum_all_levels",), "5ed85e44bcac"),
    "theorem-o-strict": Proof(("optimum_strict",), "e41c66db834f"),
    "olive-nphard-g-simple": Proof(
        ("paper_decides", "normalized_decides", "gap_decides", "all_levels_decides"),
        "14f6adffffa5",
        "the optimum is 1 exactly for satisfiable formulas",
    ),
    "olive-nphard-g": Proof(
        ("run_paper", "run_normalized", "run_gap", "theorem_T", "run_exists"),
        "3fc6b8f6dd45",
        "the runs",
    ),
    "olive-nphard-all-levels": Proof(("run_all_levels",), "d2ac65ca39fe", "the run"),
    "run-same-for-all-members": Proof(
        ("run_paper", "run_normalized", "run_gap", "run_all_levels"),
        "61b81f5ce024",
        "maximisers, levels and constraints",
    ),
    "theorem-t": Proof(
        ("theorem_T", "run_goes_on", "run_exists", "any_level_strays"), "be48cce1371a"
    ),
    "deterministic-multi-is-np-hard": Proof(
        ("multi_decides_three_sat", "multi_size"),
        "f846929e0dac",
        "feasible exactly if satisfiable",
    ),
}
"""By the entry's id."""
