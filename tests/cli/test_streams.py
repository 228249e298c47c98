"""Whatever the streams and the terminal, a verb ends the same and says the same."""

import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.cli.common.output import print_table, tell
from olivine.cli.common.process import SPELLED, spell
from olivine.cli.main import VERBS

from tests.support.commands import CASES, run_olivine
from tests.support.depth import deep, with_rows

ESCAPE = b"\x1b[31m"
BYTES = "\udcff\x1b[31m.cnf"
"""A name that is no UTF-8, with an escape that colours a terminal."""

LONG = "--time-limit 3000"
"""For limits of wall time, which a busy machine would otherwise reach."""
VERBS = {
    "generate": f"generate {BYTES} -o family\udcff --format lp",
    "verify": f"verify {BYTES} --route sat --route witness {LONG}",
    "check": f"check certificate\udcff.json {BYTES}",
    "solve": f"solve {BYTES}",
    "treewidth": f"verify {BYTES} --route treewidth --route sat {LONG}",
    "trace": f"trace {BYTES}",
    "trace-ties": f"trace {BYTES} --ties random --levels largest",
    "learn": "learn psdp --env tabular",
    "learn-list": "learn --list",
    "learn-all": "learn all --env tabular --seeds 1 --time-limit 5",
    "contrast": "contrast --max-n 3 --instances 1 --time-limit 1 -o out",
    "multi": f"multi {BYTES}",
    "barrier": "barrier average",
    "claims": "claims",
    "report": f"report {BYTES} -o page\udcff.html {LONG}",
    "bad-file": "verify absent\udcff\x1b[31m.cnf",
    "bad-usage": "verify --variant ε",
} | {f"{verb}-help": f"{verb} --help" for verb in VERBS}

CONDITIONS = (
    {"encoding": "cp1252"},
    {"encoding": "ascii:strict"},
    {"encoding": "utf-8:strict"},
    {"closed": (1,)},
    {"closed": (2,)},
    {"closed": (0, 1, 2)},
)
QUICK = ({"encoding": "ascii:strict"}, {"closed": (0, 1, 2)})
QUICK_SIZE = ("verify", 20)
TIMED = ("contrast", "learn-all", "bad-usage")
"""Verbs without JSON here, or whose JSON is all measured times."""
long = pytest.mark.long

PATH = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
DIFFERS = ("seconds", "file", "directory", "output", "certificate")


@pytest.fixture
def folder(tmp_path):
    """A folder with a formula and its certificate, named by bytes."""
    source = CASES / "cadical" / "full3.cnf"
    shutil.copy(source, os.path.join(os.fsencode(tmp_path), os.fsencode(BYTES)))
    return tmp_path


def certify(folder) -> None:
    run(folder, f"verify {BYTES} --route maxsat --certificate certificate\udcff.json")


def run(folder, line, closed=(), encoding="utf-8"):
    """Run the command in a folder, with descriptors closed; status, out, err."""
    for made in ("family\udcff", "out"):
        shutil.rmtree(os.path.join(folder, made), ignore_errors=True)
    command = [sys.executable, "-m", "olivine", *line.split()]
    if closed:
        # By a shell: preexec_fn would cut off what the parent listens to.
        shut = " ".join(f"{descriptor}>&-" for descriptor in closed)
        command = ["sh", "-c", f'exec "$@" {shut}', "sh", *command]
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": encoding} | PATH,
    )
    return done.returncode, done.stdout, done.stderr


def stable(out: bytes) -> list:
    """JSON lines without what differs from run to run."""

    def without(value):
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k not in DIFFERS}
        return [without(v) for v in value] if isinstance(value, list) else value

    return [without(json.loads(line)) for line in out.splitlines()]


@with_rows(
    "name, conditions",
    pytest.param("barrier", QUICK, marks=long),
    ("bad-file", QUICK),
    *(pytest.param(name, CONDITIONS, marks=long) for name in VERBS),
)
def test_streams(name, conditions, folder) -> None:
    line = VERBS[name]
    if name == "check":
        certify(folder)
    status, out, err = run(folder, line)
    assert status in (0, 2, 3, 20)
    assert b"Traceback" not in err
    assert ESCAPE not in out + err
    for condition in conditions:
        again, shown, said = run(folder, line, **condition)
        assert again == status, said
        assert ESCAPE not in shown + said
        assert b"Traceback" not in said
        (shown + said).decode(condition.get("encoding", "utf-8").partition(":")[0])
        closed = condition.get("closed", ())
        assert bool(shown) is (bool(out) and 1 not in closed)
        assert bool(said) is (bool(err) and 2 not in closed)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(v, marks=[] if v == "verify" else pytest.mark.long)
        for v, line in VERBS.items()
        if "--help" not in line
        and "usage" not in v
        and v not in ("contrast", "learn-all")
    ],
)
def test_json_is_the_same_on_every_stream(name, folder) -> None:
    line = f"{VERBS[name]} --json"
    if name == "check":
        certify(folder)
    status, out, _ = run(folder, line)
    records = stable(out)
    assert records
    streams = ({"encoding": "ascii"}, {"encoding": "cp1252"}, {"closed": (2,)})
    for options in streams[: deep(3, 1)]:
        again, shown, _ = run(folder, line, **options)
        assert again == status
        assert stable(shown) == records


def in_terminal(folder, columns: int, line: str) -> tuple[int, str]:
    """Run the command in a terminal so wide; status and what it shows, uncoloured."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [sys.executable, "-m", "olivine", *line.split()],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment | {"TERM": "xterm"} | PATH,
    )
    os.close(theirs)
    shown = bytearray()
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        pytest.param(name, columns, marks=[] if (name, columns) == QUICK_SIZE else long)
        for name in VERBS
        for columns in (20, 40, 80)
    ],
)
def test_terminals(name, folder, columns) -> None:
    if name == "check":
        certify(folder)
    line = VERBS[name]
    if name == "verify":  # an optimum with long numerals
        line += " --penalty 12345/99999"
    status, _, _ = run(folder, line)
    for made in ("family\udcff", "out"):
        shutil.rmtree(os.path.join(folder, made), ignore_errors=True)
    again, shown = in_terminal(folder, columns, line)
    assert again == status
    if name == "verify":
        assert "optimum: 23/24" in " ".join(shown.split())


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)
CELLS = st.one_of(WORDS, st.fractions().map(str), st.integers().map(str))


@given(st.data(), st.integers(10, 100))
def test_a_table_cuts_nothing(data, columns) -> None:
    width = data.draw(st.integers(1, 5))
    header = [f"column{k}" for k in range(width)]
    rows = data.draw(
        st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=4)
    )
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        patch.setenv("COLUMNS", str(columns))
        patch.setenv("TERM", "dumb")
        print_table(header, rows)
    shown = stream.getvalue()
    assert "…" not in shown or any("…" in cell for row in rows for cell in row)
    for row in rows:
        for cell in row:
            for word in cell.split():
                assert word in shown


def test_columns_are_spared_before_a_table_becomes_a_list(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    header, rows = ("optimum", "proved by"), [("123456789/987654321", "milp")] * 2
    print_table(header, rows, spare=("proved by",))
    shown = capsys.readouterr().out
    assert "123456789/987654321" in shown
    assert "milp" not in shown
    print_table(header, rows)
    shown = capsys.readouterr().out
    assert "optimum: 123456789/987654321\nproved by: milp" in shown


@given(st.text())
def test_spelling_is_ascii(text: str) -> None:
    assert spell(text).isascii()
    assert spell(spell(text)) == spell(text)
    for encoding in ("ascii", "cp1252", "utf-8", "latin-1"):
        text.encode(encoding, SPELLED)


def test_what_is_told_is_one_line(capsys) -> None:
    tell("a\x1b[31m\nb\udcff")
    assert capsys.readouterr().out == "a\\x1b[31m\\nb\\udcff\n"


PROGRAM_WITH_CLOSED_STREAMS = """
import os, subprocess, sys
from olivine.cli.common.process import prepare_streams
prepare_streams()
program = "import os, sys; [os.fstat(d) for d in range(3)]; print(sys.stderr)"
os._exit(subprocess.call([sys.executable, "-c", program]))
"""


@pytest.mark.parametrize("shut", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">&- 2>&-"])
def test_programs_started_have_the_streams_that_were_closed(shut: str) -> None:
    """As the workers of ``sweep -j 2 2>&-``, which ended where one was missing."""
    command = ["sh", "-c", f'exec "$@" {shut}', "sh", sys.executable]
    done = subprocess.run([*command, "-c", PROGRAM_WITH_CLOSED_STREAMS], check=False)
    assert done.returncode == 0


def test_a_file_of_a_module_s_name_in_the_folder_is_not_run(tmp_path) -> None:
    """By `python -m olivine`; Python itself takes types.py before that begins."""
    for name in ("random", "queue", "token"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n")
    file = CASES / "cadical" / "full3.cnf"
    run_olivine("verify", file, cwd=tmp_path, status=0)
