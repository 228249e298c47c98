"""A drawing of boxes, lines and words, in inches, before anything draws it."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

NodeKind = Literal[
    "start", "state", "good", "bad", "true", "label", "heading", "note", "mark"
]
LineKind = Literal[
    "action",
    "quit",
    "bracket",
    "random",
    "own",
    "negated",
    "chosen",
    "policy",
    "policy-negated",
]
Point = tuple[float, float]
ROW, NOTE_CHARACTER, NOTE_ROW = 0.34, 0.064, 0.19


@dataclass(frozen=True)
class Node:
    """A text in a box at (x, y), its centre, or the left end of a note."""

    x: float
    y: float
    text: str
    kind: NodeKind
    width: float = 0.0
    made: bool = False  # Not in the formula as read
    strength: float = 1.0  # Of the filling, in (0, 1]
    name: str = ""  # Its id in an SVG

    @property
    def left(self) -> Point:
        """Middle of the left edge."""
        return self.x - self.width / 2, self.y

    @property
    def right(self) -> Point:
        """Middle of the right edge."""
        return self.x + self.width / 2, self.y


@dataclass(frozen=True)
class Line:
    """A line between two points, `width` points thick; actions are arrows."""

    start: Point
    end: Point
    kind: LineKind
    width: float = 0.6
    mark: str = ""
    along: float = 0.5
    name: str = ""

    def moved(self, up: float) -> Line:
        """Return the same line, higher."""
        (a, b), (c, d) = self.start, self.end
        return replace(self, start=(a, b + up), end=(c, d + up))


class Frame(NamedTuple):
    """A rectangle around a column of boxes."""

    left: float
    bottom: float
    right: float
    top: float


@dataclass
class Scene:
    """Nodes, lines, frames and caption; `bundled`: boxes may stand for many states."""

    width: float = 0.0
    height: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)
    bundled: bool = False

    def add(
        self,
        x: float,
        y: float,
        text: str,
        kind: NodeKind,
        width: float = 0.0,
        name: str = "",
    ) -> Node:
        """Add a node and return it."""
        node = Node(x, y, text, kind, width, name=name)
        self.nodes.append(node)
        return node

    def frame(self, nodes: Sequence[Node]) -> Frame:
        """Frame a column of nodes."""
        frame = Frame(
            min(node.left[0] for node in nodes) - 0.1,
            nodes[-1].y - ROW / 2 - 0.03,
            max(node.right[0] for node in nodes) + 0.1,
            nodes[0].y + ROW / 2 + 0.03,
        )
        self.frames.append(frame)
        return frame

    def bracket(self, frame: Frame, side: Literal["left", "top", "bottom"]) -> Point:
        """Put a bracket along a side of a frame; return where an arrow to it ends."""
        left, bottom, right, top = frame
        gap, tick = 0.1, 0.06
        if side == "left":
            x = left - gap
            corners = [(x + tick, top), (x, top), (x, bottom), (x + tick, bottom)]
            end = (x, (bottom + top) / 2)
        else:
            sign = 1 if side == "top" else -1
            y = (top if side == "top" else bottom) + sign * gap
            inner = y - sign * tick
            corners = [(left, inner), (left, y), (right, y), (right, inner)]
            end = (left, y)
        self.lines += (Line(a, b, "bracket") for a, b in itertools.pairwise(corners))
        return end

    def texts(self) -> Iterator[Node]:
        """Yield the nodes, then what is written on lines."""
        yield from self.nodes
        for line in self.lines:
            if line.mark:
                (a, b), (c, d), t = line.start, line.end, line.along
                yield Node(a + t * (c - a), b + t * (d - b), line.mark, "mark")

    def lifted(self, up: float) -> Scene:
        """Return the same scene with room below."""
        return replace(
            self,
            height=self.height + up,
            nodes=[replace(n, y=n.y + up) for n in self.nodes],
            lines=[line.moved(up) for line in self.lines],
            frames=[Frame(a, b + up, c, d + up) for a, b, c, d in self.frames],
        )

    def fitted(self) -> Scene:
        """Return the same scene, raised so that nothing lies below its edge."""
        lowest = min(
            [y for line in self.lines for _, y in (line.start, line.end)]
            + [node.y - 0.1 for node in self.nodes]
            + [frame.bottom for frame in self.frames]
        )
        return self.lifted(max(0.0, 0.1 - lowest))

    def captioned(self) -> Scene:
        """Return the same scene with its caption written below it."""
        columns = int((self.width - 0.3) / NOTE_CHARACTER)
        lines = [line for text in self.caption for line in textwrap.wrap(text, columns)]
        scene = self.lifted(NOTE_ROW * len(lines) + 0.25)
        for k, line in enumerate(reversed(lines)):
            scene.add(0.15, 0.15 + NOTE_ROW * k, line, "note")
        return scene
