"""``olivine multi``: 3-SAT in the multi-data-set oracle for one policy."""

import time
from typing import Any

from .common import options
from .common.command import verb
from .common.console import tell
from .common.output import ExitStatus, describe, print_json, report_error, say, worst
from .common.reading import Reading, expand

DEFAULT_SECONDS = 60.0


@verb
def multi(
    files: options.InputFiles,
    time_limit: options.TimeLimit = None,
    strict: options.StrictReading = False,
    input_format: options.ReadAs = None,
    max_variables: options.MaxVariables = options.DEFAULT_MAX_VARIABLES,
    max_bytes: options.MaxBytes = None,
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
    reading = Reading(strict, input_format, max_variables, max_bytes)
    seconds = DEFAULT_SECONDS if time_limit is None else time_limit
    statuses = []
    for file, error in expand(files):
        if error is not None:
            statuses.append(report_error(file, error, json_lines=json_lines))
            continue
        statuses.append(_verify(file, reading, seconds, json_lines))
    return worst(statuses)


def _verify(
    file: str, reading: Reading, seconds: float, json_lines: bool
) -> ExitStatus:
    from ..reduction.multi.verification import verify_multi_hardness

    start = time.perf_counter()
    try:
        source = reading.read(file)
    except (ValueError, OSError) as error:
        return report_error(file, describe(error), json_lines=json_lines)
    for warning in source.warnings:
        say(f"olivine: warning: {warning}")
    try:
        found = verify_multi_hardness(source.formula, time_limit=seconds)
    except ValueError as error:
        message = f"{file}: {describe(error)}"
        return report_error(file, message, json_lines=json_lines)
    record = {"file": file} | found.to_json()
    record["warnings"] = list(source.warnings)
    record["seconds"] = round(time.perf_counter() - start, 6)
    if json_lines:
        print_json(record)
    else:
        _show(record)
    for contradiction in found.contradictions:
        say(
            f"olivine: {file}: contradiction: {contradiction} "
            "(this should be impossible: please report it with the input)"
        )
    if found.contradictions:
        return ExitStatus.CONTRADICTION
    deterministic = found.routes["deterministic"].satisfiable
    decided = deterministic is not None and found.mixture.feasible
    return ExitStatus.DONE if decided else ExitStatus.UNDECIDED


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
