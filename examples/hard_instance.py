"""A formula, OLIVE's program over its family of MDPs, and the way back.

Run from the project's folder: ``python -m examples.hard_instance [FILE]``.
"""

import sys

import networkx as nx
from olivine.reduction.family.family import Family
from olivine.reduction.family.graph import graph
from olivine.reduction.formula.dimacs import read_dimacs
from olivine.reduction.program.optimum import back, check, unsatisfied_from_optimum
from olivine.reduction.program.program import build
from olivine.solvers.milp.milp import solve_milp


def main(path: str) -> None:
    """Solve the program of a file by a MILP and read an assignment off it."""
    formula = read_dimacs(path).formula
    family = Family(formula.three_sat(), "normalized")

    member = graph(family)
    depth = nx.dag_longest_path_length(member)
    print(f"family: {member.number_of_nodes()} nodes, longest path {depth}")

    program = build(family, "strengthened")
    print(f"program: {len(program.model.rows)} rows")
    outcome = solve_milp(program.model, time_limit=60)
    if outcome.values is None:
        print(f"the solver says {outcome.status}")
        return
    # What a solver says is a proposal: this pair's value is exact.
    pair = program.pair(outcome.values)
    optimum = check(family, pair)
    print(f"g(s0) = {optimum}")

    assignment = back(family, pair)
    missed = family.three_sat.unsatisfied_weight(assignment)
    least = unsatisfied_from_optimum(family.parameters, optimum)
    print(
        f"an assignment leaves {missed} clauses unsatisfied; the optimum says {least}"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/cases/cadical/full3.cnf")
