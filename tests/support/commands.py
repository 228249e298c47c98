"""Running the command line in tests."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from olivine.cli.main import asked, command_line
from typer.testing import CliRunner

from tests.support.cases import CASES as CASES
from tests.support.cases import cases

ROOT = Path(__file__).parent.parent.parent
_made = cache(command_line)


@dataclass
class Done:
    """What a run of the command did."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[dict]:
        """The JSON objects on standard output, which holds nothing else."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def record(self) -> dict:
        (one,) = self.records
        return one

    def seen(self, status=None, out=(), err=(), error=()) -> "Done":
        """Assert the exit status, and words of both streams and of the JSON error."""
        assert status in (None, self.status), f"exit {self.status}: {self.err}"
        for texts, place in ((out, "out"), (err, "err")):
            for words in (texts,) if isinstance(texts, str) else texts:
                assert words in getattr(self, place)
        for words in (error,) if isinstance(error, str) else error:
            assert words in self.record["error"]
        return self


def olivine(*arguments, stdin: bytes | None = None, **expected) -> Done:
    """Run a verb in this process; `expected` is what `Done.seen` asserts."""
    texts = [str(a) for a in arguments]
    # As the command does: all verbs would take ten times as long as most calls.
    result = CliRunner().invoke(_made(asked(texts)), texts, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr).seen(**expected)


def run_olivine(*arguments, stdin: bytes = b"", status=None, err=(), **options) -> Done:
    """Run a verb in a process of its own."""
    environment = os.environ | options.pop("env", {})
    done = subprocess.run(
        [sys.executable, "-m", "olivine", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        env=environment,
        **options,
    )
    found = Done(done.returncode, done.stdout.decode(), done.stderr.decode())
    return found.seen(status, err=err)


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Let this process and its children write no file beyond so many bytes."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def expected(folder: str) -> list[dict]:
    """Rows of a folder's expected.jsonl."""
    return [case.expected for case in cases(folder)]
