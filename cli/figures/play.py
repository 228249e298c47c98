"""A formula to play with in a report: a click flips a variable; the values follow."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from ...reduction.program.optimum import step

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...reduction.family.family import Family

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
      button.textContent = `x${i + 1} = ${Number(bits[i])}`;
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
