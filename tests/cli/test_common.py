"""What verbs share: options and their values, names of files, records, processes."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from olivine.cli.barrier import _status
from olivine.cli.common import command, options, output, process
from olivine.cli.common.command import _converted
from olivine.cli.common.family_folder import pretty_json
from olivine.cli.common.output import (
    ContradictionError,
    ExitStatus,
    FileError,
    describe,
    worst,
)
from olivine.cli.common.reading import expand, in_order, in_parallel, is_formula_name
from olivine.cli.main import VERBS, command_line
from olivine.solvers.model.integer_form import IntegerForm
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from tests.support.commands import CASES, run_olivine
from tests.support.depth import with_rows
from tests.support.linear import linear_models


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_worst_is_the_first_that_occurs_of_1_70_2_3_0(length: int) -> None:
    for statuses in product(list(ExitStatus)[:5], repeat=length):
        expected = next((s for s in (1, 70, 2, 3, 0) if s in statuses), 0)
        assert worst(statuses) == expected


def test_choices_are_those_of_the_library() -> None:
    from olivine.cli.solve import EngineName
    from olivine.cli.trace import LevelsName, TiesName
    from olivine.cli.verify import RouteName
    from olivine.reduction.family.variants import DECLARATIONS
    from olivine.reduction.program.program import FORMULATIONS
    from olivine.reduction.run.replay import LEVEL_RULES
    from olivine.reduction.run.ties import TIES
    from olivine.reduction.verify.decision import ENGINES
    from olivine.reduction.verify.route import ROUTES

    assert list(options.VariantName) == list(DECLARATIONS)
    assert [f.value for f in options.FormulationName] == list(FORMULATIONS)
    assert [r.value for r in RouteName] == list(ROUTES)
    assert [e.value for e in EngineName] == list(ENGINES)
    assert [t.value for t in TiesName] == list(TIES)
    assert {r.value for r in LevelsName} == {*LEVEL_RULES, "all"}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1/8", Fraction(1, 8)), ("0.25", Fraction(1, 4)), ("1e-3", "1/1000")],
)
def test_penalties_are_exact(text: str, value: Fraction | int | str) -> None:
    assert options.parse_penalty(text) == Fraction(value)


BAD = {
    options.parse_penalty: ["", "x", "1/0", "0", "-1", "2", "nan", "inf", "1/2/3"],
    options.parse_seconds: ["", "x", "0", "-1", "nan", "inf", "1e999"],
}


@with_rows("parse, text", *[(parse, text) for parse in BAD for text in BAD[parse]])
def test_bad_penalties_and_time_limits_are_usage_errors(parse, text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse(text)


FORMULAS = "a.cnf a.CNF a.dimacs a.wcnf a.cnf.gz a.wcnf.bz2 a.dimacs.xz .cnf"
OTHERS = "a.txt a.cnf.txt a.gz acnf expected.jsonl"


def test_names_of_formulas_in_folders() -> None:
    assert {name: is_formula_name(name) for name in f"{FORMULAS} {OTHERS}".split()} == {
        **dict.fromkeys(FORMULAS.split(), True),
        **dict.fromkeys(OTHERS.split(), False),
    }


def test_files_and_folders_that_are_named(tmp_path):
    named = tmp_path / "formula.txt"
    assert list(expand([str(named), "-"])) == [(str(named), None), ("-", None)]
    ((file, error),) = expand([str(tmp_path)])
    assert file == str(tmp_path)
    assert error is not None
    assert "no .cnf" in error
    for name in ("b.cnf", "a.cnf", "notes.txt", "sub/c.wcnf.gz", "sub/deep/d.dimacs"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = [
        os.path.relpath(file, tmp_path)
        for file, error in expand([str(tmp_path)])
        if error is None
    ]
    assert found == ["a.cnf", "b.cnf", "sub/c.wcnf.gz", "sub/deep/d.dimacs"]


def test_errors_are_one_line_and_name_the_file(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(OSError) as caught:
        missing.open()
    assert describe(caught.value) == f"{missing}: No such file or directory"
    assert describe(ValueError("a\n b")) == "a b"
    assert describe(ValueError()) == "ValueError"


def test_json_is_one_ascii_line_whatever_the_name(capsys) -> None:
    output.print_json({"file": "ä\udcff\n", "value": None})
    line = capsys.readouterr().out
    assert line.isascii()
    assert line.count("\n") == 1
    assert json.loads(line) == {"file": "ä\udcff\n", "value": None}


def _status_of(raised: BaseException) -> int:
    @command.verb
    def run() -> int:
        raise raised

    with pytest.raises(typer.Exit) as caught:
        run()
    return caught.value.exit_code


def test_exceptions_become_statuses(capsys, monkeypatch) -> None:
    assert _status_of(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "olivine: interrupted\n"
    assert _status_of(MemoryError()) == 3
    assert capsys.readouterr().err == "olivine: out of memory\n"
    assert _status_of(ValueError("odd")) == 70
    said = capsys.readouterr().err
    assert "internal error: ValueError: odd" in said
    assert "report" in said
    for raised, status, words in (
        (BrokenPipeError(), 141, ""),
        (OSError(errno.ENOSPC, "No space left"), 2, "olivine: No space left\n"),
        (OSError(errno.ENOMEM, "Cannot"), 3, "olivine: out of memory\n"),
        (ContradictionError("1 is 2"), 1, "olivine: contradiction: 1 is 2\n"),
        (FileError("f", "f: odd"), 2, "olivine: f: odd\n"),
        (FileError("f", "f: long", ExitStatus.UNDECIDED), 3, "olivine: f: long\n"),
        (SystemExit(5), 2, "olivine: ended from within by SystemExit: 5 "),
        (typer.Exit(7), 7, ""),
    ):
        assert _status_of(raised) == status
        said = capsys.readouterr().err
        assert said.startswith(words)
        assert said.count("\n") == bool(words)
    monkeypatch.setattr(command, "why_too_small", lambda: "too small")
    assert _status_of(ValueError("not even begun")) == 3
    assert capsys.readouterr().err == "olivine: too small\n"
    monkeypatch.setattr(command, "why_too_small", lambda: "")
    monkeypatch.setattr(process, "_received", signal.SIGTERM)
    with pytest.raises(SystemExit, match="143"):  # the signal's, not an error
        _status_of(SystemExit(143))
    with pytest.raises(SystemExit, match="143"):
        _status_of(ValueError("made of the signal"))


def test_a_terminal_sees_what_goes_on(monkeypatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with _status("running barrier average"):
        pass
    assert "running barrier average" in screen.getvalue()
    with output.progress_bar("verifying", 3, json_lines=False) as progress:
        progress.advance(progress.task_ids[0], 2)
    assert "verifying" in screen.getvalue()
    assert " 67%" in screen.getvalue()
    shown = len(screen.getvalue())
    with output.progress_bar("verifying", 1, json_lines=False) as progress:
        progress.advance(progress.task_ids[0])
    assert len(screen.getvalue()) == shown  # of a single file there is no bar


# The next three need real file descriptors.


def _run(code: str, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, check=False, **options
    )


_PRINTS_A_LOT = """
import typer
from olivine.cli.common.command import verb
from olivine.cli.common.output import print_json
app = typer.Typer()
@app.command()
@verb
def run() -> int:
    for _ in range(20000):
        print_json({"file": "x" * 100})
    return 0
app()
"""


def test_a_closed_pipe_ends_quietly() -> None:
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", _PRINTS_A_LOT], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.read(reader, 10)
    os.close(reader)
    _, said = process.communicate()
    assert said == b""
    assert process.returncode == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_an_error() -> None:
    version = "from olivine.__main__ import main; main()"
    for code in (_PRINTS_A_LOT, "import sys; sys.argv[1:] = ['--version']\n" + version):
        with open("/dev/full", "wb") as full:
            done = _run(code, stdout=full)
        assert done.returncode == 2
        assert done.stderr == b"olivine: No space left on device\n"


COMMAND = get_command(command_line())
assert isinstance(COMMAND, TyperGroup)
TEXTS = [
    "", "0", "1", "-1", "1/8", "0.125", "1e9", "nan", "1e999", " 5 ", "ü", "\udcff",
]  # fmt: skip
TEXTS += [
    ".", "/", "/dev/null", "no/such/place", "lp", "drn", "sat", "SAT", "highs",
    "paper", "Paper", "cnf", "faithful", "lock", "valor",
]  # fmt: skip


def by_typer(param, context, value):
    """Convert as Typer does, or return what it says."""
    try:
        return (
            type(param).get_runtime_param(param).coerce(value, param=param, ctx=context)
        )
    except typer.BadParameter as error:
        return error.message


def values_for(param) -> list:
    """Texts good and bad, the default, and nothing."""
    if param.multiple or param.nargs == -1:
        return [None, param.default, (), tuple(TEXTS), *((text,) for text in TEXTS)]
    choices = param.type_descriptor.choices or ()
    return [None, param.default, *TEXTS, *choices, *map(str, choices), -1, 10**9, -0.5]


@pytest.mark.parametrize("verb", VERBS)
def test_conversion_is_that_of_typer(verb) -> None:
    command = COMMAND.commands[verb]
    if not hasattr(command.params[0], "get_runtime_param"):
        pytest.skip("this version of Typer converts without Pydantic")
    context = typer.Context(command)
    direct = 0
    for param in command.params:
        for value in values_for(param):
            try:
                known, found = _converted(value, param)
            except typer.BadParameter as error:
                known, found = True, error.message
            if known:
                asked = by_typer(param, context, value)
                assert (type(found), found) == (type(asked), asked), param.name
            direct += known
    assert direct > len(command.params)


@with_rows(
    "options, status",
    ({"seed": -1}, 2),
    ({"jobs": 0}, 2),
    ({"max_variables": 0}, 2),
    ({"seed": 7, "jobs": 1}, 0),
)
def test_values_that_python_sets_keep_their_range(options, status) -> None:
    """As a program does that calls the verbs with defaults of its own."""
    file = CASES / "cadical" / "full1.cnf"
    arguments = ["verify", str(file), "--route=sat", "--route=maxsat"]
    done = CliRunner().invoke(
        command_line(), arguments, default_map={"verify": options}
    )
    assert done.exit_code == status
    assert ("greater than" in done.stderr) == (status == 2)


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


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_pretty_json_is_json(value) -> None:
    assert json.loads("".join(pretty_json(value))) == value


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": {}},
        {"a": 1},
        {"a": "é\n", "b": None, "c": 1.5},
        {"a": {"b": {"c": True}}},
    ],
)
def test_pretty_json_of_objects_alone_is_that_of_python(value) -> None:
    assert "".join(pretty_json(value)) == json.dumps(value, indent=2)


@given(linear_models(max_variables=3, max_rows=2))
def test_a_map_of_names_is_written_as_a_dictionary(model) -> None:
    names = IntegerForm(model).names
    value = {"names": names, "rest": 1}
    assert "".join(pretty_json(value)) == json.dumps(
        {"names": dict(names), "rest": 1}, indent=2
    )


def test_arrays_are_written_as_lists() -> None:
    value = {"a": np.arange(3), "b": np.zeros(0, dtype=np.int64)}
    assert json.loads("".join(pretty_json(value))) == {"a": [0, 1, 2], "b": []}


def job(file: str):
    """Die over files called so, and answer for the others."""
    if Path(file).name == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"file": file, "process": os.getpid()}, ExitStatus.DONE


@pytest.mark.children
def test_results_come_in_the_order_of_the_files():
    files = [f"file {k}" for k in range(6)] + ["-"]
    results = list(in_order(in_parallel(job, files, 2)))
    assert [record["file"] for record, _ in results] == files
    assert results[-1][0]["process"] == os.getpid()
    assert all(r["process"] != os.getpid() for r, _ in results[:-1])
    assert list(in_parallel(job, [], 3)) == []


@pytest.mark.children
def test_a_worker_that_dies_costs_its_own_file_only() -> None:
    files = ["a", "b", "deadly", "c"]
    results = list(in_order(in_parallel(job, files, 2)))
    assert [record["file"] for record, _ in results] == files
    assert [status for _, status in results] == [
        ExitStatus.DONE,
        ExitStatus.DONE,
        ExitStatus.UNDECIDED,
        ExitStatus.DONE,
    ]
    assert "died" in results[2][0]["error"]
