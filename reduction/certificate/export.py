"""A certificate's bound as standard files: the refuted formula, DRAT and LRAT proofs.

The bound u >= k is the refutation of a formula F_k (docs/certificate.md), which any
proof checker can judge, verified ones among them. This project's checker is still
needed to say that F_k belongs to the formula, and for the pair (g, π).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...solvers.files import write_texts
from ...solvers.sat.lrat import lrat_lines
from . import checker

README = """\
bound.cnf is satisfiable if and only if some assignment leaves unsatisfied clauses of
total weight less than {bound} in the formula with this SHA-256 (of its content, see
docs/certificate.md):

    {digest}

It has {variables} variables and {clauses} clauses. bound.drat and bound.lrat refute it.
Check one of them, for example with

    drat-trim bound.cnf bound.drat
    lrat-check bound.cnf bound.lrat
    cake_lpr bound.cnf bound.lrat

Each says that the formula is verified to be unsatisfiable ("s VERIFIED" or
"s VERIFIED UNSAT"). Together with the certificate's pair (g, pi) and Theorem O that
fixes the optimum of OLIVE's program.
"""


def proof_files(
    formula: checker.Formula, at_least: int, proof: str
) -> Mapping[str, str]:
    """Name the files of a bound `at_least` = k >= 1 and give their texts."""
    bound = checker.bound_formula(checker.three_sat(formula), at_least)
    clauses = (f"{' '.join(map(str, [*clause, 0]))}\n" for clause in bound.clauses)
    text = README.format(
        bound=at_least,
        digest=formula.digest(),
        variables=bound.n,
        clauses=len(bound.clauses),
    )
    return {
        "README.txt": text,
        "bound.drat": proof,
        "bound.lrat": "".join(lrat_lines(bound.clauses, proof.splitlines())),
        "bound.cnf": f"p cnf {bound.n} {len(bound.clauses)}\n" + "".join(clauses),
    }


def export_proof(
    folder: str, formula: checker.Formula, at_least: int, proof: str
) -> bool:
    """Write the files of a bound to a folder, which is made; False without a bound."""
    if not at_least:
        return False
    files = proof_files(formula, at_least, proof)
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_texts({Path(folder, name): [text] for name, text in files.items()})
    return True
