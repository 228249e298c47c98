"""``olivine check``: judge a certificate without trusting what made it."""

import time
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from .common import options
from .common.command import verb
from .common.output import ExitStatus, FileError, bad_input, describe, print_json, say

_HINT = " (the certificate comes first: olivine check CERTIFICATE FILE)"


@verb
def check(
    certificate: Annotated[
        str,
        typer.Argument(
            metavar="CERTIFICATE",
            help="The certificate; its proof is in CERTIFICATE.drat.",
        ),
    ],
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The formula in DIMACS form, or - for standard input."
        ),
    ],
    variant: Annotated[
        options.VariantName | None, typer.Option(help="Require this variant.")
    ] = None,
    penalty: options.PenaltyOption = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the refuted formula here, with its proof as DRAT and LRAT, "
            "for other checkers.",
        ),
    ] = None,
    input_format: options.ReadAs = None,
    max_variables: options.MaxVariables = options.DEFAULT_MAX_VARIABLES,
    max_bytes: options.MaxBytes = None,
    json_lines: options.Json = False,
) -> int:
    """Check a certificate of the optimum of OLIVE's program.

    The checker is one small module that shares no code with the rest. It has its
    own reader for the formula, checks every constraint of the family's program in
    exact arithmetic, and checks the proof.

    Exit status: 0 valid, 1 not valid (with the reason), 2 unreadable.

    Example: [bold]olivine check c.json formula.cnf[/bold]
    """
    start = time.perf_counter()
    if export is not None:
        from .common.outputs import check_exports, proof_path

        sources = [certificate, str(proof_path(certificate)), file]
        with bad_input(file, str(export)):
            check_exports([str(export)], [], sources)
    statement, reason = _judge(
        certificate, file, input_format, (max_variables, max_bytes), export
    )
    if statement is not None:
        reason = _other(statement, variant, penalty)
    if json_lines:
        print_json(
            {
                "certificate": certificate,
                "file": file,
                "valid": not reason,
                "reason": reason,
                "statement": None if reason else statement,
                "seconds": round(time.perf_counter() - start, 6),
            }
        )
    elif reason:
        say(f"olivine: {certificate}: not valid: {reason}")
    elif statement is not None:
        _show(statement)
    return ExitStatus.CONTRADICTION if reason else ExitStatus.DONE


def _unreadable(file: str, error: OSError, hint: str = "") -> FileError:
    """Say which of the three cannot be read, and why."""
    file, message = str(error.filename or file), describe(error, file)
    start = "" if message.startswith(file) else f"{file}: "
    return FileError(file, start + message + hint)


def _judge(
    certificate: str,
    file: str,
    input_format: options.InputFormat | None,
    limits: tuple[int, int | None],
    export: Path | None,
) -> tuple[dict[str, Any] | None, str]:
    """Return the statement, or None and the reason; export the proof if asked."""
    from ..reduction.certificate import checker

    proof = Path(f"{certificate}.drat")
    try:
        text = Path(certificate).read_bytes()
    except OSError as error:
        raise _unreadable(certificate, error) from None
    is_json = text.lstrip()[:1] in (b"{", b"[")
    hint = "" if is_json else _HINT
    try:
        formula = checker.read_formula(file, input_format, limits)
    except OSError as error:
        raise _unreadable(file, error, hint) from None
    try:
        statement = checker.judge(text, proof.read_bytes, formula)
        if export is not None:
            from ..reduction.certificate.certificate import export_proof

            least = statement["at_least"]
            steps = proof.read_text("ascii") if least else ""
            if not export_proof(str(export), formula, least, steps):
                say(f"olivine: {certificate}: it refutes nothing: no proof to export")
        return statement, ""
    except OSError as error:
        raise _unreadable(certificate, error, hint) from None
    except ValueError as error:
        reason = describe(error)
        if "'s formula " in reason:
            reason = f"it is a certificate for another formula than {file} ({reason})"
        return None, reason


def _other(
    statement: dict[str, Any],
    variant: options.VariantName | None,
    penalty: Fraction | None,
) -> str:
    """Say in what the statement is not the one demanded; "" if in nothing."""
    if variant is not None and statement["variant"] != variant:
        return f"it is about variant {statement['variant']}, not {variant}"
    if penalty is not None and statement["penalty"] != str(penalty):
        return f"it is about penalty {statement['penalty']}, not {penalty}"
    return ""


def _show(statement: dict[str, Any]) -> None:
    low, high = statement["at_least"], statement["at_most"]
    print(
        f"valid: variant {statement['variant']}, penalty {statement['penalty']}\n"
        f"satisfiable: {'yes' if statement['satisfiable'] else 'no'}\n"
        f"unsatisfied: {low if low == high else f'{low} to {high}'}\n"
        f"optimum: {statement['optimum']}"
    )
