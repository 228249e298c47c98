"""The JSON of a certificate: its fields and their layout (docs/certificate.md)."""

from __future__ import annotations

import json
from typing import Any

from ...algorithms.mdp.bellman import Pair
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
