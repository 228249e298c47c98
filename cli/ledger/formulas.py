"""Claims about formulas: Lemma 1."""

from __future__ import annotations

from olivine.cli.ledger.claim import EXHAUSTIVE, Refuted, claim
from olivine.cli.ledger.support.families import assignments, formulas


@claim("lemma-1", "docs/reduction.md, Lemma 1", EXHAUSTIVE)
def _lemma_1() -> str:
    """Bringing a formula to 3-SAT form keeps the least total weight of unsatisfied
    clauses. Every assignment extends to one that leaves the same weight unsatisfied,
    and no extension of it leaves less."""
    checked = extended = 0
    for formula in formulas(1, 300, max_variables=4, max_clauses=4, max_width=6):
        three_sat = formula.three_sat()
        if three_sat.n_variables > 14:
            continue
        n = formula.n_variables
        least_of: dict[bytes, int] = {}
        for assignment in assignments(three_sat.n_variables):
            weight = three_sat.unsatisfied_weight(assignment)
            key = assignment[:n].tobytes()
            least_of[key] = min(weight, least_of.get(key, weight))
        for assignment in assignments(n):
            before = formula.unsatisfied_weight(assignment)
            extension = three_sat.extend(assignment)
            after = three_sat.unsatisfied_weight(extension)
            least = least_of[assignment.tobytes()]
            if not before == after == least:
                raise Refuted(
                    f"{list(formula.clauses())} under {assignment.tolist()}: {before} "
                    f"before, {after} by extending, {least} at best"
                )
            extended += 1
        checked += 1
    return (
        f"{checked} formulas of up to 4 variables and 4 clauses of up to 6 literals, "
        f"a quarter of them weighted; {extended} assignments against all extensions"
    )
