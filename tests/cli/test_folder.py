import errno
from pathlib import Path

import pytest
from olivine.cli.common.outputs import staged

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
