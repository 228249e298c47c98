"""Classes made complete, or made to violate one assumption; the claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.assumptions import (
    CLIPPED,
    NAMES,
    check_assumptions,
    complete_classes,
)
from olivine.algorithms.assumptions.closure import violating_classes
from olivine.algorithms.environments import make, random_finite

from tests.support.refusals import refused

PR, VR, PV, PC = NAMES
ASKED = {"policy-value": (PR, VR, PV), "policy": (PR, VR, PC), "both": NAMES}


@given(st.data())
def test_complete_classes_are_complete(data) -> None:
    env = random_finite(
        np.random.default_rng(data.draw(st.integers(0, 10**6))),
        states=data.draw(st.integers(1, 3)),
        actions=data.draw(st.integers(1, 3)),
        horizon=data.draw(st.integers(1, 3)),
        observations=data.draw(st.integers(1, 2)),
        denominator=data.draw(st.sampled_from([1, 12])),
        distinct=False,
    )
    kind = data.draw(st.sampled_from(sorted(ASKED)))
    size = data.draw(st.sampled_from([1, 2, 7, 30]))
    classes = complete_classes(env, np.random.default_rng(0), kind, size=size)
    found = check_assumptions(env, *classes, ASKED[kind])
    assert {n: a.holds for n, a in found.items()} == dict.fromkeys(ASKED[kind], True)
    for family in classes:
        assert all(1 <= len(c) <= size for c in family.classes)
    again = complete_classes(env, np.random.default_rng(0), kind, size=size)
    for h in range(1, env.horizon + 1):
        codes = np.arange(env.space(h).n_codes)
        for one, other in zip(classes, again, strict=True):
            first = one.at_level(h).evaluate_all(codes)
            assert np.array_equal(first, other.at_level(h).evaluate_all(codes))


def test_there_is_something_to_learn() -> None:
    env = make("random-finite", 0, states=3, actions=3, horizon=3)
    for kind in ASKED:
        values, policies = complete_classes(env, np.random.default_rng(0), kind)
        for h in (2, 3):
            assert len(values.at_level(h)) > 8
            assert len(policies.at_level(h)) > 2


@pytest.mark.parametrize("name", [*NAMES, CLIPPED])
@pytest.mark.parametrize("env", ["random-finite", "tabular"])
def test_violating_classes(name, env) -> None:
    made = make(env, 1, states=2, actions=2, horizon=3)
    classes = violating_classes(made, np.random.default_rng(0), name, size=16)
    found = check_assumptions(made, *classes, [*NAMES, CLIPPED])
    assert found[name].holds is False
    if name not in (PR, VR):
        assert found[PR].holds is True
        assert found[VR].holds is True


def test_refusals() -> None:
    env, rng = (
        make("tabular", 0, states=1, actions=1, horizon=1),
        np.random.default_rng(0),
    )
    refused("kind: 'value'", complete_classes, env, rng, "value")
    refused("size", complete_classes, env, rng, size=0)
    refused("not finite", complete_classes, make("lock", 0), rng)
    refused("violate: 'complete'", violating_classes, env, rng, "complete")
    refused("no classes found", violating_classes, env, rng, PC)
