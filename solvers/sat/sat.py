"""Decide satisfiability with the solvers that PySAT bundles, in a child process.

Literals are checked before an engine sees them (PySAT passes them on as C integers,
where 2^32 + 1 is variable 1 and -2^31 aborts the process), a model against every
clause, and for "unsatisfiable" a DRAT proof can be asked for, which
`reduction/certificate/checker.py` judges. A time limit kills the child; `interrupt`
does nothing or raises in half of the engines.
"""

from __future__ import annotations

import gc
import time

import numpy as np
from numpy.typing import NDArray
from pysat.solvers import Solver, SolverNames

from ..child.child import ChildResult, run_in_child
from ..outcome import SatOutcome, SatStatus
from .clauses import (
    ClauseArrays,
    Clauses,
    check_clauses,
    clause_lists,
    pack_model,
    satisfied,
    unpack_model,
)

__all__ = ["Clauses", "engines", "satisfied", "solve_sat"]

# PySAT's attribute for each engine tested here, and whether its proofs are
# right. MapleSAT's are off by one variable; the others without have none.
# CryptoMiniSat needs a package of its own and is left out.
_PROVES = {
    "cadical103": True,
    "cadical153": True,
    "cadical195": True,
    "cadical300": True,
    "ergo": True,
    "gluecard3": True,
    "gluecard4": True,
    "glucose3": True,
    "glucose4": True,
    "glucose42": True,
    "kissat404": False,
    "lingeling": True,
    "maplechrono": True,
    "maplecm": True,
    "maplesat": False,
    "mergesat3": False,
    "minicard": False,
    "minisat22": False,
    "minisatgh": False,
    "minisatep": False,
}

_Answer = tuple[bool | None, bytes]


def engines(*, proof: bool = False) -> list[str]:
    """List the engines that PySAT has here; `proof`: only those with proofs."""
    return [
        name
        for name, proves in _PROVES.items()
        if hasattr(SolverNames, name) and (proves or not proof)
    ]


def solve_sat(
    clauses: ClauseArrays,
    n_variables: int,
    *,
    engine: str = "cadical153",
    time_limit: float | None = None,
    memory_limit: int | None = None,
    proof: bool = False,
) -> SatOutcome:
    """Decide whether clauses have a satisfying assignment.

    `time_limit, memory_limit`: wall seconds, and bytes beyond what the caller holds;
    see `olivine.solvers.child.child.run_in_child`.
    """
    start = time.monotonic()
    check_clauses(clauses, n_variables)
    engine = _canonical(engine, proof)
    known = _decide_without_solver(clauses, n_variables)
    if known is None:
        child = run_in_child(
            _solve,
            engine,
            Clauses(clauses.literals, clauses.offsets),
            n_variables,
            proof,
            time_limit=time_limit,
            memory_limit=memory_limit,
        )
        answer, payload, reason = _unwrap(child, engine)
    else:
        answer, payload, reason = *known, ""
    model = lines = None
    if answer:
        model = _checked_model(clauses, n_variables, payload, engine)
        status = SatStatus.SATISFIABLE
    elif answer is None:
        status = SatStatus.UNKNOWN
    else:
        status = SatStatus.UNSATISFIABLE
        lines = tuple(payload.decode("ascii").splitlines()) if proof else None
    return SatOutcome(
        status, model, time.monotonic() - start, engine, proof=lines, reason=reason
    )


def _canonical(engine: str, proof: bool) -> str:
    for name in engines():
        if engine == name or engine.lower() in getattr(SolverNames, name):
            break
    else:
        raise ValueError(f"unknown SAT engine {engine!r}; there are {engines()}")
    if proof and not _PROVES[name]:
        raise ValueError(f"{name} gives no usable proof; {engines(proof=True)} do")
    return name


def _decide_without_solver(clauses: ClauseArrays, n_variables: int) -> _Answer | None:
    """Decide what engines stumble over: no clauses, or an empty one."""
    widths = np.diff(clauses.offsets)
    if not widths.size:
        return True, bytes((n_variables + 7) // 8)
    if not widths.all():
        return False, b"0"
    return None


def _solve(
    engine: str, clauses: ClauseArrays, n_variables: int, proof: bool
) -> _Answer:
    """Run an engine, in the child; a model comes back as packed bits."""
    # A hundred thousand lists would set off the collector again and again.
    gc.disable()
    options = {"with_proof": True} if proof else {}
    solver = Solver(
        name=getattr(SolverNames, engine)[0],
        bootstrap_with=clause_lists(clauses),
        **options,
    )
    # The process ends with the answer: clearing up would only take time.
    _kept.append(solver)
    answer = solver.solve()
    if answer:
        return True, pack_model(solver.get_model(), n_variables)
    if answer is not None and proof:
        return False, "\n".join(solver.get_proof()).encode("ascii")
    return answer, b""


_kept: list[object] = []


def _unwrap(child: ChildResult[_Answer], engine: str) -> tuple[bool | None, bytes, str]:
    child.raise_error(engine)
    if child.value is None:
        return None, b"", child.message
    answer, payload = child.value
    return answer, payload, "" if answer is not None else f"{engine} gave up"


def _checked_model(
    clauses: ClauseArrays, n_variables: int, packed: bytes, engine: str
) -> NDArray[np.bool_]:
    model = unpack_model(packed, n_variables)
    wrong = int(np.count_nonzero(~satisfied(clauses, model)))
    if wrong:
        raise RuntimeError(f"{engine} gave a model that falsifies {wrong} clauses")
    return model
