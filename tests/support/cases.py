"""The cases in tests/cases with their expected answers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent.parent / "cases"
FOLDERS = ("satlib", "cadical", "dense", "odd")


@dataclass(frozen=True)
class Case:
    """One input and the line of expected.jsonl that belongs to it."""

    path: Path
    expected: dict[str, Any]


def cases(*folders: str) -> list[Case]:
    """Cases of the folders named, of all if none is."""
    found = []
    for folder in folders or FOLDERS:
        text = (CASES / folder / "expected.jsonl").read_text(encoding="utf-8")
        for row in map(json.loads, text.splitlines()):
            found.append(Case(CASES / folder / row["file"], row))
    return found


def case_parameters(*folders: str) -> list[Any]:
    """The same as parameters of a test, named by folder and file."""
    return [
        pytest.param(case, id=f"{case.path.parent.name}/{case.path.name}")
        for case in cases(*folders)
    ]
