"""MDPs in the language of the model checker PRISM, which Storm reads, too.

One module with one variable, s, whose values are constants named after the states; a
command for each action, with its reward in the structure ``reward``. Actions that end
the episode lead to a state ``end``: V* at the start is the answer to ``R{"reward"}max=?
[F "end"]`` (docs/model-checkers.md). Numbers are quotients of integers; those above
2^31 - 1, PRISM's largest, are written with ``.0``. Language: Kwiatkowska, Norman,
Parker, "PRISM 4.0" (CAV 2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from ...algorithms.mdp.tabular import TabularMDP
from ...solvers.files import write_text
from .identifiers import identifiers

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
