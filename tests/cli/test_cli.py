import os
import re
import signal
import subprocess
import sys
import time
from itertools import pairwise

import olivine as package
import pytest
from olivine.cli.main import plain

from tests.support.commands import CASES, ROOT, olivine, run_olivine
from tests.support.depth import spread, with_rows

FULL3 = str(CASES / "cadical" / "full3.cnf")
VERBS = ["claims", "generate", "report", "solve", "verify"]


def test_version_by_the_command_and_the_module():
    assert olivine("--version", status=0).out == f"olivine {package.__version__}\n"
    assert run_olivine("--version", status=0).out.startswith("olivine ")


def test_help_lists_every_verb_and_stands_for_no_verb():
    done = olivine("--help", status=0)
    for verb in VERBS:
        assert verb in done.out
    done = olivine()
    assert "Usage" in done.out + done.err
    assert done.status in (0, 2)  # click has changed its mind on this


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_with_an_example(verb: str) -> None:
    done = olivine(verb, "--help", status=0, out=f"olivine {verb} ")
    assert "--json" in done.out


@with_rows(
    "arguments",
    ["unknown"],
    ["verify"],
    ["verify", "a.cnf", "--variant", "other"],
    ["verify", "a.cnf", "--route", "oracle"],
    ["verify", "a.cnf", "--formulation", "other"],
    ["verify", "a.cnf", "--penalty", "two"],
    ["verify", "a.cnf", "--penalty", "0"],
    ["verify", "a.cnf", "--penalty", "3/2"],
    ["verify", "a.cnf", "--variant", "gap", "--penalty", "1/4"],
    ["verify", "a.cnf", "--variant", "normalized", "--penalty", "1"],
    ["verify", "a.cnf", "--time-limit", "0"],
    ["verify", "a.cnf", "--time-limit", "soon"],
    ["verify", "a.cnf", "--jobs", "0"],
    ["verify", "a.cnf", "--seed", "-1"],
    ["verify", "a.cnf", "--max-variables", "0"],
    ["verify", "a.cnf", "--input-format", "smt"],
    ["generate", "a.cnf"],
    ["generate", "a.cnf", "-o", "x", "--format", "pdf"],
    ["solve", "a.cnf", "--engine", "oracle"],
    ["claims", "no-such-claim"],
    ["report", "a.cnf"],
    ids=" ".join,
)
def test_usage_errors(arguments: list[str]) -> None:
    done = olivine(*arguments, status=2)
    assert done.out == ""
    assert done.err
    assert "Traceback" not in done.err


@with_rows(
    "arguments, near",
    (["verify", "a.cnf", "--variant", "papr"], "paper"),
    (["verify", "a.cnf", "--variant", "PAPR"], "paper"),
    (["verify", "a.cnf", "--route", "maxsatt"], "maxsat"),
    (["solve", "a.cnf", "--engine", "mip"], "milp"),
    (["generate", "a.cnf", "-o", "x", "--format", "graphm"], "graphml"),
    (["claims", "theorm-o"], "theorem-o"),
    ids=str,
)
def test_unknown_words_suggest_the_nearest(arguments: list[str], near: str) -> None:
    done = olivine(*arguments, status=2)
    said = " ".join(done.err.replace("│", " ").split()).lower()
    assert f"did you mean '{near}'?" in said
    assert "value error" not in said


@with_rows(
    "line, home",
    ("learn psdp --jobs 2", "olivine compare and curves"),
    ("learn psdp --curve c.svg", "-o of olivine curves"),
    ("learn psdp --out r", "--rows of olivine curves and compare"),
    ("learn psdp --epsilom 1", ""),
    ("learn psdp --absent 1", ""),
    ("verify --algorithms psdp", ""),
    ("generate --curve c.svg", ""),
)
def test_options_that_are_none_and_those_that_moved(line: str, home: str) -> None:
    *_, option, _ = line.split()
    said = re.sub("[╭╮╰╯│─\\s]+", " ", olivine(*line.split(), status=2).err)
    assert f"No such option: {option}" in said
    if home:  # which is all that is said
        assert said.endswith(f" {option}; see {home}. ")
    else:
        assert "; see" not in said


def test_usage_errors_in_plain_words() -> None:
    assert plain("Value error, '' is not one of 'a', 'b'.") == (
        "'' is not one of 'a', 'b'."
    )
    assert plain("anything else") == "anything else"


@pytest.mark.parametrize("verb", [["verify"], ["solve"]])
@pytest.mark.parametrize("json", [True, False])
def test_a_missing_file(verb, json: bool) -> None:
    done = olivine(*verb, "no/such.cnf", *["--json"] * json, status=2)
    message = "no/such.cnf: No such file or directory"
    if json:
        assert done.record == {"file": "no/such.cnf", "error": message}
        assert done.err == ""
    else:
        assert done.out == ""
        assert done.err == f"olivine: {message}\n"


def test_help_loads_no_engine() -> None:
    code = (
        "import sys, olivine.cli.main; olivine.cli.main.command_line(); "
        "heavy = {'numpy', 'pysat', 'pulp', 'highspy', 'networkx', 'matplotlib', "
        "'scipy'}; print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == b""


@with_rows(
    "jobs, number, status, said",
    ("2", signal.SIGINT, 130, b"olivine: interrupted\n"),
    ("1", signal.SIGTERM, 143, b""),
    ("2", signal.SIGHUP, 129, b""),
    pytest.param(
        "1", signal.SIGINT, 130, b"olivine: interrupted\n", marks=pytest.mark.long
    ),
    pytest.param("2", signal.SIGTERM, 143, b"", marks=pytest.mark.long),
)
def test_a_signal_ends_it_cleanly(
    tmp_path, jobs: str, number: int, status: int, said: bytes
) -> None:
    # Reading waits for the other end of the pipe.
    pipe = tmp_path / "pipe.cnf"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "olivine", "verify", str(pipe), "--jobs", jobs],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Work in the background inherits that SIGINT or SIGHUP is ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    with open(pipe, "wb"):  # returns once the reader has opened it
        time.sleep(0.1)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert out == b""
    assert err == said


def test_sigterm_leaves_nothing_of_a_folder(tmp_path) -> None:
    code = (
        "import os, signal, sys; from olivine.cli import main\n"
        "from olivine.cli.common import family_folder\n"
        "def write_folder(stage, *_, **__):\n"
        "    (stage / 'begun').write_text('')\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "family_folder.write_folder = write_folder; main.main()"
    )
    arguments = [
        "generate",
        CASES / "cadical" / "full3.cnf",
        "-o",
        tmp_path / "a" / "b",
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, check=False
    )
    assert done.returncode == 143
    assert list(tmp_path.iterdir()) == []


@with_rows(
    "arguments",
    ["--help"],
    *spread(
        [
            ["verify", FULL3, "--route", "sat"],
            ["claims", "--json"],
            ["--version"],
            ["verify", "--help"],
            ["claims"],
            ["trace", FULL3],
            ["multi", FULL3],
            ["check", "--help"],
        ],
        1,
    ),
    ids=" ".join,
)
def test_a_closed_pipe_is_141_everywhere(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "olivine", *arguments],
            cwd=ROOT,
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_reader_that_leaves_early_is_no_error() -> None:
    line = (
        f"{sys.executable} -m olivine verify --route sat --json "
        f"{CASES / 'satlib'} {CASES / 'cadical'} | head -n 1"
    )
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, cwd=ROOT, check=True
    )
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


def test_a_verb_loads_no_more_than_it_needs() -> None:
    code = (
        "import sys; from olivine.cli import main; from olivine.cli.main import VERBS; "
        f"sys.argv = ['olivine', 'solve', {str(CASES / 'satlib' / 'uf20-01.cnf')!r}]\n"
        "try: main.main()\n"
        "except SystemExit: pass\n"
        # What children of verify do: each would load it anew.
        "from olivine.reduction.family.family import Family\n"
        "from olivine.reduction.formula.formula import Formula\n"
        "Family(Formula.from_clauses([[1]]).three_sat(), 'paper').mdp().heights\n"
        "heavy = {'pydantic', 'rich', 'scipy', 'pulp', 'highspy', 'networkx'}\n"
        "print(*(v for v in VERBS if f'olivine.cli.{v}' in sys.modules))\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[-2:] == [b"solve", b""]


def test_learning_one_algorithm_loads_no_other_and_no_solver_of_scipy() -> None:
    classes = ["--classes", "finite", "--params", "practical"]
    line = ["learn", "valor", "--env", "lock", *classes]
    code = (
        "import sys; from olivine.cli import main\n"
        f"sys.argv = ['olivine', *{line!r}]\n"
        "try: main.main()\n"
        "except SystemExit as end: print(end.code)\n"
        "rooms = 'two_sample global_policy lsvee baselines olive valor'.split()\n"
        "print(*(r for r in rooms if f'olivine.algorithms.{r}' in sys.modules))\n"
        "heavy = {'scipy.optimize', 'scipy.special', 'pulp', 'networkx'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[-3:] == [b"0", b"valor", b""]


@pytest.mark.parametrize("verb", ["verify", "solve", "sweep", "compare"])
def test_help_breaks_no_line_early_at_80_columns(verb, monkeypatch) -> None:
    """A word that begins a line did not fit on the line before."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    lines = olivine(verb, "--help").out.split("\n")
    text = [line.strip() for line in lines[: lines.index(next(filter(is_box, lines)))]]
    pairs = [(a, b) for a, b in pairwise(text) if a and b]
    assert len(pairs) >= 2
    for before, after in pairs:
        assert len(before) + 1 + len(after.split()[0]) > 76


def is_box(line: str) -> bool:
    return line.startswith("╭")


@with_rows(
    "arguments, part",
    (["verify", FULL3, "--certificate", "OUT"], "a certificate"),
    (["draw", FULL3, "-o", "OUT.svg"], "a drawing"),
    (["report", FULL3, "-o", "OUT.html"], "a report's drawing"),
    (["contrast", "-o", "OUT"], "the contrast"),
    (["generate", FULL3, "-o", "OUT", "--two-actions"], "--two-actions"),
    (
        ["generate", FULL3, "-o", "OUT", "--formulation", "strengthened"],
        "formulation strengthened",
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_forced_variant_is_refused_where_it_has_no_place(
    tmp_path, arguments: list[str], part: str
) -> None:
    given = [str(a).replace("OUT", str(tmp_path / "out")) for a in arguments]
    done = olivine(*given, "--variant", "forced", status=2)
    assert f"{part} has no place for the side states" in " ".join(done.err.split())
    assert list(tmp_path.iterdir()) == []
