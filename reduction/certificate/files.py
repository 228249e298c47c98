"""The files of a certificate: its JSON; its bound as formula, DRAT and LRAT proofs.

The bound u >= k is the refutation of a formula F_k (docs/certificate.md), which any
proof checker can judge, verified ones among them. This project's checker is still
needed to say that F_k belongs to the formula, and for the pair (g, π).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...algorithms.mdp.bellman import Pair
from ...solvers.files import write_texts
from ...solvers.sat.lrat import lrat_lines
from ..family.family import Family
from ..family.instance import Instance
from ..formula.formula import Formula
from . import checker


def sections(instance: Instance, pair: Pair, at_least: int) -> dict[str, Any]:
    """Build every field of a certificate but its proof and its own digest."""
    family = instance.family
    g, pi = _pair(family, pair)
    true = [value == str(family.top) for value in g["x1"]]
    unsatisfied = family.three_sat.unsatisfied_weight(true)
    return {
        "format": checker.FORMAT,
        "formula": _identity(instance.formula),
        "three_sat": _identity(family.three_sat.as_formula()),
        "family": {"variant": str(family.variant), "penalty": str(family.penalty)},
        "claim": {
            "satisfiable": unsatisfied == 0,
            "at_least": at_least,
            "at_most": unsatisfied,
            "optimum": g["s0"],
        },
        "pi": pi,
        "g": g,
    }


def certificate_text(fields: dict[str, Any]) -> str:
    """Lay a certificate out, one field a line, with its own digest at the end."""
    sealed = fields | {"sha256": checker.seal(fields)}
    lines = [f"{json.dumps(key)}: {json.dumps(sealed[key])}" for key in sealed]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _identity(formula: Formula) -> dict[str, Any]:
    return {
        "variables": formula.n_variables,
        "clauses": formula.n_clauses,
        "sha256": formula.digest(),
    }


def _pair(family: Family, pair: Pair) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give values as strings and actions by name, a list for each kind of state."""
    layout, n, m = family.layout, family.n_variables, family.n_clauses
    numerators = pair.numerators.tolist()
    text = {v: str(pair.value(numerators.index(v))) for v in set(numerators)}
    values = [text[v] for v in numerators]
    first = layout.first_literal_state
    g = {
        "s0": values[layout.start],
        "C": values[1 : 1 + m],
        "X": values[1 + m : first],
        "x0": values[first : first + 2 * n : 2],
        "x1": values[first + 1 : first + 2 * n : 2],
        "bottom": values[first + 2 * n :],
    }
    of_clause = range(layout.first_clause_action, layout.first_clause_action + 8)
    names = [layout.action_name(a) for a in of_clause[: layout.clause_actions]]
    pi = {
        "s0": layout.action_name(int(pair.policy[layout.start])),
        "C": [names[k] for k in pair.policy[1 : 1 + m].tolist()],
    }
    return g, pi


_NAMES = ("README.txt", "bound.drat", "bound.lrat", "bound.cnf")
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
    lrat = "".join(lrat_lines(bound.clauses, proof.splitlines()))
    cnf = f"p cnf {bound.n} {len(bound.clauses)}\n" + "".join(clauses)
    return dict(zip(_NAMES, (text, proof, lrat, cnf), strict=True))


def proof_places(folder: str | Path) -> list[Path]:
    """Where `export_proof` writes, the README first: it tells whose the others are."""
    return [Path(folder, name) for name in _NAMES]


def earlier_export(folder: str | Path) -> list[Path]:
    """Files of an earlier export; ValueError for others of these names."""
    readme, *_ = places = proof_places(folder)
    found = [place for place in places if os.path.lexists(place)]
    start = README.partition("{")[0].encode()
    is_ours = readme.is_file() and readme.read_bytes().startswith(start)
    if found and not is_ours:
        raise ValueError(
            f"{found[0]}: no file of an earlier export, and an export would replace "
            "it; take another folder"
        )
    return found


def remove_export(folder: str | Path) -> None:
    """Remove an earlier export: it is not of the certificate that is written next."""
    for place in reversed(earlier_export(folder)):
        place.unlink()


def export_proof(
    folder: str, formula: checker.Formula, at_least: int, proof: str
) -> bool:
    """Write the files of a bound to a folder, which is made, and nothing else.

    Without a bound an earlier export is removed; False then.
    """
    if not at_least:
        remove_export(folder)
        return False
    earlier_export(folder)
    files = proof_files(formula, at_least, proof)
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_texts({Path(folder, name): [text] for name, text in files.items()})
    return True
