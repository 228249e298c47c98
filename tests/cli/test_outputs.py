"""Where output may go, whole or not at all; devices are played by pipes."""

import ctypes
import ctypes.util
import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from olivine.cli.common.outputs import staged

from tests.support.commands import CASES, ROOT, olivine
from tests.support.depth import with_rows

UNSATISFIABLE = CASES / "cadical" / "full3.cnf"
SATISFIABLE = CASES / "cadical" / "sat1.cnf"
ROUTES = ["--route", "sat", "--route", "maxsat", "--route", "witness"]


@pytest.fixture
def formula(tmp_path) -> Path:
    return Path(shutil.copy(UNSATISFIABLE, tmp_path / "in.cnf"))


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard", "via"])
@pytest.mark.parametrize("verb", ["report", "certificate", "proof"])
def test_the_input_is_never_replaced(formula, tmp_path, verb: str, kind: str) -> None:
    before = formula.read_bytes()
    out = formula if kind == "same" else tmp_path / "out.drat"
    if kind == "symbolic":
        out.symlink_to(formula)
    elif kind == "hard":
        out.hardlink_to(formula)
    elif kind == "via":
        (tmp_path / "folder").mkdir()
        out = tmp_path / "folder" / ".." / "in.cnf"
    if verb == "report":
        done = olivine("report", formula, "-o", out, "--json")
    else:
        if verb == "proof":
            if out.suffix != ".drat":
                out = Path(shutil.move(formula, tmp_path / "c.drat"))
                formula = out
            out = out.with_suffix("")
        done = olivine("verify", formula, *ROUTES, "--certificate", out, "--json")
    assert done.status == 2
    assert "is the input itself" in done.record["error"]
    assert formula.read_bytes() == before


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard", "via"])
@pytest.mark.parametrize("verb", ["sweep", "sweep input", "curves", "verify"])
def test_outputs_of_one_command_never_replace_each_other(
    tmp_path, verb: str, kind: str
) -> None:
    one, other = tmp_path / "a.svg", tmp_path / "b.svg"
    if verb == "verify":
        one, other = tmp_path / "c", tmp_path / "c.drat"
    one.write_bytes(b"")
    if kind == "same" and verb != "verify":
        other = one
    elif kind == "via" and verb != "verify":
        (tmp_path / "folder").mkdir()
        other = tmp_path / "folder" / ".." / one.name
    elif kind == "hard":
        other.hardlink_to(one)
    else:
        other.symlink_to(one)
    file = tmp_path / "sweep.toml"
    text = 'kind = "formulas"\nrandom = {variables = 3, ratios = 1}\n'
    if verb == "sweep input":
        text, words = text + f'files = ["{one}"]', "is the input itself"
    else:
        words = "are the same file"
    file.write_text(text)
    arguments = {
        "sweep": ("sweep", file, "-o", one, "--figure", other),
        "sweep input": ("sweep", file, "-o", other),
        "curves": (
            "curves", "--algorithms", "rmax", "--env", "grid", "--seeds", 1,
            "-o", one, "--rows", other,
        ),
        "verify": ("verify", SATISFIABLE, *ROUTES, "--certificate", one),
    }  # fmt: skip
    if verb == "curves":  # of two suffixes, so links alone can be one file
        if kind in ("same", "via"):
            return
        other = other.rename(tmp_path / "b.jsonl")
        arguments["curves"] = (*arguments["curves"][:-1], other)
    olivine(*arguments[verb], status=2, err=words)
    assert one.read_bytes() == b""


RUN = ("--algorithms", "psdp", "--env", "tabular", "--seeds", 1)
WRITING = {
    "generate": ("generate", SATISFIABLE, "-o", "{}"),
    "generate many": ("generate", SATISFIABLE, UNSATISFIABLE, "-o", "{}"),
    "verify": ("verify", SATISFIABLE, "--certificate", "{}.json"),
    "verify many": ("verify", SATISFIABLE, UNSATISFIABLE, "--certificate", "{}"),
    "report": ("report", SATISFIABLE, "-o", "{}.html"),
    "draw": ("draw", SATISFIABLE, "-o", "{}.svg"),
    "draw tex": ("draw", SATISFIABLE, "-o", "{}.tex"),
    "compare": ("compare", *RUN, "-o", "{}.svg"),
    "curves": ("curves", *RUN, "--rows", "{}.jsonl"),
    "sweep": ("sweep", "s.toml", "-o", "{}.jsonl"),
    "sweep figure": ("sweep", "s.toml", "-o", "rows", "--figure", "{}.svg"),
    "contrast": ("contrast", "-o", "{}"),
    "barrier": ("barrier", "average", "-o", "{}.svg"),
    "claims": ("claims", "--run", "--page", "{}.md"),
}


@pytest.mark.skipif(not os.path.isdir("/sys/kernel"), reason="needs Linux's /sys")
@pytest.mark.parametrize("verb", WRITING)
def test_a_place_that_cannot_be_written_is_refused_at_once(
    verb: str, tmp_path, monkeypatch
) -> None:
    """In /sys not even root can make a file: one line, before any work."""
    work = "olivine.reduction.verify.verification.verify_instance"
    monkeypatch.setattr(work, None)
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text('kind = "formulas"\nrandom = {variables = 3, ratios = 1}')
    arguments = [str(word).replace("{}", "/sys/olivine") for word in WRITING[verb]]
    done = olivine(*arguments, status=2)
    assert re.fullmatch(r"olivine: /sys/olivine\S*: .* not permitted\n", done.err) or (
        re.fullmatch(r"olivine: /sys/olivine\S*: Permission denied\n", done.err)
    )
    assert done.out == ""
    assert os.listdir() == ["s.toml"]


@with_rows(
    "arguments",
    ("report", SATISFIABLE, "-o", "-"),
    ("draw", SATISFIABLE, "-o", "-"),
    ("verify", SATISFIABLE, "--certificate", "-"),
    ("barrier", "average", "-o", "-"),
)
def test_a_dash_is_no_file(arguments, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    olivine(*arguments, status=2)
    assert list(tmp_path.iterdir()) == []


def test_redirected_input_is_never_replaced(formula) -> None:
    before = formula.read_bytes()
    with open(formula, "rb") as source:
        done = subprocess.run(
            [sys.executable, "-m", "olivine", "report", "-", "-o", str(formula)],
            stdin=source,
            capture_output=True,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert formula.read_bytes() == before


def test_generate_replaces_neither_input_nor_pipe(tmp_path):
    out = tmp_path / "out"
    olivine("generate", UNSATISFIABLE, "-o", out, "--format", "dot", status=0)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    done = olivine("generate", out / "three_sat.cnf", "-o", out, "--force", status=2)
    assert "is the input itself" in done.err
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    pipes = tmp_path / "pipes"
    pipes.mkdir()
    os.mkfifo(pipes / "three_sat.cnf")
    done = olivine("generate", UNSATISFIABLE, "-o", pipes, "--force", status=2)
    assert "not a regular file" in done.err
    assert [file.name for file in pipes.iterdir()] == ["three_sat.cnf"]


@pytest.mark.parametrize("kind", ["pipe", "link to pipe", "folder", "circle"])
@pytest.mark.parametrize("which", ["report", "certificate", "proof"])
def test_only_regular_files_are_replaced(
    tmp_path, which: str, kind: str, monkeypatch
) -> None:
    monkeypatch.setattr(
        "olivine.reduction.verify.verification.verify_instance", None
    )  # no work
    place = tmp_path / "c.drat"
    if (which, kind) == ("certificate", "folder"):
        kind = "pipe"  # a folder takes certificates
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "link to pipe":
        os.mkfifo(tmp_path / "pipe")
        place.symlink_to("pipe")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("c.drat")
    before = {file.name: file.lstat().st_mode for file in tmp_path.iterdir()}
    if which == "report":
        done = olivine("report", UNSATISFIABLE, "-o", place)
    else:
        path = place if which == "certificate" else tmp_path / "c"
        done = olivine("verify", UNSATISFIABLE, "--certificate", path)
    assert done.status == 2
    assert done.err.startswith(f"olivine: {place}: ")
    after = {file.name: file.lstat().st_mode for file in tmp_path.iterdir()}
    assert after == before


def test_links_are_followed(tmp_path) -> None:
    (tmp_path / "there").mkdir()
    link, end = tmp_path / "page.html", tmp_path / "there" / "end"
    link.symlink_to(Path("there") / "end")
    for _ in range(2):  # at first the link leads nowhere
        olivine("report", SATISFIABLE, "-o", link, status=0)
        assert link.is_symlink()
        assert end.read_text().startswith("<!DOCTYPE")
        assert [file.name for file in end.parent.iterdir()] == ["end"]
        end.write_text("old")


def test_a_certificate_that_fails_leaves_nothing(tmp_path, monkeypatch) -> None:
    real, path = os.replace, tmp_path / "c.json"

    def replace(old, new):
        if Path(new).name == path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(old))
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    done = olivine("verify", UNSATISFIABLE, *ROUTES, "--certificate", path, status=2)
    assert f"no certificate: {path}: No space left on device" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_satisfiable_certificate_drops_the_former_proof(tmp_path) -> None:
    path = tmp_path / "c.json"
    (tmp_path / "d.json.drat").write_text("another's")
    for file, names in (
        (UNSATISFIABLE, {"c.json", "c.json.drat", "d.json.drat"}),
        (SATISFIABLE, {"c.json", "d.json.drat"}),
    ):
        olivine("verify", file, *ROUTES, "--certificate", path, status=0)
        assert {made.name for made in tmp_path.iterdir()} == names
        olivine("check", path, file, status=0)


STALE = frozenset({"a", "b", "last"})


def write(directory: Path, names, *, force=False, fail=None) -> None:
    with staged(directory, force=force, stale=STALE, last="last") as stage:
        for name in names:
            (stage / name).write_text("new")
        if fail is not None:
            raise fail


def contents(directory: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in directory.iterdir()}


def test_a_new_folder_appears_whole_with_the_usual_permissions(tmp_path):
    write(tmp_path / "x" / "y", ["a", "last"])
    assert contents(tmp_path / "x" / "y") == {"a": "new", "last": "new"}
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    assert [p.name for p in (tmp_path / "x").iterdir()] == ["y"]
    (tmp_path / "usual").mkdir()
    write(tmp_path / "new", ["a"])
    usual, new = ((tmp_path / name).stat().st_mode for name in ("usual", "new"))
    assert usual == new


def test_an_empty_folder_is_filled(tmp_path) -> None:
    write(tmp_path, ["a", "last"])
    assert contents(tmp_path) == {"a": "new", "last": "new"}


def test_a_folder_with_files_is_refused_or_forced(tmp_path):
    (tmp_path / "mine").write_text("old")
    with pytest.raises(FileExistsError, match="--force"):
        write(tmp_path, ["a"])
    assert contents(tmp_path) == {"mine": "old"}
    for name in ("mine", "a", "b"):
        (tmp_path / name).write_text("old")
    write(tmp_path, ["a", "last"], force=True)
    assert contents(tmp_path) == {"mine": "old", "a": "new", "last": "new"}


def test_a_file_in_the_way_is_refused_and_named(tmp_path):
    (tmp_path / "file").write_text("old")
    for force in (False, True):
        with pytest.raises(NotADirectoryError):
            write(tmp_path / "file", ["a"], force=force)
    assert contents(tmp_path) == {"file": "old"}
    (tmp_path / "file").write_text("old")
    with pytest.raises(NotADirectoryError) as caught:
        write(tmp_path / "file" / "a" / "b", ["a"])
    assert caught.value.filename == str(tmp_path / "file" / "a")


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("fail", [FULL, KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["new", "deep/new", "empty", "forced"])
def test_nothing_is_left_of_a_failure(tmp_path, place: str, fail) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "forced").mkdir()
    (tmp_path / "forced" / "a").write_text("old")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(type(fail)):
        write(tmp_path / place, ["a", "last"], force=place == "forced", fail=fail)
    assert sorted(tmp_path.rglob("*")) == before
    assert contents(tmp_path / "forced") == {"a": "old"}


def test_a_failed_move_into_an_empty_folder_is_undone(tmp_path, monkeypatch) -> None:
    import os

    real = os.replace

    def replace(source, target):
        if Path(target).name == "last":
            raise FULL
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, ["a", "z", "last"])
    assert list(tmp_path.iterdir()) == []


def test_what_others_put_into_a_new_parent_stays(tmp_path) -> None:
    directory = tmp_path / "new" / "deep" / "a"

    def run() -> None:
        with staged(directory, force=False, stale=STALE, last="last"):
            (tmp_path / "new" / "theirs").write_text("kept")
            raise FULL

    with pytest.raises(OSError):
        run()
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["theirs"]
    assert (tmp_path / "new" / "theirs").read_text() == "kept"


def test_a_parent_that_others_made_meanwhile_is_not_ours(tmp_path, monkeypatch) -> None:
    real = Path.mkdir
    monkeypatch.setattr(
        Path, "mkdir", lambda self, *mode: (real(self), real(self, *mode))
    )
    # Every name is taken just before we make it, so nothing may be removed.
    with pytest.raises(FileExistsError):
        write(tmp_path / "new" / "a", ["a"])
    assert [p.name for p in tmp_path.iterdir()] == ["new"]


def test_errors_name_the_folder_and_not_the_stage(tmp_path) -> None:
    with pytest.raises(OSError) as caught:
        write(tmp_path / "new", ["a"], fail=OSError(errno.ENOSPC, "No space"))
    assert caught.value.filename == str(tmp_path / "new")
    with pytest.raises(FileNotFoundError) as missing:
        write(tmp_path / "new", ["no/such"])
    assert missing.value.filename == str(tmp_path / "new" / "no" / "such")
    with pytest.raises(OSError) as own:  # a message that says it all
        write(tmp_path / "new", ["a"], fail=OSError("too deep"))
    assert (own.value.filename, str(own.value)) == (None, "too deep")


def test_a_file_that_others_put_in_the_place_of_a_parent(tmp_path, monkeypatch) -> None:
    def taken(self, *_) -> None:
        self.write_text("theirs")
        raise FileExistsError(errno.EEXIST, "File exists", str(self))

    monkeypatch.setattr(Path, "mkdir", taken)
    with pytest.raises(FileExistsError):
        write(tmp_path / "new" / "a", ["a"])
    assert (tmp_path / "new").read_text() == "theirs"


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
