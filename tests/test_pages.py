"""Code and commands of pages, README, tutorials and examples run, as they say."""

import contextlib
import io
import json
import os
import re
import runpy
import shlex
from itertools import zip_longest
from pathlib import Path

import numpy as np
import olivine as library
import pytest
from olivine.algorithms.environments.protocol import UnknownTruthError
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.draw_classes import make_q_class

from examples import hard_instance, own_environment
from tests.support.commands import CASES, ROOT, olivine
from tests.support.depth import with_rows
from tests.support.recording import recording

DOCS = ROOT / "docs"


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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the project's files have the names that the pages use."""
    monkeypatch.chdir(tmp_path)
    os.symlink(ROOT / "tests", tmp_path / "tests")
    return tmp_path


def succeeded(names):
    return names["result"].succeeded


def finished(names):
    return {names["result"].status, names["exact"].status} == {"finished"}


def a_curve(names):
    spent = [trajectories for trajectories, _ in names["curve"]]
    return len(spent) == 5 and spent == sorted(spent) and names["result"].succeeded


def twenty(names):
    return names["runs"].runs == 20


@with_rows(
    "page, good",
    ("barriers.md", twenty),
    ("experiments.md", a_curve),
    ("global-policy.md", succeeded),
    ("olive.md", finished),
    ("two-sample.md", succeeded),
    ("valor.md", succeeded),
)
def test_a_page_runs(page, good, tmp_path):
    assert good(run_page(page, tmp_path))


def test_each_block_of_the_page_about_lsvee_runs(tmp_path):
    for block in python_blocks("lsvee.md"):
        run_script(block, tmp_path)


@pytest.mark.parametrize("block", python_blocks("../README.md"))
def test_the_python_of_the_readme_prints_what_it_says(block, folder):
    if "gymnasium" in block:
        pytest.importorskip("gymnasium")
    assert "  # " in block
    run_script(block, folder)


# Commands ---------------------------------------------------------------------

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^\$ (olivine .*)\n((?:(?!\$ |```).*\n)+)", re.MULTILINE)
FOR_EXAMPLE = {"FILE": "tests/cases/cadical/full3.cnf", "DIR": "out"}
NOT_RUN = {
    "storm": "in tests/reduction/export, by stormpy, where it is installed",
    "prism": "not to be had here",
    "python": "a benchmark, or the suite itself",
    "OMP_NUM_THREADS=1": "the whole comparison, some minutes long",
}
REFUSED = 2
QUICK = (
    "barrier a",
    "barrier s",
    "learn --list",
    "trace FILE --ties benign",
    "learn psdp",
)
"""What begins so is run by default; the rest takes seconds each."""


def shown():
    """Yield each command of each page, with the exit status that it must have."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name == "experiments.md":  # has tests of its own
            continue
        text = "".join(BLOCK.findall(page.read_text("utf-8"))).replace("\\\n", " ")
        lines = text.splitlines()
        prompts = any(line.startswith("$ ") for line in lines)
        for line, after in zip_longest(lines, lines[1:], fillvalue=""):
            if prompts and not line.startswith("$ "):
                continue
            command = " ".join(shlex.split(line.removeprefix("$ "), comments=True))
            program, _, rest = command.partition(" ")
            if not command or program in NOT_RUN:
                continue
            status = REFUSED if after.startswith("# refused") else 0
            marks = [] if rest.startswith(QUICK) else [pytest.mark.long]
            name = f"{page.stem}: {rest}"
            yield pytest.param(command, status, id=name[:90], marks=marks)


@pytest.mark.parametrize(("command", "status"), list(shown()))
def test_a_command_of_a_page_runs(command, status, folder) -> None:
    os.symlink(ROOT / "examples", folder / "examples")
    program, *arguments = (FOR_EXAMPLE.get(w, w) for w in command.split())
    assert program == "olivine"
    done = olivine(*arguments, status=status)
    assert done.err if status else done.out


def lines(text: str) -> list[str]:
    """Lines without the width of columns and the seconds, three digits each."""
    whole = (" ".join(line.split()) for line in text.splitlines())
    return [re.sub(r"\d+\.\d{3}\b", "SECONDS", line) for line in whole]


def printed():
    """Yield each command that a page shows with what it prints."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for command, shown in PRINTED.findall(page.read_text("utf-8")):
            marks = [pytest.mark.long] * ("lsvee" in command)
            yield pytest.param(command, shown, id=page.stem, marks=marks)


@pytest.mark.parametrize(("command", "shown"), list(printed()))
def test_a_page_shows_what_its_command_prints(command, shown, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "150")
    found = lines(olivine(*shlex.split(command)[1:], status=0).out)
    due = [line for line in lines(shown) if line not in ("…", "...")]
    assert [line for line in due if line not in found] == [], found
    assert len(due) >= 3


# Tutorials, the lecture, examples ---------------------------------------------

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_python_of_a_tutorial_runs(page, folder):
    """The pages say by assertions what must come out; each has one."""
    names = run_page(f"tutorials/{page.name}", folder)
    assert "olivine" in names
    assert "\nassert " in page.read_text("utf-8")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_commands_of_a_tutorial_run(page, folder):
    """Each command ends with 0, or with the status that its comment names."""
    lines = "".join(BLOCK.findall(page.read_text("utf-8"))).splitlines()
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


def test_hard_instance(capsys):
    hard_instance.main(str(CASES / "cadical" / "full3.cnf"))
    said = capsys.readouterr().out
    # Eight clauses, one unsatisfied, p = 1/8: 1 − (7/8)·1/24.
    assert "g(s0) = 185/192" in said
    assert "leaves 1 clauses unsatisfied; the optimum says u = 1" in said


def test_own_environment(capsys):
    own_environment.main()
    said = capsys.readouterr().out
    assert "value-realizability: True" in said
    assert "V of the policy learned 3/4, V* 3/4" in said
    assert "violated: none" in said


# The page about own processes -------------------------------------------------

PAGE = "own-process.md"
BLOCKS = python_blocks(PAGE)
LISTED = {"deterministic", "draw", "run", "truth"}


def test_the_code_about_simulators_runs(tmp_path):
    blocks = [b for b in BLOCKS if "gymnasium" not in b and "sklearn" not in b]
    assert len(blocks) >= 5
    run_script("\n".join(blocks), tmp_path)


EXTRA = [block for block in BLOCKS if re.search("gymnasium|sklearn", block)]


def marked(block):
    """MiniGrid, Taxi and ice take seconds; their quick twins are in test_gymnasium."""
    slow = any(word in block for word in ("minigrid", "Taxi", "is_slippery=True"))
    return pytest.param(block, marks=[pytest.mark.long] * slow)


@pytest.mark.parametrize("block", [*map(marked, EXTRA)])
def test_code_that_needs_an_extra_runs(block, tmp_path):
    for package in ("gymnasium", "minigrid", "sklearn"):
        if package in block:
            pytest.importorskip(package, reason=f"{package} is not installed")
    run_script(block, tmp_path)


def table() -> dict[str, set[str]]:
    text = (DOCS / PAGE).read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (`.*`) \|$", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", members)) for name, members in rows}


@pytest.mark.parametrize("algorithm", registry.names())
def test_the_table_says_what_an_algorithm_uses(algorithm):
    members = table().get(algorithm)
    row = f"docs/{PAGE}: the table of algorithms needs a row for {algorithm}"
    assert members is not None, row
    env = library.make("tabular", 1, states=2, actions=2, horizon=2)
    classes = "tabular"
    if algorithm in ("lsvee", "olive"):
        classes = make_q_class(env, np.random.default_rng(0), size=8)
    # Without the truth there are no monitors, only the algorithm; it asks once
    # whether there is a truth, which is not counted.
    seen = recording(env, knows="truth" in members)
    library.learn(algorithm, seen, classes, parameters="practical")
    used = seen.used & LISTED
    assert used - {"truth"} == members - {"truth"}, row.replace("a row", "another row")
    if "truth" in members:
        with pytest.raises(UnknownTruthError):
            library.learn(algorithm, recording(env), classes, parameters="practical")


def test_the_table_has_no_algorithm_that_is_gone():
    gone = set(table()) - {*registry.names()}
    assert not gone, f"docs/{PAGE}: the table has rows of {gone}"
