"""``olivine trace``: a run of OLIVE on a member of the family, each round verified."""

from __future__ import annotations

import enum
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    FileError,
    bad_input,
    heartbeat,
    print_json,
    print_table,
    say,
    say_warnings,
    tell,
)
from .common.reading import Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..reduction.family.family import Family
    from ..reduction.run.run import Round
    from ..reduction.run.ties import TracedRun

DEFAULT_SECONDS = 60.0


class MemberName(enum.StrEnum):
    """Which member of the family OLIVE runs in."""

    ZERO = "zero"
    RANDOM = "random"
    SAT = "sat"


class TiesName(enum.StrEnum):
    """Who breaks OLIVE's ties."""

    ADVERSARY = "adversary"
    SOLVER = "solver"
    RANDOM = "random"
    BENIGN = "benign"


class LevelsName(enum.StrEnum):
    """Which level with a positive error OLIVE binds."""

    ANY = "any"
    LOWEST = "lowest"
    LARGEST = "largest"
    ALL = "all"


def parse_gamma(text: str) -> Fraction:
    """Read γ: a number from 0 to 1."""
    value = options.parse_fraction(text, "1/100, 0.01 or 0")
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"{text} is outside 0 <= γ <= 1")
    return value


@verb
def trace(
    file: options.InputFile,
    *,
    variant: options.VariantOption = options.VariantName.PAPER,
    penalty: options.PenaltyOption = None,
    member: Annotated[
        MemberName,
        typer.Option(
            help="Run in the member of the all-zero assignment, of a random one, or "
            "of a satisfying one."
        ),
    ] = MemberName.ZERO,
    ties: Annotated[
        TiesName,
        typer.Option(
            help="How ties are broken: by the proof's adversary, by the MILP "
            "solver, at random, or in favour of OLIVE by knowledge of the member."
        ),
    ] = TiesName.ADVERSARY,
    levels: Annotated[
        LevelsName,
        typer.Option(
            help="Which level with a positive error gets a constraint: any that "
            "suits the ties, the lowest, the one with the largest error; or all levels."
        ),
    ] = LevelsName.ANY,
    gamma: Annotated[
        # A parser turns the text into a Fraction.
        Fraction | None,
        typer.Option(
            parser=parse_gamma,
            metavar="G",
            help="With --ties random: take any pair within this of the optimum, "
            "like 1/100; 0 by default.",
        ),
    ] = None,
    seed: options.Seed = 0,
    time_limit: options.TimeLimit = None,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Run OLIVE on a member, by default with ties broken against it.

    Every round is checked in exact arithmetic: its pair is a maximiser of the
    program so far, the average Bellman error at its level is positive, and it
    adds the constraint stated. The adversary's run ends at the hard program, which
    is compared with the stated one; only errors behind a clause depend on the
    member. --ties benign avoids the hard program. In --variant strict every run
    with --levels lowest or largest ends there, also with --gamma below 1/50, and
    the command prints the accuracy ε at which its program decides the formula. In
    --variant forced every run with --levels all ends there, too.

    Exit status: 0 everything checked, 1 a check failed, 2 bad input, 3 no
    satisfying member found, or a program not solved, within --time-limit.

    Example: [bold]olivine trace tests/cases/cadical/full3.cnf[/bold]
    """
    import numpy as np

    from ..reduction.run.ties import traced_run

    start, seconds = time.perf_counter(), time_limit or DEFAULT_SECONDS
    exact_penalty = options.checked_penalty(variant, penalty)
    with bad_input(file):
        source, instance = reading.read_instance(file, variant.value, exact_penalty)
    family = instance.family
    y = _choose(file, family, member, seed, seconds)
    say_warnings(source.warnings)
    limit = f"at most {seconds:g} s for each program"
    with (
        bad_input(file),
        heartbeat(lambda: f"{file}: running OLIVE, {limit},", bar=False),
    ):
        run = traced_run(
            family,
            y,
            ties.value,
            levels.value,
            gamma=gamma or Fraction(0),
            rng=np.random.default_rng([seed, 1]),
            time_limit=seconds,
        )
    for failure in run.failures:
        say(f"olivine: {file}: {failure}")
    if run.reason:
        say(f"olivine: {file}: round {len(run.rounds) + 1}: {run.reason}")
    if json_lines:
        record = {
            "file": file,
            "variables": source.formula.n_variables,
            "clauses": source.formula.n_clauses,
            **_record(run, member, ties, seed),
            **({} if gamma is None else {"gamma": str(gamma)}),
            **_accuracy(family, gamma),
            "warnings": list(source.warnings),
        }
        record["seconds"] = round(time.perf_counter() - start, 6)
        print_json(record)
    else:
        _show(run, file, member, gamma)
    if run.failures:
        return ExitStatus.CONTRADICTION
    return ExitStatus.UNDECIDED if run.ending == "undecided" else ExitStatus.DONE


def _choose(
    file: str, family: Family, member: MemberName, seed: int, seconds: float
) -> NDArray[np.bool_]:
    """Choose the assignment of the member."""
    import numpy as np

    if member is MemberName.ZERO:
        return np.zeros(family.n_variables, dtype=np.bool_)
    if member is MemberName.RANDOM:
        return np.random.default_rng(seed).random(family.n_variables) < 0.5
    from ..solvers.outcome import SatStatus
    from ..solvers.sat.sat import solve_sat

    why = f"{file}: --member sat:"
    try:
        outcome = solve_sat(
            family.three_sat.as_formula(), family.n_variables, time_limit=seconds
        )
    except RuntimeError as error:  # it failed, or gave a model that is none
        raise FileError(file, f"{why} {error}", ExitStatus.UNDECIDED) from None
    if outcome.model is not None:
        return outcome.model
    if outcome.status is SatStatus.UNSATISFIABLE:
        raise FileError(file, f"{why} the formula is unsatisfiable")
    reason = f"{why} no assignment found: {outcome.reason}"
    raise FileError(file, reason, ExitStatus.UNDECIDED)


def _record(
    run: TracedRun, member: MemberName, ties: TiesName, seed: int
) -> dict[str, Any]:
    """Describe a run; rationals are strings."""
    family = run.family
    draws = member is MemberName.RANDOM or ties is TiesName.RANDOM
    drawn = {"seed": seed} if draws else {}
    return {
        "three_sat": {"variables": family.n_variables, "clauses": family.n_clauses},
        "variant": str(family.variant),
        "penalty": str(family.penalty),
        "member": member.value,
        "assignment": "".join("1" if bit else "0" for bit in run.member),
        **drawn,
        "rounds": [_round(r) for r in run.rounds],
        "least_total_error": str(run.least_total_error),
        "program_as_stated": run.meets_hard_program,
        "failures": list(run.failures),
        "ties": run.ties,
        "levels": run.levels,
        "ending": run.ending,
        "value": None if run.value is None else str(run.value),
        "optimal_value": str(run.optimal_value),
    }


def _accuracy(family: Family, gamma: Fraction | None) -> dict[str, Any]:
    """Say at which ε the hard program decides the formula; known for maximisers."""
    from ..reduction.family.variants import Variant
    from ..reduction.program.tolerance import accuracy

    if family.variant is not Variant.STRICT or gamma:
        return {}
    found = accuracy(family)
    return {
        "decides": {
            "exact_up_to": str(found.exact),
            "sampled_below": found.sampled,
            "rank": found.rank,
            "least_share": str(found.share),
            "unused_variables_for_1/15": found.unused,
        }
    }


def _round(done: Round) -> dict[str, Any]:
    return {
        "round": done.number,
        "action": done.action,
        "level": done.level,
        "errors": [str(error) for error in done.errors],
        "constraint": done.constraint,
        "optimum": str(done.optimum),
        "checks": vars(done.checks),
    }


def _show(
    run: TracedRun, file: str, member: MemberName, gamma: Fraction | None
) -> None:
    family = run.family
    tell(
        f"{file}: {family.variant}, penalty {family.penalty}, 3-SAT form with "
        f"{family.n_variables} variables and {family.n_clauses} clauses, member "
        f"{member.value}, ties {run.ties}, levels {run.levels}"
    )
    stated = run.ties not in ("solver", "random")
    print_table(
        ("round", "action", "level", "errors", "constraint", "optimum", "checks"),
        (_row(done, stated=stated) for done in run.rounds),
        right=("round", "level", "optimum"),
    )
    tell(_summary(run))
    for known in _accuracy(family, gamma).values():
        more = known["unused_variables_for_1/15"]
        samples = (
            f"with OLIVE's own samples at every ε below {known['sampled_below']:.4g}, "
            f"or 1/15 with {more} unused variables more"
            if more
            else "below 1/15 with OLIVE's own samples"
        )
        tell(
            "the hard program decides this formula at every accuracy ε up to "
            f"{known['exact_up_to']} with exact expectations, and {samples}"
        )


def _row(done: Round, *, stated: bool) -> list[str]:
    """Show a round; without a statement its constraint is of any program."""
    checks = vars(done.checks)
    failed = [name for name, passed in checks.items() if passed is False]
    if not stated and failed == ["constraint_as_stated"]:
        failed = []  # the column "constraint" says of which
    unproved = "" if done.checks.maximiser else ", optimum by the engine's word"
    return [
        str(done.number),
        done.action,
        "-" if done.level is None else str(done.level),
        ", ".join(map(str, done.errors)),
        done.constraint,
        str(done.optimum),
        f"failed: {', '.join(failed)}" if failed else "ok" + unproved,
    ]


def _summary(run: TracedRun) -> str:
    """Say how the run ended and whether it met the hard program."""
    if run.ending == "hard program":
        same = "as stated" if run.meets_hard_program else "NOT as stated"
        return (
            f"{len(run.rounds)} rounds, final program {same}; the errors of a round "
            f"add up to {run.least_total_error} at least"
        )
    met = "met" if run.meets_hard_program else "never met"
    end = f"stopped: {run.reason}"
    if run.ending == "finished":
        end = f"OLIVE returns a policy of value {run.value}; V* is {run.optimal_value}"
    return f"{len(run.rounds)} rounds, the hard program {met}; {end}"
