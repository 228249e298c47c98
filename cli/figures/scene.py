"""What a drawing of a family shows, in inches, before anything is drawn.

`scene` lays the family out like the paper's figure: s0, its actions, clause states,
literal states, rewards. Where there are many clauses or variables, neighbours become
one bundle, whose lines are the thicker the more literals they stand for.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from olivine.reduction.formula.assignment import literal_truth
from olivine.reduction.program.witness import forward

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from olivine.reduction.family.family import Family

SINGLE_CLAUSES, SINGLE_VARIABLES = 16, 10
"""Most clauses and variables that are drawn one by one."""
BUNDLES = 8
"""Most bundles of either, where there are more."""

NodeKind = Literal["start", "state", "good", "bad", "true", "label", "heading", "note"]
LineKind = Literal[
    "action",
    "random",
    "own",
    "negated",
    "chosen",
    "policy",
    "policy-negated",
    "chance-policy",
]
ROW, PAD, CHARACTER, NOTE_CHARACTER = 0.34, 0.14, 0.073, 0.064


@dataclass(frozen=True)
class Node:
    """A text at (x, y), its centre or for notes its left end; in a box of a width."""

    x: float
    y: float
    text: str
    kind: NodeKind
    width: float = 0.0

    @property
    def left(self) -> tuple[float, float]:
        """Middle of the left edge."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> tuple[float, float]:
        """Middle of the right edge."""
        return self.x + self.width / 2, self.y


@dataclass(frozen=True)
class Line:
    """A line between two points; actions and random transitions from s0 are arrows."""

    start: tuple[float, float]
    end: tuple[float, float]
    kind: LineKind
    width: float = 0.6


@dataclass
class Scene:
    """Nodes, lines and frames (left, bottom, right, top) within width x height."""

    width: float = 0.0
    height: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    frames: list[tuple[float, float, float, float]] = field(default_factory=list)
    bundled: bool = False

    def add(
        self, x: float, y: float, text: str, kind: NodeKind, width: float = 0.0
    ) -> Node:
        """Add a node and return it."""
        node = Node(x, y, text, kind, width)
        self.nodes.append(node)
        return node

    def frame(self, nodes: Sequence[Node]) -> tuple[float, float]:
        """Frame a column of nodes; the middle of the frame's left edge."""
        left = min(node.left[0] for node in nodes) - 0.1
        right = max(node.right[0] for node in nodes) + 0.1
        bottom, top = nodes[-1].y - ROW / 2 - 0.03, nodes[0].y + ROW / 2 + 0.03
        self.frames.append((left, bottom, right, top))
        return left, (bottom + top) / 2


def scene(family: Family, assignment: NDArray[np.bool_] | None = None) -> Scene:
    """Lay a family out.

    Parameters
    ----------
    family
        The family.
    assignment
        Truth values of the 3-SAT form's variables, shape (n,), whose pair (g, π) is
        highlighted as a witness; None for the family alone.
    """
    return _Builder(family, assignment).build()


class _Builder:
    """Column by column, from the literals back to s0."""

    def __init__(self, family: Family, assignment: NDArray[np.bool_] | None) -> None:
        self.family = family
        self.pair = None if assignment is None else forward(family, assignment)
        self.scene = Scene()
        self.clauses = _groups(family.n_clauses, SINGLE_CLAUSES)
        self.variables = _groups(family.n_variables, SINGLE_VARIABLES)
        self.single = len(self.clauses) == family.n_clauses
        self.pairs = len(self.variables) == family.n_variables
        self.scene.bundled = not (self.single and self.pairs)
        self.declared = family.layout.declaration
        if assignment is not None:
            self.truth = assignment
            truth = literal_truth(family.clauses, assignment)
            self.satisfied: NDArray[np.bool_] = np.any(truth, axis=1)

    def build(self) -> Scene:
        texts = [self._clause_text(group) for group in self.clauses]
        literals = self._literal_texts()
        middle = len(texts) + bool(self.declared.n_bottom > 1)
        below = len(self.variables) + 1 if self.declared.variable_states else 2
        rows = max(middle + below, len(literals) + bool(self.declared.n_bottom), 8)
        top = rows * ROW
        wide = _width([*texts, "bottom2"])
        self.middle_x = 3.35 + wide / 2
        literal_width = _width([*(text for text, _ in literals), "bottom"])
        self.literal_x = 3.35 + wide + 1.7 + literal_width / 2
        reward_x = self.literal_x + literal_width / 2

        right = self._literals(literals, literal_width, top, reward_x)
        centre = top - (middle * ROW + (top - (middle + below) * ROW) / 2) / 2
        first = centre + (len(texts) - 1) * ROW / 2
        states = [
            self.scene.add(
                self.middle_x, first - k * ROW, text, self._clause_kind(group), wide
            )
            for k, (text, group) in enumerate(zip(texts, self.clauses, strict=True))
        ]
        self._clause_lines(states, right)
        top = max(top, self._start(states, right))
        reward_width = max(_width([self._reward(g, 0) for g in self.variables]), 0.8)
        self.scene.width = reward_x + 0.25 + reward_width
        for x, text in (
            (0.45, "start"),
            (1.95, "actions at s0"),
            (self.middle_x, "clause states"),
            (self.literal_x, "literal states"),
            (
                reward_x + 0.15 + reward_width / 2,
                "reward" if self.pair is None or self.pairs else "assignment",
            ),
        ):
            self.scene.add(x, top + 0.3, text, "heading")
        self.scene.height = top + 0.55
        self._notes()
        return self.scene

    # -- the right: literal states and rewards

    def _literal_texts(self) -> list[tuple[str, range]]:
        """Text of each box, and its variables; two boxes a variable drawn alone."""
        name = self.family.layout.state_name
        state = self.family.layout.literal_state
        if self.pairs:
            return [
                (name(state(group[0], b)), group)
                for group in self.variables
                for b in (0, 1)
            ]
        return [
            (f"{name(state(group[0], 0))}…{name(state(group[-1], 1))}", group)
            for group in self.variables
        ]

    def _reward(self, group: range, b: int) -> str:
        """Say what a literal state pays, in the witness's member or by y."""
        top = self.family.top
        if not self.pairs:
            if self.pair is None:
                return f"{top} where y agrees"
            bits = "".join("01"[int(self.truth[i])] for i in group[:12])
            more = "…" if len(group) > 12 else ""
            return f"y = {bits}{more}"
        if self.pair is not None:
            return str(top if self.truth[group[0]] == b else 0)
        bit = f"y{group[0] + 1}" if b else f"(1 − y{group[0] + 1})"
        return bit.strip("()") if top == 1 else f"{top} {bit}"

    def _literals(
        self, texts: list[tuple[str, range]], width: float, top: float, reward_x: float
    ) -> list[Node]:
        """Place the literal states, and the worthless one below them."""
        scene, nodes = self.scene, []
        n_rows = len(texts) + bool(self.declared.n_bottom)
        step = top / max(n_rows, 1)
        for k, (text, group) in enumerate(texts):
            b = k % 2 if self.pairs else 0
            pays = self.pairs and self.pair is not None and self.truth[group[0]] == b
            y = top - (k + 0.5) * step
            kind: NodeKind = "true" if pays else "state"
            nodes.append(scene.add(self.literal_x, y, text, kind, width))
            reward = self._reward(group, b)
            scene.add(reward_x + 0.15, y, reward, "note")
        if self.declared.n_bottom:
            y = step / 2
            self.bottom = scene.add(self.literal_x, y, "bottom", "state", width)
            scene.add(reward_x + 0.15, y, "0", "note")
        self.literal_frame = scene.frame(nodes)
        return nodes

    # -- the middle: clause states

    def _clause_text(self, group: range) -> str:
        family = self.family
        if not self.single:
            text, count = _span("C", group), len(group)
            if self.pair is None:
                return f"{text}: {count} clauses"
            held = int(self.satisfied[group.start : group.stop].sum())
            return f"{text}: {held} of {count} satisfied"
        (j,) = group
        literals = " ∨ ".join(
            f"{'¬' * bool(lit < 0)}x{abs(lit)}" for lit in family.clauses[j].tolist()
        )
        text = f"C{j + 1}: {literals}"
        if family.weights is not None:
            text += f", weight {family.weights[j]}"
        if self.pair is not None:
            action = int(self.pair.policy[family.clause_state(j)])
            text += f" → {action + 1:03b}"
        return text

    def _clause_kind(self, group: range) -> NodeKind:
        if self.pair is None:
            return "state"
        return "good" if self.satisfied[group.start : group.stop].all() else "bad"

    def _clause_lines(self, states: list[Node], right: list[Node]) -> None:
        """Join clause states with the literal states that their actions lead to."""
        family, lines = self.family, self.scene.lines
        if self.scene.bundled:
            for (k, v), count in sorted(_occurrences(self).items()):
                share = count / (3 * len(self.clauses[k]))
                boxes = right[2 * v : 2 * v + 2] if self.pairs else [right[v]]
                lines += (
                    Line(states[k].right, box.left, "own", 0.3 + 3 * share)
                    for box in boxes
                )
            return
        for j, row in enumerate(family.clauses.tolist()):
            action = 0 if self.pair is None else int(self.pair.policy[1 + j]) + 1
            for place, literal in enumerate(row):
                for bit in (1, 0):
                    value = (literal > 0) == bool(bit)
                    box = right[2 * (abs(literal) - 1) + value]
                    kind: LineKind = "own" if bit else "negated"
                    if action and action >> (2 - place) & 1 == bit:
                        kind = "policy" if bit else "policy-negated"
                        lines.append(Line(states[j].right, box.left, kind, 1.4))
                    else:
                        lines.append(Line(states[j].right, box.left, kind))

    # -- the left: s0 and its actions

    def _start(self, states: list[Node], right: list[Node]) -> float:
        """Add s0, its actions and where they lead; how high up they reach."""
        scene, family = self.scene, self.family
        parameters = family.parameters
        left, y = scene.frame(states)
        try_clause_y = max(y + 0.75, states[0].y)
        try_variable_y = min(y - 0.85, right[-1].y)
        chosen = None
        if self.pair is not None:
            chosen = int(self.pair.policy[family.start])
        start = scene.add(0.45, y, "s0", "start", 0.5)
        reach = "" if parameters.reach == 1 else f"{parameters.reach} × "
        share = (
            "w/W" if family.weights is not None else str(Fraction(1, family.n_clauses))
        )
        solve = self._action(
            start,
            y,
            f"[solve]: {family.solve_reward}\n{reach}{share} to each",
            chosen == family.layout.solve,
        )
        for state in states:
            used = chosen == family.layout.solve
            scene.lines.append(
                Line(
                    solve.right,
                    state.left,
                    "chance-policy" if used else "random",
                    1.2 if used else 0.6,
                )
            )
        tried = None if chosen is None else chosen - family.n_variables
        is_tried = tried is not None and 0 <= tried < family.n_clauses
        attempt = self._action(
            start,
            try_clause_y,
            f"[try Cj]: {_minus(family.try_clause_reward)}\none for each clause",
            is_tried,
        )
        end = (left, states[0].y)
        if is_tried:
            at = next(k for k, group in enumerate(self.clauses) if tried in group)
            end = states[at].left
        kind: LineKind = "chosen" if is_tried else "action"
        scene.lines.append(Line(attempt.right, end, kind, 0.8))
        variable = self._action(
            start,
            try_variable_y,
            f"[try xi]: {family.try_variable_reward}\none for each variable",
            False,
        )
        self._variables(variable, right, states[-1])
        self._worthless(states, solve)
        return try_clause_y + 0.2

    def _action(self, start: Node, y: float, text: str, used: bool) -> Node:
        """Add an action at s0, with its reward, and the arrow to it."""
        node = self.scene.add(1.95, y, text, "label", _width(text.split("\n")))
        kind: LineKind = "chosen" if used else "action"
        end = (node.left[0], y)
        self.scene.lines.append(Line(start.right, end, kind, 1.2 if used else 0.8))
        return node

    def _variables(self, action: Node, right: list[Node], last: Node) -> None:
        """Add the states X_i where there are any, and where [try x_i] leads."""
        scene = self.scene
        if not self.declared.variable_states:
            end = (self.literal_frame[0], action.y)
            scene.lines.append(Line(action.right, end, "action", 0.8))
            x = (action.right[0] + end[0]) / 2
            scene.add(x, action.y - 0.14, "1/2 to xi^0, 1/2 to xi^1", "heading")
            return
        # strict has a worthless state between the clauses and these.
        first = last.y - (2 + (self.declared.n_bottom > 1)) * ROW
        texts = [_span("X", group) for group in self.variables]
        width = _width(texts)
        x = last.right[0] - width / 2
        nodes = [
            scene.add(x, first - k * ROW, text, "state", width)
            for k, text in enumerate(texts)
        ]
        for k, node in enumerate(nodes):
            boxes = right[2 * k : 2 * k + 2] if self.pairs else [right[k]]
            scene.lines += (Line(node.right, box.left, "random") for box in boxes)
        scene.lines.append(Line(action.right, scene.frame(nodes), "action", 0.8))

    def _worthless(self, states: list[Node], solve: Node) -> None:
        """Draw where [quit], or half of [solve] in `strict`, leads."""
        scene = self.scene
        if self.declared.quit:
            for state in states:
                scene.lines.append(Line(state.right, self.bottom.left, "random", 0.4))
        if self.declared.n_bottom > 1:
            y = states[-1].y - 1.35 * ROW
            # As wide as the clauses, so that its lines cross none of them.
            last = states[-1]
            worthless = scene.add(last.x, y, "bottom2", "state", last.width)
            scene.lines.append(Line(solve.right, worthless.left, "random", 0.8))
            scene.lines.append(Line(worthless.right, self.bottom.left, "action", 0.8))

    # -- the words below

    def _notes(self) -> None:
        """Explain the picture; the scene grows downwards and is moved up."""
        scene = self.scene
        columns = int((scene.width - 0.3) / NOTE_CHARACTER)
        lines = [
            line for text in _legend(self) for line in textwrap.wrap(text, columns)
        ]
        lowest = min((bottom for _, bottom, _, _ in scene.frames), default=0.0)
        lift = 0.19 * len(lines) + 0.25 + max(0.0, 0.1 - lowest)
        scene.nodes = [
            Node(n.x, n.y + lift, n.text, n.kind, n.width) for n in scene.nodes
        ]
        scene.lines = [
            Line(_up(n.start, lift), _up(n.end, lift), n.kind, n.width)
            for n in scene.lines
        ]
        scene.frames = [(a, b + lift, c, d + lift) for a, b, c, d in scene.frames]
        for k, line in enumerate(reversed(lines)):
            scene.add(0.15, 0.15 + 0.19 * k, line, "note")
        scene.height += lift


def _legend(builder: _Builder) -> Iterable[str]:
    family, pair = builder.family, builder.pair
    yield (
        "Solid from s0: an action, with its reward. Dashed: chance. At a clause state "
        "action b1b2b3 (any but 000) pays 0 and leads with chance 1/3 each to the k-th "
        "literal's state where bk is 1"
        + (
            " or to its negation's where bk is 0."
            if builder.scene.bundled
            else " (solid) or to its negation's where bk is 0 (dotted)."
        )
    )
    if family.weights is not None:
        yield f"w: the clause's weight; W: their sum, {family.total_weight}."
    if builder.declared.quit:
        yield "Dashed to bottom: [quit], an eighth action of each clause state."
    if builder.declared.n_bottom > 1:
        yield "Half of [solve] leads to bottom2 and on to bottom, which pay nothing."
    if builder.scene.bundled:
        yield (
            "Neighbours are bundled; the thicker a line, the more literals of the "
            "bundle are among those variables."
        )
    yield (
        f"The family has a member M_y for each of the 2^{family.n_variables} "
        f"assignments y: the state xi^b pays {family.top} where y gives xi the value "
        "b, else 0."
    )
    if pair is None:
        return
    m, left = family.n_clauses, int((~builder.satisfied).sum())
    does = (
        f"leaves {left} of {m} unsatisfied (red)" if left else "satisfies all clauses"
    )
    if left and family.weights is not None:
        does += f", weight {family.weights[~builder.satisfied].sum()}"
    shown = f"Shown: an assignment that {does}, and its pair (g, π), worth "
    colours = "Orange: what π does" + (
        " at s0. " if builder.scene.bundled else "; after → its action. "
    )
    colours += "Green: satisfied. " if builder.single else "Green: all satisfied. "
    colours += (
        "Yellow: the literal states that pay."
        if builder.pairs
        else "On the right the bits that y gives each bundle."
    )
    yield f"{shown}{pair.value(family.start)} in OLIVE's program. {colours}"


def _occurrences(builder: _Builder) -> dict[tuple[int, int], int]:
    """How many literals each bundle of clauses has in each bundle of variables."""
    family = builder.family
    row = np.array([group.start for group in builder.clauses])
    column = np.array([group.start for group in builder.variables])
    k = np.searchsorted(row, np.arange(family.n_clauses), side="right") - 1
    v = np.searchsorted(column, np.abs(family.clauses) - 1, side="right") - 1
    counts = np.zeros((len(row), len(column)), dtype=np.int64)
    np.add.at(counts, (np.repeat(k, 3), v.ravel()), 1)
    return {
        (int(a), int(b)): int(counts[a, b])
        for a, b in zip(*np.nonzero(counts), strict=True)
    }


def _groups(count: int, alone: int) -> list[range]:
    """Cut 0..count-1 into single ones, or into bundles where there are many."""
    parts = count if count <= alone else BUNDLES
    cuts = [count * k // parts for k in range(parts + 1)]
    return [range(a, b) for a, b in itertools.pairwise(cuts)]


def _span(letter: str, group: range) -> str:
    first, last = group.start + 1, group.stop
    return f"{letter}{first}" if first == last else f"{letter}{first}…{letter}{last}"


def _width(texts: Iterable[str]) -> float:
    return CHARACTER * max(map(len, texts)) + 2 * PAD


def _minus(value: Fraction) -> str:
    return str(value).replace("-", "−")


def _up(point: tuple[float, float], lift: float) -> tuple[float, float]:
    return point[0], point[1] + lift
