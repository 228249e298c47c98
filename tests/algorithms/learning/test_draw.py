"""What is drawn for an algorithm: classes, and what is refused of data."""

from types import SimpleNamespace

import numpy as np
import pytest
from olivine.algorithms.environments import make
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning.draw_classes import _decoded_policies, make_classes
from olivine.algorithms.learning.draw_q_functions import make_q_class
from olivine.algorithms.learning.metaalg import decisions


@pytest.mark.parametrize("reward", [1 + 2**-20, -(2**-20), 2.0])
def test_rewards_outside_the_unit_interval_are_refused(reward) -> None:
    data = EmpiricalMeasure([0, 0], actions=[0, 1], rewards=[0.5, reward])
    with pytest.raises(ValueError, match=r"rewards: outside \[0, 1\]"):
        decisions(data)


def test_data_without_actions_or_rewards_are_refused() -> None:
    with pytest.raises(ValueError, match="actions or rewards are missing"):
        decisions(EmpiricalMeasure([0], actions=[0]))
    with pytest.raises(ValueError, match="actions or rewards are missing"):
        decisions(EmpiricalMeasure([0], rewards=[0]))
    edges = EmpiricalMeasure([0, 0], actions=[0, 1], rewards=[0, 1])
    assert [column.tolist() for column in decisions(edges)] == [[0, 1], [0, 1]]


def test_linear_classes_have_the_box_that_suits_their_features() -> None:
    """Features that are seen are the state's own; listed ones are mixed."""
    rng = np.random.default_rng(0)
    seen, _ = make_classes(make("lock-gaussian", 0, horizon=2), "linear", rng)
    listed = make("tabular", 0, states=2, actions=2, horizon=2)
    listed.features = [np.eye(listed.space(h).n_codes) for h in (1, 2)]
    tables, _ = make_classes(listed, "linear", rng)
    for h in (1, 2):
        assert (seen.at_level(h).bound, seen.at_level(h).clipped) == (1.0, False)
        assert (tables.at_level(h).bound, tables.at_level(h).clipped) == (4.0, True)
    chosen, _ = make_classes(listed, "linear", rng, bound=0.5)
    assert chosen.at_level(1).bound == 0.5


@pytest.mark.parametrize("size", [1, 2, 8, 30, 10**4])
def test_policies_of_decoded_states_hold_the_best_and_keep_to_the_size(size) -> None:
    environment = make("lock", 0, horizon=3)
    truth, k = environment.truth, environment.n_actions
    for level in (1, 2, 3):
        n = truth.n_states(level)
        rng = np.random.default_rng(size)
        found = _decoded_policies(environment, level, size, rng)
        assert len(found) == min(k, max(2, int(size ** (1 / n) + 1e-9))) ** n
        path = next(p for p in ((), (0,), (0, 0)) if len(p) == level - 1)
        x = environment.draw(path, 200, rng, level=level).observations
        best = np.asarray(truth.optimal_policies()[level - 1](x))
        assert any((member(x) == best).all() for member in found.members)


def test_features_without_a_decoder_have_no_q_functions() -> None:
    blind = SimpleNamespace(
        name="blind",
        space=lambda level: SimpleNamespace(is_finite=False),
        truth=SimpleNamespace(emission=None),
    )
    with pytest.raises(ValueError, match="make_q_class: 'blind' has no decoder"):
        make_q_class(blind, np.random.default_rng(0))
