import os
import stat

import pytest
from olivine.solvers.files import write_target
from olivine.solvers.milp.milp import write_lp, write_mps
from olivine.solvers.model.model import LinearModel


def model() -> LinearModel:
    tiny = LinearModel("tiny")
    x = tiny.add_variable("x", 0, 1, integer=True)
    tiny.add_row([x], [1], "<=", 1, "r")
    tiny.set_objective([x], [1], maximise=True)
    return tiny


def test_names_that_nothing_has_yet(tmp_path) -> None:
    assert write_target(tmp_path / "new") == tmp_path.resolve() / "new"
    assert write_target(tmp_path / "no" / "new") == tmp_path.resolve() / "no" / "new"


@pytest.mark.parametrize("write", [write_lp, write_mps])
def test_links_are_followed(tmp_path, write) -> None:
    (tmp_path / "end").write_text("old")
    (tmp_path / "link").symlink_to("end")
    write(model(), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert "tiny" in (tmp_path / "end").read_text()


@pytest.mark.parametrize("write", [write_lp, write_mps])
def test_pipes_and_folders_are_refused(tmp_path, write) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "link", "folder"):
        with pytest.raises(OSError, match=name):
            write(model(), tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert len(list(tmp_path.iterdir())) == 3
