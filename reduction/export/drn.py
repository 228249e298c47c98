"""MDPs in DRN, the explicit format of the model checker Storm, with exact rationals.

Actions that end the episode lead to an additional last state, labelled ``end``, with a
loop. V* at the start is the answer to ``R{"reward"}max=? [F "end"]``
(docs/model-checkers.md). Names of states are comments; names of actions are made
identifiers, since Storm takes brackets in them for rewards. Format: Hensel, Junges,
Katoen, Quatmann, Volk, "The probabilistic model checker Storm" (STTT 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.mdp.tabular import TabularMDP
from ...solvers.files import write_text
from .identifiers import identifiers

_BLOCK = 1 << 15
"""Actions whose arrays are lists at a time."""
_TEMPLATES = 1 << 10
"""Texts of states that are kept, each of at most so many numbers."""


def generate_drn(mdp: TabularMDP) -> Iterator[str]:
    """Yield the lines of the DRN text of an MDP, without line ends."""
    for part in _parts(mdp):
        yield from part[:-1].split("\n")


def _parts(mdp: TabularMDP) -> Iterator[str]:
    end = mdp.n_states
    names = identifiers(mdp.action_names)
    rewards = [str(reward) for reward in mdp.reward_table]
    yield (
        "@type: MDP\n@parameters\n\n@reward_models\nreward\n"
        f"@nr_states\n{end + 1}\n@nr_choices\n{mdp.n_actions + 1}\n@model\n"
    )
    templates: dict[object, str] = {}
    for first in range(0, mdp.n_actions, _BLOCK):
        last = min(first + _BLOCK, mdp.n_actions)
        yield "".join(_text(mdp, first, last, names, rewards, templates))
    yield f"state {end} end\n\taction end [0]\n\t\t{end} : 1\n"


def _text(
    mdp: TabularMDP,
    first: int,
    last: int,
    names: dict[str, str],
    rewards: list[str],
    templates: dict[object, str],
) -> Iterator[str]:
    """Yield the text of the actions first..last-1, and of the states that begin there.

    Lists are quicker than arrays. States that differ in their successors only have one
    template.
    """
    a, b = np.searchsorted(mdp.action_offset, [first, last - 1], side="right") - 1
    entries = mdp.transition_offset[first : last + 1]
    t, u = int(entries[0]), int(entries[-1])
    targets = mdp.transition_target[t:u].tolist()
    numerators = mdp.transition_numerator[t:u].tolist()
    denominators = mdp.transition_denominator[first:last].tolist()
    paid = mdp.reward_index[first:last].tolist()
    parts = mdp.action_names[first:last], paid, denominators, np.diff(entries).tolist()
    stops = (entries - t).tolist()
    begins = mdp.action_offset[a : b + 2].tolist()
    for k, title in enumerate(mdp.state_names[a : b + 1]):
        if begins[k] >= first:
            state = int(a) + k
            mark = " init" if state == mdp.start else ""
            yield f"state {state}{mark}\n// {_printable(title)}\n"
        own = slice(max(begins[k], first) - first, min(begins[k + 1], last) - first)
        reached = slice(stops[own.start], stops[own.stop])
        key = (*(tuple(part[own]) for part in parts), tuple(numerators[reached]))
        text = templates.get(key)
        if text is None:
            text = _actions(key, names, rewards, mdp.n_states)
            if len(templates) < _TEMPLATES and len(key[-1]) < _TEMPLATES:
                templates[key] = text
        yield text % tuple(targets[reached])


def _actions(
    key: tuple[tuple[Any, ...], ...],
    names: dict[str, str],
    rewards: list[str],
    end: int,
) -> str:
    *actions, numerators = key
    shares, lines = iter(numerators), []
    for name, paid, denominator, width in zip(*actions, strict=True):
        lines.append(f"\taction {names[name]} [{rewards[paid]}]\n")
        if not width:
            lines.append(f"\t\t{end} : 1\n")
        for share in islice(shares, width):
            lines.append(f"\t\t%d : {_ratio(share, denominator)}\n")
    return "".join(lines)


@lru_cache(maxsize=4096)
def _ratio(numerator: int, denominator: int) -> str:
    return str(Fraction(numerator, denominator))


def write_drn(mdp: TabularMDP, path: str | Path) -> None:
    """Write an MDP in DRN; the file appears complete or not at all."""
    write_text(path, _parts(mdp))


def _printable(name: str) -> str:
    """Keep a name within the line of its comment."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else "?" for c in name)
