"""The HTML of the report: one page, nothing loaded from elsewhere.

Its style is in page.css, what makes a picture respond to clicks in play.html.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .output import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...reduction.family.family import Family

DARK = {
    "#000000": "#e5e7eb",
    "#111827": "#f3f4f6",
    "#15803d": "#4ade80",
    "#374151": "#d1d5db",
    "#422006": "#422006",
    "#4b5563": "#d1d5db",
    "#6b7280": "#aab1bd",
    "#9aa3ad": "#9aa3ad",
    "#9ca3af": "#9ca3af",
    "#b45309": "#fde047",
    "#b91c1c": "#f87171",
    "#c2410c": "#fb923c",
    "#d1d5db": "#4b5563",
    "#dcfce7": "#166534",
    "#f3f4f6": "#1f2937",
    "#fca5a5": "#b91c1c",
    "#fde68a": "#facc15",
    "#ffffff": "#121212",
}  # colours of pictures on a dark page, by what they are on a light one


def _own(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def escape(text: object) -> str:
    """Text for HTML; control characters and odd bytes of file names are spelled out."""
    return html.escape("\n".join(map(printable, str(text).split("\n"))))


def table(rows: Iterable[Sequence[object]], header: Sequence[str] | None = None) -> str:
    """Make a table; numbers stand to the right, in facts (no header) to the left."""
    kind = "facts" if header is None else "scroll"
    lines = [f'<div class="{kind}"><table>']
    if header is not None:
        cells = "".join(f"<th>{escape(name)}</th>" for name in header)
        lines.append(f"<tr>{cells}</tr>")
    for row in rows:
        cells = "".join(
            f'<td class="number">{escape(cell)}</td>'
            if isinstance(cell, int | float) and not isinstance(cell, bool)
            else f"<td>{escape(cell)}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</table></div>")
    return "\n".join(lines)


def section(title: str, *parts: str) -> str:
    """Make a section with a heading; the parts are HTML."""
    return "\n".join(["<section>", f"<h2>{escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str) -> str:
    """Make a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def listing(text: str) -> str:
    """Make a block of program text."""
    return f"<pre>{escape(text)}</pre>"


def figure(svg: str, *caption: str, wide: bool = False) -> str:
    """Make a figure of an SVG element and its caption; a wide one scrolls."""
    from ..figures.scene import hypertext

    coloured = re.sub(
        '#[0-9a-f]{6}(?=[;"])', lambda c: f"var(--c{c[0][1:]}, {c[0]})", svg
    )
    paragraphs = "".join(f"<p>{hypertext(text, escape)}</p>" for text in caption)
    return (
        f'<figure class="{"wide" if wide else "plot"}"><div class="picture">{coloured}'
        f"</div><figcaption>{paragraphs}</figcaption></figure>"
    )


def page(
    title: str, verdict: str, tone: str, sections: Iterable[str], footer: str
) -> str:
    """Put the page together; the tone is a class of the style, for the verdict."""
    dark = " ".join(f"--c{light[1:]}: {shade};" for light, shade in DARK.items())
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_own('page.css').replace('DARK', dark)}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f'<p class="verdict {tone}">{escape(verdict)}</p>',
            *sections,
            f"<footer><p>{escape(footer)}</p></footer>",
            "</body></html>",
            "",
        ]
    )


def play(family: Family, assignment: NDArray[np.bool_], optimum: object | None) -> str:
    """HTML to play with below a picture whose parts have names."""
    from ...reduction.program.optimum import step

    parameters = family.parameters
    numbers = (parameters.best, step(parameters), parameters.penalty)
    scale = math.lcm(*(number.denominator for number in numbers))
    best, lost, penalty = (str(int(number * scale)) for number in numbers)
    weights = None if family.weights is None else [str(w) for w in family.weights]
    data = {
        "clauses": family.clauses.tolist(),
        "weights": weights,
        "start": assignment.tolist(),
        "top": str(family.top),
        "best": best,
        "step": lost,
        "penalty": penalty,
        "scale": str(scale),
        "total": str(parameters.total_weight),
        "optimum": "not known" if optimum is None else str(optimum),
    }
    return _own("play.html").rstrip().replace("DATA", json.dumps(data))
