"""The tutorials and the lecture: every block runs and leaves what they say."""

import json
import os
import re
import runpy
import shlex

import pytest

from tests.support.commands import ROOT, olivine
from tests.support.pages import run_page

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder in which the project's files have the names that the pages use."""
    monkeypatch.chdir(tmp_path)
    os.symlink(ROOT / "tests", tmp_path / "tests")
    return tmp_path


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_python_of_a_tutorial_runs(page, folder):
    """The pages say by assertions what must come out; each has one."""
    names = run_page(f"tutorials/{page.name}", folder)
    assert "olivine" in names
    assert "\nassert " in page.read_text("utf-8")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_run(page):
    """Each command ends with 0, or with the status that its comment names."""
    lines = "".join(SHELL.findall(page.read_text("utf-8"))).splitlines()
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "olivine"
        said = re.search(r"# exit status (\d+)$", line)
        done = olivine(*arguments)
        assert done.status == (int(said[1]) if said else 0), line + done.err


def test_every_block_of_a_tutorial_is_run():
    for page in TUTORIALS:
        kinds = re.findall(r"^```(.*)\n", page.read_text("utf-8"), re.MULTILINE)
        assert set(kinds) <= {"python", "sh", ""}, page
        assert kinds.count("") == len(kinds) / 2, page


def words(output: dict) -> list[str]:
    """What a cell printed, or the size of its picture and the texts in it."""
    if "text" in output:
        return "".join(output["text"]).splitlines()
    svg = "".join(output["data"]["image/svg+xml"])
    shown = r"<tspan[^>]*>([^<]+)|<text[^>]*>([^<]+)|<!-- (.+?) -->|viewBox=\"(.+?)\""
    return re.findall(shown, svg)


def test_the_lecture_runs_and_shows_what_it_stores(folder):
    """Without Jupyter: one cell after the other, in one namespace."""
    path = ROOT / "examples" / "lecture.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    stored = [c["outputs"] for c in notebook["cells"] if c["cell_type"] == "code"]
    run = runpy.run_path(str(ROOT / "docs" / "notebook.py"))["run_cells"](notebook)
    remake = "python docs/notebook.py examples/lecture.ipynb makes it again"
    assert [list(map(words, c)) for c in run] == [
        list(map(words, c)) for c in stored
    ], remake
    assert sum("data" in output for outputs in stored for output in outputs) == 4
    assert all(
        c["execution_count"] is None for c in notebook["cells"] if "outputs" in c
    )
