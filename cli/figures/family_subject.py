"""What a picture of a family shows: witness, hard clauses, bundles, labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...reduction.formula.checks import literal_truth
from ...reduction.program.witness import forward

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...algorithms.mdp.bellman import Pair
    from ...reduction.family.family import Family

SINGLE_CLAUSES, SINGLE_VARIABLES = 16, 10  # most that are drawn one by one
BUNDLES = 8  # most bundles of either, where there are more
BITS = 16  # most bits of an assignment that a bundle shows whole


@dataclass(frozen=True, eq=False)
class Subject:
    """A family, and what is to be shown of it."""

    family: Family  # The family
    assignment: NDArray[np.bool_] | None = None  # Of the 3-SAT form, shape (n,)
    hard_as_read: NDArray[np.bool_] | None = None  # Clauses as read that must hold
    remarks: Sequence[str] = ()  # Sentences that begin the caption
    bare: bool = False  # Whether actions are left out of the clauses' texts

    @cached_property
    def pair(self) -> Pair | None:
        """Pair (g, π) of the assignment."""
        return (
            None if self.assignment is None else forward(self.family, self.assignment)
        )

    @cached_property
    def truth(self) -> NDArray[np.bool_]:
        """The assignment, where there is one."""
        assert self.assignment is not None
        return self.assignment

    @cached_property
    def satisfied(self) -> NDArray[np.bool_]:
        """Which clauses of the 3-SAT form the assignment satisfies."""
        return np.asarray(literal_truth(self.family.clauses, self.truth).any(axis=1))

    @cached_property
    def hard(self) -> NDArray[np.bool_]:
        """Which clauses of the 3-SAT form stand for hard ones."""
        if self.hard_as_read is None:
            return np.zeros(self.family.n_clauses, dtype=np.bool_)
        return self.hard_as_read[self.family.three_sat.source]

    @cached_property
    def clauses(self) -> list[range]:
        """Clauses by box."""
        return _groups(self.family.n_clauses, SINGLE_CLAUSES)

    @cached_property
    def variables(self) -> list[range]:
        """Variables by box, or by pair of boxes."""
        return _groups(self.family.n_variables, SINGLE_VARIABLES)

    @property
    def single(self) -> bool:
        """Whether each clause has a box."""
        return len(self.clauses) == self.family.n_clauses

    @property
    def pairs(self) -> bool:
        """Whether each literal has a box."""
        return len(self.variables) == self.family.n_variables

    @property
    def bundled(self) -> bool:
        """Whether some boxes stand for several states."""
        return not (self.single and self.pairs)

    @property
    def repeats(self) -> bool:
        """Whether a clause has a literal twice."""
        a, b, c = self.family.clauses.T
        return bool(((a == b) | (b == c) | (a == c)).any())

    def made_clauses(self, group: range) -> bool:
        """Whether all of these clauses stand for empty ones, or for none."""
        form = self.family.three_sat
        widths = np.append(form.original.widths, 0)  # the last one is NO_SOURCE's
        return not widths[form.source[group.start : group.stop]].any()

    def made_variables(self, group: range) -> bool:
        """Whether the formula as read has none of these variables."""
        return group.start >= self.family.three_sat.original.n_variables

    @cached_property
    def occurrences(self) -> dict[tuple[int, int], int]:
        """How many literals each box of clauses has in each box of variables."""
        family = self.family
        row = np.array([group.start for group in self.clauses])
        column = np.array([group.start for group in self.variables])
        k = np.searchsorted(row, np.arange(family.n_clauses), side="right") - 1
        v = np.searchsorted(column, np.abs(family.clauses) - 1, side="right") - 1
        counts = np.zeros((len(row), len(column)), dtype=np.int64)
        np.add.at(counts, (np.repeat(k, 3), v.ravel()), 1)
        return {
            (int(a), int(b)): int(counts[a, b])
            for a, b in zip(*np.nonzero(counts), strict=True)
        }

    def literal_texts(self) -> Iterator[tuple[str, range]]:
        """Text of each box, and its variables; two boxes a variable drawn alone."""
        name = self.family.layout.state_name
        state = self.family.layout.literal_state
        for group in self.variables:
            first, last = name(state(group[0], 0)), name(state(group[-1], 1))
            if self.pairs:
                yield from ((first, group), (last, group))
            else:
                yield f"{first}…{last}", group

    def reward(self, group: range, b: int) -> str:
        """Say what a literal state pays, in the witness's member or by y."""
        top = self.family.top
        if not self.pairs:
            if self.pair is None:
                return f"{top} where y agrees"
            shown = group if len(group) <= BITS else group[: BITS - 4]
            bits = "".join("01"[int(self.truth[i])] for i in shown)
            return f"y = {bits}{'…' * (len(shown) < len(group))}"
        if self.pair is not None:
            return str(top if self.truth[group[0]] == b else 0)
        bit = f"y{group[0] + 1}" if b else f"(1 − y{group[0] + 1})"
        return bit.strip("()") if top == 1 else f"{top} {bit}"

    def clause_text(self, group: range) -> str:
        """Text of a clause's box, or of a bundle's."""
        if not self.single:
            return self._bundle_text(group)
        (j,) = group
        family = self.family
        literals = " ∨ ".join(
            f"{'¬' * bool(lit < 0)}x{abs(lit)}" for lit in family.clauses[j].tolist()
        )
        text = f"C{j + 1}: {literals}"
        if family.weights is not None:
            weight = f"weight {family.weights[j]}"
            text += f", hard ({weight})" if self.hard[j] else f", {weight}"
        if self.pair is not None and not self.bare:
            action = int(self.pair.policy[family.clause_state(j)])
            text += f" → {action + 1:03b}" + " ✗" * (not self.satisfied[j])
        return text

    def _bundle_text(self, group: range) -> str:
        text, count = span("C", group), len(group)
        hard = self.hard[group.start : group.stop]
        kinds = f", {hard.sum()} hard" if hard.any() else ""
        if self.pair is None:
            return f"{text}: {count} clauses{kinds}"
        held = self.satisfied[group.start : group.stop]
        if broken := int((hard & ~held).sum()):
            kinds += f", {broken} broken"
        done = held.all()
        return f"{text}: {held.sum()} of {count} satisfied{kinds}" + " ✗" * (not done)


def span(letter: str, group: range) -> str:
    """Name numbered things: "C3", "C3, C4" or "C3…C7"."""
    first, last = group.start + 1, group.stop
    if first == last:
        return f"{letter}{first}"
    return f"{letter}{first}{', ' if last == first + 1 else '…'}{letter}{last}"


def _groups(count: int, alone: int) -> list[range]:
    parts = count if count <= alone else BUNDLES
    cuts = [count * k // parts for k in range(parts + 1)]
    return [range(a, b) for a, b in itertools.pairwise(cuts)]
