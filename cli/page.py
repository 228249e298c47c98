"""The HTML of the report: one page, nothing loaded from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
h1, .verdict { overflow-wrap: anywhere; }
.verdict { font-size: 1.2rem; padding: .8rem 1rem; border-left: .4rem solid;
  background: #8881; }
.satisfiable { border-color: #15803d; } .unsatisfiable { border-color: #1d4ed8; }
.undecided { border-color: #a16207; } .contradiction { border-color: #dc2626; }
.scroll, figure { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.facts td:last-child { overflow-wrap: anywhere; text-align: left; }
pre { overflow-x: auto; padding: .8rem; background: #8881; font-size: .85rem; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; min-width: 34rem; height: auto; }
figcaption, footer { font-size: .85rem; opacity: .8; }
@media (prefers-color-scheme: dark) {
  figure svg { filter: invert(1) hue-rotate(180deg); }
}
"""


def escape(text: object) -> str:
    """Text for HTML; lone surrogates (bytes of odd file names) are spelled out."""
    clean = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
    return html.escape(clean)


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


def figure(svg: str, caption: str) -> str:
    """Make a figure of an SVG element."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def page(
    title: str, verdict: str, tone: str, sections: Iterable[str], footer: str
) -> str:
    """Put the page together; the tone is a class of the style, for the verdict."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f'<p class="verdict {tone}">{escape(verdict)}</p>',
            *sections,
            f"<footer><p>{escape(footer)}</p></footer>",
            "</body></html>",
            "",
        ]
    )
