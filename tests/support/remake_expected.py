"""Write the optimum of each variant into tests/cases/*/expected.jsonl.

    python -m tests.support.remake_expected

What a formula is, and the least number u that it leaves unsatisfied, stays as the files
say: it was found by other means. The optimum of a variant follows by Theorem O.
"""

import json

from olivine.reduction.family.variants import Parameters, Variant, default_penalty
from olivine.reduction.program.optimum import optimum

from tests.support.cases import CASES, FOLDERS


def optima(row: dict) -> dict[str, str]:
    """Optimum of OLIVE's program by variant, with default penalties."""
    m = row["three_sat"]["clauses"]
    return {
        variant.value: str(
            optimum(
                Parameters(variant, default_penalty(variant, m), m), row["unsatisfied"]
            )
        )
        for variant in Variant
    }


def remade(folder: str) -> str:
    """What a folder's file should be."""
    text = (CASES / folder / "expected.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    kept = [row | {"optimum": optima(row)} if "optimum" in row else row for row in rows]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)


if __name__ == "__main__":
    for name in FOLDERS:
        path = CASES / name / "expected.jsonl"
        text = remade(name)  # read before it is written
        path.write_text(text, encoding="utf-8")
