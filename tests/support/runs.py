"""The adversarial run spelled out on whole programs, without `reduction.run`."""

from collections.abc import Iterator

from olivine.algorithms.mdp.planning import Distribution
from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.run.schedule import Move, QFunction, q_functions


def replayed(
    family: Family, member: TabularMDP
) -> Iterator[tuple[Move, QFunction, OliveProgram]]:
    """Yield each round's move, its f, and the program that it maximises over."""
    for move, f, constraints in _rounds(family, member):
        yield move, f, _program(family, member, list(constraints))


def program_left(family: Family, member: TabularMDP) -> OliveProgram:
    """Build the program that the whole run leaves."""
    *_, (_, _, constraints) = _rounds(family, member)
    return _program(family, member, constraints)


def _program(
    family: Family, member: TabularMDP, constraints: list[Distribution]
) -> OliveProgram:
    return OliveProgram(member, constraints, upper=family.ranges())


def _rounds(
    family: Family, member: TabularMDP
) -> Iterator[tuple[Move, QFunction, list[Distribution]]]:
    """The list of constraints is one and the same, and grows after each round."""
    every = family.variant is Variant.ALL_LEVELS
    constraints: list[Distribution] = []
    for move, f in q_functions(family):
        yield move, f, constraints
        for level in (1, 2, 3) if every else (move.level,):
            met = member.distribution(f.policy, level)
            if len(met.states) and met not in constraints:
                constraints.append(met)
