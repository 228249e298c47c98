"""MetaAlg by itself: what it accepts, what it explores, when it ends."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from olivine.algorithms.environments import from_lists
from olivine.algorithms.learning.events import EventFailedError
from olivine.algorithms.learning.metaalg import metaalg
from olivine.algorithms.learning.monitors import chance_of_unlearned

from tests.support.depth import with_rows

HALF = Fraction(1, 2)
EPS = Fraction(1, 5)


def chain():
    """Three levels of one state each; the first action pays 1/2 at the root."""
    return from_lists(
        [
            [("r", {"x": 1}, {"x": [HALF, 0]}, ["s", "s"])],
            [("s", {"y": 1}, {"y": [0, 0]}, ["t", "t"])],
            [("t", {"z": 1}, {"z": [0, 0]}, [])],
        ]
    )


def first(observations):
    return np.zeros(len(observations), dtype=np.int64)


def second(observations):
    return np.ones(len(observations), dtype=np.int64)


def run(estimates, *, policies=(first,) * 3, repeat=True, explore=None, **chosen):
    """Optimise gives the estimates one after the other, and the policies."""
    given = iter(estimates)
    called, iterations, env = [], [], chain()
    sizes = {"eps": EPS, "n_exp": 2, "n_eval": 5, "iterations": 2} | chosen
    outcome = metaalg(
        env,
        SimpleNamespace(**sizes, repeat_paths=repeat),
        np.random.default_rng(0),
        explore=called.append if explore is None else explore,
        optimise=lambda: (policies, next(given)),
        observers=[iterations.append],
    )
    return outcome, called, iterations, env


def test_an_estimate_is_accepted_up_to_half_epsilon_above_the_return():
    outcome, called, (step,), env = run([HALF + EPS / 2])
    assert outcome.succeeded
    assert outcome.policies == (first,) * 3
    assert outcome.iterations == 1
    assert called == [()]
    assert (step.mean_return, step.accepted) == (HALF, True)
    assert env.trajectories == 5
    outcome, called, steps, env = run([HALF + EPS / 2 + Fraction(1, 10**30), HALF])
    assert outcome.succeeded
    assert outcome.estimate == HALF
    assert [step.accepted for step in steps] == [False, True]
    # Levels 1..H-1, the first n_exp trajectories of each.
    assert called == [(), (0,), (0,), (0, 0), (0, 0)]
    assert env.trajectories == 10


def test_what_was_explored_is_kept_when_a_run_ends():
    outcome, called, steps, _ = run([1, 1, 1], repeat=False, iterations=3)
    assert not outcome.succeeded
    assert not outcome.event_failed
    assert "3 iterations" in outcome.reason
    assert len(steps) == outcome.iterations == 3
    assert called == [(), (0,), (0, 0)]
    assert outcome.policies == (first,) * 3

    def explore(path):
        if path:
            raise EventFailedError("too much")

    outcome, _, steps, _ = run([1], explore=explore)
    assert outcome.event_failed
    assert not outcome.succeeded
    assert outcome.reason == "too much"
    assert (outcome.policies, outcome.estimate) == ((first,) * 3, 1)
    assert len(steps) == 1

    def never(path):
        raise EventFailedError("at once")

    outcome, _, steps, _ = run([], explore=never)
    assert (outcome.policies, outcome.iterations, steps) == (None, 0, [])


def branching():
    """Level 2 has "a" and "b", level 3 "c" and "d"; the root emits x and y.

    Every action pays, which must not be taken for a chance.
    """
    none = [Fraction(1, 8), Fraction(1, 4)]
    return from_lists(
        [
            [("r", {"x": HALF, "y": HALF}, {"x": none, "y": none}, ["a", "b"])],
            [
                ("a", {"p": 1}, {"p": none}, ["c", "d"]),
                ("b", {"q": Fraction(1, 4), "s": Fraction(3, 4)},
                 {"q": none, "s": none}, ["c", "d"]),
            ],
            [("c", {"u": 1}, {"u": none}, []), ("d", {"v": 1}, {"v": none}, [])],
        ]
    )  # fmt: skip


@with_rows(
    "missing, chance",
    ((), 0),
    ([(1, 0)], 1),
    ([(2, 0)], Fraction(1, 2)),
    ([(2, 1)], Fraction(1, 2)),
    ([(3, 0)], Fraction(1, 2) + Fraction(1, 8)),
    ([(3, 1)], Fraction(3, 8)),
    ([(2, 1), (3, 1)], Fraction(1, 2)),  # counted once
    ([(2, 0), (3, 1)], Fraction(1, 2) + Fraction(3, 8)),
    ([(3, 0), (3, 1)], 1),
)
def test_chance_of_meeting_what_is_not_learned(missing, chance) -> None:
    """Root x to "a", y to "b"; "a" to "c"; "b" to "c" at q and to "d" at s."""
    env = branching()
    learned = [{0}, {0, 1}, {0, 1}]
    for level, state in missing:
        learned[level - 1].discard(state)
    policies = [lambda x: x % 2, lambda x: np.array([0, 0, 1])[x], first]
    assert chance_of_unlearned(env.truth, 2, learned, policies) == chance


def test_chance_of_meeting_what_is_not_learned_by_mixtures() -> None:
    """A quarter of the time to "a", whatever is seen at the root."""
    policies = [lambda x: np.tile([0.25, 0.75], (len(x), 1)), first, first]
    learned = [{0}, {1}, {0, 1}]
    found = chance_of_unlearned(branching().truth, 2, learned, policies)
    assert found == Fraction(1, 4)
