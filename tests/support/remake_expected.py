"""Write what tests expect: optima of tests/cases, results of tests/recorded.

    python -m tests.support.remake_expected [WORDS]

What a formula is, and the least number u that it leaves unsatisfied, stays as the files
say: it was found by other means. The optimum of a variant follows by Theorem O. A row
of tests/recorded becomes what its test finds now: read the difference before it is
committed. WORDS choose tests, as `pytest -k` does; without, old rows are removed.
"""

import json
import os
import sys

import pytest
from olivine.reduction.family.variants import Parameters, Variant, default_penalty
from olivine.reduction.program.optimum import optimum

from tests.support.cases import CASES, FOLDERS
from tests.support.recorded import FOLDER, REMAKING

RECORDING = (
    "recorded",
    "claims/test_ledger.py::test_it_holds",
    "claims/test_ledger.py::test_an_answer_that_is_a_little_off_refutes_it",
    "cli/test_figures.py::test_a_figure_is_as_recorded",
)

COMMAND = "python -m tests.support.remake_expected"


def missing(folder: str) -> str:
    """What to say of a file whose optima are not those of the declared variants."""
    return f"{folder}/expected.jsonl: other optima than are due; remake it: {COMMAND}"


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


def record(words: str) -> int:
    """Have the tests that record write their rows; say how it went."""
    os.environ[REMAKING] = "1"
    for file in () if words else FOLDER.glob("*.jsonl"):
        file.unlink()
    tests = [str(FOLDER.parent / name) for name in RECORDING]
    status = pytest.main(["-q", "-n", "0", "-k", words, *tests])
    for file in FOLDER.glob("*.jsonl"):
        lines = file.read_text(encoding="utf-8").splitlines()
        rows = {json.loads(line)["key"]: line for line in lines}  # the last one counts
        text = "".join(f"{rows[key]}\n" for key in sorted(rows))
        file.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    for name in FOLDERS:
        path = CASES / name / "expected.jsonl"
        text = remade(name)  # read before it is written
        path.write_text(text, encoding="utf-8")
    sys.exit(record(" ".join(sys.argv[1:])))
