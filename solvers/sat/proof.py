"""Check DRAT proofs of unsatisfiability with `dratify`, within what is sound.

A DRAT proof is a list of clauses to add and to delete that ends in the empty
clause. An added clause must be RUP (unit propagation refutes its negation) or
RAT (so is, for its first literal p, each resolvent on p). See Wetzler, Heule and
Hunt, *DRAT-trim*, SAT 2014.

`dratify` keeps what unit propagation once derived even after the clauses that it
was derived from are deleted. For RUP that is harmless: everything kept follows
from the formula. For RAT it is not, because the deleted clauses are no longer
among those that p is resolved with; dratify 0.1.10 so accepts

    formula (1) (-1 -2), proof: d -1 -2 0 / 2 0 / 0

though the formula is satisfiable (Rebola-Pardo and Biere, *Two flavors of DRAT*,
2018, discuss the same gap in other checkers). Hence two passes: RUP only with
deletions, as fast as it gets and enough for the engines of `olivine.solvers.sat.sat`;
and, should that fail, RUP and RAT with every deletion ignored. Each is sound. What is
lost are proofs with a RAT step that holds only because of a deletion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from dratify import CNF, check_proof

from .clauses import MAX_VARIABLES, ClauseArrays, check_clauses

_Step = tuple[str, tuple[int, ...]]
_LINE = re.compile(r"\s*(d\s+)?((?:-?[1-9][0-9]{0,9}\s+)*)0\s*", re.ASCII)
_COMMENT = re.compile(r"\s*(c(\s.*)?)?", re.ASCII | re.DOTALL)
_SHOWN = 60


@dataclass(frozen=True)
class ProofCheck:
    """Verdict on a proof."""

    valid: bool  # Whether the proof shows that the clauses are unsatisfiable
    reason: str  # What is wrong and in which line (from 1); "" when `valid`


def check_drat(clauses: ClauseArrays, proof_lines: Iterable[str]) -> ProofCheck:
    """Check a proof in DRAT's text format, one step a line.

    `proof_lines`: steps such as ``"1 -2 0"`` and ``"d 1 -2 0"``; blank lines and
    comments (``c``) are skipped. The last step, ``"0"``, may be missing where unit
    propagation gets there by itself, so an empty proof may be right. Lines after
    ``"0"`` must be well formed but are not needed.

    Notes
    -----
    The checker is Python: about 10,000 steps a second, less where clauses are
    long. `olivine.solvers.child.child.run_in_child` puts a time limit on it.
    """
    check_clauses(clauses, MAX_VARIABLES)
    formula, index = _formula(clauses)
    steps: list[_Step] = []
    lines: list[int] = []
    for number, line in enumerate(proof_lines, 1):
        if _COMMENT.fullmatch(line):
            continue
        step = _parse(line, index)
        if step is None:
            text = line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
            return ProofCheck(False, f"line {number}: {text!r} is no step")
        steps.append(step)
        lines.append(number)
    end = ("a", ())
    if end in steps:
        steps = steps[: steps.index(end)]
    steps.append(end)
    if check_proof(formula, steps, check_rat=False, engine="python").ok:
        return ProofCheck(True, "")
    result = check_proof(formula, steps, apply_deletions=False, engine="python")
    if result.ok:
        return ProofCheck(True, "")
    failed = result.failed_step - 1
    if failed == len(steps) - 1:
        where = f"line {lines[failed]}" if failed < len(lines) else "end of proof"
        return ProofCheck(False, f"{where}: the empty clause does not follow")
    return ProofCheck(False, f"line {lines[failed]}: clause is neither RUP nor RAT")


def _formula(clauses: ClauseArrays) -> tuple[CNF, dict[int, int]]:
    """Build dratify's formula on consecutive variables, and their index.

    The checker keeps lists for every variable up to the largest, so a single
    large one must not decide how much memory it takes.
    """
    literals = clauses.literals
    variables, positions = np.unique(np.abs(literals), return_inverse=True)
    index = {v: i for i, v in enumerate(variables.tolist())}
    codes = (2 * positions + (literals < 0)).tolist()
    bounds = clauses.offsets.tolist()
    formula = CNF(len(index))
    for j in range(len(bounds) - 1):
        formula.add(codes[bounds[j] : bounds[j + 1]])
    return formula, index


def _parse(line: str, index: dict[int, int]) -> _Step | None:
    """Parse a step into dratify's literals; None when malformed.

    Variables that only the proof has are added to `index`.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    literals = list(map(int, match[2].split()))
    if any(abs(literal) > MAX_VARIABLES for literal in literals):
        return None
    codes = (
        2 * index.setdefault(abs(literal), len(index)) + (literal < 0)
        for literal in literals
    )
    return ("d" if match[1] else "a"), tuple(codes)
