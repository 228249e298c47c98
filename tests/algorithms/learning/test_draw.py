"""What is drawn for an algorithm: classes, and what is refused of data."""

import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from olivine.algorithms.environments import make
from olivine.algorithms.exact.arrays import object_array
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.learning import draw_classes, metaalg
from olivine.algorithms.learning.draw_classes import (
    _choose,
    _decoded_policies,
    _local_functions,
    _optimal,
    _some_drawn,
    make_classes,
    make_q_class,
    optimal_member,
)
from olivine.algorithms.learning.metaalg import decisions
from olivine.algorithms.learning.problem import MonitorReport, contradictions
from olivine.algorithms.valor.parameters import PracticalParameters

from tests.support.refusals import refused


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


def test_linear_classes_have_the_box_that_suits_their_features(rng) -> None:
    """Features that are seen are the state's own; listed ones are mixed."""
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


def test_q_functions_that_cannot_be_made_are_refused(monkeypatch):
    blind = SimpleNamespace(
        name="blind",
        space=lambda level: SimpleNamespace(is_finite=False),
        truth=SimpleNamespace(emission=None),
    )
    with pytest.raises(ValueError, match="make_q_class: 'blind' has no decoder"):
        make_q_class(blind, np.random.default_rng(0))
    draw_classes.check_size(10**6)
    refused(r"size: 1000001 is not in 1\.\.1000000", draw_classes.check_size, 10**6 + 1)
    environment = make("random-finite", 0, states=2, actions=2, horizon=2)
    for bound in (True, "1"):
        with pytest.raises(ValueError, match=f"bound: {bound!r} is no number"):
            make_classes(environment, "linear", np.random.default_rng(0), bound=bound)
    entries = sum(environment.space(h).n_codes * 2 for h in (1, 2))
    monkeypatch.setattr(draw_classes, "MAX_ENTRIES", 5 * entries)
    assert len(make_q_class(environment, np.random.default_rng(0), size=5)) == 5
    with pytest.raises(ValueError, match=f"size: 6 functions have {6 * entries}"):
        make_q_class(environment, np.random.default_rng(0), size=6)


@pytest.mark.parametrize("size", [1, 2, 7, 16, 10**6])
def test_q_functions_hold_the_optimum_and_fill_the_size(size) -> None:
    """Different members, the whole product where it fits, one mistake in many."""
    environment = make("random-finite", 0, states=2, actions=2, horizon=2)
    functions = make_q_class(environment, np.random.default_rng(size), size=size)
    right, groups, _ = _optimal(environment)
    every = make_q_class(environment, np.random.default_rng(size), size=10**6)
    tables = [
        np.concatenate([functions.table(h)[m].ravel() for h in (1, 2)]).tolist()
        for m in range(len(functions))
    ]
    assert len(functions) == min(size, len(every))
    assert len({tuple(t) for t in tables}) == len(functions)
    assert optimal_member(functions, environment) is not None
    mistakes = [
        sum(
            (functions.table(h)[m][codes] != right[h - 1][codes]).any()
            for h, level in enumerate(groups, 1)
            for codes in level
        )
        for m in range(len(functions))
    ]
    assert mistakes.count(0) == 1
    if size in (7, 16):
        assert mistakes.count(1) >= (size - 1) // 2


def test_big_products_are_drawn_without_end() -> None:
    """Twice the size at least, each member once, and wrong at each state at times."""
    counts, size = [3] * 30, 40
    rows = _some_drawn(counts, size, np.random.default_rng(0))
    assert 2 * size <= len(rows) == len(set(rows)) <= 3 * size
    table = np.array(rows)
    assert (table.max(axis=0) == 2).all()
    assert (table.min(axis=0) == 0).all()
    few = _some_drawn([2, 2, 2, 2], 8, np.random.default_rng(0))  # every one there is
    assert len(few) == 16
    chosen = _choose(counts, size, np.random.default_rng(0)).tolist()
    assert len(chosen) == size
    assert [0] * 30 in chosen
    # Of so many states, a member drawn is wrong at more than one.
    assert sum(sum(map(bool, row)) == 1 for row in chosen) == (size - 1) // 2


def test_the_local_functions_of_a_state() -> None:
    """Q* first; then rotated, tempting, blunt and drawn ones, all different."""
    right = object_array([Fraction(1, 4), Fraction(1, 2)] * 2).reshape(2, 2)
    found = _local_functions(right, np.random.default_rng(0))
    assert np.array_equal(found[0], right)
    assert np.array_equal(found[1], right[:, ::-1])
    tempting = found[2]
    assert tempting.argmax(axis=1).tolist() == [0, 0]
    assert (tempting[:, 0] == 1).all()
    assert (tempting[:, 1] == Fraction(1, 2)).all()
    assert (found[3] == Fraction(3, 8)).all()
    assert all((v * 8).denominator == 1 and 0 <= v <= 1 for v in found[4].flat)
    flat = object_array([Fraction(1)]).reshape(1, 1)  # one action: nothing to rotate
    assert len(_local_functions(flat, np.random.default_rng(0))) <= 2


def test_paths_that_do_not_fit_into_memory_are_refused_before_the_run() -> None:
    most = metaalg._MOST_LISTED // 2  # without a rest
    environment = SimpleNamespace(horizon=2)
    metaalg._check_memory(environment, SimpleNamespace(n_exp=most))
    with pytest.raises(ValueError, match=f"n_exp: {most + 1} paths of 2 actions"):
        metaalg._check_memory(environment, SimpleNamespace(n_exp=most + 1))
    with pytest.raises(ValueError, match=r"n_exp: about 10\^41 paths"):
        metaalg._check_memory(environment, SimpleNamespace(n_exp=3 * 10**41))


@pytest.mark.parametrize(("rows", "balanced"), [(7, True), (6, True), (7, False)])
def test_balanced_data_have_each_action_equally_often(rows, balanced) -> None:
    environment = make("random-finite", 0, states=2, actions=3, horizon=2)
    p = PracticalParameters(0.3, 0.1, 2, 3, 2, n_train=rows, balanced=balanced)
    before = environment.trajectories
    data = metaalg.training_set(
        environment, (1,), p, np.random.default_rng(0), successors=False
    )
    drawn = environment.trajectories - before
    assert drawn == p.rows == (9 if balanced and rows == 7 else rows)
    if balanced:
        counts = np.bincount(data.actions, weights=data.weights, minlength=3)
        assert (counts == counts[0]).all()


def test_margins_beyond_floats_keep_their_sign() -> None:
    for sign in (1, -1):
        report = MonitorReport(sign > 0, Fraction(sign * 10**400), 1, "always")
        assert report.to_json()["margin"] == sign * sys.float_info.max
    broken = {
        "one": MonitorReport(True, None, 1, "premise"),
        "two": MonitorReport(None, None, 1, "premise"),
        "claim": MonitorReport(False, Fraction(-1), 1, "event", "why"),
    }
    assert contradictions(broken) == []  # a premise is not known to hold
    broken["two"] = broken["one"]
    assert contradictions(broken) == ["claim: why"]
