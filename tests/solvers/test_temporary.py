import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from olivine.solvers.child import temporary
from olivine.solvers.child.child import run_in_child
from olivine.solvers.files import check_writable, write_texts

from tests.support.depth import with_rows

pytestmark = pytest.mark.children


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The place of temporary files, empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def interrupted_in_a_block(depth: int) -> list[str]:
    done = []
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        for _ in range(depth):
            stack.enter_context(temporary.signals_held())
        os.kill(os.getpid(), signal.SIGINT)
        done.append("the rest of the block")
        stack.close()
        done.append("what comes after")
    return done


@pytest.mark.parametrize("depth", [1, 2])
def test_signals_wait_for_the_end_of_a_block(depth) -> None:
    assert interrupted_in_a_block(depth) == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, OSError])
def test_a_scratch_folder_is_gone_however_it_ends(folder, raised) -> None:
    def work() -> None:
        with temporary.scratch_folder() as place:
            (place / "file").write_text("")
            assert place.stat().st_mode & 0o777 == 0o700
            raise raised

    with pytest.raises(raised):
        work()
    assert list(folder.iterdir()) == []


def leave_a_folder(place: Path) -> None:
    with temporary.scratch_folder() as scratch:
        (scratch / "file").write_text("")
        (place / "ready").write_text("")
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_child_that_is_killed_leaves_no_folder(folder, depth, tmp_path_factory):
    place = tmp_path_factory.mktemp("notes")
    call = (leave_a_folder, place)
    for _ in range(depth - 1):
        call = (run_in_child, *call)
    run_in_child(*call)
    assert (place / "ready").exists()
    assert list(folder.iterdir()) == []


def test_a_child_whose_place_was_removed_makes_none(folder, monkeypatch) -> None:
    # Its parent was killed and tidied after; it is about to be killed itself.
    monkeypatch.setattr(temporary, "_root", folder / "removed" / "its own")
    with pytest.raises(FileNotFoundError), temporary.scratch_folder():
        pass
    assert list(folder.iterdir()) == []


def test_what_an_interrupt_left_goes_with_python(folder) -> None:
    left = temporary.scratch_name()
    left.mkdir()
    temporary._owned.add(left)
    temporary._remove_all()
    temporary._owned.clear()
    assert list(folder.iterdir()) == []


KILLED = """
import os, signal, sys
from olivine.solvers.child.child import run_in_child
from olivine.solvers.child.temporary import scratch_folder
def work():
    with scratch_folder() as folder:
        (folder / "file").write_text("")
        os.kill({victim}, signal.SIGKILL)
        signal.pause()
def within():
    with scratch_folder() as folder:
        {call}
within()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children die with their parent")
@with_rows(
    "victim, call", ("os.getpid()", "work()"), ("os.getppid()", "run_in_child(work)")
)
def test_what_a_killed_process_left_goes_with_the_next(
    folder, monkeypatch, victim, call
) -> None:
    code = KILLED.format(victim=victim, call=call)
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert set(folder.iterdir())
    others = {folder / "olivine-notes", folder / f"olivine-{'0' * 31}"}
    for other in others:
        other.mkdir()
    (folder / f"olivine-{'0' * 32}").symlink_to(folder / "olivine-notes")
    for _ in range(500):  # its child is being killed
        monkeypatch.setattr(temporary, "_is_tidy", False)
        with temporary.scratch_folder() as ours:
            now = {path for path in folder.iterdir() if not path.is_symlink()}
        if now == {ours, *others}:
            return
        time.sleep(0.01)
    raise AssertionError(now)


def test_folders_in_use_are_no_leftovers(folder, monkeypatch) -> None:
    """Neither this process takes them for some, nor a child of it."""
    with temporary.scratch_folder() as ours:
        for tidy in (temporary._tidy, partial(run_in_child, temporary._tidy)):
            monkeypatch.setattr(temporary, "_is_tidy", False)
            tidy(folder)
            assert list(folder.iterdir()) == [ours]
    assert list(folder.iterdir()) == []


def test_folders_of_others_are_left(folder, monkeypatch) -> None:
    theirs = folder / f"olivine-{'0' * 32}"
    theirs.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(temporary, "_is_tidy", False)
        patch.setattr(os, "getuid", lambda: theirs.stat().st_uid + 1)
        temporary._tidy(folder)
    assert list(folder.iterdir()) == [theirs]


def test_a_folder_taken_for_a_leftover_is_made_again(folder, monkeypatch) -> None:
    """Another process may come between the making of a folder and its lock."""
    lock, removed = temporary.fcntl.flock, []

    def remove_first(descriptor: int, how: int) -> None:
        if not removed:
            removed.extend(folder.iterdir())
            removed[0].rmdir()
        lock(descriptor, how)

    monkeypatch.setattr(temporary, "_is_tidy", True)
    monkeypatch.setattr(temporary.fcntl, "flock", remove_first)
    with temporary.scratch_folder() as ours:
        assert removed == [ours]
        assert ours.is_dir()
    assert list(folder.iterdir()) == []


def refuse(number: int):
    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refused


def test_a_full_disk_names_the_file(tmp_path) -> None:
    target = tmp_path / "target"
    target.write_text("old")

    def chunks():
        yield "x"
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError) as caught:
        write_texts({tmp_path / "first": ["x"], target: chunks()})
    assert caught.value.filename == str(target)
    assert [p.name for p in tmp_path.iterdir()] == ["target"]
    assert target.read_text() == "old"


def test_a_cleanup_that_fails_hides_no_error(tmp_path, monkeypatch) -> None:
    # On a read-only file system removing fails too.
    target = tmp_path / "target"
    monkeypatch.setattr("builtins.open", refuse(errno.EROFS))
    monkeypatch.setattr(os, "unlink", refuse(errno.EROFS))
    with pytest.raises(OSError) as caught:
        write_texts({target: ["x"]})
    assert caught.value.errno == errno.EROFS
    assert caught.value.filename == str(target)


def test_a_place_is_tried_without_a_trace(tmp_path, monkeypatch) -> None:
    check_writable(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "touch", refuse(errno.EROFS))
    with pytest.raises(OSError) as caught:
        check_writable(tmp_path / "new")
    assert caught.value.filename == str(tmp_path / "new")


def test_the_first_folder_of_a_process_removes_leftovers_once(folder) -> None:
    fresh = {"__name__": "fresh"}
    exec(Path(temporary.__file__).read_text("utf-8"), fresh)
    left = [folder / f"olivine-{digit * 32}" for digit in "ab"]
    for number, kept in enumerate(([], left[1:])):
        left[number].mkdir()
        with fresh["scratch_folder"]() as ours:
            assert set(folder.iterdir()) == {ours, *kept}
