"""The words below a picture of a family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .family_subject import BITS, Subject, span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...reduction.formula.formula import ThreeSat
    from ...reduction.verify.verification import Verification

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
