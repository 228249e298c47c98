"""What ``olivine generate`` writes into its folder."""

import json
import platform
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...algorithms.mdp.tabular import TwoActions
from ...algorithms.olive_program.program import OliveProgram, two_action_program
from ...reduction.export.model_checkers import write_drn, write_prism
from ...reduction.family.family import Family, Instance, Variant
from ...reduction.family.variants import refuse_sides
from ...reduction.formula.dimacs import DimacsFile, write_dimacs
from ...reduction.formula.prepare import Used
from ...reduction.program.optimum import least_difference, round_to_possible
from ...reduction.program.program import ReductionModel, build, start_of
from ...reduction.verify.routes import best_assignment
from ...reduction.verify.verification import Verification, verify_instance
from ...solvers.files import write_text
from ...solvers.milp.solutions import start_texts
from ...solvers.model import LinearModel
from ...solvers.model.integer_form import IntegerForm, NameMap, json_pairs
from ...solvers.model.large import VariableTable
from ...solvers.model.program_files import write_lp, write_mps
from ...solvers.outcome import Status
from .output import ContradictionError
from .reading import described

DESCRIPTION = "family.json"
FORMULA = "three_sat.cnf"
FILES = {
    "lp": "program.lp",
    "mps": "program.mps",
    "json": "graph.json",
    "graphml": "graph.graphml",
    "dot": "graph.dot",
    "drn": "member.drn",
    "prism": "member.prism",
}
STARTS = ("start.mst", "start.sol")
OURS = frozenset({DESCRIPTION, FORMULA, *FILES.values(), *STARTS})  # what a run writes

# Greatest m at which HiGHS is expected to solve a file in a few seconds.
READ_BACK_CLAUSES = {"faithful": 8, "strengthened": 60, "projected": 200}

READ_BACK_SECONDS = 5.0
FAR = 1e-4  # a difference of optima beyond an engine's tolerances, 1e-6 a row

GRAPHS = frozenset({"json", "graphml", "dot"})
MARK = "olivine"  # begins the remark of a program file
_PROGRAMS = frozenset({"lp", "mps"})
_LIBRARIES = ("highspy", "networkx", "numpy", "pulp", "python-sat")


class Request(NamedTuple):
    """What to write of a family."""

    wanted: Collection[str]  # names of `FILES`
    formulation: str
    member: NDArray[np.bool_]  # whose rewards graphs and models have
    two_actions: bool = False
    start: bool = False
    solve: bool = False
    engine: str = "highs"  # that reads the program files back


def request(
    family: Family,
    wanted: Collection[str],
    formulation: str,
    member: str | None = None,
    *,
    two_actions: bool = False,
    start: bool = False,
    **more: Any,
) -> Request:
    """Check what is asked for before anything is written; ValueError if it fails."""
    bits = parse_member(member, family)
    if two_actions or GRAPHS.intersection(wanted):
        from ...reduction.family.graph import refuse_large  # loads networkx

        refuse_large(family, two_actions=two_actions)
    if two_actions:
        _refuse_two_actions(family, formulation)
    if start and two_actions:
        raise ValueError("--start is a point of the family's own actions, not of trees")
    if start and not _PROGRAMS.intersection(wanted):
        raise ValueError("--start goes with --format lp or mps")
    return Request(wanted, formulation, bits, two_actions, start, **more)


def parse_member(text: str | None, family: Family) -> NDArray[np.bool_]:
    """Read the bits of a member; fresh variables that are left out are filled in."""
    three_sat, n = family.three_sat, family.n_variables
    if text is None:
        return np.zeros(n, dtype=np.bool_)
    if not set(text) <= set("01"):
        raise ValueError(f"--member {text!r}: expected bits 0 and 1")
    bits = np.array([c == "1" for c in text], dtype=np.bool_)
    if len(bits) == n:
        return bits
    if len(bits) == three_sat.original.n_variables:
        return three_sat.extend(bits)
    raise ValueError(
        f"--member has {len(bits)} bits; expected one for each of the "
        f"{three_sat.original.n_variables} variables of the input or of the {n} of "
        "its 3-SAT form"
    )


def _refuse_two_actions(family: Family, formulation: str) -> None:
    """Refuse what cannot have two actions a state."""
    if not family.mdp().is_layered:
        layered = ", ".join(v for v in Variant if v.declaration.variable_states)
        raise ValueError(
            f"variant {family.variant} is not layered, and --two-actions needs that; "
            f"choose from {layered}"
        )
    refuse_sides(family.variant, "--two-actions")
    if formulation != "faithful":
        raise ValueError(
            f"--formulation {formulation} is made for the family's own actions; "
            "--two-actions goes with faithful"
        )


def stages(
    wanted: Collection[str], *, start: bool = False, solve: bool = False
) -> list[str]:
    """Name the steps of `write_folder` in order; a file's is called as the file."""
    files = [FILES[name] for name in FILES if name in wanted]
    programs = [file for file in files if file.startswith("program.")]
    others = [file for file in files if file not in programs]
    graph = ["the graph"] if GRAPHS.intersection(wanted) else []
    model = ["the model of the program", *["the start"] * start, *programs]
    model = model if programs else []
    known = ["the optimum"] * solve
    return [FORMULA, *known, *graph, *others, "sizes and names", *model, DESCRIPTION]


def write_folder(
    stage: Path,
    instance: Instance,
    source: DimacsFile,
    asked: Request,
    at: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Write all files and return what to say; `at` gets each stage as it begins."""
    family, wanted = instance.family, asked.wanted
    at(FORMULA)
    write_dimacs(family.three_sat.as_formula(), stage / FORMULA)
    answer, known = None, {}
    if asked.solve:
        at("the optimum")
        answer = _solve(instance)
        known = {
            "known": {
                "satisfiable": answer.satisfiable,
                "unsatisfied": answer.unsatisfied,
                "optimum": None if answer.optimum is None else str(answer.optimum),
                "optimum_by": list(answer.optimum_by),
            }
        }
    if GRAPHS.intersection(wanted):
        _write_graphs(stage, family, asked, at)
    mdp = family.mdp(asked.member)
    if asked.two_actions:
        mdp = TwoActions(mdp).mdp
    for name, write in (("drn", write_drn), ("prism", write_prism)):
        if name in wanted:
            at(FILES[name])
            write(mdp, stage / FILES[name])
    del mdp
    at("sizes and names")
    description = {
        "provenance": _provenance(instance, source),
        **_describe_family(family, asked.member, instance.used),
        **known,
    }
    checks: dict[str, str] = {}
    model = None
    if asked.two_actions:
        from ...algorithms.olive_program.model import program_model  # few ask for it

        trees, program = two_action_program(family.program())
        model = program_model(program).model
        description["two_actions"] = _describe_trees(trees, program)
    if _PROGRAMS.intersection(wanted):
        at("the model of the program")
        begin = {}
        if model is None:
            built = build(family, asked.formulation)
            model = built.model
            if asked.start:
                at("the start")
                best = None if answer is None else best_assignment(answer.routes)
                begin = {"start": _write_start(stage, built, best)}
            del built
        family.forget()  # the files are made of the model alone
        description["program"], checks = _write_program(
            stage, instance, asked, model, answer, at
        )
        description["program"] = begin | description["program"]
    at(DESCRIPTION)
    names = sorted([DESCRIPTION, *(entry.name for entry in stage.iterdir())])
    description["files"] = names
    with open(stage / DESCRIPTION, "w", encoding="utf-8") as out:
        out.writelines(pretty_json(description))
        out.write("\n")
    return {
        **described(instance),
        "formulation": asked.formulation,
        "sizes": description["sizes"],
        **known,
        "files": {name: (stage / name).stat().st_size for name in names},
        "read_back": checks,
    }


def _solve(instance: Instance, time_limit: float | None = None) -> Verification:
    """Find and prove the optimum, by routes that need no MILP engine."""
    answer = verify_instance(
        instance, routes=("sat", "maxsat", "witness"), time_limit=time_limit
    )
    if answer.contradictions:
        raise ContradictionError("; ".join(answer.contradictions))
    return answer


def _write_start(
    stage: Path, built: ReductionModel, assignment: NDArray[np.bool_] | None
) -> dict[str, Any]:
    """Write a start from the assignment, or from one of a short search."""
    if assignment is None:
        assignment = start_of(built.family)
    point = built.point(assignment)
    value = built.model.objective_value(point)
    values = IntegerForm(built.model).completed(point, value)
    for end, parts in start_texts(-float(value), values).items():
        write_text(stage / f"start.{end}", parts)
    left = built.family.three_sat.unsatisfied_weight(assignment)
    return {"value": str(value), "unsatisfied": left}


def _write_graphs(
    stage: Path, family: Family, asked: Request, at: Callable[[str], None]
) -> None:
    """Write the graph of a member in each format that is wanted."""
    from ...reduction.export.graphs import write_dot, write_graphml, write_node_link
    from ...reduction.family.graph import graph, validate_graph

    at("the graph")
    built = graph(family, asked.member, two_actions=asked.two_actions)
    validate_graph(built)
    writers = {"json": write_node_link, "graphml": write_graphml, "dot": write_dot}
    for name, writer in writers.items():
        if name in asked.wanted:
            at(FILES[name])
            writer(built, stage / FILES[name])


def _provenance(instance: Instance, source: DimacsFile) -> dict[str, Any]:
    """Say what the files were made of, and by what; no times, so they reproduce."""
    return {
        "input": source.source,
        "input_format": source.format,
        "input_variables": instance.formula.n_variables,
        "input_clauses": instance.formula.n_clauses,
        "input_digest": instance.formula.digest(),
        "warnings": list(source.warnings),
        "olivine": __version__,
        "python": platform.python_version(),
        "libraries": dict(map(_library, _LIBRARIES)),
    }


@cache
def _library(name: str) -> tuple[str, str]:
    """Give a library and its version, looked up once for all formulas."""
    try:
        return name, version(name)
    except PackageNotFoundError:
        return name, "unknown"


def _describe_family(
    family: Family, member: NDArray[np.bool_], used: Used | None
) -> dict[str, Any]:
    three_sat = family.three_sat
    declared = family.declared_sizes()._asdict()
    measured = family.measured_sizes()._asdict()
    if declared != measured:
        raise RuntimeError(f"declared sizes {declared} but measured {measured}")
    return {
        "variant": str(family.variant),
        "penalty": str(family.penalty),
        "horizon": family.horizon,
        "rewards": {
            "[try x]": str(family.try_variable_reward),
            "[try C]": str(family.try_clause_reward),
            "[solve]": str(family.solve_reward),
            "true literal": str(family.top),
        },
        "three_sat": {
            "variables": family.n_variables,
            "clauses": family.n_clauses,
            "total_weight": family.total_weight,
            "fresh_variables": three_sat.n_fresh,
            "source": three_sat.source,  # 0-based clause of the input, -1: none
            **({} if used is None else {"names": used.variables}),
        },
        "sizes": {"declared": declared, "measured": measured},
        "member": "".join("1" if bit else "0" for bit in member),
        "states": family.layout.state_names(),
    }


def _describe_trees(trees: TwoActions, program: OliveProgram) -> dict[str, Any]:
    mdp = trees.mdp
    return {
        "horizon": mdp.horizon,
        "states": mdp.n_states,
        "actions": mdp.n_actions,
        "transitions": mdp.n_transitions,
        "constraints": len(program.distributions),
        "nodes": mdp.state_names,  # a state's name and the bits to it
    }


def _remarks(family: Family, formulation: str, two_actions: bool) -> tuple[str, str]:
    """Tell solvers the gap that they must use, and `olivine extract` what this is."""
    apart = least_difference(family.parameters)
    fixed = family.variant.declaration.fixed_penalty is not None
    gap = (
        "the optimum can have one value only"
        if apart is None
        else f"values of the optimum differ by {apart} or more: solve with a relative "
        "gap of 0 and an absolute gap below that"
    )
    about = {
        "formulation": formulation,
        "variant": str(family.variant),
        "penalty": None if fixed else str(family.penalty),
        "two_actions": two_actions,
        "formula": family.three_sat.as_formula().digest()[:16],
    }
    return gap, f"{MARK} {json.dumps(about)}"


def _write_program(
    stage: Path,
    instance: Instance,
    asked: Request,
    model: LinearModel,
    answer: Verification | None,
    at: Callable[[str], None],
) -> tuple[dict[str, Any], dict[str, str]]:
    """Write the program files and read them back; their maps, and the checks."""
    formulation = asked.formulation
    paths = {
        FILES[name]: writer
        for name, writer in (("lp", write_lp), ("mps", write_mps))
        if name in asked.wanted
    }
    remarks, maps = _remarks(instance.family, formulation, asked.two_actions), []
    for file, writer in paths.items():
        at(file)
        maps.append(writer(model, stage / file, remarks))
    description = {
        "formulation": formulation,
        "objective": "g(s0), written as -g(s0) minimised",
        "variables": len(model.variables),
        "integer_variables": VariableTable.of(model.variables).integral(),
        "rows": len(model.rows),
        "names": maps[0],
    }
    if instance.family.n_clauses > READ_BACK_CLAUSES[formulation]:
        return description, dict.fromkeys(paths, "not solved: too large to be quick")
    answer = answer or _solve(instance, READ_BACK_SECONDS)
    known = answer.optimum
    return description, _read_back(stage, instance, list(paths), asked.engine, known)


def _read_back(
    stage: Path,
    instance: Instance,
    files: list[str],
    engine: str,
    known: Fraction | None,
) -> dict[str, str]:
    """Solve program files with an engine; compare optima that floats can tell apart."""
    from ...solvers.milp.engines import engines, read_optimum

    family = instance.family
    checks, name = {}, engines()[engine].title
    if engines()[engine].read is None:
        return dict.fromkeys(files, f"not solved: {name} reads no files here")
    for file in files:
        outcome = read_optimum(stage / file, engine, time_limit=READ_BACK_SECONDS)
        if outcome.status is not Status.OPTIMAL or outcome.objective is None:
            checks[file] = f"not solved: {outcome.reason or outcome.status.value}"
            continue
        value = -outcome.objective
        try:
            found = round_to_possible(family.parameters, value).value
        except ValueError as error:
            if known is not None and abs(value - float(known)) > FAR:
                reason = f"{file}: {name} finds {value}, the optimum is {known}"
                raise ContradictionError(reason) from error
            checks[file] = f"not decided: {error}"
            continue
        if known is not None and found != known:
            reason = f"{file}: {name} finds {found}, the optimum is {known}"
            raise ContradictionError(reason)
        checks[file] = f"solved by {name}: optimum {found}"
    return checks


_PART = 1 << 14  # entries that are written at a time


def pretty_json(value: Any, indent: str = "") -> Iterator[str]:
    """Yield a JSON value's text in parts; lazy maps and arrays stay lazy."""
    if not isinstance(value, Mapping):
        yield from _on_one_line(value)
        return
    if not value:
        yield "{}"
        return
    before, pairs = f",\n{indent}  ", None
    if isinstance(value, NameMap):
        pairs = value.json(before)
    elif all(map(_is_plain, value.values())):
        pairs = json_pairs(value.items(), before)
    if pairs is not None:
        yield f"{{{next(pairs)[1:]}"  # no comma before the first
        yield from pairs
        yield f"\n{indent}}}"
        return
    separator = "{\n"
    for key, entry in value.items():
        yield f"{separator}{indent}  {json.dumps(key)}: "
        yield from pretty_json(entry, indent + "  ")
        separator = ",\n"
    yield f"\n{indent}}}"


def _is_plain(entry: object) -> bool:
    return entry is None or isinstance(entry, str | int | float)


def _on_one_line(value: Any) -> Iterator[str]:
    if _is_plain(value) or isinstance(value, list | tuple):
        yield json.dumps(value, allow_nan=False)
        return
    yield "["
    for k in range(0, len(value), _PART):
        part = value[k : k + _PART]
        entries = part if isinstance(part, list) else part.tolist()
        yield ", " * bool(k) + json.dumps(entries, allow_nan=False)[1:-1]
    yield "]"
