"""``olivine multi``: 3-SAT in the multi-data-set oracle for one policy."""

import time
from functools import partial
from typing import Any

from .common import options
from .common.command import verb
from .common.console import tell
from .common.output import ExitStatus, bad_input, print_json, worst
from .common.reading import Reading, Result, each_input, expand, guarded, in_order
from .verify import announce

DEFAULT_SECONDS = 60.0


@verb
def multi(
    files: options.InputFiles,
    *,
    time_limit: options.TimeLimit = None,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Decide formulas by the multi-data-set oracle, and check it against SAT.

    This oracle of the paper decides 3-SAT if it has to return one deterministic
    policy: each clause is a data set, and a policy within the limits exists if and
    only if the formula is satisfiable. For a mixture of policies the oracle is
    polynomial, and answers "feasible" for every formula. Each engine has 60 seconds
    unless --time-limit sets another limit.

    Exit status: 0 all agree, 1 a contradiction, 2 bad input, 3 undecided.

    Example: [bold]olivine multi tests/cases/satlib/uf20-01.cnf --json[/bold]
    """
    seconds = DEFAULT_SECONDS if time_limit is None else time_limit
    job = partial(guarded, partial(_verify, reading, seconds))
    statuses = []
    for record, status in in_order(each_input(job, list(expand(files)), 1)):
        statuses.append(status)
        announce(record, json_lines)
        if json_lines:
            print_json(record)
        elif "error" not in record:
            _show(record)
    return worst(statuses)


def _verify(reading: Reading, seconds: float, file: str) -> Result:
    from ..reduction.multi.verification import verify_multi_hardness

    start = time.perf_counter()
    with bad_input(file):
        source = reading.read(file)
    with bad_input(file, named=False):
        found = verify_multi_hardness(source.formula, time_limit=seconds)
    record = {"file": file} | found.to_json()
    record["warnings"] = list(source.warnings)
    record["seconds"] = round(time.perf_counter() - start, 6)
    if found.contradictions:
        return record, ExitStatus.CONTRADICTION
    deterministic = found.routes["deterministic"].satisfiable
    decided = deterministic is not None and found.mixture.feasible
    return record, ExitStatus.DONE if decided else ExitStatus.UNDECIDED


def _show(record: dict[str, Any]) -> None:
    word = {True: "satisfiable", False: "unsatisfiable", None: "undecided"}
    tell(
        f"{record['file']}: {word[record['satisfiable']]}; {record['data_sets']} "
        f"data sets over {record['observations']} observations"
    )
    for name, route in record["routes"].items():
        more = f", {route['nodes']} nodes" if "nodes" in route else ""
        tell(f"  {name:14} {route['status']:14} {route['seconds']:9.3f} s{more}")
    mixture = record["mixture"]
    tell(
        f"  {'mixture':14} {mixture['status']:14} {mixture['seconds']:9.3f} s, "
        f"{mixture['calls']} CSC calls"
    )
