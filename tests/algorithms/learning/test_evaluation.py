"""What a result says beside its status: evaluations, notes, errors, signs of life."""

import sys
import time
from fractions import Fraction

import numpy as np
import olivine
import pytest
from olivine.algorithms.learning import learn as learning
from olivine.algorithms.learning.events import Evaluation
from olivine.algorithms.learning.learn import LearningWarning, doubts

from tests.support.depth import with_rows


class Faint:
    """Pays 1/10 for each of two actions of 1, in half of the episodes."""

    def reset(self, seed):
        self.pays = seed % 2
        return 0

    def step(self, action):
        return 0, self.pays * action / 10


def faint(**more):
    played = Faint()
    return olivine.from_simulator(played.reset, played.step, 2, 2, codes=1, **more)


def test_an_accuracy_that_every_policy_has_is_noted() -> None:
    with pytest.warns(LearningWarning, match="psdp: epsilon: 0.3 is more than what"):
        result = olivine.learn("psdp", faint(), parameters="practical")
    assert result.succeeded
    assert "take a smaller epsilon" in result.notes[0]
    assert result.to_json()["notes"] == list(result.notes)
    env = olivine.make("tabular", 1, states=2, actions=2, horizon=2)
    worth = float(env.truth.optimal_value)
    with pytest.warns(LearningWarning, match=r"every policy is within .* of V\* = "):
        olivine.learn("rmax", env, parameters="practical", epsilon=worth + 0.01)
    fine = olivine.learn("rmax", env, parameters="practical", epsilon=worth / 2)
    assert fine.notes == ()
    assert "notes" not in fine.to_json()


@with_rows(
    "estimate, epsilon, played, said",
    (Fraction(13, 10), 0.01, None, ["is outside [0, 1]"]),
    (Fraction(-1, 10), 0.01, None, ["is outside [0, 1]"]),
    (Fraction(1), 0.01, None, []),
    (None, 0.01, Evaluation(0.0, 0.0, 9), ["0.01 is more than what the policies"]),
    (Fraction(1, 2), 0.1, Evaluation(0.4, 0.02, 9), ["0.5, but the policies get"]),
    (Fraction(1, 2), 0.1, Evaluation(0.4, 0.03, 9), []),
    (Fraction(1, 2), 0.39, Evaluation(0.4, 0.0, 9), ["0.5, but the policies get"]),
    (Fraction(1, 2), 0.41, Evaluation(0.4, 0.01, 9), []),
)
def test_estimates_are_held_against_plays(estimate, epsilon, played, said) -> None:
    found = doubts(faint(), estimate, epsilon, played)
    assert len(found) == len(said)
    for sentence, part in zip(found, said, strict=True):
        assert part in sentence


@pytest.mark.parametrize("name", ["psdp", "fqi"])
def test_estimates_have_the_error_of_their_data(name) -> None:
    """Over many runs V̂ varies by what a run says, up to a factor of 1.4."""
    env = olivine.make("tabular", 3, states=1, actions=3, horizon=1)
    runs = [
        olivine.learn(name, env, parameters="practical", n=400, epsilon=0.01, seed=s)
        for s in range(60)
    ]
    seen = np.std([float(run.estimate) for run in runs])
    told = np.mean([run.estimate_error for run in runs])
    assert 0 < told / 1.4 <= seen <= 1.4 * told
    assert runs[0].to_json()["estimate_error"] == runs[0].estimate_error


def test_a_run_gives_signs_of_life(capsys, monkeypatch) -> None:
    monkeypatch.setattr(learning, "_BEAT", 0.01)

    def slow(event):
        time.sleep(0.03)

    env = olivine.make("tabular", 1, states=2, actions=2, horizon=2)
    given = {"parameters": "practical", "observers": [slow]}
    olivine.learn("rmax", env, progress=True, **given)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("rmax on tabular: 0 s, ") for line in lines)
    assert all("trajectories, iteration 1" in line for line in lines)
    olivine.learn("rmax", env, **given)  # no terminal here
    olivine.learn("rmax", env, progress=False, **given)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)  # in a notebook
    olivine.learn("rmax", env, **given)
    assert "rmax on tabular: 0 s, " in capsys.readouterr().err


def test_a_program_that_took_too_long_and_an_evaluation_in_words():
    env = olivine.make("tabular", 1, states=3, actions=3, horizon=3)
    given = {"parameters": "practical", "engine": "exact", "time_limit": 1e-9}
    result = olivine.learn("olive", env, "tabular", epsilon=0.99, **given)
    assert result.status == "failure"
    assert result.notes == ()  # an accuracy too large takes nothing from a failure
    assert "the program of round 1 was not solved (" in result.reason
    assert "a larger time_limit (now 1e-09 s for each program), a fini" in result.reason
    assert str(Evaluation(0.5, 0.0125, 100)) == "0.5 ± 0.013 (100 episodes)"
