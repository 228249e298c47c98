"""The graphs that ``olivine generate`` writes; imported only where one is wanted."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...reduction.export.graphs import write_dot, write_graphml, write_node_link
from ...reduction.family.family import Family
from ...reduction.family.graph import (
    DEFAULT_MEMORY_LIMIT,
    estimate_bytes,
    graph,
    validate_graph,
)


def refuse_large(family: Family, *, two_actions: bool = False) -> None:
    """Refuse a graph that would not fit, before anything is written."""
    sizes = family.declared_sizes()
    # A tree has at most twice as many nodes as actions, X_i three.
    actions = sizes.actions * (3 if two_actions else 1)
    needed = estimate_bytes(actions, sizes.transitions)
    if needed > DEFAULT_MEMORY_LIMIT:
        instead = "" if two_actions else "; --format lp --format mps write the program"
        raise ValueError(
            f"the graph of {actions + sizes.transitions} edges would take about "
            f"{needed / 2**30:.1f} GiB of memory, above the limit of "
            f"{DEFAULT_MEMORY_LIMIT / 2**30:.1f} GiB{instead and instead + ' alone'}"
        )


def write_graphs(
    stage: Path,
    family: Family,
    member: NDArray[np.bool_],
    files: dict[str, str],
    at: Callable[[str], None],
    *,
    two_actions: bool = False,
) -> None:
    """Write the graph of a member into files, each called by its format."""
    at("the graph")
    built = graph(family, member, two_actions=two_actions)
    validate_graph(built)
    writers = {"json": write_node_link, "graphml": write_graphml, "dot": write_dot}
    for name, writer in writers.items():
        if name in files:
            at(files[name])
            writer(built, stage / files[name])
