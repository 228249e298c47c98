"""MaxSAT with hard clauses: how far each way gets in so much CPU time.

    python -m benchmarks.maxsat_hard --seconds 60            25 generated formulas
    python -m benchmarks.maxsat_hard --seconds 10 FILE…      these WCNF files

Ways: `olivine solve`; RC2 with strata (PySAT's, with the options that `solve` gives it)
and a plain linear search from above (CaDiCaL, a totalizer), both alone and read by the
same reader. A way has so many seconds for each of its processes, Python's start and
reading included; what counts is the CPU time of that process which has used most, so
that other work on the machine matters little. A cell is the best cost at 5, 30 and 60
seconds (as far as they go), "*" where it is proved to be the optimum, then the seconds
of the last of it. `--one WAY FILE` runs a way by itself, with o and s lines.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.solvers.sat.clauses import Clauses, Message, Problem
from olivine.solvers.sat.lower import Lowering, digits, sums
from olivine.solvers.sat.maxsat import raise_bound
from pysat.solvers import Solver

MARKS = (5.0, 30.0, 60.0)
WAYS = ("rc2", "linear")
_POLL = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


class Track(NamedTuple):
    """What a way came to: (seconds, cost) of each o line, whether decided, seconds."""

    costs: list[tuple[float, int]]
    decided: bool
    seconds: float

    def best(self, seconds: float) -> int | None:
        """Return the best cost after so many seconds."""
        return min((c for s, c in self.costs if s <= seconds), default=None)


def track(command: Sequence[str], seconds: float) -> Track:
    """Run a solver by the evaluation's protocol, so many CPU seconds a process."""
    costs: list[tuple[float, int]] = []
    decided, used, text, start = False, 0.0, b"", time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        while used < seconds and time.monotonic() - start < 20 * seconds:
            ready, _, _ = select.select([descriptor], [], [], _POLL)
            used = max(used, most_used(process.pid))
            if not ready:
                continue
            if not (chunk := os.read(descriptor, 1 << 16)):
                break
            *lines, text = (text + chunk).split(b"\n")
            costs += [(used, int(line[2:])) for line in lines if line[:2] == b"o "]
            decided = decided or any(
                line.startswith((b"s OPT", b"s UNSAT")) for line in lines
            )
        process.kill()
    return Track(costs, decided, used)


def most_used(pid: int) -> float:
    """CPU seconds of that one of a process and its descendants which has used most."""
    with contextlib.suppress(OSError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        own = (int(fields[11]) + int(fields[12])) / _TICKS
        return max([own, *(most_used(int(child)) for child in children)])
    return 0.0


def cell(found: Track, seconds: float) -> str:
    """Show the best costs at the marks up to a limit."""
    marks = [mark for mark in MARKS if mark < seconds] + [seconds]
    texts = [str(found.best(mark) if found.costs else "-") for mark in marks]
    same = all(text == texts[-1] for text in texts)
    shown = texts[-1] if same else " ".join(texts)
    last = found.seconds if found.decided or not found.costs else found.costs[-1][0]
    return f"{shown}{'*' * found.decided} at {last:.1f}"


def print_table(
    files: Mapping[str, Path], ways: Mapping[str, Sequence[str]], seconds: float
) -> None:
    """Print a row a file, and sums."""
    print(f"| instance | {' | '.join(ways)} |")
    print("| --- |" + " --- |" * len(ways))
    found: dict[str, dict[str, Track]] = {}
    for name, file in files.items():
        row = {w: track([*command, str(file)], seconds) for w, command in ways.items()}
        found[name] = row
        cells = " | ".join(cell(each, seconds) for each in row.values())
        print(f"| {name} | {cells} |", flush=True)
    ours, *others = ways
    for way in others:
        both = [name for name, row in found.items() if row[way].decided]
        missed = [name for name in both if not found[name][ours].decided]
        mine = sum(found[name][ours].seconds for name in both)
        theirs = sum(found[name][way].seconds for name in both)
        print(
            f"\n{way} decides {len(both)}, of which {ours} misses {missed or 'none'}; "
            f"CPU seconds there {mine:.1f} / {theirs:.1f} = "
            f"{mine / max(theirs, 1e-9):.2f}"
        )
        for mark in [m for m in MARKS if m < seconds] + [seconds]:
            worse = [
                name
                for name, row in found.items()
                if _cost(row[ours], mark) > _cost(row[way], mark)
            ]
            print(
                f"at {mark:g} s no worse than {way} on "
                f"{len(found) - len(worse)} of {len(found)}; worse: {worse or 'none'}"
            )


def _cost(found: Track, seconds: float) -> float:
    best = found.best(seconds)
    return float("inf") if best is None else best


# ---------------------------------------------------------------- other ways


def run_alone(way: str, file: str) -> None:
    """Run RC2 or the linear search by itself, in this process."""
    formula = read_dimacs(file).formula
    must = formula.hard
    if must is None:
        must = np.zeros(formula.n_clauses, dtype=np.bool_)
    whole = formula.weights
    weights = [1] * formula.n_clauses if whole is None else whole.tolist()
    clauses = Clauses(formula.literals, formula.offsets)
    problem = Problem(clauses, formula.n_variables, weights, must)
    costs: list[int] = []

    def report(message: Message) -> None:
        if message[0] == "model":
            cost = problem.valued(problem.unpacked(message[2])).cost
            if cost < min(costs, default=cost + 1):
                costs.append(cost)
                print("o", cost, flush=True)
        elif message[0] == "hard":
            print("s UNSATISFIABLE", flush=True)
        elif costs and message[2] == costs[-1]:
            print("s OPTIMUM FOUND", flush=True)

    if way == "rc2":
        raise_bound(report, problem)
        return
    search_linearly(Lowering(report, problem, Path("no hint")))


def search_linearly(lowering: Lowering) -> None:
    """Ask for less than the best model costs, with that of the first as phases."""
    with Solver("cadical153", bootstrap_with=lowering.clauses) as solver:
        if not solver.solve():
            lowering.report(("hard", "cadical153", None))
            return
        lowering.found("cadical153", solver.get_model())
    if bound := lowering.left():
        network = sums(lowering.costs, bound, lowering.top)
        network = network or digits(lowering.costs, lowering.top)
        clauses = lowering.clauses + network.clauses
        with Solver("cadical153", bootstrap_with=clauses) as solver:
            solver.set_phases(
                [x if v else -x for x, v in enumerate(lowering.model.tolist(), 1)]
                + [-x for x, _ in lowering.costs]
            )
            while bound:
                solver.append_formula(network.below(bound))
                if not solver.solve():
                    break
                lowering.found("cadical153", solver.get_model())
                bound = lowering.left()
    lowering.report(("bound", "cadical153", lowering.left() + lowering.empty))


# ------------------------------------------------------------------ formulas


def generated() -> Iterator[tuple[str, str]]:
    """Yield the names and texts of 25 formulas, drawn from their names."""
    for n, density, weight in ((150, 0.3, 50), (200, 0.35, 1), (250, 0.1, 1)):
        for name in ("clique", "cover"):
            yield f"{name} {n} {density} w{weight}", _cover(name, n, density, weight)
    for n, m, hard, weight in (
        (120, 420, 0, 1000),
        (200, 1000, 0.5, 1),
        (250, 1100, 0.6, 5),
        (300, 1300, 0.75, 1),
        (150, 1000, 0.15, 10),
        (400, 1800, 0.8, 10**6),
        (1000, 4000, 0.9, 100),
    ):
        yield f"random {n} {m} w{weight}", _random(n, m, hard, weight)
    for n, weight in ((40, 1), (60, 20), (60, 1), (100, 10**9)):
        yield f"cut {n} w{weight}", _cut(n, weight)
    for n, colours, weight in ((60, 4, 1), (100, 5, 1), (100, 5, 100)):
        yield f"colours {n} {colours} w{weight}", _colours(n, colours, weight)
    for n, slots, weight in ((80, 8, 1), (120, 10, 1000), (300, 20, 50)):
        yield f"timetable {n} {slots} w{weight}", _timetable(n, slots, weight)
    for n, weight in ((60, 100), (400, 1000)):
        yield f"chain {n} w{weight}", _chain(n, weight)


def _text(hard: list[list[int]], soft: list[tuple[int, list[int]]]) -> str:
    rows = [["h", *clause, 0] for clause in hard]
    rows += [[weight, *clause, 0] for weight, clause in soft]
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


def _cover(name: str, n: int, density: float, weight: int) -> str:
    """The lightest cover of a random graph's edges, or heaviest set without one."""
    drawn = random.Random(f"{name} {n}")
    pairs = [(i, j) for i in range(1, n + 1) for j in range(1, i)]
    edges = [pair for pair in pairs if drawn.random() < density]
    sign = -1 if name == "clique" else 1
    hard = [[sign * i, sign * j] for i, j in edges]
    return _text(
        hard, [(drawn.randint(1, weight), [-sign * i]) for i in range(1, n + 1)]
    )


def _random(n: int, m: int, share: float, weight: int) -> str:
    """3-clauses, a share of which is hard as long as a drawn assignment keeps them."""
    drawn = random.Random(f"random {n} {m}")
    planted = {x if drawn.random() < 0.5 else -x for x in range(1, n + 1)}
    hard, soft = list[list[int]](), list[tuple[int, list[int]]]()
    for _ in range(m):
        variables = drawn.sample(range(1, n + 1), 3)
        clause = [x * drawn.choice([1, -1]) for x in variables]
        if drawn.random() < share and planted & set(clause):
            hard.append(clause)
        else:
            soft.append((drawn.randint(1, weight), clause))
    soft += [(drawn.randint(1, weight), [-x]) for x in range(1, n + 1, 2)]
    return _text(hard, soft)


def _cut(n: int, weight: int) -> str:
    """The heaviest cut of a random graph; hard clauses fix one side of ten pairs."""
    drawn = random.Random(f"cut {n} {weight}")
    pairs = [(i, j) for i in range(1, n + 1) for j in range(1, i)]
    soft = list[tuple[int, list[int]]]()
    for i, j in drawn.sample(pairs, 4 * n):
        cost = drawn.randint(1, weight)
        soft += [(cost, [i, j]), (cost, [-i, -j])]
    return _text([[i, j] for i, j in drawn.sample(pairs, 10)], soft)


def _colours(n: int, colours: int, weight: int) -> str:
    """Each node has one colour; neighbours of one colour and dear colours cost."""
    drawn = random.Random(f"colours {n} {weight}")
    pairs = [(i, j) for i in range(n) for j in range(i)]
    hard, soft = list[list[int]](), list[tuple[int, list[int]]]()
    for i in range(n):
        own = [i * colours + c + 1 for c in range(colours)]
        hard.append(own)
        hard += [[-a, -b] for a in own for b in own if a < b]
        soft += [(drawn.randint(1, weight) + c, [-own[c]]) for c in range(colours)]
    for i, j in drawn.sample(pairs, 6 * n):
        hard += [
            [-(i * colours + c + 1), -(j * colours + c + 1)]
            for c in range(colours)
            if drawn.random() < 0.4
        ]
        cost = drawn.randint(1, 10 * weight)
        soft += [
            (cost, [-(i * colours + c + 1), -(j * colours + c + 1)])
            for c in range(colours)
        ]
    return _text(hard, soft)


def _timetable(n: int, slots: int, weight: int) -> str:
    """Events in slots: some exclude each other, each would rather be elsewhere."""
    drawn = random.Random(f"timetable {n}")
    hard, soft = list[list[int]](), list[tuple[int, list[int]]]()
    for i in range(n):
        own = [i * slots + s + 1 for s in range(slots)]
        hard.append(own)
        hard += [[-a, -b] for a in own for b in own if a < b]
        soft += [(drawn.randint(1, weight), [-x]) for x in drawn.sample(own, slots - 2)]
    for _ in range(5 * n):
        i, j = drawn.sample(range(n), 2)
        hard += [[-(i * slots + s + 1), -(j * slots + s + 1)] for s in range(slots)]
    return _text(hard, soft)


def _chain(n: int, weight: int) -> str:
    """Sites one of which serves each client: cost of opening, cost of each service."""
    drawn = random.Random(f"chain {n}")
    sites = max(5, n // 10)
    hard = list[list[int]]()
    soft = [(weight * 3 + drawn.randint(1, weight), [-s]) for s in range(1, sites + 1)]
    for i in range(n):
        near = drawn.sample(range(1, sites + 1), min(sites, 6))
        own = [sites + i * 6 + k + 1 for k in range(len(near))]
        hard.append(own)
        hard += [[-x, s] for x, s in zip(own, near, strict=True)]
        soft += [(drawn.randint(1, weight), [-x]) for x in own]
    return _text(hard, soft)


def written(folder: Path) -> dict[str, Path]:
    """Write the generated formulas into a folder."""
    files = {}
    for name, text in generated():
        files[name] = folder / f"{name.replace(' ', '-')}.wcnf"
        files[name].write_text(text)
    return files


def commands() -> dict[str, list[str]]:
    """Return the command of each way, ours first."""
    python = [sys.executable, "-m"]
    alone = {way: [*python, "benchmarks.maxsat_hard", "--one", way] for way in WAYS}
    return {"olivine": [*python, "olivine", "solve"]} | alone


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--one", choices=WAYS, help="run this way on one file")
    parser.add_argument("--write", type=Path, help="write the formulas to a folder")
    options = parser.parse_args()
    if options.one:
        run_alone(options.one, *options.files)
    elif options.write:
        options.write.mkdir(exist_ok=True)
        written(options.write)
    else:
        with tempfile.TemporaryDirectory() as folder:
            files = {Path(file).name: Path(file) for file in options.files}
            files = files or written(Path(folder))
            print_table(files, commands(), options.seconds)


if __name__ == "__main__":
    main()
