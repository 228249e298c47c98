"""MILP engines, one file each, which declares ``ENGINE``; no other file names them.

PuLP 3 or 4 runs an engine on a model, in a child process; what it says is a proposal
that `olivine.solvers.milp.milp` checks. PuLP's verdict is used for CBC alone: it calls
a time-limited incumbent "Optimal" and a program that may be infeasible "Infeasible",
and its majors differ in both. "highs" is always here, others if they are installed.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pulp

from ...child.child import run_in_child
from ...model import LinearModel
from ...model.integer_form import IntegerForm
from ...outcome import Answer, LinearOutcome, Status

MAJOR = int(re.match(r"\d+", pulp.__version__).group())  # type: ignore[union-attr]


@dataclass(frozen=True)
class PulpModel:
    """A model as a PuLP problem."""

    # The `pulp.LpProblem`, a minimisation in integers (`IntegerForm`). In PuLP 4
    # variables live as long as it does.
    problem: Any
    # The model's names, or descriptions of what was added, by the problem's short ones
    names: dict[str, str]
    negated: bool  # Whether the problem minimises the negative of the model's objective
    # The model's in their order, then added ones. One that nothing uses is unknown to
    # the engines and stays without value.
    variables: list[Any]

    def values(self) -> tuple[float | None, ...]:
        """One value a variable after a run; None where the engine knows it not."""
        return tuple(v.varValue for v in self.variables)


Run = Callable[[PulpModel, float | None, int], Answer]


@dataclass(frozen=True)
class Engine:
    """What a file of this folder declares.

    Attributes
    ----------
    name
        As users write it.
    available
        Whether it can be used here; called each time it is asked for.
    run
        Solves a model within wall seconds (None: no limit) by a number of threads,
        with gap 0 and tolerances of 1e-9.
    title
        As its authors write it.
    read
        Solves the program in an LP or MPS file, by the engine's own reader, within
        wall seconds; the reason is `UNREADABLE` where it cannot read it. None where
        it reads none.
    """

    name: str
    available: Callable[[], bool]
    run: Run
    title: str
    read: Callable[[str, float | None], LinearOutcome] | None = None


UNREADABLE = "unreadable"


def engines() -> dict[str, Engine]:
    """All engines by their names, "highs" first; not all need be available."""
    files = [Path(name) for folder in __path__ for name in os.listdir(folder)]
    names = {file.stem for file in files if file.suffix == ".py"} - {"__init__"}
    found = (import_module(f"{__name__}.{name}").ENGINE for name in sorted(names))
    ranked = sorted(found, key=lambda engine: (engine.name != "highs", engine.name))
    return {engine.name: engine for engine in ranked}


def readers() -> tuple[str, ...]:
    """Name the available engines that read files."""
    known = engines()
    return tuple(name for name in available_engines() if known[name].read)


def available_engines() -> tuple[str, ...]:
    """Name the engines that can be used here; "highs" always comes first."""
    return tuple(name for name, engine in engines().items() if engine.available())


def solve(
    form: IntegerForm, name: str, run: Run, deadline: float, threads: int
) -> Answer:
    """Solve a form by an engine; to be called in a child process of its own.

    `deadline` is on the clock of `time.monotonic`; infinite for no limit. What the
    system refuses the engine (files, processes), and its leaving, is its failure.
    """
    model = from_form(form)
    left = deadline - time.monotonic()
    if left <= 0:
        return Answer(Status.UNKNOWN, reason="time limit reached")
    limit = None if math.isinf(left) else left
    try:
        found = run(model, limit, threads)
    except (pulp.PulpSolverError, OSError) as exc:
        return Answer(Status.UNKNOWN, reason=f"{name} failed: {exc}")
    except SystemExit as exc:
        return Answer(Status.UNKNOWN, reason=f"{name} left with {exc!r}")
    if not isinstance(found, Answer):
        reason = f"{name} gave {type(found).__name__}; expected an Answer"
        return Answer(Status.UNKNOWN, reason=reason)
    return found


def read_optimum(
    path: str | os.PathLike[str],
    engine: str = "highs",
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> LinearOutcome:
    """Solve the program in an LP or MPS file, read by the engine's own reader.

    The name ends in ``.lp`` or ``.mps``. The outcome is of the file's program in its
    own sense (a maximisation was written as its negative), values in the order in which
    the engine met the columns; never ``exact``. Raises ValueError if the engine is not
    available or cannot read the file, OSError if the file cannot be opened.
    """
    start = time.monotonic()
    found = engines().get(engine)
    if found is None or found.read is None or not found.available():
        raise ValueError(f"engine {engine!r} is not available to read files")
    file = Path(path).resolve()
    if file.suffix not in (".lp", ".mps"):
        raise ValueError(f"{path}: the name ends in neither .lp nor .mps")
    file.open("rb").close()
    hard = None if time_limit is None else time_limit * 1.1 + 1
    result = run_in_child(
        found.read, str(file), time_limit, time_limit=hard, memory_limit=memory_limit
    )
    result.raise_error(f"{engine} on {path}")
    stopped = LinearOutcome(Status.UNKNOWN, engine=engine, reason=result.message)
    outcome = result.value or stopped
    if outcome.reason == UNREADABLE:
        raise ValueError(f"{path}: {engine} cannot read it")
    return outcome._replace(seconds=time.monotonic() - start)


def to_pulp(model: LinearModel) -> PulpModel:
    """Make a PuLP problem of a model."""
    if not isinstance(model, LinearModel):
        raise TypeError(
            f"model: {model!r:.60} is no LinearModel, as `build(family).model` is"
        )
    return from_form(IntegerForm(model))


def from_form(form: IntegerForm) -> PulpModel:
    """Make a PuLP problem of an integer form."""
    problem = pulp.LpProblem("model", pulp.LpMinimize)
    variables = [
        problem.add_variable(
            v.name, v.lower, v.upper, pulp.LpInteger if v.integer else "Continuous"
        )
        for v in form.variables
    ]
    problem.setObjective(_expression(variables, form.objective.items()))
    for row in form.rows:
        left = _expression(variables, zip(row.indices, row.coefficients, strict=True))
        if row.sense == "<=":
            constraint = left <= row.rhs
        elif row.sense == ">=":
            constraint = left >= row.rhs
        else:
            constraint = left == row.rhs
        problem.addConstraint(constraint, row.name)
    return PulpModel(problem, dict(form.names.items()), form.negated, variables)


def _expression(variables: list[Any], terms: Any) -> Any:
    pairs = [(variables[j], c) for j, c in terms]
    if MAJOR >= 4:
        return pulp.LpAffineExpression.from_list(pairs)
    return pulp.LpAffineExpression(pairs)
