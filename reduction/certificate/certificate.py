r"""Make certificates of the exact optimum of OLIVE's program (docs/certificate.md).

A certificate is what somebody who trusts none of this project needs to believe an
optimum: a pair (g, pi) that attains it and, below 1, a DRAT proof that no assignment
leaves less unsatisfied than Theorem O needs for the upper bound: u itself, or the
threshold where the penalty caps the optimum. The checker has judged every certificate
given out. Its bytes depend on the formula, the family, the assignment and the engine's
version only.

The bound u >= k is the refutation of a formula F_k, which any proof checker can judge,
verified ones among them: `export_proof` writes it. This project's checker is still
needed to say that F_k belongs to the formula, and for the pair (g, π).

>>> from olivine.reduction.formula.formula import Formula
>>> instance = Instance.of(Formula.from_clauses([[1], [-1]]))
>>> outcome = make_certificate(instance, Fraction(5, 6), [True])
>>> outcome.certificate.statement["optimum"], outcome.certificate.proof
('5/6', '0\n')
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ...algorithms.exact.arrays import check_type
from ...algorithms.mdp.planning import Pair
from ...solvers.child.child import run_in_child
from ...solvers.files import write_text, write_texts
from ...solvers.outcome import SatStatus
from ...solvers.sat.clauses import Clauses
from ...solvers.sat.sat import lrat_lines, solve_sat
from ..family.family import Family, Instance
from ..family.variants import refuse_sides
from ..formula.formula import Formula
from ..program.optimum import check, forward, unsatisfied_from_optimum
from . import checker

SECONDS = 60.0
"""Default time limit of a proof and its check, together."""

ENGINES = ("cadical153", "glucose4")
"""Engines asked for a proof, in this order, until one passes the check."""


@dataclass(frozen=True)
class Certificate:
    """A certificate: the contents of the files that it consists of.

    Attributes
    ----------
    text
        The JSON.
    proof
        The DRAT proof; None where the formula is satisfiable.
    statement
        What it proves, as `olivine.reduction.certificate.checker.judge` returns it.
    """

    text: str
    proof: str | None
    statement: dict[str, Any]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON to `path` and the proof, if any, to `path`.drat.

        Both appear complete or not at all, the proof first. Where there is no proof,
        that of a former certificate of the name is removed.
        """
        name = os.fspath(path)
        proof = f"{name}.drat"
        if self.proof is not None:
            write_texts({proof: [self.proof], name: [self.text]})
            return
        write_text(name, [self.text])
        if os.path.isfile(proof):
            os.unlink(proof)


@dataclass(frozen=True)
class CertificateOutcome:
    """A certificate, or why there is none.

    Attributes
    ----------
    certificate
        Judged valid; None where none was found within the limits.
    reason, seconds
        Why there is none, else ""; wall time.
    """

    certificate: Certificate | None
    reason: str
    seconds: float


def make_certificate(
    instance: Instance,
    optimum: Fraction,
    assignment: ArrayLike,
    *,
    time_limit: float | None = SECONDS,
    memory_limit: int | None = None,
) -> CertificateOutcome:
    """Certify that OLIVE's program over a family has a given optimum.

    Parameters
    ----------
    instance
        The formula and its family.
    optimum
        The optimum, found by whatever means: it is proved here.
    assignment
        n truth values, of the 3-SAT form, whose pair attains the optimum.
    time_limit, memory_limit
        Wall seconds for the proof and its check; bytes for each of them, beyond what
        the caller holds.

    Returns
    -------
    CertificateOutcome
        Without a certificate where a limit was reached, a bound on large weights takes
        too many clauses to count (`checker.MAX_CLAUSES`), a number has more than 200
        digits, or unused variables were left out: the format gives a value to each.

    Raises
    ------
    ValueError
        If `optimum` is no possible optimum or `assignment` does not attain it.
    RuntimeError
        If an engine refutes the optimum, or the checker refuses what was made
        for another reason than its proof: bugs.
    """
    start = time.monotonic()
    check_type("instance", instance, Instance, "Instance")
    family = instance.family
    refuse_sides(family.variant, "a certificate")
    pair = forward(family, assignment)
    if check(family, pair) != optimum:
        attained = pair.value(family.start)
        raise ValueError(f"the assignment attains {attained}, not {optimum}")
    at_least = unsatisfied_from_optimum(family.parameters, optimum).at_least
    if instance.used is not None:
        reason = f"it would give a value to each variable, and {instance.used}"
        return CertificateOutcome(None, reason, time.monotonic() - start)
    formula = as_checked(instance.formula)
    fields = sections(instance, pair, at_least)
    limits = _Limits(start, time_limit, memory_limit)
    certificate, reason = None, _beyond_format(fields)
    if not reason and at_least:
        certificate, reason = _prove(fields, formula, at_least, limits)
    elif not reason:
        certificate, reason = _judged(fields, None, formula, _Limits(start))
    return CertificateOutcome(certificate, reason, time.monotonic() - start)


def as_checked(formula: Formula) -> checker.Formula:
    """Give a formula without hard clauses in the checker's own type."""
    weights = formula.weights
    return checker.Formula(
        formula.n_variables,
        [list(clause) for clause in formula.clauses()],
        [1] * formula.n_clauses if weights is None else weights.tolist(),
        weights is not None,
    )


@dataclass(frozen=True)
class _Limits:
    start: float
    seconds: float | None = None
    memory: int | None = None

    def left(self) -> dict[str, Any]:
        """Arguments for what runs in a child process now."""
        seconds = self.seconds
        if seconds is not None:
            # A little is always left: whatever runs then says that it timed out.
            seconds = max(seconds - (time.monotonic() - self.start), 0.001)
        return {"time_limit": seconds, "memory_limit": self.memory}


_Result = tuple[Certificate | None, str]


def _prove(
    fields: dict[str, Any], formula: checker.Formula, at_least: int, limits: _Limits
) -> _Result:
    try:
        bound = checker.bound_formula(checker.three_sat(formula), at_least)
    except ValueError as error:
        return None, str(error)
    certificate, reason = None, ""
    for engine in ENGINES:
        outcome = solve_sat(
            Clauses.from_lists(bound.clauses),
            bound.n,
            engine=engine,
            proof=True,
            **limits.left(),
        )
        if outcome.status is SatStatus.SATISFIABLE:
            raise RuntimeError(
                f"{engine} finds an assignment that leaves less than {at_least}"
            )
        if outcome.proof is None:
            return None, f"no proof: {outcome.reason}"
        certificate, reason = _judged(
            fields, _proof_text(outcome.proof), formula, limits
        )
        if certificate is not None or not reason.startswith("proof"):
            break
    return certificate, reason


def _proof_text(steps: tuple[str, ...]) -> str:
    """Cut an engine's proof behind the empty clause, or add that."""
    end = steps.index("0") if "0" in steps else len(steps)
    return "\n".join([*steps[:end], "0"]) + "\n"


def _judged(
    fields: dict[str, Any], proof: str | None, formula: checker.Formula, limits: _Limits
) -> _Result:
    digest = None if proof is None else hashlib.sha256(proof.encode()).hexdigest()
    text = certificate_text(fields | {"proof": digest})
    judged = run_in_child(_judge, text, proof or "", formula, **limits.left())
    judged.raise_error("the checker")
    if judged.value is None:
        return None, f"the proof was not checked: {judged.message}"
    statement, reason = judged.value
    if statement is not None:
        return Certificate(text, proof, statement), ""
    if not reason.startswith("proof"):
        raise RuntimeError(f"the checker refuses a certificate of ours: {reason}")
    return None, reason


def _judge(
    text: str, proof: str, formula: checker.Formula
) -> tuple[dict[str, Any] | None, str]:
    try:
        return checker.judge(text.encode(), proof.encode, formula), ""
    except ValueError as error:
        return None, str(error)


def _beyond_format(fields: dict[str, Any]) -> str:
    """Say which number is too long for a certificate; "" if none is."""
    states = fields["g"]
    values = {value for kind in states if kind != "s0" for value in states[kind]}
    for number in sorted({*values, states["s0"], fields["family"]["penalty"]}):
        try:
            checker.rational(number)
        except ValueError as error:
            return str(error)
    return ""


def sections(instance: Instance, pair: Pair, at_least: int) -> dict[str, Any]:
    """Build every field of a certificate but its proof and its own digest."""
    family = instance.family
    g, pi = _pair(family, pair)
    true = [value == str(family.top) for value in g["x1"]]
    unsatisfied = family.three_sat.unsatisfied_weight(true)
    return {
        "format": checker.FORMAT,
        "formula": _identity(instance.formula),
        "three_sat": _identity(family.three_sat.as_formula()),
        "family": {"variant": str(family.variant), "penalty": str(family.penalty)},
        "claim": {
            "satisfiable": unsatisfied == 0,
            "at_least": at_least,
            "at_most": unsatisfied,
            "optimum": g["s0"],
        },
        "pi": pi,
        "g": g,
    }


def certificate_text(fields: dict[str, Any]) -> str:
    """Lay a certificate out, one field a line, with its own digest at the end."""
    sealed = fields | {"sha256": checker.seal(fields)}
    lines = [f"{json.dumps(key)}: {json.dumps(sealed[key])}" for key in sealed]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _identity(formula: Formula) -> dict[str, Any]:
    return {
        "variables": formula.n_variables,
        "clauses": formula.n_clauses,
        "sha256": formula.digest(),
    }


def _pair(family: Family, pair: Pair) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give values as strings and actions by name, a list for each kind of state."""
    layout, n, m = family.layout, family.n_variables, family.n_clauses
    numerators = pair.numerators.tolist()
    text = {v: str(pair.value(numerators.index(v))) for v in set(numerators)}
    values = [text[v] for v in numerators]
    first = layout.first_literal_state
    g = {
        "s0": values[layout.start],
        "C": values[1 : 1 + m],
        "X": values[1 + m : first],
        "x0": values[first : first + 2 * n : 2],
        "x1": values[first + 1 : first + 2 * n : 2],
        "bottom": values[first + 2 * n :],
    }
    of_clause = range(layout.first_clause_action, layout.first_clause_action + 8)
    names = [layout.action_name(a) for a in of_clause[: layout.clause_actions]]
    pi = {
        "s0": layout.action_name(int(pair.policy[layout.start])),
        "C": [names[k] for k in pair.policy[1 : 1 + m].tolist()],
    }
    return g, pi


_NAMES = ("README.txt", "bound.drat", "bound.lrat", "bound.cnf")
README = """\
bound.cnf is satisfiable if and only if some assignment leaves unsatisfied clauses of
total weight less than {bound} in the formula with this SHA-256 (of its content, see
docs/certificate.md):

    {digest}

It has {variables} variables and {clauses} clauses. bound.drat and bound.lrat refute it.
Check one of them, for example with

    drat-trim bound.cnf bound.drat
    lrat-check bound.cnf bound.lrat
    cake_lpr bound.cnf bound.lrat

Each says that the formula is verified to be unsatisfiable ("s VERIFIED" or
"s VERIFIED UNSAT"). Together with the certificate's pair (g, pi) and Theorem O that
fixes the optimum of OLIVE's program.
"""


def proof_places(folder: str | Path) -> list[Path]:
    """Where `export_proof` writes, the README first: it tells whose the others are."""
    return [Path(folder, name) for name in _NAMES]


def earlier_export(folder: str | Path) -> list[Path]:
    """Files of an earlier export; ValueError for others of these names."""
    readme, *_ = places = proof_places(folder)
    found = [place for place in places if os.path.lexists(place)]
    start = README.partition("{")[0].encode()
    is_ours = readme.is_file() and readme.read_bytes().startswith(start)
    if found and not is_ours:
        raise ValueError(
            f"{found[0]}: no file of an earlier export, and an export would replace "
            "it; take another folder"
        )
    return found


def remove_export(folder: str | Path) -> None:
    """Remove an earlier export: it is not of the certificate that is written next."""
    for place in reversed(earlier_export(folder)):
        place.unlink()


def export_proof(
    folder: str, formula: checker.Formula, at_least: int, proof: str
) -> bool:
    """Write the files of a bound to a folder, which is made, and nothing else.

    Without a bound an earlier export is removed; False then.
    """
    if not at_least:
        remove_export(folder)
        return False
    earlier_export(folder)
    bound = checker.bound_formula(checker.three_sat(formula), at_least)
    clauses = (f"{' '.join(map(str, [*clause, 0]))}\n" for clause in bound.clauses)
    size = len(bound.clauses)
    about = README.format(
        bound=at_least, digest=formula.digest(), variables=bound.n, clauses=size
    )
    lrat = lrat_lines(bound.clauses, proof.splitlines())
    cnf = [f"p cnf {bound.n} {size}\n", *clauses]
    texts = ([about], [proof], list(lrat), cnf)
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_texts(dict(zip(proof_places(folder), texts, strict=True)))
    return True
