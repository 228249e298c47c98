"""``olivine report``: a page to look at."""

from __future__ import annotations

import html
import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from .common import options
from .common.command import verb
from .common.output import (
    ExitStatus,
    bad_input,
    describe,
    heartbeat,
    print_json,
    printable,
    say,
    say_warnings,
    tell,
)
from .common.outputs import check_outputs
from .common.reading import Reading
from .verify import lower_bound, notes, remark, say_failures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..reduction.family.family import Family, Instance
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
    say_warnings(source.warnings)
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
        "\n".join(map(paragraph, _INTRODUCTION)),
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
    return page(
        f"{name} in OLIVE's program",
        found,
        "contradiction" if answer.contradictions else tone[answer.satisfiable],
        sections,
        footer,
    )


_INTRODUCTION = (
    "OLIVE is a reinforcement-learning algorithm that solves an optimisation problem, "
    "its program, in every round.",
    "From the formula below olivine builds Markov decision processes (MDPs) and the "
    "program that OLIVE would have to solve on them. Its optimum is the largest "
    "possible exactly if the formula is satisfiable.",
    "The verdict above says whether it is, what the optimum is, and which independent "
    "computations proved that.",
)  # for readers who know nothing of this project


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
    return section("Formula", table(rows))


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
    return section("Family of MDPs", table([*rows, *sizes]), *map(paragraph, _TERMS))


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_TERMS = (
    "p: the penalty; the action [try C] of a clause gives p less than [solve].",
    "top: the reward of a literal that the member makes true; m: the number of "
    "clauses of the 3-SAT form; W: their total weight, m where none are given.",
    "u: the least number (or weight) of clauses that an assignment leaves "
    "unsatisfied, 0 exactly when the formula is satisfiable.",
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
    return section(
        "Routes to the optimum",
        table(rows, ["route", "status", "value", "seconds", "remark"]),
        paragraph(agree[answer.agree]),
        *map(paragraph, notes([answer.to_json()])),
        figure(
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
        game = play(instance.family, best, answer.optimum)
    if game is not None:
        drawn = lay_out(source, instance, answer, True, best, bare=True)
    return section(
        "The MDPs",
        figure(draw_family(drawn), *drawn.caption, wide=True),
        *([game] if game is not None else []),
        paragraph("olivine draw --witness writes such a picture to a file."),
    )


def _program(instance: Instance, formulation: str) -> str:
    from ..reduction.program.program import build

    title = "OLIVE's program"
    if instance.family.n_clauses > EXCERPT_CLAUSES:
        text = (
            f"No excerpt: the 3-SAT form has {instance.family.n_clauses} clauses, more "
            f"than {EXCERPT_CLAUSES}. olivine generate writes the whole program."
        )
        return section(title, paragraph(text))
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
    return section(title, paragraph(facts), listing("\n".join(lines)))


DARK = {
    "#000000": "#e5e7eb",
    "#111827": "#f3f4f6",
    "#15803d": "#4ade80",
    "#374151": "#d1d5db",
    "#422006": "#422006",
    "#4b5563": "#d1d5db",
    "#6b7280": "#aab1bd",
    "#9aa3ad": "#9aa3ad",
    "#9ca3af": "#9ca3af",
    "#b45309": "#fde047",
    "#b91c1c": "#f87171",
    "#c2410c": "#fb923c",
    "#d1d5db": "#4b5563",
    "#dcfce7": "#166534",
    "#f3f4f6": "#1f2937",
    "#fca5a5": "#b91c1c",
    "#fde68a": "#facc15",
    "#ffffff": "#121212",
}  # colours of pictures on a dark page, by what they are on a light one


def _own(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def escape(text: object) -> str:
    """Text for HTML; control characters and odd bytes of file names are spelled out."""
    return html.escape("\n".join(map(printable, str(text).split("\n"))))


def table(rows: Iterable[Sequence[object]], header: Sequence[str] | None = None) -> str:
    """Make a table; numbers stand to the right, in facts (no header) to the left."""
    kind = "facts" if header is None else "scroll"
    lines = [f'<div class="{kind}"><table>']
    if header is not None:
        cells = "".join(f"<th>{escape(name)}</th>" for name in header)
        lines.append(f"<tr>{cells}</tr>")
    for row in rows:
        cells = "".join(
            f'<td class="number">{escape(cell)}</td>'
            if isinstance(cell, int | float) and not isinstance(cell, bool)
            else f"<td>{escape(cell)}</td>"
            for cell in row
        )
        lines.append(f"<tr>{cells}</tr>")
    lines.append("</table></div>")
    return "\n".join(lines)


def section(title: str, *parts: str) -> str:
    """Make a section with a heading; the parts are HTML."""
    return "\n".join(["<section>", f"<h2>{escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str) -> str:
    """Make a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def listing(text: str) -> str:
    """Make a block of program text."""
    return f"<pre>{escape(text)}</pre>"


def figure(svg: str, *caption: str, wide: bool = False) -> str:
    """Make a figure of an SVG element and its caption; a wide one scrolls."""
    from .figures.scene import hypertext

    coloured = re.sub(
        '#[0-9a-f]{6}(?=[;"])', lambda c: f"var(--c{c[0][1:]}, {c[0]})", svg
    )
    paragraphs = "".join(f"<p>{hypertext(text, escape)}</p>" for text in caption)
    return (
        f'<figure class="{"wide" if wide else "plot"}"><div class="picture">{coloured}'
        f"</div><figcaption>{paragraphs}</figcaption></figure>"
    )


def page(
    title: str, verdict: str, tone: str, sections: Iterable[str], footer: str
) -> str:
    """Put the page together; the tone is a class of the style, for the verdict."""
    dark = " ".join(f"--c{light[1:]}: {shade};" for light, shade in DARK.items())
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_own('page.css').replace('DARK', dark)}</style></head>",
            f"<body><h1>{escape(title)}</h1>",
            f'<p class="verdict {tone}">{escape(verdict)}</p>',
            *sections,
            f"<footer><p>{escape(footer)}</p></footer>",
            "</body></html>",
            "",
        ]
    )


def play(family: Family, assignment: NDArray[np.bool_], optimum: object | None) -> str:
    """HTML to play with below a picture whose parts have names."""
    from ..reduction.program.optimum import step

    parameters = family.parameters
    numbers = (parameters.best, step(parameters), parameters.penalty)
    scale = math.lcm(*(number.denominator for number in numbers))
    best, lost, penalty = (str(int(number * scale)) for number in numbers)
    weights = None if family.weights is None else [str(w) for w in family.weights]
    data = {
        "clauses": family.clauses.tolist(),
        "weights": weights,
        "start": assignment.tolist(),
        "top": str(family.top),
        "best": best,
        "step": lost,
        "penalty": penalty,
        "scale": str(scale),
        "total": str(parameters.total_weight),
        "optimum": "not known" if optimum is None else str(optimum),
    }
    return _own("play.html").rstrip().replace("DATA", json.dumps(data))
