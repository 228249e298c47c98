"""``olivine draw``: the family of a formula as a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.output import ExitStatus, bad_input, print_json, say, say_warnings, tell
from .common.reading import Reading, described

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..reduction.family.family import Instance
    from ..reduction.verify.verification import Verification
    from .figures.scene import Scene

TEX = ".tex"


@verb
def draw(
    file: options.InputFile,
    *,
    output: Annotated[
        Path,
        options.output(
            "FIGURE", "Picture to write: .svg, .png, .pdf, or .tex for TikZ."
        ),
    ],
    variant: options.VariantOption = options.VariantName.PAPER,
    penalty: options.PenaltyOption = None,
    witness: Annotated[
        bool | None,
        typer.Option(
            "--witness/--no-witness",
            help="Highlight the best assignment and its policy, or nothing; when "
            "not given a satisfying one, where there is one.",
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    reading: Reading,
    json_lines: options.Json = False,
) -> int:
    """Draw the family of MDPs of a formula like the paper's figure.

    The picture shows, from left to right, s0 and its actions, the clause states,
    the literal states and their rewards. For larger formulas, neighbouring clauses
    and variables are bundled.

    Exit status: 0 done, 2 bad input, 3 no assignment to highlight was found within
    the limits (the picture is written nevertheless).

    Example: [bold]olivine draw tests/cases/satlib/uf20-01.cnf -o uf20.svg[/bold]
    """
    from .figures.family_scene import lay_out
    from .figures.family_subject import reason_for_none
    from .figures.files import check_figure

    start = time.perf_counter()
    options.without_sides(variant, "a drawing")
    exact_penalty = options.checked_penalty(variant, penalty)
    with bad_input(file):
        check_figure(output, file, also=(TEX,))
        source, instance = reading.read_instance(file, variant.value, exact_penalty)
    say_warnings(source.warnings)
    answer, assignment = _search(instance, witness, time_limit, seed)
    shown = assignment is not None
    drawn = lay_out(source, instance, answer, witness, assignment)
    with bad_input(file, str(output)):
        _write(output, drawn.captioned())
    status = ExitStatus.DONE
    if answer is not None and answer.satisfiable is None:
        status = ExitStatus.UNDECIDED
        say(f"olivine: {file}: not decided within the limits")
    if json_lines:
        record: dict[str, Any] = {
            "file": file,
            "output": str(output),
            **described(instance),
            "satisfiable": None if answer is None else answer.satisfiable,
            "witness": shown,
            "bundled": drawn.bundled,
            "warnings": list(source.warnings),
            "seconds": round(time.perf_counter() - start, 6),
        }
        print_json(record)
    else:
        kinds = "bundles" if drawn.bundled else "every clause and variable"
        none = f"without a witness: {reason_for_none(answer, witness)}"
        tell(f"{output}: {kinds}, {'with a witness' if shown else none}")
    return status


def _search(
    instance: Instance, witness: bool | None, time_limit: float | None, seed: int
) -> tuple[Verification | None, NDArray[np.bool_] | None]:
    """Look for the assignment to show; what was found, and that assignment."""
    from ..reduction.verify.routes import best_assignment
    from ..reduction.verify.verification import verify_instance

    if witness is False:
        return None, None
    answer = verify_instance(
        instance,
        routes=("sat", "maxsat", "witness") if witness else ("sat",),
        time_limit=time_limit,
        seed=seed,
    )
    return answer, best_assignment(answer.routes)


def _write(output: Path, drawn: Scene) -> None:
    from ..solvers.files import write_text
    from .figures.files import style, write_figure
    from .figures.scene import draw_scene, tikz

    if output.suffix.lower() == TEX:
        write_text(output, [tikz(drawn)])
        return
    with style():
        write_figure(output, draw_scene(drawn))
