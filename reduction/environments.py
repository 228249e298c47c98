"""The reduction's MDPs as environments: ``threesat``, and ids of Gymnasium.

``threesat`` is a random member of a random formula's `normalized` family. Each
environment of ``olivine learn --list`` has an id ``olivine/NAME-v0`` of Gymnasium
(extra ``rl``), with its options; ``olivine/family-v0`` is a member of a formula's
family. Importing `olivine.rl` registers them; Gymnasium 1 looks for no plugins:

>>> import gymnasium  # doctest: +SKIP
>>> gymnasium.make("olivine.rl:olivine/grid-v0", process_seed=3)  # doctest: +SKIP
>>> gymnasium.make("olivine.rl:olivine/family-v0", formula="f.cnf", variant="gap",
...                member=[0, 1, 1])  # doctest: +SKIP

What it needs of the reduction is imported on use: `make` loads this module, whatever it
makes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.environments import from_mdp, make, names, register
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.exact.arrays import check_sizes, check_table

if TYPE_CHECKING:
    from .formula.formula import Formula

__all__ = ["make", "threesat"]

_MOST_MOVES = 10**8


def threesat(
    rng: np.random.Generator, *, variables: int = 3, clauses: int = 4
) -> FiniteEnvironment:
    """Draw a formula and a member of its family, stochastic."""
    from .family.family import Family
    from .formula.random_formula import random_ksat

    check_sizes(3, variables=variables)
    check_sizes(1, clauses=clauses)
    pairs = (variables + clauses) ** 2
    check_table(pairs * variables, _MOST_MOVES, variables=variables, clauses=clauses)
    formula = random_ksat(variables, clauses, 3, rng)
    family = Family(formula.three_sat(), "normalized")
    member = rng.random(variables) < 0.5
    return from_mdp(family.mdp(member), "threesat")


register("threesat", threesat)


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
    from .family.family import Family
    from .formula.dimacs import read_dimacs
    from .formula.formula import Formula

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
            gymnasium.register(
                env_id, f"olivine.reduction.environments:{function}", kwargs=given
            )
