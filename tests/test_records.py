"""Records cannot be changed, and equality of those with arrays is identity."""

import re

from tests.test_floors import modules

STATEFUL = {
    "LargeModel",
    "Ledger",
    "LinearModel",
    "Node",
    "PairModel",
    "ProgramModel",
    "Scene",
    "Simulator",
    "_Check",
    "_Group",
    "_Leaving",
}
"""Data classes whose objects are built or moved on step by step."""

RECORD = re.compile(
    r"^@dataclass(?:\((?P<options>.*)\))?\n"
    r"class (?P<name>\w+).*\n(?P<body>(?: .*\n|\n)*)",
    re.MULTILINE,
)


def records():
    """Each data class of the package: its name, options and body."""
    for file in modules().values():
        for found in RECORD.finditer(file.read_text("utf-8")):
            yield found["name"], found["options"] or "", found["body"]


def test_records_are_frozen():
    found = [(name, "frozen=True" in options) for name, options, _ in records()]
    assert len(found) > 200
    assert {name for name, frozen in found if not frozen} == STATEFUL


def test_no_equality_compares_arrays_as_a_truth_value():
    """``==`` of two arrays is an array: the comparison made for a class would raise."""
    array = re.compile(r"^    \w+: .*Array", re.MULTILINE)
    with_arrays = [
        (name, "eq=False" in options)
        for name, options, body in records()
        if array.search(body) and "def __eq__" not in body
    ]
    assert len(with_arrays) > 40
    assert [name for name, by_identity in with_arrays if not by_identity] == []
