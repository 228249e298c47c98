"""MDPs in DRN, the explicit format of the model checker Storm.

Probabilities and rewards are written as rationals, which Storm reads exactly.
Actions that end the episode lead to an additional last state, labelled ``end``,
with a loop. The greatest expected return, V* at the start, is the answer to

    storm --explicit-drn FILE --exact --prop 'R{"reward"}max=? [F "end"]'

or, in Python, of ``stormpy.build_model_from_drn[stormpy.Rational]`` and
``stormpy.model_checking``. Names of states are comments; names of actions are
turned into identifiers, since Storm takes brackets in them for rewards.

Format: Hensel, Junges, Katoen, Quatmann, Volk, "The probabilistic model checker
Storm" (STTT 2022), and Storm's own documentation of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.reduction.export.identifiers import identifiers
from olivine.solvers.files import write_text

_BLOCK = 4096
"""States whose arrays are lists at a time."""
_TEMPLATES = 1 << 10
"""Texts of successors that are kept."""


def generate_drn(mdp: TabularMDP) -> Iterator[str]:
    """Yield the lines of the DRN text of an MDP, without line ends.

    States and actions stand in the order of the MDP's, 0-based.
    """
    for part in _parts(mdp):
        yield from part[:-1].split("\n")


def _parts(mdp: TabularMDP) -> Iterator[str]:
    """Yield the text in parts of whole lines."""
    end = mdp.n_states
    names = identifiers(mdp.action_names)
    rewards = [str(reward) for reward in mdp.reward_table]
    yield (
        "@type: MDP\n@parameters\n\n@reward_models\nreward\n"
        f"@nr_states\n{end + 1}\n@nr_choices\n{mdp.n_actions + 1}\n@model\n"
    )
    templates: dict[object, str] = {}
    for first in range(0, end, _BLOCK):
        last = min(first + _BLOCK, end)
        yield "".join(_states(mdp, first, last, names, rewards, templates))
    yield f"state {end} end\n\taction end [0]\n\t\t{end} : 1\n"


def _states(
    mdp: TabularMDP,
    first: int,
    last: int,
    names: dict[str, str],
    rewards: list[str],
    templates: dict[object, str],
) -> Iterator[str]:
    """Yield the text of the states first..last-1; lists are quicker than arrays.

    The successors of actions with equal probabilities have one template.
    """
    ends = mdp.action_offset[first : last + 1]
    a, b = int(ends[0]), int(ends[-1])
    entries = mdp.transition_offset[a : b + 1]
    t, u = int(entries[0]), int(entries[-1])
    targets = mdp.transition_target[t:u].tolist()
    numerators = mdp.transition_numerator[t:u].tolist()
    denominators = mdp.transition_denominator[a:b].tolist()
    paid = mdp.reward_index[a:b].tolist()
    called = mdp.action_names[a:b]
    stops, offsets = (entries - t).tolist(), (ends - a).tolist()
    for k, title in enumerate(mdp.state_names[first:last]):
        state = first + k
        mark = " init" if state == mdp.start else ""
        yield f"state {state}{mark}\n// {_printable(title)}\n"
        for i in range(offsets[k], offsets[k + 1]):
            own = slice(stops[i], stops[i + 1])
            shares = tuple(numerators[own])
            key = denominators[i], shares
            text = templates.get(key)
            if text is None:
                text = _successors(*key)
                if len(templates) < _TEMPLATES:
                    templates[key] = text
            yield f"\taction {names[called[i]]} [{rewards[paid[i]]}]\n"
            yield text % (tuple(targets[own]) or mdp.n_states)


def _successors(denominator: int, shares: tuple[int, ...]) -> str:
    """Lines of an action's successors, to be filled in; the end's if it has none."""
    ratios = [_ratio(share, denominator) for share in shares] or ["1"]
    return "".join([f"\t\t%d : {ratio}\n" for ratio in ratios])


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
