"""On a file system that is full nothing partial stays, and what was found is told."""

import ctypes
import ctypes.util
import os
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tests.support.commands import CASES, olivine

FULL2 = CASES / "cadical" / "full2.cnf"
SIZE = 1 << 20
TINY = ("--max-n", "3", "--instances", "1", "--time-limit", "1")
VERBS = {  # what is written, and what of the result is told in any case
    "generate": (("generate", FULL2, "-o", "{}/a/b"), ""),
    "verify": (("verify", FULL2, "--certificate", "{}/c.json"), "11/12"),
    "report": (("report", FULL2, "-o", "{}/page.html", "--time-limit", "5"), "11/12"),
    "contrast": (("contrast", *TINY, "-o", "{}/c"), "projected"),
    "barrier": (("barrier", "average", "-o", "{}/b.svg"), "average"),
    "compare": (
        ("compare", "--env", "tabular", "--seeds", "1", "-o", "{}/f.svg"),
        "psdp",
    ),
    "curves": (
        ("curves", "--algorithms", "psdp", "--env", "tabular", "--rows", "{}/r.jsonl"),
        "psdp",
    ),
}


@pytest.fixture
def full(tmp_path):
    """A file system of 1 MiB with no byte left."""
    place = tmp_path / "small"
    place.mkdir()
    name = ctypes.util.find_library("c")
    mount = getattr(ctypes.CDLL(name, use_errno=True), "mount", None)
    if mount is None:
        pytest.skip("no mount here")
    target = os.fsencode(place)
    if mount(b"tmpfs", target, b"tmpfs", 0, b"size=%d" % SIZE) != 0:
        pytest.skip(f"mounting needs a right: {os.strerror(ctypes.get_errno())}")
    try:
        (place / "fill").write_bytes(bytes(os.statvfs(place).f_bavail * 4096))
        assert os.statvfs(place).f_bavail == 0
        yield place
    finally:
        ctypes.CDLL(name).umount2(target, 2)  # MNT_DETACH


def tree(place: Path) -> set[Path]:
    return set(place.rglob("*"))


@pytest.mark.parametrize(
    "verb",
    [pytest.param(v, marks=[pytest.mark.long] * (v == "contrast")) for v in VERBS],
)
def test_a_full_file_system(verb: str, full, monkeypatch) -> None:
    if verb != "report":  # what is drawn does not matter, and takes the most time
        empty = lambda _, file, **__: file.write(b"drawn")  # noqa: E731
        monkeypatch.setattr(Figure, "savefig", empty)
    arguments, told = VERBS[verb]
    before = tree(full)
    words = [str(a).replace("{}", str(full)) for a in arguments]
    done = olivine(*words, status=2, err=("No space left on device", str(full)))
    assert "internal error" not in done.err
    assert told in done.out + done.err
    assert tree(full) == before
