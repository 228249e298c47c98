"""MDPs in the languages of model checkers: Storm's DRN, and PRISM's, which both read.

Actions that end the episode lead to an additional last state ``end``: V* at the start
is the answer to ``R{"reward"}max=? [F "end"]`` (docs/model-checkers.md). DRN is
explicit and keeps rationals. In PRISM's language one module has one variable, s, whose
values are constants named after the states, and a command for each action; numbers are
quotients of integers, those above 2^31 - 1, PRISM's largest, written with ``.0``.

Formats: Hensel, Junges, Katoen, Quatmann, Volk, "The probabilistic model checker Storm"
(STTT 2022); Kwiatkowska, Norman, Parker, "PRISM 4.0" (CAV 2011).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.mdp.tabular import TabularMDP
from ...solvers.files import write_text

_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def identifiers(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Turn each distinct name into an identifier of its own.

    Runs of characters other than letters, digits and underscores become an underscore,
    at the ends nothing: "x1^0" is x1_0, "[try C1]" is try_C1, "001" is _001. Of two
    names that would be one, the later gets a number.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for name in dict.fromkeys(names):
        stem = _OTHER.sub("_", name).strip("_")
        if not stem or stem[0].isdigit():
            stem = f"_{stem}"
        identifier, number = stem, 2
        while identifier in used:
            identifier, number = f"{stem}_{number}", number + 1
        used.add(identifier)
        found[name] = identifier
    return found


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


KEYWORDS = frozenset(
    """
    A bool clock const ctmc C double dtmc E endinit endinvariant endmodule
    endobservables endrewards endsystem false formula filter func F global G init
    invariant I int label max mdp min module X nondeterministic observable
    observables of Pmax Pmin P pomdp popta probabilistic prob pta rate rewards Rmax
    Rmin R S smg stochastic system true U W ceil floor log mod pow round
    """.split()  # noqa: SIM905 (a list of words is easier to read and to compare)
)
"""Words that PRISM's language keeps to itself, functions included."""

_LARGEST = 2**31 - 1


def generate_prism(mdp: TabularMDP) -> Iterator[str]:
    """Yield the lines of the PRISM text of an MDP, without line ends."""
    end = mdp.n_states
    taken = {*KEYWORDS, "s", "end", "family"}
    states = [*identifiers(mdp.state_names, taken).values(), "end"]
    actions = identifiers(mdp.action_names, KEYWORDS)
    yield "mdp"
    yield ""
    for number, name in enumerate(states):
        yield f"const int {name} = {number};"
    yield ""
    yield "module family"
    yield f"  s : [0..{end}] init {states[mdp.start]};"
    for state in range(end):
        for action in mdp.actions(state):
            successors = mdp.successors(action) or [(end, Fraction(1))]
            update = " + ".join(
                f"{_quotient(p)} : (s'={states[t]})" for t, p in successors
            )
            name = actions[mdp.action_names[action]]
            yield f"  [{name}] s={states[state]} -> {update};"
    yield "  [] s=end -> 1 : (s'=end);"
    yield "endmodule"
    yield ""
    yield 'rewards "reward"'
    for state in range(end):
        for action in mdp.actions(state):
            reward = mdp.reward(action)
            if reward:
                name = actions[mdp.action_names[action]]
                yield f"  [{name}] s={states[state]} : {_quotient(reward)};"
    yield "endrewards"
    yield ""
    yield 'label "end" = s=end;'


def write_prism(mdp: TabularMDP, path: str | Path) -> None:
    """Write an MDP in PRISM's language; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_prism(mdp)))


def _quotient(value: Fraction) -> str:
    numerator, denominator = value.as_integer_ratio()
    if denominator == 1:
        return _integer(numerator)
    return f"{_integer(numerator)}/{_integer(denominator)}"


def _integer(value: int) -> str:
    return str(value) if abs(value) <= _LARGEST else f"{value}.0"
