r"""Decide satisfiability with the solvers that PySAT bundles, and refine their proofs.

Literals are checked before an engine sees them (PySAT passes them on as C integers,
where 2^32 + 1 is variable 1 and -2^31 aborts the process), a model against every
clause, and for "unsatisfiable" a DRAT proof can be asked for, which
`reduction/certificate/checker.py` judges. A time limit kills the child; `interrupt`
does nothing or raises in half of the engines.

An LRAT proof lists the clauses that prove each step by unit propagation, finding which
is most of a checker's work; so a verified checker such as cake_lpr can follow. All
steps here are RUP; a RAT step is refused. A literal that follows without assumptions
becomes a unit clause, so that no step repeats the chain to it. Cruz-Filipe, Heule,
Hunt, Kaufmann, Schneider-Kamp, *Efficient certified RAT verification*, CADE 2017.

>>> lines = lrat_lines([[1, 2], [-1, 2], [1, -2], [-1, -2]], ["2 0", "0"])
>>> list(lines)
['5 2 0 1 2 0\n', '6 1 0 5 3 0\n', '7 0 6 5 4 0\n']
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

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

__all__ = ["Clauses", "engines", "lrat_lines", "satisfied", "solve_sat"]

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


def lrat_lines(clauses: Sequence[Sequence[int]], proof: Iterable[str]) -> Iterator[str]:
    """Yield the lines of an LRAT proof from clauses and the lines of a DRAT proof.

    Clauses are numbered from 1 in their order. Raises ValueError for a step that is
    not RUP (counted from 1), or a proof that ends without the empty clause.
    """
    state = _Propagation()
    for clause in clauses:
        state.add(clause)
    yield from state.settle()
    for number, line in enumerate(proof, 1):
        if state.refuted:
            return
        words = line.split()
        delete = words[:1] == ["d"]
        literals = [int(word) for word in words[delete:]]
        if not literals or literals.pop() != 0 or 0 in literals:
            raise ValueError(f"step {number}: a line of DRAT ends with its only 0")
        if delete:
            yield from state.delete(literals)
            continue
        hints = state.hints(literals)
        if hints is None:
            raise ValueError(f"step {number}: the clause is not RUP")
        yield state.derive(literals, hints)
        yield from state.settle()
    if not state.refuted:
        raise ValueError("the proof ends without the empty clause")


class _Propagation:
    """Clauses by number, two watched literals each, and what follows from them."""

    def __init__(self) -> None:
        self.refuted = False
        self._last = 0  # number of the last clause
        self._clauses: dict[int, list[int]] = {}
        self._numbers: dict[frozenset[int], list[int]] = defaultdict(list)
        self._watching: dict[int, list[int]] = defaultdict(list)
        self._true: set[int] = set()
        self._trail: list[int] = []
        self._reason: dict[int, int] = {}  # of a true literal: a clause, 0 assumed
        self._n_settled = 0  # literals of the trail that follow without assumptions
        self._n_seen = 0  # literals of the trail whose consequences were drawn
        self._fresh: list[int] = []  # clauses that may be unit or empty by now

    def add(self, literals: Iterable[int]) -> int:
        """Add a clause and return its number."""
        self._last += 1
        clause = list(dict.fromkeys(literals))
        self._numbers[frozenset(clause)].append(self._last)
        if not any(-literal in clause for literal in clause):
            # True literals first, then those without a value: these are watched.
            clause.sort(key=lambda x: (x not in self._true, -x in self._true))
            self._clauses[self._last] = clause
            for literal in clause[:2]:
                self._watching[literal].append(self._last)
            self._fresh.append(self._last)
        return self._last

    def derive(self, literals: Sequence[int], hints: Sequence[int]) -> str:
        """Add a clause that the clauses of `hints` prove, in their order; its line."""
        number = self.add(literals)
        self.refuted |= not literals
        return " ".join(map(str, [number, *literals, 0, *hints, 0])) + "\n"

    def delete(self, literals: Iterable[int]) -> Iterator[str]:
        """Forget one clause of these literals; unit clauses stay, as in drat-trim."""
        key = frozenset(literals)
        if len(key) > 1 and self._numbers[key]:
            number = self._numbers[key].pop()
            self._clauses.pop(number, None)
            yield f"{self._last} d {number} 0\n"

    def settle(self) -> Iterator[str]:
        """Draw what follows without assumptions; a unit clause for each literal."""
        while not self.refuted:
            conflict, forced = None, None
            while self._fresh and forced is None and conflict is None:
                number = self._fresh.pop()
                clause = self._clauses.get(number, [1, -1])
                if clause and clause[0] in self._true:
                    continue
                if all(-x in self._true for x in clause):
                    conflict = number
                elif all(-x in self._true for x in clause[1:]):
                    forced = clause[0], number
            if forced is not None:
                self._assign(*forced)
            elif conflict is None:
                conflict = self._propagate()
            while self._n_settled < len(self._trail):
                literal = self._trail[self._n_settled]
                self._n_settled += 1
                number = self._reason[literal]
                if len(self._clauses[number]) > 1:
                    hints = self._units(self._clauses[number], literal)
                    yield self.derive([literal], [*hints, number])
                    self._fresh.pop()
                    self._reason[literal] = self._last
            if conflict is not None:
                hints = self._units(self._clauses[conflict])
                yield self.derive([], [*hints, conflict])
            elif forced is None:
                return

    def _units(self, clause: Iterable[int], but: int = 0) -> list[int]:
        """Numbers of the unit clauses that make literals of a clause false."""
        return [self._reason[-x] for x in clause if x != but]

    def hints(self, literals: Iterable[int]) -> list[int] | None:
        """Clauses that refute the negation of a clause by propagation, in order."""
        found = None
        for literal in literals:
            if literal in self._true:
                found = self._chain([-literal], 0) if self._reason[literal] else []
                break
            if -literal not in self._true:
                self._assign(-literal, 0)
        else:
            conflict = self._propagate()
            if conflict is not None:
                found = self._chain(self._clauses[conflict], conflict)
        self._retract()
        return found

    def _chain(self, clause: Iterable[int], last: int) -> list[int]:
        """Clauses that make all literals of a clause false, and that clause."""
        wanted, needed = [-x for x in clause], set[int]()
        while wanted:
            literal = wanted.pop()
            reason = self._reason[literal]
            if literal not in needed and reason:
                needed.add(literal)
                wanted += [-x for x in self._clauses[reason] if x != literal]
        numbers = [self._reason[x] for x in self._trail if x in needed]
        return [*numbers, last] if last else numbers

    def _assign(self, literal: int, reason: int) -> None:
        self._true.add(literal)
        self._trail.append(literal)
        self._reason[literal] = reason

    def _retract(self) -> None:
        """Take back the assumptions and what follows from them."""
        for literal in self._trail[self._n_settled :]:
            self._true.discard(literal)
            del self._reason[literal]
        del self._trail[self._n_settled :]
        self._n_seen = self._n_settled

    def _propagate(self) -> int | None:
        """Draw consequences of the trail; a clause that is false, or None."""
        while self._n_seen < len(self._trail):
            false = -self._trail[self._n_seen]
            self._n_seen += 1
            watching, self._watching[false] = self._watching[false], []
            for k, number in enumerate(watching):
                clause = self._clauses.get(number)
                if clause is None:  # deleted
                    continue
                if clause[0] == false and len(clause) > 1:
                    clause[0], clause[1] = clause[1], clause[0]
                true, others = self._true, range(2, len(clause))
                free = (place for place in others if -clause[place] not in true)
                if clause[0] not in true and (place := next(free, 0)):
                    clause[1], clause[place] = clause[place], clause[1]
                    self._watching[clause[1]].append(number)
                    continue
                self._watching[false].append(number)
                if clause[0] in self._true:
                    continue
                if -clause[0] in self._true:
                    self._watching[false] += watching[k + 1 :]
                    return number
                self._assign(clause[0], number)
        return None
