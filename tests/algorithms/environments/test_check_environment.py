"""`check_environment`: built-in processes pass, each spoilt member is named."""

from fractions import Fraction

import numpy as np
import olivine
import pytest
from olivine.algorithms.environments.check import as_environment
from olivine.algorithms.environments.protocol import ObservationSpace, UnknownTruthError
from olivine.algorithms.exact import OwnCodeError
from olivine.algorithms.exact.data import EmpiricalMeasure

from tests.support.depth import with_rows
from tests.support.recording import MEMBERS, recording
from tests.support.refusals import refused


@pytest.mark.parametrize(
    "name", ["random-finite", "tabular", "lock", "lock-gaussian", "diabolical-lock"]
)
def test_built_in_environments_pass(name):
    assert olivine.check_environment(olivine.make(name, 0)) == ()


def test_what_cannot_be_checked_is_returned():
    env = olivine.from_simulator(
        lambda: 0, lambda a: (0, 0), 2, 2, codes=1, deterministic="transitions"
    )
    notes = olivine.check_environment(env)
    assert len(notes) == 2
    assert "taken on trust" in notes[1]


class Spoilt:
    """A good environment with one member replaced."""

    def __init__(self, **members):
        self.__dict__.update(members)
        self._inner = recording(olivine.make("tabular", 0), knows=True)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def _forward(name):
    """A member of the class itself, which an instance may override."""
    return property(
        lambda self: vars(self).get(name, getattr(self._inner, name)),
        lambda self, value: vars(self).__setitem__(name, value),
    )


for _name in MEMBERS:
    setattr(Spoilt, _name, _forward(_name))

DATA = {"actions": [0], "rewards": [0.5], "next_observations": [0], "weights": [20]}


def measure(observation=0, **more):
    return EmpiricalMeasure([observation], **{**DATA, **more})


@with_rows(
    "member, value, message",
    ("name", 3, "name gave 3; expected a str"),
    ("horizon", 0, "horizon gave 0; expected an integer, at least 1"),
    ("n_actions", 2.0, "n_actions gave 2.0"),
    ("max_states", None, "max_states gave None"),
    ("deterministic", "yes", "deterministic gave 'yes'; expected a bool"),
    ("trajectories", -1, "trajectories gave -1"),
    ("space", lambda h: 5, r"space\(1\) gave 5; expected an ObservationSpace"),
    ("space", lambda h: ObservationSpace(2), r"space\(0\) gave .* a ValueError"),
    ("features", [np.eye(2)], "features gave list; expected None, or a tuple"),
    ("features", (np.eye(7),) * 3, r"features\[0\] gave shape \(7, 7\)"),
    ("draw", lambda *a, **k: 3, "draw.* expected an EmpiricalMeasure"),
    ("draw", lambda *a, **k: None, r"draw\(\['uniform'\], 20, rng\) gave N"),
    ("draw", lambda *a, **k: None, r"draw\(\[π, π, 'uniform'\], 20, rng\) gave None"),
    (
        "draw",
        lambda *a, **k: EmpiricalMeasure([0], weights=[20]),
        "gave no actions or no rewards; expected both",
    ),
    ("draw", lambda *a, **k: measure(99), "observations of shape .* codes in"),
    ("draw", lambda *a, **k: measure(rewards=[2.0]), r"rewards \[2\.\]"),
    ("draw", lambda *a, **k: measure(actions=[7]), r"actions \[7\]"),
    ("draw", lambda *a, **k: measure(weights=[3]), "3 draws; expected 20"),
    ("draw", lambda *a, **k: 1 // 0, r"rng, level=1\) gave ZeroDivisionError"),
    ("draw", lambda *a, **k: measure(), "0 trajectories more"),
    ("draw", lambda *a, **k: measure(), "next observations; expected none"),
    ("run", lambda *a, **k: None, r"run\(\[\], 1, rng\) gave None"),
    ("run", lambda *a, **k: None, r"NoneType; expected Trajectories \(n, mean"),
    ("draw", None, "draw.* gave TypeError"),
)
def test_a_spoilt_member_is_named(member, value, message):
    refused(message, olivine.check_environment, Spoilt(**{member: value}))


def test_an_object_that_raises_when_it_is_asked_for_a_member_is_told():
    class Empty:
        def __getattr__(self, name):
            return {}[name]

    for call in olivine.check_environment, as_environment:
        refused("raised KeyError: '", call, Empty())


def test_a_mean_that_is_no_fraction_is_named():
    class Float:
        n, mean_return, paths, transitions = 20, 0.5, np.zeros((3, 3), int), ()
        returns = np.array([0.5, 2, 0])

    env = Spoilt(run=lambda *a, **k: Float())
    with pytest.raises(ValueError, match=r"mean_return 0.5; expected a Fraction") as e:
        olivine.check_environment(env)
    assert "gave returns [0.5 2.  0. ]; expected 3 returns in [0, 1]" in str(e.value)
    assert "0 transitions; expected 3" in str(e.value)  # all failures, not the first


class Wrapped:
    """Gives what another has, its own truth not known."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        if name == "truth":
            raise UnknownTruthError("not told")
        return getattr(self._inner, name)


def test_members_come_from_any_object_and_missing_ones_are_listed():
    env = Wrapped(olivine.make("tabular", 0))
    assert "not told" in olivine.check_environment(env)[0]
    assert olivine.learn("psdp", env, parameters="practical").status == "success"
    seen = as_environment(Wrapped(olivine.make("grid", 0)))
    assert [level.shape for level in seen.features][:2] == [(8, 9), (24, 9)]
    refused("draw gave nothing", olivine.check_environment, Wrapped(Fraction(1)))
    with pytest.raises(ValueError, match="draw gave nothing") as caught:
        olivine.check_environment(Fraction(1))
    assert str(caught.value).count("a member of the protocol") == len(MEMBERS)


def _fails(*given, **more):
    raise KeyError("no such cell")


@with_rows(
    "member, value, message",
    ("draw", _fails, r"draw\(.*raised KeyError: .*test_check_environment.py:"),
    ("draw", lambda *given, **more: None, r"draw\(.*gave NoneType; expected an Emp"),
    (
        "draw",
        lambda rules, n, rng, **more: measure(9**9, weights=[n]),
        "expected codes in 0",
    ),
    ("run", _fails, r"run\(.*raised KeyError"),
    ("run", lambda *given, **more: 3, r"run\(.*gave int; expected Trajectories"),
    ("space", lambda level: 4, r"space\(1\) returned int; expected ObservationSp"),
    ("horizon", "2", "horizon: '2' is no positive integer"),
    ("n_actions", None, "n_actions: None is no positive integer"),
    ("deterministic", 1, "deterministic returned int; expected bool"),
    ("name", 3, "name returned int; expected str"),
    ("truth", 3, "truth is int, which lacks exact, optimal_value"),
)
def test_an_algorithm_names_what_ones_own_environment_gave(member, value, message):
    with pytest.raises(OwnCodeError, match=message):
        olivine.learn("valor", Spoilt(**{member: value}), parameters="practical")


def test_sizes_of_ones_own_environment_are_plain_integers():
    env = as_environment(Spoilt(horizon=np.int64(2), n_actions=np.int64(2)))
    assert {type(env.horizon), type(env.n_actions), type(env.max_states)} == {int}
    assert as_environment(env) is env
