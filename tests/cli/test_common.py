import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import product

import pytest
import typer
from olivine.cli.common import command, options, output
from olivine.cli.common.output import ExitStatus, describe, worst
from olivine.cli.common.reading import expand, is_formula_name

from tests.support.depth import with_rows


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
    from olivine.reduction.run.levels import LEVEL_RULES
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


def test_exceptions_become_statuses(capsys) -> None:
    assert _status_of(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "olivine: interrupted\n"
    assert _status_of(MemoryError()) == 3
    assert capsys.readouterr().err == "olivine: out of memory\n"
    assert _status_of(ValueError("odd")) == 70
    said = capsys.readouterr().err
    assert "internal error: ValueError: odd" in said
    assert "report" in said


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
    version = "from olivine.cli.entry import main; main()"
    for code in (_PRINTS_A_LOT, "import sys; sys.argv[1:] = ['--version']\n" + version):
        with open("/dev/full", "wb") as full:
            done = _run(code, stdout=full)
        assert done.returncode == 2
        assert done.stderr == b"olivine: No space left on device\n"
