"""Processes one step at a time: what each step pays, where it leads, when it ends."""

from fractions import Fraction

import numpy as np
import olivine
from olivine.algorithms.environments.to_gym import stepper
from olivine.algorithms.mdp.tabular import TabularMDP

from tests.support.depth import with_rows

MDP = TabularMDP.from_lists(
    [
        ("start", 1, [("a", 0, {"left": 1}), ("b", Fraction(1, 8), {"right": 1})]),
        ("left", 2, [("a", Fraction(1, 4), {}), ("b", Fraction(3, 8), {})]),
        ("right", 2, [("a", Fraction(1, 2), {}), ("b", Fraction(5, 8), {}),
                      ("c", Fraction(3, 4), {})]),
    ],
    horizon=2,
)  # fmt: skip


@with_rows(
    "actions, seen, paid",
    ((0, 0), (1, None), (0, 1 / 4)),
    ((0, 1), (1, None), (0, 3 / 8)),
    ((1, 0), (2, None), (1 / 8, 1 / 2)),
    ((1, 2), (2, None), (1 / 8, 3 / 4)),
)
def test_an_action_of_an_mdp_pays_its_own_reward(actions, seen, paid):
    played = stepper(MDP)
    assert played.begin(np.random.default_rng(0)) == 0
    assert [played.step(a) for a in actions] == list(zip(seen, paid, strict=True))


def test_a_simulator_ends_after_its_last_level():
    seen = [0]

    def reset():
        seen[0] = 0
        return 0

    def step(action):
        seen[0] += 1
        return seen[0], action / 4  # the last observation, 2, is no code of a level

    env = olivine.from_simulator(reset, step, 2, 2, codes=[1, 2])
    played = stepper(env)
    for _ in range(2):
        assert played.begin(np.random.default_rng(0)) == 0
        assert [played.step(1), played.step(0)] == [(1, 0.25), (None, 0.0)]
