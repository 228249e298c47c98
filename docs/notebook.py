"""Run a notebook's cells without Jupyter, and keep their outputs in it.

``python docs/notebook.py examples/lecture.ipynb`` runs the cells one after the other in
one namespace and stores what they print, and the pictures that they show, in the file.
A picture is an SVG: what `_repr_svg_` of a cell's last expression gives.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run_cells(notebook: dict[str, Any]) -> list[list[Output]]:
    """Run the cells of code; the outputs of each, as notebooks store them."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        printed, shown = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, "<cell>", "exec"), namespace)
            if last is not None:
                shown = eval(compile(last, "<cell>", "eval"), namespace)
        found.append(list(_outputs(printed.getvalue(), shown)))
    return found


def _outputs(printed: str, shown: Any) -> list[Output]:
    outputs: list[Output] = []
    if printed:
        text = printed.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if hasattr(shown, "_repr_svg_"):
        data = {"image/svg+xml": shown._repr_svg_().splitlines(keepends=True)}
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def store(path: Path) -> None:
    """Run a notebook and write it with its outputs."""
    notebook = json.loads(path.read_text("utf-8"))
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    for cell, outputs in zip(cells, run_cells(notebook), strict=True):
        cell["outputs"] = outputs
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
