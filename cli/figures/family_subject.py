"""What a picture of a family shows and what is said below it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...reduction.formula.formula import literal_truth
from ...reduction.program.optimum import forward

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...algorithms.mdp.planning import Pair
    from ...reduction.family.family import Family
    from ...reduction.formula.formula import ThreeSat
    from ...reduction.verify.verification import Verification

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


NAMED = 3  # most clauses of a kind that are named


def reason_for_none(answer: Verification | None, witness: bool | None) -> str:
    """Say why a picture shows no witness."""
    if answer is None:
        return "switched off, and whether there is a satisfying one was not asked"
    if answer.satisfiable is False and witness is None:
        return "unsatisfiable; --witness shows the best assignment"
    return "not decided within the limits"


def verdict(
    answer: Verification | None, witness: bool | None, *, shown: bool
) -> Iterator[str]:
    """Yield what is known of the formula, as a sentence that begins a caption."""
    if not shown:
        yield f"No witness is shown: {reason_for_none(answer, witness)}."
    elif answer is not None and answer.satisfiable is None:
        yield "Whether the formula is satisfiable was not decided within the limits."
    elif answer is not None and answer.satisfiable is False:
        left = [r.attained for r in answer.routes.values() if r.assignment is not None]
        best = "; no assignment does better" * (answer.unsatisfied in left)
        yield f"The formula is unsatisfiable{best}."


def sentences(subject: Subject) -> Iterator[str]:
    """Yield the caption: what is shown, then how to read it."""
    family, declared = subject.family, subject.family.layout.declaration
    if subject.pair is not None:
        yield _witness(subject)
    yield from subject.remarks
    yield from _origin(subject)
    yield "An arrow: an action, with its reward. Other lines: where chance leads. " + (
        "At a clause state action b1b2b3 (any but 000) pays 0 and leads with chance "
        "1/3 each to the k-th literal's state where bk is 1"
        + (
            " or to its negation's where bk is 0."
            if subject.bundled
            else " (solid) or to its negation's where bk is 0 (dotted)."
        )
    )
    if subject.repeats and not subject.bundled:
        yield "2/3 or 1 on a line: that chance, as two or three literals lead there."
    if family.weights is not None and subject.hard.any():
        weight = int(family.weights[subject.hard][0])
        yield (
            f"Hard: a clause that has to hold; its weight {weight} is one more than "
            "the soft ones have together."
        )
    if family.weights is not None:
        yield f"w: the clause's weight; W: their sum, {family.total_weight}."
    if declared.quit:
        yield "Thin arrows to bottom: [quit], an eighth action of each clause state."
    if declared.n_bottom > 1:
        yield "Half of [solve] leads to bottom2 and on to bottom, which pay nothing."
    if subject.bundled:
        yield f"Neighbours are bundled. {_thickness(subject)}"
    yield (
        f"The family has a member M_y for each of the 2^{family.n_variables} "
        f"assignments y: the state xi^b pays {family.top} where y gives xi the value "
        "b, else 0."
    )


def _thickness(subject: Subject) -> str:
    counts = subject.occurrences.values()
    if min(counts) == max(counts):
        return f"A line to literal states stands for {min(counts)} literals."
    return (
        "A line to literal states is the thicker, the more literals it stands for: "
        f"{min(counts)} where it is thinnest, {max(counts)} where it is thickest."
    )


def _witness(subject: Subject) -> str:
    family, pair, broken = subject.family, subject.pair, ~subject.satisfied
    assert pair is not None
    left = int(broken.sum())
    does = "satisfies all clauses"
    if left:
        red = "red" if subject.bare else "red, ✗"
        does = f"leaves {left} of {family.n_clauses} unsatisfied ({red})"
        if family.weights is not None:
            does += f", weight {family.weights[broken].sum()}"
    if subject.hard.any():
        does += f" ({_hard(subject)})"
    action = family.layout.action_names()[int(pair.policy[family.start])]
    shown = (
        f"Shown: an assignment that {does}, and its pair (g, π), worth "
        f"{pair.value(family.start)} in OLIVE's program. Orange: what π does"
    )
    if subject.bundled:
        shown += " at s0"
    elif not subject.bare:
        shown += "; after → its action"
    if action != "[solve]":
        shown += f"; at s0 it takes {action}"
    green = "Green: satisfied." if subject.single else "Green: all satisfied."
    if left and not subject.single:
        green += " Red: the stronger, the larger the part that is not."
    if subject.pairs:
        return f"{shown}. {green} Yellow: the literal states that pay."
    first = f"first {BITS - 4} " * (max(map(len, subject.variables)) > BITS)
    return f"{shown}. {green} On the right the {first}bits that y gives each bundle."


def _hard(subject: Subject) -> str:
    source = subject.family.three_sat.source
    count = len(np.unique(source[subject.hard & ~subject.satisfied]))
    if count < 2:
        return f"{'a' if count else 'no'} hard clause is broken"
    return f"{count} hard clauses are broken"


def _origin(subject: Subject) -> Iterator[str]:
    form = subject.family.three_sat
    read = form.original
    if not read.n_clauses:
        new = " with the new variable x1" * (not read.n_variables)
        yield (
            "3-SAT form: there is no clause; C1, which always holds, stands for that"
            f"{new} (dashed)."
        )
        return
    widths = read.widths
    pieces = np.bincount(form.source, minlength=read.n_clauses)
    parts = [
        *_became(subject, pieces, "empty", widths == 0),
        *_became(subject, pieces, "long", (pieces > 1) & (widths > 0)),
    ]
    (short,) = np.nonzero(_filled(form))
    if len(short) == 1:
        which = f"C{short[0] + 1} has"
    elif len(short) <= NAMED:
        which = ", ".join(f"C{j + 1}" for j in short) + " have"
    else:
        which = f"{len(short)} clauses have"
    if len(short):
        repeat = "repeats" if len(short) == 1 else "repeat"
        parts.append(
            f"{which} fewer than three different literals and {repeat} the last one"
        )
    if np.any((widths > 3) & (widths > pieces + 2)):
        parts.append("a literal that a long clause repeats is kept once")
    if parts:
        yield f"3-SAT form: {'; '.join(parts)}."


def _filled(form: ThreeSat) -> NDArray[np.bool_]:
    """Which clauses repeat their last literal, but not as read."""
    read = form.original
    widths = read.widths[form.source]
    changed = widths != 3
    places = read.offsets[form.source[~changed], np.newaxis] + np.arange(3)
    changed[~changed] = (read.literals[places] != form.clauses[~changed]).any(axis=1)
    _, last, repeated = form.clauses.T
    return np.asarray((last == repeated) & (widths > 0) & changed)


def _became(
    subject: Subject, pieces: NDArray[np.int64], kind: str, which: NDArray[np.bool_]
) -> Iterator[str]:
    (chosen,) = np.nonzero(which)
    if not len(chosen):
        return
    read = subject.family.three_sat.original
    dashed = " (dashed)" * subject.pairs
    first = np.cumsum(pieces) - pieces
    fresh = read.n_variables + np.cumsum(pieces - 1) - (pieces - 1)
    if len(chosen) > NAMED:
        new = int((pieces[chosen] - 1).sum())
        told = "empty clauses" if kind == "empty" else "clauses of over three literals"
        became = int(pieces[chosen].sum())
        yield f"{len(chosen)} {told} became {became} with {new} new variables{dashed}"
        return
    for j in chosen.tolist():
        count = int(pieces[j])
        width = f"of {read.widths[j]} literals" if kind == "long" else "empty"
        clauses = span("C", range(first[j], first[j] + count))
        variables = span("x", range(fresh[j], fresh[j] + count - 1))
        noun = "variable" if count == 2 else "variables"
        yield (
            f"clause {j + 1} as read, {width}, became {clauses} with the new {noun} "
            f"{variables}{dashed}"
        )
