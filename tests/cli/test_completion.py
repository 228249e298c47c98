"""Shells complete verbs, options, choices, algorithms and environments."""

import pytest
from olivine.cli.main import command_line
from typer.testing import CliRunner

from tests.support.commands import run_olivine
from tests.support.depth import with_rows


def completions(line, shell):
    """What a shell that the command was installed in would offer."""
    environment = {
        "_OLIVINE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    app = command_line()
    result = CliRunner().invoke(app, [], prog_name="olivine", env=environment)
    assert result.exit_code == 0
    return [line.partition("\t")[0] for line in result.output.split("\n") if line]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@with_rows(
    "line, offered",
    ("olivine sw", ["sweep"]),
    ("olivine verify --variant ga", ["gap"]),
    ("olivine learn va", ["valor", "valor-constrained"]),
    ("olivine curves --algorithms psdp,ol", ["psdp,olive"]),
    ("olivine learn valor --env gr", ["grid"]),
    ("olivine learn valor --env grid,thr", ["grid,threesat"]),
    ("olivine learn --ru", ["--run-anyway"]),
    ("olivine barrier ", ["backup", "average", "square-loss"]),
    ("olivine barrier sq", ["square-loss"]),
)
def test_a_line_is_completed(shell, line, offered):
    assert completions(line, shell) == offered


def test_zsh_is_told_what_a_verb_is():
    (line,) = completions("olivine sw", "zsh")
    assert '"sweep":"Run a sweep file' in line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    arguments = ["--show-completion", shell]
    result = CliRunner().invoke(command_line(), arguments, prog_name="olivine")
    assert result.exit_code == 0
    assert f"_OLIVINE_COMPLETE=complete_{shell}" in result.output


@pytest.mark.parametrize(("named", "installed"), [("zsh", ".zshrc"), ("fish", "fish")])
def test_the_shell_that_is_named_gets_its_script(named, installed, tmp_path):
    """Whatever the shell is from which the command is called."""
    done = run_olivine(
        "--install-completion", named, env={"HOME": str(tmp_path), "SHELL": "/bin/bash"}
    )
    assert done.status == 0
    assert f"{named} completion installed" in done.out
    assert any(installed in str(file) for file in tmp_path.rglob("*"))
