"""MaxSAT from above: models that falsify less and less, until there is none.

One call on the hard clauses, with phases that prefer the soft ones, gives a first
model. A climb adds soft clauses to it, heaviest first, each with little effort. Then
two searches take turns: one near the best model, where a random share of what holds
must go on holding (large neighbourhood search), and a linear one, which asks for less
than the best model costs, in clauses that count what is falsified. The linear search
has twice the conflicts each time that it comes to nothing, so that it ends.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pysat.card import ITotalizer
from pysat.solvers import Solver

from .clauses import Bits, Clauses, Problem, Report, Valued, satisfied

Search = Callable[[Bits], Bits]
"""From an assignment that satisfies the hard clauses to one that may be better."""
Items = list[tuple[int, int]]
"""Literals with weights; what is counted is the weight of the true ones."""

_MOST_CLAUSES = 1_000_000
"""Of a network that counts by sums; where it takes more, binary digits count."""
_CLIMB_CONFLICTS, _CLIMB_SECONDS = 2_000, 10.0
_FEW_CLAUSES = 30_000
"""Of a network for one neighbourhood, which is built for one call."""
_NEAR_CONFLICTS = 1_000
_PATIENCE = (0.2, 2.0)
"""Least and most CPU seconds that the search nearby goes on without success."""
_FIRST_CONFLICTS = 2_000


def lower_cost(
    report: Report,
    problem: Problem,
    known: Bits | None,
    hint: Path,
    search: Search | None,
) -> None:
    """Report better and better models and, at the end, a bound; in a child process.

    `known`: an assignment to begin with; None for the first model of an engine. `hint`:
    a file in which the parent leaves models of others, packed. `search` is tried first.
    """
    gc.disable()
    lowering = Lowering(report, problem, hint)
    with Solver("glucose4", bootstrap_with=lowering.clauses) as solver:
        solver.set_phases([-x for x, _ in lowering.costs])
        if known is not None:
            lowering.take(known)
            if search is not None:
                lowering.found("search", search(known))
        elif solver.solve():
            lowering.found("glucose4", solver.get_model())
        else:
            report(("hard", "glucose4", None))
            return
        lowering.climb(solver)
    lowering.near(_PATIENCE[0], lowering.probe)
    lowering.exact(math.gcd(*lowering.weights) or 1)


Probe = Callable[[NDArray[np.bool_], NDArray[np.bool_]], bool | None]
"""From the soft clauses that fail and those that may fail (the others must hold) to
whether there is a better model; None where the conflicts did not suffice."""


class Lowering:
    """The search, with the best model so far and the latest one."""

    def __init__(self, report: Report, problem: Problem, hint: Path) -> None:
        self.report, self.problem, self.hint = report, problem, hint
        hard, soft, self.empty = problem.normal_form()
        self.random, self.freed = np.random.default_rng(0), 0.1
        self.soft, self.weights = Clauses.from_lists(list(soft)), list(soft.values())
        self.best: Valued | None = None
        self.model = np.zeros(problem.n_variables, dtype=np.bool_)
        self.clauses, self.top = [list(clause) for clause in hard], problem.n_variables
        self.costs: Items = []  # literals that are true where a soft clause fails
        for clause, weight in soft.items():
            if len(clause) == 1:
                self.costs.append((-clause[0], weight))
            else:
                self.top += 1
                self.clauses.append([*clause, self.top])
                self.costs.append((self.top, weight))

    def take(self, model: Bits) -> bool:
        """Go on from a model; return whether it is the best so far."""
        self.model, valued = model, self.problem.valued(model)
        if self.best is not None and valued.cost >= self.best.cost:
            return False
        self.best = valued
        return True

    def found(self, engine: str, model: list[int] | Bits) -> None:
        """Go on from a model and report it if it is the best so far."""
        if isinstance(model, list):
            model = self.problem.unpacked(self.problem.packed(model))
        if self.take(model):
            self.report(("model", engine, np.packbits(model).tobytes()))

    def left(self, unit: int = 1) -> int:
        """Return the least cost known, of the parent's models too, in units."""
        with contextlib.suppress(FileNotFoundError):
            packed = self.hint.read_bytes()
            self.hint.unlink()
            self.take(self.problem.unpacked(packed))
        assert self.best is not None
        return (self.best.cost - self.empty) // unit

    def best_model(self) -> Bits:
        """Return the best model so far."""
        assert self.best is not None
        return self.best.model

    def climb(self, solver: Any) -> None:
        """Keep what holds; add soft clauses, heaviest first, each with some effort."""
        kept, end = list[int](), time.process_time() + _CLIMB_SECONDS
        holds = satisfied(self.soft, self.model)
        for j in sorted(range(len(self.costs)), key=lambda j: -self.weights[j]):
            x, _ = self.costs[j]
            if not holds[j]:
                if time.process_time() > end:
                    break
                solver.conf_budget(_CLIMB_CONFLICTS)
                if not solver.solve_limited(assumptions=[*kept, -x]):
                    continue
                model = solver.get_model()
                solver.set_phases(model)
                self.found("glucose4", model)
                holds = satisfied(self.soft, self.model)
            kept.append(-x)

    def near(self, patience: float, probe: Probe) -> None:
        """Probe around the best model until so many CPU seconds bring nothing."""
        end = time.process_time() + patience
        while self.left() and time.process_time() < end:
            fails = ~satisfied(self.soft, self.best_model())
            free = fails | (self.random.random(fails.size) < self.freed)
            status = probe(fails, free)
            if status:
                end = time.process_time() + patience
            elif status is None:
                self.freed *= 0.9
            elif free.all():  # there is no better model at all
                return
            else:
                self.freed = min(1.0, self.freed * 1.1)

    def probe(self, fails: NDArray[np.bool_], free: NDArray[np.bool_]) -> bool | None:
        """Probe a neighbourhood by an engine of its own, which counts only there."""
        items = [self.costs[j] for j in np.flatnonzero(free).tolist()]
        bound = sum(self.weights[j] for j in np.flatnonzero(fails).tolist())
        unit = math.gcd(*(weight for _, weight in items))
        items, bound = [(x, weight // unit) for x, weight in items], bound // unit
        network = sums(items, bound, self.top, _FEW_CLAUSES)
        network = network or digits(items, self.top)
        clauses = self.clauses + [[x] for x in self._held(free)] + network.clauses
        with Solver("glucose4", bootstrap_with=clauses) as solver:
            solver.append_formula(network.below(bound))
            solver.set_phases(self._phases())
            return self._limited(solver, "glucose4", _NEAR_CONFLICTS, [])

    def exact(self, unit: int) -> None:
        """Lower the cost until there is no less, and report that."""
        if bound := self.left(unit):
            counted = [(x, w // unit) for x, w in self.costs]
            network = strong = sums(counted, bound, self.top)
            if network is None:
                network = digits(counted, self.top)
            clauses = self.clauses + network.clauses
            with Solver("cadical153", bootstrap_with=clauses) as solver:
                self._take_turns(solver, network, unit, strong is not None)
        self.report(("bound", "cadical153", self.left() + self.empty))

    def _take_turns(
        self, solver: Any, network: Network, unit: int, is_strong: bool
    ) -> None:
        """Ask for less than the best cost and search near it by turns.

        Sums propagate so well that the same engine probes the neighbourhoods.
        """
        asked = 0

        def limited(conflicts: int, held: list[int]) -> bool | None:
            nonlocal asked
            if (bound := self.left(unit)) != asked:
                solver.append_formula(network.below(bound))
                solver.set_phases(self._phases())
                asked = bound
            return self._limited(solver, "cadical153", conflicts, held)

        def probe(_: NDArray[np.bool_], free: NDArray[np.bool_]) -> bool | None:
            return limited(_NEAR_CONFLICTS, self._held(free))

        conflicts = _FIRST_CONFLICTS
        while self.left(unit):
            start = time.process_time()
            status = limited(conflicts, [])
            if status is False:
                return
            if status is None:
                conflicts *= 2
                used = time.process_time() - start
                patience = min(max(used / 4, _PATIENCE[0]), _PATIENCE[1])
                self.near(patience, probe if is_strong else self.probe)

    def _limited(
        self, solver: Any, engine: str, conflicts: int, held: list[int]
    ) -> bool | None:
        solver.conf_budget(conflicts)
        status: bool | None = solver.solve_limited(assumptions=held)
        if status:
            self.found(engine, solver.get_model())
        return status

    def _held(self, free: NDArray[np.bool_]) -> list[int]:
        """Return literals that keep the other soft clauses satisfied."""
        return [-self.costs[j][0] for j in np.flatnonzero(~free).tolist()]

    def _phases(self) -> list[int]:
        model = self.best_model()
        return [x if true else -x for x, true in enumerate(model.tolist(), 1)]


class Network(NamedTuple):
    """Clauses that count, and those that say "less than this"."""

    clauses: list[list[int]]
    below: Callable[[int], list[list[int]]]


def sums(
    items: Items, bound: int, top: int, most_clauses: int | None = None
) -> Network | None:
    """Count by a tree of sums up to `bound` (totalizer); None where it is too large."""
    if most_clauses is None:
        most_clauses = _MOST_CLAUSES
    weights, most = {weight for _, weight in items}, len(items) - 1
    if len(weights) == 1 and most > 0:
        (one,) = weights
        limit = min(most, (bound - 1) // one)
        if len(items) * (limit + 1) > most_clauses:
            return None
        tree = ITotalizer([x for x, _ in items], ubound=max(1, limit), top_id=top)

        def unit(k: int) -> list[list[int]]:
            least = (k - 1) // one  # so many may fail, and no more
            return [[-tree.rhs[least]]] if least <= most else []

        return Network(tree.cnf.clauses, unit)
    clauses = list[list[int]]()
    light_first = sorted(items, key=lambda item: item[1])
    nodes = deque({min(w, bound): x} for x, w in light_first)
    while len(nodes) > 1:
        a, b = nodes.popleft(), nodes.popleft()
        if len(clauses) + (len(a) + 1) * (len(b) + 1) > most_clauses:
            return None
        both = {min(s + t, bound) for s, t in itertools.product(a, b)}
        node = dict(
            zip(sorted({*a, *b, *both}), itertools.count(top + 1), strict=False)
        )
        top += len(node)
        clauses += [[-x, node[s]] for s, x in (*a.items(), *b.items())]
        for (s, x), (t, y) in itertools.product(a.items(), b.items()):
            clauses.append([-x, -y, node[min(s + t, bound)]])
        nodes.append(node)
    (root,) = nodes
    return Network(clauses, lambda k: [[-x] for s, x in root.items() if s >= k])


def digits(items: Items, top: int) -> Network:
    """Count in binary (full adders): few clauses for any weights, weak propagation."""
    columns: dict[int, deque[int]] = {}
    for x, weight in items:
        for i in range(weight.bit_length()):
            if weight >> i & 1:
                columns.setdefault(i, deque()).append(x)
    clauses, result = list[list[int]](), dict[int, int]()
    for i in itertools.count():
        if not columns:
            break
        column = columns.pop(i, deque())
        while len(column) > 1:
            inputs = [column.popleft() for _ in range(min(3, len(column)))]
            total, carry = top + 1, top + 2
            top += 2
            for signs in itertools.product((1, -1), repeat=len(inputs)):
                ones = signs.count(1)
                row = [-s * x for s, x in zip(signs, inputs, strict=True)]
                clauses.append([*row, total if ones % 2 else -total])
                clauses.append([*row, carry if ones > 1 else -carry])
            column.append(total)
            columns.setdefault(i + 1, deque()).append(carry)
        if column:
            result[i] = column[0]

    def below(k: int) -> list[list[int]]:
        """At each digit that is 0 in k - 1: not 1, unless a higher one is less."""
        most, rows = k - 1, list[list[int]]()
        for i, x in result.items():
            higher = [j for j in range(i + 1, most.bit_length()) if most >> j & 1]
            if not most >> i & 1 and all(j in result for j in higher):
                rows.append([-x, *(-result[j] for j in higher)])
        return rows

    return Network(clauses, below)
