"""WalkSAT: good assignments of a 3-SAT form, found by local search.

It proves nothing, but its assignment is a witness, whose exact value bounds the optimum
from below: if the formula is known to be unsatisfiable, one unsatisfied clause settles
the optimum without MaxSAT. Selman, Kautz, Cohen, *Noise strategies for improving local
search*, AAAI 1994; the weighted form picks flips by the weight they break.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...algorithms.exact.arrays import INT64_MAX, exact_sum
from ...algorithms.exact.multinomial import RecordedSeed
from .formula import ThreeSat, literal_truth

_NOISE = 0.5
_FLIPS_BETWEEN_LOOKS_AT_THE_CLOCK = 1024
_MOST_TRIED = 1 << 16  # assignments times clauses


@dataclass(frozen=True, eq=False)
class LocalSearch:
    """Best assignment that a search met."""

    assignment: NDArray[np.bool_]  # Boolean array, shape (n,)
    unsatisfied: int  # weight of the clauses it leaves unsatisfied
    flips: int  # Number of flips made
    seed: RecordedSeed  # The generator before the search


def walksat(
    three_sat: ThreeSat,
    rng: np.random.Generator,
    *,
    start: NDArray[np.bool_] | None = None,
    target: int = 0,
    max_flips: int = 100_000,
    time_limit: float | None = None,
) -> LocalSearch:
    """Search for an assignment that leaves little weight unsatisfied."""
    seed = RecordedSeed.of(rng)
    source = random.Random(int(rng.integers(2**63)))
    given = None if start is None else [bool(b) for b in start]
    bits = given or _drawn(source, three_sat.n_variables)
    state = _State(three_sat, bits)
    deadline = time.monotonic() + (math.inf if time_limit is None else time_limit)
    best, since_best, flips = state.cost, [], 0
    while best > target and flips < max_flips:
        looks = flips % _FLIPS_BETWEEN_LOOKS_AT_THE_CLOCK == 0
        if looks and time.monotonic() > deadline:
            break
        variable = state.choose(source)
        state.flip(variable)
        flips += 1
        since_best.append(variable)
        if state.cost < best:
            best = state.cost
            since_best.clear()
        elif len(since_best) > 8 * three_sat.n_variables + 1000:
            _forget_pairs(since_best)
    for variable in since_best:  # flips commute: undo those made since the best
        state.bits[variable] = not state.bits[variable]
    assignment = np.array(state.bits, dtype=np.bool_)
    unsatisfied = three_sat.unsatisfied_weight(assignment)
    return LocalSearch(assignment, unsatisfied, flips, seed)


def least_by_trying(three_sat: ThreeSat) -> int:
    """Least unsatisfied weight of all assignments, where they are few; else 0.

    As a target of `walksat` it changes nothing but when the search ends: no flip after
    it could be kept.
    """
    clauses, weights, n = three_sat.clauses, three_sat.weights, three_sat.n_variables
    if len(clauses) << n > _MOST_TRIED:
        return 0
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    left = ~(bits[:, np.abs(clauses) - 1] == (clauses > 0)).any(axis=2)
    if weights is None:
        return int(left.sum(axis=1).min())
    fits = exact_sum(weights) <= INT64_MAX
    return int((left @ weights.astype(np.int64 if fits else object)).min())


def is_out_of_reach(
    three_sat: ThreeSat, rng: np.random.Generator, target: int, max_flips: int
) -> bool:
    """Whether `walksat` would surely miss its target, as told before it runs.

    Each clause that its first assignment leaves unsatisfied, up to the target, must
    have a variable that is flipped; so many variables do not occur in enough of them.
    """
    source = random.Random(int(rng.integers(2**63)))
    first = np.array(_drawn(source, three_sat.n_variables), dtype=np.bool_)
    left = ~three_sat.satisfied(first)
    heaviest = 1 if three_sat.weights is None else int(three_sat.weights.max(initial=1))
    occurrences = np.bincount(np.abs(three_sat.clauses[left]).ravel())
    most = int(np.sort(occurrences)[-max_flips:].sum())
    return three_sat.unsatisfied_weight(first) - target > most * heaviest


def _drawn(source: random.Random, n: int) -> list[bool]:
    return [source.random() < 0.5 for _ in range(n)]


def _forget_pairs(flipped: list[int]) -> None:
    """Drop flips that cancel, so that the log stays shorter than the formula."""
    odd: set[int] = set()
    for variable in flipped:
        odd ^= {variable}
    flipped[:] = sorted(odd)


class _State:
    """An assignment with what it leaves unsatisfied, kept up to date."""

    def __init__(self, three_sat: ThreeSat, bits: list[bool]) -> None:
        self.bits = bits
        a, b, c = three_sat.clauses.T
        # A tautology never matters.
        kept = (a != -b) & (a != -c) & (b != -c)
        rows = three_sat.clauses[kept]
        self.clauses: list[tuple[int, ...]] = [tuple(set(row)) for row in rows.tolist()]
        weights = three_sat.weights
        whole = np.ones(len(kept), dtype=np.int64) if weights is None else weights
        self.weights: list[int] = whole[kept].tolist()
        # occurrences[l] for a signed literal l: negative ones count from the end.
        self.occurrences: list[list[int]] = [[] for _ in range(2 * len(bits) + 1)]
        for j, clause in enumerate(self.clauses):
            for literal in clause:
                self.occurrences[literal].append(j)
        a, b, c = rows.T
        true = literal_truth(rows, np.array(bits, dtype=np.bool_))
        true[:, 1] &= a != b
        true[:, 2] &= (a != c) & (b != c)
        self.true_literals: list[int] = true.sum(axis=1).tolist()
        self.unsatisfied = [j for j, k in enumerate(self.true_literals) if k == 0]
        self.position = {j: place for place, j in enumerate(self.unsatisfied)}
        self.cost = sum(self.weights[j] for j in self.unsatisfied)

    def broken_by(self, variable: int) -> int:
        """Weight of the clauses that flipping a variable (0-based) breaks."""
        literal = variable + 1 if self.bits[variable] else -variable - 1
        counts, weights = self.true_literals, self.weights
        return sum(weights[j] for j in self.occurrences[literal] if counts[j] == 1)

    def choose(self, source: random.Random) -> int:
        """Variable (0-based) of a random unsatisfied clause, by WalkSAT's rule."""
        clause = self.clauses[source.choice(self.unsatisfied)]
        broken = [(self.broken_by(abs(x) - 1), abs(x) - 1) for x in clause]
        least, variable = min(broken)
        if least > 0 and source.random() < _NOISE:
            return source.choice(broken)[1]
        return variable

    def flip(self, variable: int) -> None:
        was = variable + 1 if self.bits[variable] else -variable - 1
        self.bits[variable] = not self.bits[variable]
        counts = self.true_literals
        for j in self.occurrences[was]:
            counts[j] -= 1
            if counts[j] == 0:
                self.position[j] = len(self.unsatisfied)
                self.unsatisfied.append(j)
                self.cost += self.weights[j]
        for j in self.occurrences[-was]:
            if counts[j] == 0:
                place, last = self.position.pop(j), self.unsatisfied.pop()
                if last != j:
                    self.unsatisfied[place] = last
                    self.position[last] = place
                self.cost -= self.weights[j]
            counts[j] += 1
