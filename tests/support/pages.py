"""Running the Python that a page of the documentation shows."""

import contextlib
import io
import re
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def python_blocks(page: str) -> list[str]:
    """The Python blocks of a page of docs/, at least one, in order."""
    text = (DOCS / page).read_text("utf-8")
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    return blocks


def run_script(text: str, folder: Path) -> dict:
    """Run a text as a file of its own; the names that it leaves.

    A comment behind `print(...)` must be what is printed.
    """
    script = folder / "page.py"
    script.write_text(text, "utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = runpy.run_path(str(script))
    shown = re.findall(r"^print\(.*\)  # (.+)$", text, re.MULTILINE)
    assert [line for line in shown if line not in printed.getvalue().splitlines()] == []
    return names


def run_page(page: str, folder: Path) -> dict:
    """Run all Python blocks of a page as one script; the names that they leave."""
    return run_script("\n".join(python_blocks(page)), folder)
