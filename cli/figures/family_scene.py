"""Lay out a family as in the paper, left to right; many neighbours become a bundle."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...reduction.program.optimum import optimum, step
from .family_subject import Subject, sentences, span, verdict
from .files import METADATA, style
from .scene import ROW, Frame, Line, LineKind, Node, NodeKind, Point, Scene, draw_scene

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from ...reduction.family.family import Family, Instance
    from ...reduction.family.variants import Parameters
    from ...reduction.formula.dimacs import DimacsFile
    from ...reduction.verify.verification import Verification

PAD, CHARACTER = 0.14, 0.073
_LITERAL_LINES: dict[tuple[bool, int], tuple[LineKind, float]] = {
    (False, 1): ("own", 0.6),
    (False, 0): ("negated", 0.9),
    (True, 1): ("policy", 1.4),
    (True, 0): ("policy-negated", 1.4),
}  # kind and thickness, by whether π goes there and the bit


def scene(
    family: Family,
    assignment: NDArray[np.bool_] | None = None,
    *,
    hard: NDArray[np.bool_] | None = None,
    remarks: Sequence[str] = (),
    bare: bool = False,
) -> Scene:
    """Lay out a family; `assignment`, shape (n,), is a witness; `bare`: short texts."""
    return _Builder(Subject(family, assignment, hard, remarks, bare)).build()


class _Builder:
    """Column by column, from the literals back to s0."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.family = subject.family
        self.declared = self.family.layout.declaration
        self.scene = Scene(bundled=subject.bundled)
        start = self.family.start
        self.chosen = None if subject.pair is None else int(subject.pair.policy[start])

    def build(self) -> Scene:
        subject = self.subject
        texts = [subject.clause_text(group) for group in subject.clauses]
        literals = list(subject.literal_texts())
        middle = len(texts) + bool(self.declared.n_bottom > 1)
        below = len(subject.variables) + 1 if self.declared.variable_states else 2
        rows = max(middle + below, len(literals) + bool(self.declared.n_bottom), 8)
        top = rows * ROW
        wide = _width([*texts, "bottom2"])
        self.middle_x = 3.45 + wide / 2
        literal_width = _width([*(text for text, _ in literals), "bottom"])
        self.literal_x = 3.45 + wide + 1.8 + literal_width / 2
        reward_x = self.literal_x + literal_width / 2

        right = self._literals(literals, literal_width, top, reward_x)
        centre = top - (middle * ROW + (top - (middle + below) * ROW) / 2) / 2
        first = centre + (len(texts) - 1) * ROW / 2
        states = [
            self._clause(first - k * ROW, text, group, wide)
            for k, (text, group) in enumerate(zip(texts, subject.clauses, strict=True))
        ]
        self._clause_lines(states, right)
        top = max(top, self._start(states, right))
        rewards = [subject.reward(group, 0) for group in subject.variables]
        reward_width = max(_width(rewards), 0.8)
        self.scene.width = reward_x + 0.25 + reward_width
        for x, text in (
            (0.45, "start"),
            (1.95, "actions at s0"),
            (self.middle_x, "clause states"),
            (self.literal_x, "literal states"),
            (
                reward_x + 0.15 + reward_width / 2,
                "reward" if subject.pair is None or subject.pairs else "assignment",
            ),
        ):
            self.scene.add(x, top + 0.3, text, "heading")
        self.scene.height = top + 0.55
        self.scene.caption = list(sentences(subject))
        return self.scene.fitted()

    def _literals(
        self, texts: list[tuple[str, range]], width: float, top: float, reward_x: float
    ) -> list[Node]:
        scene, subject = self.scene, self.subject
        boxes = []
        n_rows = len(texts) + bool(self.declared.n_bottom)
        step = top / n_rows
        for k, (text, group) in enumerate(texts):
            b = k % 2 if subject.pairs else 0
            pays = (
                subject.pairs
                and subject.pair is not None
                and subject.truth[group[0]] == b
            )
            y = top - (k + 0.5) * step
            kind: NodeKind = "true" if pays else "state"
            made = subject.made_variables(group)
            name = f"x{group[0] + 1}-{b}" if subject.pairs else ""
            boxes.append(Node(self.literal_x, y, text, kind, width, made, name=name))
            paid = subject.reward(group, b)
            scene.add(reward_x + 0.15, y, paid, "note", name=f"reward-{name}")
        scene.nodes += boxes
        if self.declared.n_bottom:
            y = step / 2
            self.bottom = scene.add(self.literal_x, y, "bottom", "state", width)
            scene.add(reward_x + 0.15, y, "0", "note")
        if self.declared.quit:
            scene.add(self.literal_x, y - 0.25, "by [quit]: 0", "heading")
        self.literal_frame = scene.frame(boxes)
        return boxes

    def _clause(self, y: float, text: str, group: range, width: float) -> Node:
        subject, strength = self.subject, 1.0
        kind: NodeKind = "state"
        if subject.pair is not None:
            held = subject.satisfied[group.start : group.stop]
            kind = "good" if held.all() else "bad"
            if kind == "bad":
                strength = 0.25 + 0.75 * float(1 - held.mean())
        made = subject.made_clauses(group)
        name = f"C{group[0] + 1}" if subject.single else ""
        node = Node(self.middle_x, y, text, kind, width, made, strength, name)
        self.scene.nodes.append(node)
        return node

    def _clause_lines(self, states: list[Node], right: list[Node]) -> None:
        subject = self.subject
        if not subject.bundled:
            for j, row in enumerate(subject.family.clauses.tolist()):
                self._lines_of_clause(j, row, states[j].right, right)
            return
        counts = subject.occurrences
        least, most = min(counts.values()), max(counts.values())
        for (k, v), count in sorted(counts.items()):
            width = 0.3 + 2 * (count - least) / max(most - least, 1)
            boxes = right[2 * v : 2 * v + 2] if subject.pairs else [right[v]]
            self.scene.lines += (
                Line(states[k].right, box.left, "own", width) for box in boxes
            )

    def _lines_of_clause(
        self, j: int, literals: list[int], start: Point, right: list[Node]
    ) -> None:
        """Draw a line for each box and bit, whatever the literals that share it."""
        pair, scene = self.subject.pair, self.scene
        action = 0 if pair is None else int(pair.policy[self.family.clause_state(j)])
        action += pair is not None  # its bits; 000 is no action
        # Box and bit: how many literals lead there, by any action and by this one.
        led: dict[tuple[int, int], list[int]] = {}
        for place, literal in enumerate(literals):
            for bit in (1, 0):
                box = 2 * (abs(literal) - 1) + ((literal > 0) == bool(bit))
                counts = led.setdefault((box, bit), [0, 0])
                counts[0] += 1
                counts[1] += pair is not None and action >> (2 - place) & 1 == bit
        for (box, bit), (count, followed) in led.items():
            kind, width = _LITERAL_LINES[followed > 0, bit]
            # Side by side where a literal and its negation lead to one box.
            apart = 0.0 if (box, 1 - bit) not in led else 0.03 if bit else -0.03
            many = followed or count
            chance = str(Fraction(many, 3)) if many > 1 else ""
            along = (0.1 if bit else 0.36) + 0.08 * (j % 3)  # lines cross
            name = f"C{j + 1}-{right[box].name}-{bit}"
            line = Line(start, right[box].left, kind, width, chance, along, name)
            scene.lines.append(line.moved(apart))

    def _start(self, states: list[Node], right: list[Node]) -> float:
        scene, family = self.scene, self.family
        frame = scene.frame(states)
        y = (frame.bottom + frame.top) / 2
        bracket = scene.bracket(frame, "top")
        try_clause_y = max(y + 0.75, bracket[1])
        start = scene.add(0.45, y, "s0", "start", 0.5)
        self._solve(start, states)
        tried = -1 if self.chosen is None else self.chosen - family.n_variables
        is_tried = 0 <= tried < family.n_clauses
        lost = str(family.try_clause_reward).replace("-", "−")
        attempt = self._action(
            start,
            try_clause_y,
            f"[try Cj]: {lost}\none for each clause, to Cj",
            is_tried,
        )
        scene.lines.append(Line(attempt.right, bracket, "action", 0.8))
        if is_tried:
            at = next(k for k, g in enumerate(self.subject.clauses) if tried in g)
            scene.lines.append(Line(attempt.right, states[at].left, "chosen", 1.2))
        self._try_variable(start, states, right)
        return try_clause_y + 0.2

    def _action(self, start: Node, y: float, text: str, used: bool) -> Node:
        width = 0.85 * _width(text.split("\n"))  # words are narrower
        node = self.scene.add(1.95, y, text, "label", width)
        kind: LineKind = "chosen" if used else "action"
        end = (node.left[0], y)
        self.scene.lines.append(Line(start.right, end, kind, 1.2 if used else 0.8))
        return node

    def _solve(self, start: Node, states: list[Node]) -> None:
        family, lines = self.family, self.scene.lines
        reach = family.parameters.reach
        share = (
            "w/W" if family.weights is not None else str(Fraction(1, family.n_clauses))
        )
        text = f"[solve]: {family.solve_reward}\n"
        text += f"{share} to each" if reach == 1 else f"{reach} × {share} to each"
        two = self.declared.n_bottom > 1
        if two:
            text += f"\n{1 - reach} to bottom2"
        used = self.chosen == family.layout.solve
        solve = self._action(start, start.y, text, used)
        kind: LineKind = "policy" if used else "random"
        width = 1.2 if used else 0.6
        lines += (Line(solve.right, state.left, kind, width) for state in states)
        if self.declared.quit:
            lines += (Line(s.right, self.bottom.left, "quit", 0.4) for s in states)
        if two:
            last = states[-1]
            y = last.y - 1.35 * ROW
            worthless = self.scene.add(last.x, y, "bottom2", "state", last.width)
            lines.append(Line(solve.right, worthless.left, kind, width))
            lines.append(
                Line(
                    worthless.right,
                    self.bottom.left,
                    "chosen" if used else "action",
                    1.2 if used else 0.8,
                )
            )

    def _try_variable(self, start: Node, states: list[Node], right: list[Node]) -> None:
        scene, family, halves = self.scene, self.family, "1/2 to xi^0, 1/2 to xi^1"
        text = f"[try xi]: {family.try_variable_reward}\none for each variable"
        if not self.declared.variable_states:
            end = scene.bracket(self.literal_frame, "bottom")
            action = self._action(start, min(start.y - 0.85, end[1]), text, False)
            scene.lines.append(Line(action.right, end, "action", 0.8))
            x = (action.right[0] + end[0]) / 2
            scene.add(x, min(action.y, end[1]) - 0.14, halves, "heading")
            return
        frame = self._variables(states[-1], right)
        action = self._action(
            start, min(start.y - 0.85, right[-1].y), f"{text}, to Xi", False
        )
        end = scene.bracket(frame, "left")
        scene.lines.append(Line(action.right, end, "action", 0.8))
        x = frame.right - _width([halves]) / 2
        scene.add(x, frame.bottom - 0.14, f"Xi: {halves}", "heading")

    def _variables(self, last: Node, right: list[Node]) -> Frame:
        scene, subject = self.scene, self.subject
        # strict has a worthless state between the clauses and these.
        first = last.y - (2 + (self.declared.n_bottom > 1)) * ROW
        texts = [span("X", group) for group in subject.variables]
        width = _width(texts)
        x = last.right[0] - width / 2
        nodes = [
            Node(
                x, first - k * ROW, text, "state", width, subject.made_variables(group)
            )
            for k, (text, group) in enumerate(
                zip(texts, subject.variables, strict=True)
            )
        ]
        scene.nodes += nodes
        for k, node in enumerate(nodes):
            boxes = right[2 * k : 2 * k + 2] if subject.pairs else [right[k]]
            scene.lines += (Line(node.right, box.left, "random") for box in boxes)
        return scene.frame(nodes)


def _width(texts: Iterable[str]) -> float:
    return CHARACTER * max(map(len, texts)) + 2 * PAD


_FAINT, _STRONG = "#9aa3ad", "#c2410c"
_POINTS = 60


def lay_out(
    source: DimacsFile,
    instance: Instance,
    answer: Verification | None,
    witness: bool | None,
    assignment: NDArray[np.bool_] | None,
    bare: bool = False,
) -> Scene:
    """Lay out a family; `assignment`, shape (n,) or None, and `bare` as in `scene`."""
    remarks = list(verdict(answer, witness, shown=assignment is not None))
    if instance.used is not None:
        remarks.append(f"{instance.used}.")
    hard = None if source.hardened is None else source.hardened.original.hard
    return scene(instance.family, assignment, hard=hard, remarks=remarks, bare=bare)


def draw_family(drawn: Scene) -> str:
    """Draw a family without its caption; the text of an ``<svg>`` element."""
    return svg_of(lambda: draw_scene(drawn))


def draw_theorem_o(
    parameters: Parameters, unsatisfied: int | None, *, weighted: bool
) -> str:
    """Draw the optimum as a function of u, with the formula's own u marked."""

    def draw() -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(4.2, 2.5), layout="constrained")  # for phones, too
        axes = figure.add_subplot()
        shown = _values_of_u(parameters, unsatisfied)
        values = [float(optimum(parameters, u)) for u in shown]
        dots = "o" if len(shown) == shown[-1] + 1 else ""
        axes.plot(shown, values, marker=dots, color=_FAINT, markersize=4)
        if unsatisfied is not None:
            own = float(optimum(parameters, unsatisfied))
            axes.plot([unsatisfied], [own], "o", color=_STRONG)
        axes.axhline(
            float(parameters.best - parameters.penalty), linestyle=":", color=_FAINT
        )
        what = "weight" if weighted else "number"
        axes.set_xlabel(f"u, least {what} of unsatisfied clauses")
        axes.set_ylabel("optimum")
        axes.ticklabel_format(useOffset=False)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        return figure

    return svg_of(draw)


def _values_of_u(parameters: Parameters, unsatisfied: int | None) -> list[int]:
    """Where to draw the optimum: each u, or some where they are many."""
    wanted = 8 if unsatisfied is None else 2 * unsatisfied + 4
    last = min(parameters.total_weight // 2, wanted)  # 0 where the weight is 1
    bend = int(parameters.penalty / step(parameters))
    some = {last * k // _POINTS for k in range(_POINTS + 1)} | {bend, bend + 1}
    return sorted(u for u in some if u <= last)


def svg_of(draw: Callable[[], Figure]) -> str:
    """Write the figure that `draw` makes; the SVG element."""
    with style():
        buffer = io.StringIO()
        draw().savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(METADATA[".svg"]),
        )
    text = buffer.getvalue()
    # HTML needs no namespaces: the page names no address of the net at all.
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text[text.index("<svg") :])
    return text.replace("xlink:href", "href")
