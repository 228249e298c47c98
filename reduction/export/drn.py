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
from pathlib import Path

from olivine.algorithms.mdp.tabular import TabularMDP
from olivine.reduction.export.identifiers import identifiers
from olivine.solvers.files import write_text


def generate_drn(mdp: TabularMDP) -> Iterator[str]:
    """Yield the lines of the DRN text of an MDP, without line ends.

    States and actions stand in the order of the MDP's, 0-based.
    """
    end = mdp.n_states
    names = identifiers(mdp.action_names)
    yield "@type: MDP"
    yield "@parameters"
    yield ""
    yield "@reward_models"
    yield "reward"
    yield "@nr_states"
    yield str(end + 1)
    yield "@nr_choices"
    yield str(mdp.n_actions + 1)
    yield "@model"
    for state in range(end):
        yield f"state {state} init" if state == mdp.start else f"state {state}"
        yield f"// {_printable(mdp.state_names[state])}"
        for action in mdp.actions(state):
            name = names[mdp.action_names[action]]
            yield f"\taction {name} [{mdp.reward(action)}]"
            for target, probability in mdp.successors(action) or [(end, Fraction(1))]:
                yield f"\t\t{target} : {probability}"
    yield f"state {end} end"
    yield "\taction end [0]"
    yield f"\t\t{end} : 1"


def write_drn(mdp: TabularMDP, path: str | Path) -> None:
    """Write an MDP in DRN; the file appears complete or not at all."""
    write_text(path, (line + "\n" for line in generate_drn(mdp)))


def _printable(name: str) -> str:
    """Keep a name within the line of its comment."""
    return "".join(c if c.isprintable() else "?" for c in name)
