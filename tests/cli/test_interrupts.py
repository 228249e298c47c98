"""SIGINT, SIGTERM and SIGHUP at any moment leave no file and no process behind."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.commands import CASES, ROOT, olivine
from tests.support.depth import spread

FULL3 = str(CASES / "cadical" / "full3.cnf")
LONG = 100
QUICK = [(signal.SIGINT, 0.4), (signal.SIGHUP, 0.7), (signal.SIGTERM, 1.0)]
VERBS = {
    "verify": ["verify", FULL3, "--certificate", "{}/c.json"],
    "verify -j 2": ["verify", "-j", "2", FULL3, FULL3, FULL3, "--json"],
    "generate": ["generate", FULL3, "-o", "{}/new/folder"],
    "report": ["report", FULL3, "-o", "{}/page.html"],
    "compare": ["compare", "--env", "threesat", "--seeds", "1", "-o", "{}/f.svg"],
    "contrast": ["contrast", "--max-n", "4", "--instances", "1", "-o", "{}/c/out"],
    "extract": ["extract", "{}/../../written", "{}/../../written/start.sol"],
}
WHOLE = {  # what a run that was not stopped in time leaves
    "verify": {"c.json", "c.json.drat"},
    "verify -j 2": set(),
    "generate": {"new"},
    "report": {"page.html"},
    "compare": {"f.svg"},
    "contrast": {"c"},
    "extract": set(),
}
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="finds processes in /proc"
)


class Place:
    """A folder for temporary files and one for output; a mark on every process."""

    def __init__(self, folder: Path) -> None:
        self.temporary, self.output = folder / "temporary", folder / "output"
        self.temporary.mkdir(parents=True)
        self.output.mkdir()
        self.mark = f"OLIVINE_TEST={folder}"

    def start(
        self, arguments: list[str], program: Sequence[str] = ("-m", "olivine")
    ) -> subprocess.Popen[bytes]:
        name, _, value = self.mark.partition("=")
        places = {"TMPDIR": str(self.temporary), name: value}
        words = [a.format(self.output) if "{}" in a else a for a in arguments]
        return subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=ROOT,
            env=os.environ | places,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            # Work in the background inherits that SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def processes(self) -> list[str]:
        """Processes that carry the mark, but for those that only wait to be reaped."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if self.mark.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
        return found

    def files(self) -> list[str]:
        """Temporary files, and parts of output."""
        hidden = list(self.output.rglob(".*"))
        return [str(p) for p in (*self.temporary.rglob("*"), *hidden)]


def gone(place: Place) -> bool:
    for _ in range(200):
        if not place.processes():
            return True
        time.sleep(0.01)
    return False


def begin(folder: Path, verb: str) -> tuple[Place, subprocess.Popen[bytes]]:
    """Begin a run in a place of its own; what `extract` reads is beside it."""
    written = folder.parent / "written"
    if verb == "extract" and not written.exists():
        olivine("generate", FULL3, "-o", written, "--format", "lp", "--start", status=0)
    place = Place(folder)
    return place, place.start(VERBS[verb])


def whole_run(folder: Path, verb: str) -> float:
    """Seconds of a run that nothing stops, which must be as it should."""
    start = time.monotonic()
    place, process = begin(folder, verb)
    said = process.communicate()[1]
    assert process.returncode in (0, 3), said
    assert {p.name for p in place.output.iterdir()} == WHOLE[verb]
    assert place.files() == []
    return time.monotonic() - start


def stop(folder: Path, verb: str, number: int, seconds: float) -> str:
    """Stop a run after a while; return how it ended and what it left."""
    place, process = begin(folder, verb)
    time.sleep(seconds)
    process.send_signal(number)
    said = process.communicate()[1].decode()
    left = {p.name for p in place.output.iterdir()}
    assert gone(place), (said, place.processes())
    assert place.files() == [], said
    # All or nothing; a certificate's proof comes first.
    assert left in (set(), WHOLE[verb]), (left, said)
    if left and process.returncode == 0:
        return "done before"
    if process.returncode < 0:
        # Before Python ran a line of ours, or after all was done.
        assert process.returncode == -number, said
        return "by the system"
    if process.returncode == 1 and "KeyboardInterrupt" in said:
        assert "olivine" not in said, said  # Python itself was starting
        return "by the system"
    assert process.returncode in (0, 3, 128 + number), said
    assert "Traceback" not in said, said
    return "stopped" if process.returncode == 128 + number else "done before"


def stop_often(tmp_path: Path, verb: str, times: int) -> Counter[str]:
    """Stop so many runs while they run, at random moments; count how they ended.

    Runs that were done before are counted besides, and shorten what is taken for the
    verb's running time.
    """
    seconds = whole_run(tmp_path / "whole", verb)
    moments = random.Random(verb)
    ends: Counter[str] = Counter()
    while ends.total() - ends["done before"] < times:
        number = moments.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        moment = moments.random() * seconds
        end = stop(tmp_path / str(ends.total()), verb, number, moment)
        ends[end] += 1
        if end == "done before":
            seconds = 0.9 * seconds + 0.1 * moment
        assert ends.total() < 5 * times
    return ends


@pytest.mark.parametrize("verb", spread([v for v in VERBS if v != "verify"], 1))
def test_a_few_moments(tmp_path, verb) -> None:
    for number, seconds in QUICK:
        stop(tmp_path / str(number), verb, number, seconds)


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
def test_a_hundred_moments(tmp_path, verb) -> None:
    ends = stop_often(tmp_path, verb, LONG)
    print(verb, dict(ends), flush=True)
    assert ends["stopped"] + ends["by the system"] == LONG
    # The others ended by the signal's default action while modules were imported,
    # which is half of the time of a short verb.
    assert ends["stopped"] >= LONG / 4


def run_code(code: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


@pytest.mark.parametrize("module", ["typer", "olivine.cli.verify", "numpy"])
def test_an_interrupt_during_imports_is_130_and_quiet(tmp_path, module) -> None:
    """Send SIGINT from within an import, as a finder sees it."""
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from olivine.__main__ import main\n"
        f"sys.argv = ['olivine', 'verify', {FULL3!r}]\n"
        "main()\n"
    )
    done = run_code(code)
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


LOST = """
import signal, sys, time
from olivine.cli.common.process import raise_signals, signal_status
raise_signals()
class Swallows:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
Swallows()  # an exception in a finaliser is lost
try:
    time.sleep(60)
finally:
    print(signal_status())
"""


ABORTS = """
import atexit, os, signal
from olivine import __main__
from olivine.cli import main
class Aborts:
    def __del__(self, abort=os.abort):
        abort()  # as what a broken import of a C++ library left can do
main.kept = Aborts()
main._run = lambda: signal.raise_signal(signal.SIGTERM)
atexit.register(print, "tidied")
__main__.main()
"""


@pytest.mark.parametrize(("code", "out"), [(LOST, b"143\n"), (ABORTS, b"tidied\n")])
def test_a_lost_signal_is_raised_again_and_python_ends_quietly(code, out) -> None:
    done = run_code(code, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (143, out, b"")


def test_an_error_after_a_signal_is_the_signals() -> None:
    code = (
        "import signal, sys\n"
        "from olivine.cli import main\n"
        "from olivine.cli.common import reading\n"
        "def broken(*_):\n"
        "    try:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    except KeyboardInterrupt:\n"
        "        raise ImportError('as a library makes of it') from None\n"
        "reading.expand = broken\n"
        "import olivine.cli.verify as verify; verify.expand = broken\n"
        "sys.argv = ['olivine', 'verify', 'x.cnf']\n"
        "main.main()\n"
    )
    done = run_code(code)
    assert done.returncode == 130
    assert b"internal error" not in done.stderr


BATCH = """
import os, signal, sys, time
from olivine import __main__
from olivine.cli.common import family_folder
number, main, write = int(sys.argv.pop(1)), os.getpid(), family_folder.write_folder
def stopped(stage, instance, source, *more):
    if source.source.endswith("2.cnf"):
        (stage / "program.lp").write_text("half of it")
        victim = os.getpid() if number == signal.SIGKILL else main
        os.kill(victim, number)
        time.sleep(60)
    return write(stage, instance, source, *more)
family_folder.write_folder = stopped
__main__.main()
"""


@pytest.mark.children
@pytest.mark.parametrize(
    ("number", "jobs"),
    [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGKILL, 2)],
)
def test_a_batch_that_is_stopped_amid_a_formula(tmp_path, number, jobs) -> None:
    """Folders are whole or absent, and the manifest says which."""
    given = tmp_path / "given"
    given.mkdir()
    for k in range(6):
        (given / f"{k}.cnf").write_text("p cnf 1 1\n1 0\n")
    place = Place(tmp_path)
    options = ["--format", "lp", "--formulation", "projected", "--jobs", str(jobs)]
    arguments = ["generate", str(given), "-o", "{}/out", *options]
    process = place.start(arguments, ["-c", BATCH, str(int(number))])
    said = process.communicate()[1].decode()
    assert gone(place), (said, place.processes())
    assert place.files() == [], said
    assert "Traceback" not in said
    killed = number == signal.SIGKILL
    assert process.returncode == (3 if killed else 128 + number), said
    out = place.output / "out"
    rows = [json.loads(r) for r in (out / "manifest.jsonl").read_text().splitlines()]
    if killed or jobs == 1:
        names = [Path(row["file"]).name for row in rows]
        assert names == [f"{k}.cnf" for k in range(6 if killed else 2)]
    dead = [row for row in rows if "error" in row]
    assert [Path(row["file"]).name for row in dead] == ["2.cnf"] * killed
    assert all("killed by SIGKILL" in row["error"] for row in dead)
    written = {row["directory"]: row["files"] for row in rows if "error" not in row}
    folders = {str(folder) for folder in out.iterdir() if folder.is_dir()}
    assert folders >= set(written)
    assert not any(folder.endswith("2.cnf") for folder in folders)
    for folder in folders:
        sizes = {file.name: file.stat().st_size for file in Path(folder).iterdir()}
        assert set(sizes) == {"family.json", "program.lp", "three_sat.cnf"}
        assert sizes == written.get(folder, sizes)
