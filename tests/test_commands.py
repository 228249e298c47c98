"""The commands that pages of docs/ show: each is run, or is known not to be."""

import os
import re
import shlex
from itertools import zip_longest

import pytest

from tests.support.commands import ROOT, olivine

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
def test_a_command_of_a_page_runs(command, status, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("tests", "examples"):
        os.symlink(ROOT / name, tmp_path / name)
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
