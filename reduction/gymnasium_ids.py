"""The ids ``olivine/NAME-v0`` of Gymnasium (extra ``rl``).

Importing `olivine.rl` registers them; Gymnasium 1 looks for no plugins. Each
environment of ``olivine learn --list`` has an id, with its options;
``olivine/family-v0`` is a member of a formula's family:

>>> import gymnasium  # doctest: +SKIP
>>> gymnasium.make("olivine.rl:olivine/grid-v0", process_seed=3)  # doctest: +SKIP
>>> gymnasium.make("olivine.rl:olivine/family-v0", formula="f.cnf", variant="gap",
...                member=[0, 1, 1])  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ..algorithms.environments import names
from .family.environment import make
from .family.family import Family
from .formula.dimacs import read_dimacs
from .formula.formula import Formula

_HERE = "olivine.reduction.gymnasium_ids"


def to_gymnasium(process: Any, render_mode: str | None = None) -> Any:
    """Make a Gymnasium environment of a process.

    Parameters
    ----------
    process
        An environment of `make`, `from_lists` or `from_simulator`, or a TabularMDP,
        such as a member of a family.
    render_mode
        What ``render()`` gives: ``"ansi"``, a line of text; ``"rgb_array"``, a picture
        of the states by level with the current one marked.

    Raises
    ------
    ModuleNotFoundError
        Without Gymnasium (``pip install gymnasium``).
    ValueError
        For a process that can only be sampled, or an unknown render mode.
    """
    from ..algorithms.environments.to_gym import ProcessEnv  # optional

    return ProcessEnv(process, render_mode)


def make_process(
    name: str, process_seed: int = 0, *, render_mode: str | None = None, **options: Any
) -> Any:
    """Make the environment of an id; ``process_seed`` fixes what is random about it."""
    return to_gymnasium(make(name, process_seed, **options), render_mode)


def make_family(
    formula: str | os.PathLike[str] | Formula | Sequence[Sequence[int]],
    variant: str = "normalized",
    member: Sequence[int] | None = None,
    penalty: Any = None,
    render_mode: str | None = None,
) -> Any:
    """Make a member of a formula's family.

    Parameters
    ----------
    formula
        A DIMACS file, a formula, or its clauses.
    variant, penalty
        Of the family.
    member
        A truth value for each variable of the 3-SAT form; None: all false.
    """
    if isinstance(formula, str | os.PathLike):
        formula = read_dimacs(formula).formula
    elif not isinstance(formula, Formula):
        formula = Formula.from_clauses([list(clause) for clause in formula])
    mdp = Family(formula.three_sat(), variant, penalty).mdp(member)
    return to_gymnasium(mdp, render_mode)


def register_envs() -> None:
    """Register the ids; again does nothing."""
    import gymnasium  # optional

    ids = {f"olivine/{name}-v0": ("make_process", {"name": name}) for name in names()}
    ids["olivine/family-v0"] = ("make_family", {})
    for env_id, (function, given) in ids.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, f"{_HERE}:{function}", kwargs=given)
