"""``olivine report``: a page to look at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .common import options, page
from .common.command import verb
from .common.console import heartbeat, tell
from .common.output import ExitStatus, bad_input, describe, print_json, say
from .common.outputs import check_outputs
from .common.reading import Reading
from .verify import lower_bound, notes, remark, say_failures

if TYPE_CHECKING:
    from ..reduction.family.family import Instance
    from ..reduction.family.variants import Parameters
    from ..reduction.formula.dimacs import DimacsFile
    from ..reduction.verify.verification import Verification

EXCERPT_ROWS = 16
EXCERPT_TERMS = 12
# Above this many clauses the program is not built for an excerpt.
EXCERPT_CLAUSES = 300


@verb
def report(
    file: options.InputFile,
    *,
    output: Annotated[Path, options.output("HTML", "Page to write.")],
    variant: options.VariantOption = options.VariantName.PAPER,
    penalty: options.PenaltyOption = None,
    formulation: Annotated[
        options.FormulationName, typer.Option(help="Formulation of the excerpt.")
    ] = options.FormulationName.FAITHFUL,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Write one self-contained HTML page about a formula and its program.

    The page shows the formula, the family and its sizes, the answer of each route,
    a drawing of the family and the beginning of the program.

    Exit status: as for olivine verify.

    Example: [bold]olivine report tests/cases/cadical/full3.cnf -o full3.html[/bold]
    """
    from ..reduction.verify.verification import verify_instance
    from ..solvers.files import write_text

    start = time.perf_counter()
    options.without_sides(variant, "a report's drawing")
    exact_penalty = options.checked_penalty(variant, penalty)
    with bad_input(file):
        check_outputs([output], [file])
        source, instance = reading.read_instance(file, variant.value, exact_penalty)
    for warning in source.warnings:
        say(f"olivine: warning: {warning}")
    with heartbeat(lambda: f"verifying {file}"):
        answer = verify_instance(instance, time_limit=time_limit, seed=seed)
    fault, status = "", ExitStatus.DONE if answer.decided else ExitStatus.UNDECIDED
    try:
        text = build_page(file, source, instance, answer, formulation.value)
        write_text(output, [text])
    except OSError as error:  # the verdict is told all the same
        fault, status = describe(error, str(output)), ExitStatus.BAD_INPUT
    record: dict[str, Any] = {"file": file, "output": None if fault else str(output)}
    record |= answer.to_json()
    say_failures(file, record["routes"])
    if fault:
        say(f"olivine: {fault}")
        record["error"] = fault
    if json_lines:
        record["warnings"] = list(source.warnings)
        record["seconds"] = round(time.perf_counter() - start, 6)
        print_json(record)
    else:
        place = file if fault else output
        found = verdict(answer, source.formula.is_weighted) + _hard(source, answer)
        tell(f"{place}: {found}")
    return ExitStatus.CONTRADICTION if answer.agree is False else status


def build_page(
    file: str,
    source: DimacsFile,
    instance: Instance,
    answer: Verification,
    formulation: str,
) -> str:
    """Put the page of a verified formula together."""
    sections = [
        _introduction(),
        _formula(file, source, instance),
        _family(instance),
        _routes(instance, answer),
        _drawing(source, instance, answer),
        _program(instance, formulation),
    ]
    footer = f"olivine {__version__}; variant {answer.variant}, seed {answer.seed}"
    name = Path(file).name if file != "-" else "standard input"
    found = verdict(answer, instance.formula.is_weighted) + _hard(source, answer)
    tone = {True: "satisfiable", False: "unsatisfiable", None: "undecided"}
    return page.page(
        f"{name} in OLIVE's program",
        found,
        "contradiction" if answer.contradictions else tone[answer.satisfiable],
        sections,
        footer,
    )


def verdict(answer: Verification, weighted: bool) -> str:
    """Say in a sentence what was found, of weights where there are any."""
    if answer.contradictions:
        return "Contradiction: " + "; ".join(answer.contradictions)
    word = {True: "Satisfiable", False: "Unsatisfiable", None: "Undecided"}
    text = word[answer.satisfiable]
    if answer.optimum is None:
        text += ": the optimum was not proved within the limits"
        least = lower_bound(answer.to_json())
        return f"{text}." if least is None else f"{text}; it is at least {least}."
    text += f": the optimum of OLIVE's program is exactly {answer.optimum}"
    text += f" (proved by {', '.join(answer.optimum_by)})."
    if answer.satisfiable is False and answer.unsatisfied is not None:
        left = answer.unsatisfied
        what = f"clauses of weight {left}" if weighted else f"{left} clauses"
        what = "one clause" if what == "1 clauses" else what
        text += f" Every assignment leaves at least {what} unsatisfied."
    return text


def _hard(source: DimacsFile, answer: Verification) -> str:
    """Say how the hard clauses fare, where there are some and it is known."""
    hardened = source.hardened
    if hardened is None or (holds := hardened.satisfiable(answer.unsatisfied)) is None:
        return ""
    if not holds:
        return " The hard clauses cannot be satisfied together."
    return (
        " The hard clauses can be satisfied together, leaving a soft weight of "
        f"{answer.unsatisfied} at least."
    )


def _introduction() -> str:
    """Say what a reader sees who knows nothing of this project."""
    return "\n".join(
        page.paragraph(text)
        for text in (
            "OLIVE is a reinforcement-learning algorithm that solves an optimisation "
            "problem, its program, in every round.",
            "From the formula below olivine builds Markov decision processes (MDPs) "
            "and the program that OLIVE would have to solve on them. Its optimum is "
            "the largest possible exactly if the formula is satisfiable.",
            "The verdict above says whether it is, what the optimum is, and which "
            "independent computations proved that.",
        )
    )


def _formula(file: str, source: DimacsFile, instance: Instance) -> str:
    formula, family = instance.formula, instance.family
    rows: list[tuple[str, Any]] = [
        ("file", file),
        ("format", source.format),
        ("variables, clauses as read", f"{formula.n_variables}, {formula.n_clauses}"),
        ("of the 3-SAT form", f"{family.n_variables}, {family.n_clauses}"),
        ("total weight", family.total_weight),
        ("digest", formula.digest()),
        *(("warning", warning) for warning in source.warnings),
    ]
    return page.section("Formula", page.table(rows))


def _family(instance: Instance) -> str:
    family = instance.family
    rows: list[tuple[str, Any]] = [
        ("variant", family.variant),
        ("penalty p", family.penalty),
        ("reward of [solve]", family.solve_reward),
        ("reward of [try C]", family.try_clause_reward),
        ("reward of a true literal", family.top),
        ("members", f"2{str(family.n_variables).translate(_RAISED)}"),
    ]
    sizes = family.declared_sizes()._asdict().items()
    return page.section("Family of MDPs", page.table([*rows, *sizes]), *_TERMS)


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_TERMS = tuple(
    page.paragraph(text)
    for text in (
        "p: the penalty; the action [try C] of a clause gives p less than [solve].",
        "top: the reward of a literal that the member makes true; m: the number of "
        "clauses of the 3-SAT form; W: their total weight, m where none are given.",
        "u: the least number (or weight) of clauses that an assignment leaves "
        "unsatisfied, 0 exactly when the formula is satisfiable.",
    )
)


def _routes(instance: Instance, answer: Verification) -> str:
    from .figures.family_scene import draw_theorem_o

    rows = [
        (
            name,
            found.status,
            "" if found.value is None else found.value,
            round(found.seconds, 3),
            remark(found.to_json()),
        )
        for name, found in answer.routes.items()
    ]
    agree = {
        True: "They agree.",
        False: "They contradict each other.",
        None: "Nothing to compare.",
    }
    return page.section(
        "Routes to the optimum",
        page.table(rows, ["route", "status", "value", "seconds", "remark"]),
        page.paragraph(agree[answer.agree]),
        *map(page.paragraph, notes([answer.to_json()])),
        page.figure(
            draw_theorem_o(
                instance.family.parameters,
                answer.unsatisfied,
                weighted=instance.formula.is_weighted,
            ),
            *_theorem(instance.family.parameters, answer.unsatisfied),
        ),
    )


def _theorem(parameters: Parameters, unsatisfied: int | None) -> Iterator[str]:
    """Yield the caption of the optimum's picture."""
    best, reach = parameters.best, parameters.reach
    share = "" if reach == 1 else "reach "
    values = [f"top = {parameters.top}", f"W = {parameters.total_weight}"]
    if reach != 1:
        values.append(f"reach = {reach}, the chance that [solve] leads to a clause")
    yield (
        f"Theorem O: the optimum is {best} - min({share}top u / (3 W), p) with p = "
        f"{parameters.penalty}, {', '.join(values)}. The dotted line is {best} - p."
    )
    yield (
        "This formula's u is not known."
        if unsatisfied is None
        else f"The orange point is this formula's, u = {unsatisfied}."
    )


def _drawing(source: DimacsFile, instance: Instance, answer: Verification) -> str:
    from ..reduction.verify.routes import best_assignment
    from .figures.family_scene import draw_family, lay_out

    best = best_assignment(answer.routes)
    drawn = lay_out(source, instance, answer, True, best)
    game = None
    if best is not None and not drawn.bundled:
        game = page.play(instance.family, best, answer.optimum)
    if game is not None:
        drawn = lay_out(source, instance, answer, True, best, bare=True)
    return page.section(
        "The MDPs",
        page.figure(draw_family(drawn), *drawn.caption, wide=True),
        *([game] if game is not None else []),
        page.paragraph("olivine draw --witness writes such a picture to a file."),
    )


def _program(instance: Instance, formulation: str) -> str:
    from ..reduction.program.program import build

    title = "OLIVE's program"
    if instance.family.n_clauses > EXCERPT_CLAUSES:
        text = (
            f"No excerpt: the 3-SAT form has {instance.family.n_clauses} clauses, more "
            f"than {EXCERPT_CLAUSES}. olivine generate writes the whole program."
        )
        return page.section(title, page.paragraph(text))
    model = build(instance.family, formulation).model
    names = [variable.name for variable in model.variables]

    def linear(terms: Any) -> str:
        shown = list(terms)
        text = " ".join(
            f"{'-' if c < 0 else '+'} {abs(c)} {names[i]}"
            for i, c in shown[:EXCERPT_TERMS]
        )
        more = len(shown) - EXCERPT_TERMS
        return text + (f" + ({more} more terms)" if more > 0 else "")

    sense = "maximise" if model.maximise else "minimise"
    lines = [f"{sense} {linear(model.objective.items())} + {model.objective_constant}"]
    lines.append("subject to")
    for row in model.rows[:EXCERPT_ROWS]:
        terms = zip(row.indices, row.coefficients, strict=True)
        lines.append(f"  [{row.name}]  {linear(terms)} {row.sense} {row.rhs}")
    if len(model.rows) > EXCERPT_ROWS:
        lines.append(f"  ... {len(model.rows) - EXCERPT_ROWS} more rows")
    facts = (
        f"Formulation {formulation}: {len(model.variables)} variables, "
        f"{sum(v.integer for v in model.variables)} of them integral, "
        f"{len(model.rows)} rows."
    )
    return page.section(title, page.paragraph(facts), page.listing("\n".join(lines)))
