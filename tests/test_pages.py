"""The Python that pages of docs/ show runs, and leaves what they say."""

import os

import pytest

from tests.support.commands import ROOT
from tests.support.depth import with_rows
from tests.support.pages import python_blocks, run_page, run_script


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
def test_the_python_of_the_readme_prints_what_it_says(block, tmp_path, monkeypatch):
    if "gymnasium" in block:
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    os.symlink(ROOT / "tests", tmp_path / "tests")
    assert "  # " in block
    run_script(block, tmp_path)
