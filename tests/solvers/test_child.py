import contextlib
import faulthandler
import io
import math
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from olivine.solvers.child import child
from olivine.solvers.child.child import run_each, run_in_child
from olivine.solvers.child.temporary import owned

from tests.support.refusals import refused

pytestmark = pytest.mark.children

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's /proc")
MIB = 2**20


def double(number):
    return 2 * number


def fail():
    raise KeyError("no such clause")


def sleep_long():
    time.sleep(60)


@pytest.fixture(params=["fork", "spawn"])
def start_method(request, monkeypatch):
    monkeypatch.setattr(child, "_FORKS", request.param == "fork")
    return request.param


@pytest.fixture
def no_leak():
    """Nothing stays behind: no process, no zombie, no file descriptor."""

    def holdings():
        children = [p.read_text() for p in Path("/proc/self/task").glob("*/children")]
        return sorted(os.listdir("/proc/self/fd")), "".join(children).split()

    if sys.platform != "linux":
        yield
        return
    run_in_child(double, 1)
    before = holdings()
    yield
    assert holdings() == before


def test_a_value_an_exception_and_a_death_are_told(start_method):
    result = run_in_child(double, 21)
    assert (result.status, result.value, result.message) == ("done", 42, "")
    assert 0 < result.seconds < 60
    result = run_in_child(fail)
    assert (result.status, result.value) == ("error", None)
    assert result.message == "KeyError: 'no such clause'"
    assert "in fail" in result.details
    result = run_in_child(os.abort)
    assert (result.status, result.message) == (
        "died",
        "the child was killed by SIGABRT",
    )
    result = run_in_child(os._exit, 3)
    assert result.status == "died"
    assert result.message == "the child left with exit status 3 and no answer"


def test_time_limit_kills(start_method):
    result = run_in_child(sleep_long, time_limit=0.2)
    assert (result.status, result.value) == ("timeout", None)
    assert result.message == "time limit of 0.2 s reached"
    assert 0.2 <= result.seconds < 50


@LINUX
def test_memory_limit_kills(start_method):
    result = run_in_child(allocate_for_ever, memory_limit=100 * MIB, time_limit=60)
    assert (result.status, result.message) == (
        "memory",
        "memory limit of 100 MiB reached",
    )


def allocate_for_ever():
    blocks = []
    while True:
        blocks.append(b"x" * MIB)
        time.sleep(0.0005)


@LINUX
def test_memory_of_grandchildren_counts(no_leak):
    code = "import time; block = b'x' * 2**28; print(len(block)); time.sleep(60)"
    command = [sys.executable, "-c", code]
    result = run_in_child(
        subprocess.call, command, memory_limit=128 * MIB, time_limit=60
    )
    assert result.status == "memory"


@LINUX
def test_memory_of_the_parent_is_free_until_it_is_written_to():
    block = np.ones(200 * MIB // 8)
    result = run_in_child(
        lambda: float(block.sum()), memory_limit=50 * MIB, time_limit=60
    )
    assert (result.status, result.value) == ("done", block.size)
    # Resident from the start, but the child's own once it has written to it: so
    # is what an engine puts where the parent had freed memory.

    def write_and_stay():
        block[:] = 2.0
        time.sleep(60)

    result = run_in_child(write_and_stay, memory_limit=50 * MIB, time_limit=60)
    assert result.message == "memory limit of 50 MiB reached"


@pytest.mark.parametrize("limit", [-1, -math.inf, math.nan])
def test_bad_time_limit(limit):
    refused("time limit", run_in_child, double, 1, time_limit=limit)


def test_limits_of_nothing_and_bad_ones():
    refused("memory limit", run_in_child, double, 1, memory_limit=0)
    assert run_in_child(double, 1, time_limit=0).status == "timeout"
    assert run_in_child(double, 1, time_limit=math.inf).value == 2

    def exhaust():
        raise MemoryError

    assert run_in_child(exhaust).status == "memory"


def test_closures_nested_children_and_what_cannot_be_pickled(no_leak):
    payload = os.urandom(5 * MIB)
    assert run_in_child(lambda: payload, time_limit=60).value == payload
    assert run_in_child(sys.exit, 3).message == "SystemExit: 3"
    assert run_in_child(lambda: lambda: None).status == "error"
    assert run_in_child(lambda: run_in_child(double, 4).value).value == 8


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGSEGV])
def test_killed_by_a_signal(number, no_leak):
    result = run_in_child(lambda: os.kill(os.getpid(), number))
    assert result.status == "died"
    assert result.message == f"the child was killed by {number.name}"


@LINUX
def test_nothing_is_left_behind_whatever_happens(no_leak):
    run_in_child(double, 1)
    run_in_child(fail)
    run_in_child(sleep_long, time_limit=0.05)
    run_in_child(os.abort)
    run_in_child(os._exit, 0)
    run_in_child(allocate_for_ever, memory_limit=MIB)
    run_in_child(os.kill, 0, signal.SIGSTOP, time_limit=0.05)


def test_neither_a_closed_pipe_nor_a_grandchild_is_a_deadlock(no_leak):
    def close_everything():
        os.closerange(3, 100)
        time.sleep(60)

    result = run_in_child(close_everything, time_limit=50)
    assert (result.status, result.message) == ("died", "the child gave no answer")

    def leave_a_grandchild():
        if os.fork() == 0:
            time.sleep(60)
        os._exit(7)

    result = run_in_child(leave_a_grandchild, time_limit=50)
    assert result.message == "the child left with exit status 7 and no answer"


def test_a_grandchild_dies_with_the_child(tmp_path):
    def leave_a_grandchild():
        return subprocess.Popen(["sleep", "60"]).pid

    pid = run_in_child(leave_a_grandchild).value
    wait_until(lambda: not alive(pid))


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().split(")")[1].split()[0] != "Z"
    return False


def wait_until(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("waited in vain")


def test_interrupt_kills_the_child(tmp_path):
    started = tmp_path / "pid"

    def note_and_sleep():
        started.with_suffix(".part").write_text(str(os.getpid()))
        started.with_suffix(".part").rename(started)
        time.sleep(60)

    def interrupt():
        wait_until(started.exists)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_in_child(note_and_sleep)
    thread.join()
    assert not alive(int(started.read_text()))


SCRIPT = """
import atexit, os, sys, time
from olivine.solvers.child.child import run_each, run_in_child

def child():
    print("printed by the child", flush=True)
    os.write(1, b"written by the child")
    os.write(2, b"complaint of the child")
    {action}

atexit.register(print, "exit handler")
print("pending", end=" ")
result = run_in_child(child)
print(result.status)
"""


def run_script(action, **options):
    code = SCRIPT.format(action=action)
    return subprocess.Popen(
        [sys.executable, "-c", code], text=True, stdout=subprocess.PIPE, **options
    )


def test_output_and_exit_handlers_happen_once_and_streams_may_be_closed():
    with run_script("pass", stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    assert (out, err) == ("pending done\nexit handler\n", "")
    code = textwrap.dedent("""
        import os, sys
        from olivine.solvers.child.child import run_each, run_in_child
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        sys.stdout = sys.stderr = sys.stdin = None
        os._exit(run_in_child(lambda: 42).value)
        """)
    assert subprocess.call([sys.executable, "-c", code]) == 42


@LINUX
def test_child_dies_with_its_parent(tmp_path):
    note = tmp_path / "pid"
    action = f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with run_script(action) as process:
        wait_until(lambda: note.exists() and note.read_text())
        process.kill()
        process.wait()
        wait_until(lambda: not alive(int(note.read_text())))


def test_errors_are_shown_on_demand(capfd):
    def complain():
        os.write(2, b"complaint")

    run_in_child(complain)
    assert capfd.readouterr().err == ""
    run_in_child(complain, show_errors=True)
    assert capfd.readouterr().err == "complaint"


def test_replaced_streams_are_not_flushed_by_the_child(monkeypatch, tmp_path):
    path = tmp_path / "out"
    with path.open("w") as file:
        monkeypatch.setattr(sys, "stdout", file)
        print("pending")
        run_in_child(print, "x" * 10**6)
    assert path.read_text() == "pending\n"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert run_in_child(print, "nowhere").status == "done"


def test_handlers_of_the_parent_do_not_run_and_ignored_sigchld_is_survived(monkeypatch):
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(os.getpid()))
    try:
        result = run_in_child(lambda: os.kill(os.getpid(), signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (result.message, seen) == ("the child was killed by SIGTERM", [])
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert run_in_child(double, 3).value == 6
        assert run_in_child(os._exit, 1).status == "died"
        assert run_in_child(sleep_long, time_limit=0.05).status == "timeout"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_threads_may_run_children_side_by_side(no_leak):
    results = {}

    def work(key):
        results[key] = [run_in_child(double, key + i).value for i in range(3)]

    threads = [threading.Thread(target=work, args=(10 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {10 * k: [2 * (10 * k + i) for i in range(3)] for k in range(4)}


def test_a_death_is_noticed_while_another_child_lives(tmp_path):
    flag = tmp_path / "flag"
    other = threading.Thread(
        target=run_in_child, args=(wait_until, flag.exists), name="other"
    )
    other.start()
    assert run_in_child(os.abort, time_limit=15).status == "died"
    flag.touch()
    other.join()


def wait_for_others(k: int, folder: Path) -> int:
    """Return once all three are there: they run at the same time."""
    (folder / str(k)).touch()
    wait_until(lambda: len(list(folder.iterdir())) == 3)
    return os.getpid()


def each(function, items, jobs):
    """Results in the order of the items; each comes once."""
    found = list(run_each(function, items, jobs))
    assert sorted(number for number, _ in found) == [*range(len(items))]
    return [result for _, result in sorted(found, key=lambda pair: pair[0])]


def test_items_are_worked_on_side_by_side(no_leak, tmp_path):
    found = each(lambda k: (k, wait_for_others(k, tmp_path)), range(3), 3)
    assert [result.value[0] for result in found] == [0, 1, 2]
    assert len({os.getpid(), *(result.value[1] for result in found)}) == 4


@pytest.mark.parametrize("turn", [0, 3600])
def test_a_child_takes_items_until_its_turn_ends(no_leak, monkeypatch, turn):
    monkeypatch.setattr(child, "TURN", turn)
    found = each(lambda k: (k, os.getpid()), range(40), 2)
    assert [result.value[0] for result in found] == [*range(40)]
    count = len({result.value[1] for result in found})
    assert count == 40 if turn == 0 else 2 <= count <= 15


def test_a_child_that_has_grown_ends_its_turn(no_leak, monkeypatch):
    monkeypatch.setattr(child, "TURN", 3600)
    found = each(lambda _: len(np.ones(child.GROWTH // 8)) and os.getpid(), range(4), 1)
    assert len({result.value for result in found}) == 4


@pytest.mark.parametrize("turn", [0, 3600])
def test_each_failure_is_its_own(start_method, monkeypatch, turn):
    monkeypatch.setattr(child, "TURN", turn)
    calls = [double, fail, double, double, double, os.abort, os.abort, double]
    found = each(call, calls, 2)
    words = {double: "done", fail: "error", os.abort: "died"}
    assert [r.status for r in found] == [words[call] for call in calls]


def test_what_is_done_at_an_interrupt_counts(no_leak, monkeypatch, tmp_path):
    def work(k):
        if k:
            (tmp_path / "begun").touch()
            time.sleep(60)
        return k

    def wait(calls, _):
        first, _ = calls._running
        wait_until(lambda: first.worker._has_ended() and (tmp_path / "begun").exists())
        raise KeyboardInterrupt

    monkeypatch.setattr(child.Calls, "wait", wait)
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(run_each(work, range(2), 2))
    assert [(number, result.value) for number, result in found] == [(0, 0)]


def own_and_die(folder):
    with owned(folder / "a"), owned(folder / "b"), owned(folder / "absent"):
        (folder / "a").mkdir()
        (folder / "b").touch()
        (folder / "a" / "part").touch()
        run_in_child(own_more_and_die, folder)
        os.kill(os.getpid(), signal.SIGKILL)


def own_more_and_die(folder):
    with owned(folder / "c"):
        (folder / "c").touch()
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


def test_what_a_killed_child_owned_is_removed(start_method, no_leak, tmp_path):
    (tmp_path / "mine").touch()
    assert run_in_child(own_and_die, tmp_path).status == "died"
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def call(function):
    return function(21) if function is double else function()


def test_no_more_run_than_are_asked_for(no_leak, tmp_path):
    def note(k):
        (tmp_path / str(k)).touch()
        if k:
            time.sleep(60)

    children = run_each(note, range(10), 2)
    assert next(children)[1].status == "done"
    children.close()  # kills what runs
    assert {int(p.name) for p in tmp_path.iterdir()} <= {0, 1, 2}
    assert list(run_each(double, [], 3)) == []


def work_for_ever():
    while True:
        pass


@pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="needs ITIMER_PROF")
def test_a_limit_of_cpu_time_kills(start_method):
    result = run_in_child(work_for_ever, cpu_limit=0.1)
    assert result.status == "timeout"
    assert result.message == "limit of 0.1 s of CPU time reached"


def test_waiting_costs_no_cpu_time(no_leak):
    assert run_in_child(time.sleep, 0.5, cpu_limit=0.2).status == "done"
    refused("CPU time", run_in_child, double, 1, cpu_limit=0)


def test_a_child_keeps_out_of_its_parents_alarms(tmp_path):
    """A wake-up descriptor and a log of crashes are the parent's."""

    def be_signalled():
        signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.raise_signal(signal.SIGUSR1)

    ours, theirs = socket.socketpair()
    with ours, theirs, (tmp_path / "crashes").open("w+") as file:
        for end in (ours, theirs):
            end.setblocking(False)
        before = signal.set_wakeup_fd(theirs.fileno())
        was_enabled = faulthandler.is_enabled()
        faulthandler.enable(file)
        try:
            assert run_in_child(be_signalled).status == "done"
            assert run_in_child(os.abort).status == "died"
        finally:
            signal.set_wakeup_fd(before)
            faulthandler.disable()
            if was_enabled:
                faulthandler.enable()
        file.seek(0)  # the child has the same position
        assert file.read() == ""
        with pytest.raises(BlockingIOError):
            ours.recv(1)
