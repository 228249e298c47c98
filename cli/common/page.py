"""The HTML of the report: one page, nothing loaded from elsewhere."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .output import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...reduction.family.family import Family

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
.scroll, .picture { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .8rem .25rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.facts td:last-child { overflow-wrap: anywhere; text-align: left; }
pre { overflow-x: auto; padding: .8rem; background: #8881; font-size: .85rem; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figure svg text { fill: var(--c000000, #000000); }
.wide svg { min-width: 59rem; }
figcaption, footer { font-size: .85rem; opacity: .85; }
figcaption p { margin: .3rem 0; }
.play button { font: inherit; margin: .15rem; padding: .1rem .5rem; }
@media (max-width: 40rem) {
  .scroll tr { display: grid; grid-template-columns: 4.6rem 6.8rem 1fr 4.8rem;
    border-bottom: 1px solid #8884; }
  .scroll td, .scroll th { border: 0; overflow-wrap: anywhere; font-size: .9rem;
    padding-right: .4rem; }
  .scroll td:last-child, .scroll th:last-child { grid-column: 1 / -1; }
  .scroll td:last-child:empty { display: none; }
}
@media (prefers-color-scheme: dark) { figure svg { DARK } }
"""
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
            f"<style>{_STYLE.replace('DARK', dark)}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f'<p class="verdict {tone}">{escape(verdict)}</p>',
            *sections,
            f"<footer><p>{escape(footer)}</p></footer>",
            "</body></html>",
            "",
        ]
    )


_BODY = """<div class="play" hidden>
<p>Click a variable to flip it: <span class="play-variables"></span></p>
<p class="play-found" aria-live="polite"></p>
</div>
<script>
const olivinePlay = (data => {
  const colour = c => `var(--c${c}, #${c})`;
  const inside = (id, kind) => document.querySelector(`[id="${id}"] ${kind}`);
  const root = document.querySelector(".play"), bits = data.start.slice();
  const gcd = (a, b) => b === 0n ? a : gcd(b, a % b);
  const [best, step, penalty, scale, total] =
    [data.best, data.step, data.penalty, data.scale, data.total].map(BigInt);
  const weight = j => BigInt(data.weights === null ? 1 : data.weights[j]);
  function found() {
    const truth = data.clauses.map(c => c.map(x => bits[Math.abs(x) - 1] === (x > 0)));
    const missed = truth.flatMap((t, j) => t.some(Boolean) ? [] : [j]);
    const left = missed.reduce((sum, j) => sum + weight(j), 0n);
    const lost = left === total || step * left < penalty ? step * left : penalty;
    const top = best - lost, common = gcd(top < 0n ? -top : top, scale);
    const value = `${top / common}` + (scale === common ? "" : `/${scale / common}`);
    return {truth, missed, left, value};
  }
  function paint(id, kind, set) {
    const part = inside(id, kind);
    if (part) set(part.style);
  }
  function show() {
    const {truth, missed, left, value} = found();
    data.clauses.forEach((clause, j) => {
      const good = truth[j].some(Boolean), name = `C${j + 1}`;
      const action = good ? truth[j] : [false, false, true];
      paint(`box-${name}`, "path", style => {
        style.fill = colour(good ? "dcfce7" : "fca5a5");
        style.stroke = colour(good ? "15803d" : "b91c1c");
        style.fillOpacity = 1;
      });
      const followed = new Set(clause.map((x, k) =>
        `${Math.abs(x)}-${Number((x > 0) === action[k])}-${Number(action[k])}`));
      for (const x of clause) for (const bit of [0, 1]) {
        const end = `${Math.abs(x)}-${Number((x > 0) === (bit === 1))}-${bit}`;
        paint(`line-${name}-x${end}`, "path", style => {
          style.stroke = colour(followed.has(end) ? "c2410c" : "6b7280");
          style.strokeWidth = followed.has(end) ? 1.4 : 0.6;
        });
      }
    });
    bits.forEach((bit, i) => [0, 1].forEach(b => {
      const pays = Number(bit) === b, name = `x${i + 1}-${b}`;
      paint(`box-${name}`, "path", style => {
        style.fill = colour(pays ? "fde68a" : "f3f4f6");
        style.stroke = colour(pays ? "b45309" : "374151");
      });
      const text = inside(`text-reward-${name}`, "text");
      if (text) text.textContent = pays ? data.top : "0";
    }));
    root.querySelectorAll("button").forEach((button, i) => {
      button.innerHTML = `x<sub>${i + 1}</sub> = ${Number(bits[i])}`;
      button.setAttribute("aria-pressed", bits[i]);
    });
    const names = missed.map(j => `C${j + 1}`).join(", ");
    root.querySelector(".play-found").textContent =
      (missed.length ? `Unsatisfied: ${names}, weight ${left}.` : "All clauses hold.") +
      ` The pair (g, π) of this assignment is worth ${value}; the optimum is ` +
      `${data.optimum}.`;
  }
  bits.forEach((_, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.onclick = () => { bits[i] = !bits[i]; show(); };
    root.querySelector(".play-variables").append(button, " ");
  });
  root.hidden = false;
  show();
  return {
    set(values) { values.forEach((v, i) => { bits[i] = v; }); show(); },
    found,
  };
})(DATA);
</script>"""


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
    return _BODY.replace("DATA", json.dumps(data))
