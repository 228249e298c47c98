"""A drawing of boxes, lines and words, in inches; drawn by matplotlib, or as TikZ."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


_BOXES = {  # edge and filling
    "start": ("#374151", "#ffffff"),
    "state": ("#374151", "#f3f4f6"),
    "good": ("#15803d", "#dcfce7"),
    "bad": ("#b91c1c", "#fca5a5"),
    "true": ("#b45309", "#fde68a"),
}
_TEXT, _GREY, _ON_YELLOW = "#111827", "#4b5563", "#422006"
_MADE_EDGE, _FRAME = "#9ca3af", "#d1d5db"
_LINES = {
    "action": "#374151",
    "bracket": "#374151",
    "quit": "#6b7280",
    "random": "#6b7280",
    "own": "#6b7280",
    "negated": "#6b7280",
    "policy": "#c2410c",
    "policy-negated": "#c2410c",
    "chosen": "#c2410c",
}
_DOTTED = frozenset({"negated", "policy-negated"})
_ARROWS = frozenset({"action", "chosen", "quit"})
_FOLLOWED = frozenset({"chosen", "policy", "policy-negated"})
_PART = 0.78  # height of a box as a part of its row


def draw_scene(scene: Scene) -> Figure:
    """Draw a scene with matplotlib, as large as it says."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(scene.width, scene.height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(0, scene.height)
    axes.axis("off")
    fill_axes(axes, scene)
    return figure


def fill_axes(axes: Axes, scene: Scene) -> None:
    """Draw a scene into axes whose unit is the inch."""
    from matplotlib.patches import FancyBboxPatch, Rectangle

    for left, bottom, right, top in scene.frames:
        axes.add_patch(
            Rectangle(
                (left, bottom),
                right - left,
                top - bottom,
                fill=False,
                edgecolor=_FRAME,
                linewidth=0.8,
            )
        )
    for line in scene.lines:
        dash = (0, (1, 2)) if line.kind in _DOTTED else "-"
        followed = line.kind in _FOLLOWED
        drawn = axes.annotate(
            "",
            line.end,
            line.start,
            arrowprops={
                "arrowstyle": "->" if line.kind in _ARROWS else "-",
                "shrinkA": 0,
                "shrinkB": 0,
                "color": _LINES[line.kind],
                "linewidth": line.width,
                "linestyle": dash,
            },
            zorder=2 if followed else 1,
        )
        if line.name and drawn.arrow_patch is not None:
            drawn.arrow_patch.set_gid(f"line-{line.name}")
    for node in scene.texts():
        if node.kind in _BOXES:
            edge, filling = _box_colours(node)
            height = _PART * ROW
            axes.add_patch(
                FancyBboxPatch(
                    (node.left[0] + 0.04, node.y - height / 2 + 0.04),
                    node.width - 0.08,
                    height - 0.08,
                    boxstyle="round,pad=0.04",
                    edgecolor=edge,
                    facecolor=(filling, node.strength),
                    linestyle="--" if node.made else "-",
                    linewidth=1.0,
                    zorder=3,
                    gid=f"box-{node.name}" if node.name else None,
                )
            )
        text = axes.text(
            node.x, node.y, mathtext(node.text), zorder=4, **_text_style(node)
        )
        if node.name:
            text.set_gid(f"text-{node.name}")


def _box_colours(node: Node) -> tuple[str, str]:
    edge, filling = _BOXES[node.kind]
    return _MADE_EDGE if node.made else edge, filling


def _text_colour(node: Node) -> str:
    if node.kind == "true":
        return _ON_YELLOW
    grey = node.kind == "heading" or (node.made and node.kind != "bad")
    return _GREY if grey else _TEXT


def _text_style(node: Node) -> dict[str, Any]:
    style: dict[str, Any] = {"va": "center", "fontsize": 8, "color": _text_colour(node)}
    style["ha"] = "left" if node.kind == "note" else "center"
    if node.kind == "mark":
        style |= {"fontsize": 6.5, "bbox": {"pad": 0.4, "fc": "#ffffff", "lw": 0}}
    return style


_COLOURS = sorted(
    {c for pair in _BOXES.values() for c in pair}
    | {*_LINES.values(), _FRAME, _GREY, _TEXT, _ON_YELLOW, _MADE_EDGE}
)


def tikz(scene: Scene) -> str:
    """Write a scene as a LaTeX document of one TikZ picture; only geometry and tikz."""
    return "\n".join([*_document(scene), ""])


def _document(scene: Scene) -> Iterator[str]:
    # A little more than the picture: rounding must not push it off the page.
    wide, high = scene.width + 0.02, scene.height + 0.02
    size = f"paperwidth={wide:.2f}in,paperheight={high:.2f}in"
    yield r"\documentclass{article}"
    yield rf"\usepackage[{size},margin=0in]{{geometry}}"
    yield r"\usepackage{tikz}"
    yield r"\pagestyle{empty}\parindent=0pt\topskip=0pt"
    for colour in _COLOURS:
        name = colour[1:]
        yield rf"\definecolor{{c{name}}}{{HTML}}{{{name.upper()}}}"
    yield r"\begin{document}"
    yield r"\begin{tikzpicture}[x=1in, y=1in, every node/.style={inner sep=0pt,"
    yield r"  font=\sffamily\fontsize{8}{9.5}\selectfont}]"
    yield rf"\useasboundingbox (0,0) rectangle ({scene.width:.3f},{scene.height:.3f});"
    for left, bottom, right, top in scene.frames:
        yield (
            rf"\draw[c{_FRAME[1:]}] ({left:.3f},{bottom:.3f}) "
            rf"rectangle ({right:.3f},{top:.3f});"
        )
    for line in sorted(scene.lines, key=lambda line: line.kind in _FOLLOWED):
        colour = _LINES[line.kind]
        dash = ", dotted" if line.kind in _DOTTED else ""
        arrow = ", ->" if line.kind in _ARROWS else ""
        (a, b), (c, d) = line.start, line.end
        yield (
            rf"\draw[c{colour[1:]}, line width={line.width:.2f}pt{dash}"
            rf"{arrow}] ({a:.3f},{b:.3f}) -- ({c:.3f},{d:.3f});"
        )
    for node in scene.texts():
        yield rf"\node[{_tikz_style(node)}] at ({node.x:.3f},{node.y:.3f}) " + (
            f"{{{_tex(node.text)}}};"
        )
    yield r"\end{tikzpicture}"
    yield r"\end{document}"


def _tikz_style(node: Node) -> str:
    style = f"text=c{_text_colour(node)[1:]}"
    if node.kind in _BOXES:
        edge, filling = _box_colours(node)
        dash = ", dashed" if node.made else ""
        return (
            f"{style}, draw=c{edge[1:]}{dash}, fill=c{filling[1:]}, "
            f"fill opacity={node.strength:.2f}, text opacity=1, rounded corners=2pt, "
            f"minimum width={node.width:.3f}in, minimum height={_PART * ROW:.3f}in"
        )
    if node.kind == "mark":
        font = r"font=\sffamily\fontsize{6.5}{7}\selectfont"
        return f"{style}, fill=white, inner sep=0.5pt, {font}"
    return style + (", anchor=west" if node.kind == "note" else ", align=center")


_NAMES = re.compile(r"(¬?)\b([xXCyb])(\d+|[ijk])(?:\^([01b]))?(?![A-Za-z])")
_WHOLE_NAMES = {"M_y": "M_y", "b1b2b3": "b_1b_2b_3", "s0": "s_0"}
_HTML = {
    r"\\bar\{(.)\}": r"¬\1",
    r"_\{?(\w[\dijk]*)\}?": r"<sub>\1</sub>",
    r"\^\{(\w+)\}": r"<sup>\1</sup>",
}
_WHOLE = re.compile(r"\bM_y|b1b2b3|\bs0\b|(?<!\w)2\^(\d+)|" + _NAMES.pattern)


def mathtext(text: str) -> str:
    """Put names of states and bits, and powers of two, between dollar signs."""
    return _WHOLE.sub(lambda match: f"${_mathematics(match)}$", text)


def hypertext(text: str, escape: Callable[[str], str]) -> str:
    """HTML where those names have their indices and exponents; the rest is escaped."""
    parts, end = [], 0
    for match in _WHOLE.finditer(text):
        name = _mathematics(match)
        for pattern, tags in _HTML.items():
            name = re.sub(pattern, tags, name)
        parts += [escape(text[end : match.start()]), name]
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _mathematics(match: re.Match[str]) -> str:
    if match[0] in _WHOLE_NAMES:
        return _WHOLE_NAMES[match[0]]
    exponent, negated, letter, index, power = match.groups()
    if exponent:
        return f"2^{{{exponent}}}"
    base = rf"\bar{{{letter}}}" if negated else letter
    return f"{base}_{{{index}}}" + (f"^{{{power}}}" if power else "")


_SYMBOLS = {
    "π": r"$\pi$",
    "∨": r"$\lor$",
    "→": r"$\to$",
    "−": "$-$",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "✗": r"$\times$",
    "--": "-{}-",
}


def _tex(text: str) -> str:
    text = mathtext(text).replace("bottom2", r"$\bot_2$")
    for symbol, command in _SYMBOLS.items():
        text = text.replace(symbol, command)
    return text.replace("\n", r"\\")
