"""Inputs that showed faults: what the command does with them now, one row each.

The files are in tests/cases/faults.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from olivine.reduction.certificate import checker

from tests.support.commands import CASES, Done, olivine
from tests.support.depth import with_rows

FAULTS = CASES / "faults"
BOMB = FAULTS / "bomb0.cnf.bz2"
ALL_VARIABLES = ("--max-variables", 2**31 - 1)
ROWS = [
    ("check s.json s.cnf", 0, "optimum: 1"),
    # Limits of variables, beyond 32 bits in the 3-SAT form.
    ("verify big.cnf", 2, "big.cnf:1: the header declares 2147483647 variables"),
    ("check s.json big.cnf", 2, "big.cnf: b'2147483647' where an integer in 0.."),
    ("check s.json big.cnf --all", 2, "the 3-SAT form needs 2147483648 variables"),
    # JSON nested as deep as Python reads, or writes.
    (
        "check nested-975.json s.cnf",
        2,
        "nested-975.json: the certificate is nested too",
    ),
    ("check nested-990-standalone.json s.cnf", 2, "nested too deeply"),
    # One grammar: no comment in the header.
    ("verify header-comment.cnf", 2, "header-comment.cnf:1: malformed header"),
    ("check hc.json header-comment.cnf", 2, "header-comment.cnf: the header is malf"),
    # A file of 785 bytes that decompresses to gigabytes.
    ("verify bomb0.cnf.bz2", 2, "more than 1127076 bytes decompressed, the limit"),
    ("verify bomb0.cnf.bz2 --max-bytes 9999", 2, "more than 9999 bytes decompressed"),
    ("check s.json bomb0.cnf.bz2", 2, "over 1127076 bytes"),
    ("check s.json bomb0.cnf.bz2 --max-bytes 9999", 2, "over 9999 bytes"),
    # An optimum of many digits in a narrow table.
    ("verify count73.cnf php5_4.cnf --route maxsat", 0, "2477/2478"),
]


def words(line: str) -> list[object]:
    """Words of a command, with the names of files made paths."""
    options = {"--all": ALL_VARIABLES}
    found: list[object] = []
    for word in line.split():
        path = FAULTS / word
        found.extend(options.get(word, [path if path.is_file() else word]))
    return found


def test_each_input_is_used_here() -> None:
    text = Path(__file__).read_text()
    inputs = {path.name for path in FAULTS.iterdir()} - {"README.md"}
    assert len(inputs) >= 13
    assert {name for name in inputs if name not in text} == set()


@pytest.mark.parametrize(("line", "status", "text"), ROWS)
def test_rows(line: str, status: int, text: str, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = olivine(*words(line), status=status)
    assert text in (done.err if status else done.out)
    assert "internal error" not in done.err


@with_rows("line", "bigw.wcnf", "a.cnf --penalty 1/1000000", "bigw2.wcnf", keep=2)
def test_a_read_back_that_floats_cannot_decide(line: str, tmp_path) -> None:
    done = olivine("generate", *words(line), "-o", tmp_path / "out", "--json", status=0)
    checks = done.record["read_back"]
    assert set(checks) == {"program.lp", "program.mps"}
    for check in checks.values():
        assert check.startswith("not decided: ")
        assert "both possible optima" in check
    assert (tmp_path / "out" / "program.lp").stat().st_size > 0


def test_a_read_back_that_is_far_off_stays_a_contradiction(
    tmp_path, monkeypatch
) -> None:
    from olivine.solvers.milp import engines
    from olivine.solvers.outcome import LinearOutcome, Status

    wrong = LinearOutcome(Status.OPTIMAL, -0.5, None, 0.0, "highs")
    monkeypatch.setattr(engines, "read_optimum", lambda *_, **__: wrong)
    done = olivine("generate", FAULTS / "bigw2.wcnf", "-o", tmp_path / "out", status=1)
    assert "HiGHS finds 0.5, the optimum is" in done.err


def test_the_checker_by_itself_refuses_deep_nesting() -> None:
    command = [sys.executable, checker.__file__]
    files = [FAULTS / "nested-990-standalone.json", FAULTS / "s.cnf"]
    done = subprocess.run([*command, *files], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"nested too deeply" in done.stderr


def measured(*arguments: object) -> tuple[Done, float, int]:
    """Run a command in a process; the CPU seconds and the most bytes it took."""
    script = (
        "import resource, sys; from olivine.cli.main import command_line\n"
        "try: command_line()(sys.argv[1:])\n"
        "except SystemExit as done: status = done.code\n"
        "own, below = (resource.getrusage(w) for w in (resource.RUSAGE_SELF,"
        " resource.RUSAGE_CHILDREN))\n"
        "cpu = sum(u.ru_utime + u.ru_stime for u in (own, below))\n"
        # The own ru_maxrss starts with that of the process forked from.
        "lines = open('/proc/self/status').read().splitlines()\n"
        "peak = next(int(x.split()[1]) for x in lines if x.startswith('VmHWM'))\n"
        "print(cpu, max(peak, below.ru_maxrss), file=sys.stderr)\n"
        "sys.exit(status)\n"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    *err, last = done.stderr.splitlines()
    seconds, kilobytes = last.split()
    found = Done(done.returncode, done.stdout, "\n".join(err))
    return found, float(seconds), int(kilobytes) * 1024


def test_bombs_are_refused(tmp_path):
    # By the verbs whose cost the next test measures at length.
    for verb in ("solve", "generate", "trace", "report"):
        out = ["-o", tmp_path / "out"] if verb in ("generate", "report") else []
        olivine(verb, BOMB, *out, status=2, err="--max-bytes")
        assert list(tmp_path.iterdir()) == []
    done, seconds, size = measured("check", FAULTS / "s.json", BOMB)
    assert done.status == 2
    assert seconds < 3
    assert size < 300 * 2**20


@with_rows("verb", "verify", "solve", "generate", "trace", "report", keep=1)
def test_a_bomb_costs_little(verb: str, tmp_path) -> None:
    out = ["-o", tmp_path / "out"] if verb in ("generate", "report") else []
    done, seconds, size = measured(verb, BOMB, *out)
    assert done.status == 2
    assert "--max-bytes" in done.err
    assert list(tmp_path.iterdir()) == []
    assert seconds < 3
    assert size < 300 * 2**20


TEN_CLAUSES = "".join(f"{a} -{a + 999_000} {10**7} 0\n" for a in range(1, 11))


@pytest.fixture
def sparse(tmp_path):
    """A header of ten million variables, of which ten clauses use 21."""
    path = tmp_path / "sparse.cnf"
    path.write_text(f"p cnf {10**7} 10\n{TEN_CLAUSES}")
    return path


def leaves_out(verb: str, done: Done) -> None:
    assert done.status == 0
    record = done.record
    assert record["variables"] == 10**7
    assert "9999979 of 10000000 variables occur in no clause" in record["warnings"][0]
    if verb != "multi":
        assert record.get("three_sat", {}).get("variables", 21) == 21


@with_rows(
    "verb, options",
    ("verify", []),
    ("generate", ["--formulation", "projected"]),
    ("report", []),
    ("multi", []),
    ("trace", []),
    keep=1,
)
def test_variables_that_do_not_occur_cost_nothing(
    verb: str, options: list[str], sparse, tmp_path
) -> None:
    out = ["-o", tmp_path / "out"] if verb in ("generate", "report") else []
    done, seconds, size = measured(verb, sparse, "--json", *options, *out)
    leaves_out(verb, done)
    assert seconds < 6
    assert size < 500 * 2**20


def test_trace_leaves_variables_out_and_no_certificate_does(sparse, tmp_path):
    leaves_out("trace", olivine("trace", sparse, "--json"))
    path = tmp_path / "c.json"
    done = olivine("verify", sparse, "--route", "sat", "--certificate", path, "--json")
    assert done.status == 3
    assert done.record["optimum"] == "1"
    assert (
        "it would give a value to each variable" in done.record["certificate"]["reason"]
    )
    assert not path.exists()


@pytest.mark.long
def test_solve_writes_ten_million_values_at_speed(sparse) -> None:
    for options in ([], ["--json"]):
        done, seconds, size = measured("solve", sparse, *options)
        assert done.status == 10
        assert done.out.count(" ") > 10**7
        assert seconds < 6
        assert size < 500 * 2**20


def test_solve_gives_a_value_to_variables_that_do_not_occur(tmp_path) -> None:
    path, n = tmp_path / "f.cnf", 300_000
    path.write_text(f"p cnf {n} 2\n{n} 7 0\n-{n} 0\n")
    done = olivine("solve", path, status=10)
    lines = [line for line in done.out.splitlines() if line.startswith("v")]
    assert max(map(len, lines)) <= 78
    values = [int(word) for line in lines for word in line[2:].split()]
    assert list(map(abs, values)) == [*range(1, n + 1), 0]
    assert values[6] == 7
    assert values[n - 1] == -n
    assert olivine("solve", path, "--json").record["model"] == values[:-1]


@pytest.mark.parametrize("verb", ["verify", "solve", "trace", "multi"])
def test_hard_clauses_are_named_with_their_line(verb: str, tmp_path) -> None:
    path = tmp_path / "hard.wcnf"
    for text in (
        "c\np wcnf 2 3 9\n3 1 0\n4 2 0\n9 -1 -2 0\n",
        "3 1 0\n\n4 2 0\nh 1 0\n",
    ):
        path.write_text(text)
        done = olivine(verb, path)
        assert done.status == (30 if verb == "solve" else 0)
        line = 5 if text.startswith("c") else 4
        assert f"{path}:{line}: 1 hard clause gets weight 8," in done.err


@with_rows(
    "text, reason",
    ("p cnf 2 1\ne 1 0\n1 2 0\n", ":2: quantifiers (QDIMACS)"),
    ("p cnf 2 1\na 1 2 0\n1 2 0\n", ":2: quantifiers (QDIMACS)"),
    ("p knf 2 1\nk 1 1 2 0\n", ":1: format 'knf'"),
    ("p cnf 2 1\n1 2 0\nk 1 1 2 0\n", ":3: cardinality constraints (KNF)"),
    ("p cnf 2 1\nw 1 0.5\n1 2 0\n", ":2: weights of literals (Cachet)"),
    ("p cnf 2 1\r1 2 0\r", ":1: malformed header"),
    ("c x\rp cnf 2 1\r1 2 0\r", ":1: nothing but comments"),
)
def test_other_formats_are_named(text: str, reason: str, tmp_path) -> None:
    path = tmp_path / "f.cnf"
    path.write_bytes(text.encode())
    done = olivine("verify", path, status=2, err=f"{path}{reason}")
    assert ("this file has CR alone" in done.err) == ("\r" in text)
