"""The incremental check against evaluating everything, on any run of any MDP."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from olivine.algorithms.mdp.planning import Distribution, Pair
from olivine.algorithms.olive_program.program import (
    OliveProgram,
    average_bellman_errors,
)
from olivine.reduction.run.check import Replay
from olivine.reduction.run.schedule import Setting

from tests.support.tabular import mdps, one_variable_family

VALUES = st.sampled_from([Fraction(k, 6) for k in (-1, 0, 0, 1, 2, 3, 6, 7)])


@st.composite
def changes(draw, mdp):
    """New Q-values of some states: out of range and not greedy now and then."""
    found = {}
    for state in draw(st.lists(st.integers(0, mdp.n_states - 1), unique=True)):
        count = len(mdp.actions(state))
        action = draw(st.integers(0, count - 1))
        if draw(st.booleans()):
            found[state] = Setting(action, draw(VALUES))
            continue
        q = draw(st.lists(VALUES, min_size=count, max_size=count))
        found[state] = Setting(action, q[action], tuple(q))
    return found


@given(mdp=mdps(), all_levels=st.booleans(), data=st.data())
def test_any_run(mdp, all_levels, data):
    replay = Replay(mdp, 0, 1, all_levels=all_levels)
    values = [Fraction(0)] * mdp.n_states
    policy = [0] * mdp.n_states
    q = [[Fraction(0)] * len(mdp.actions(s)) for s in range(mdp.n_states)]
    collected: list[Distribution] = []
    for _ in range(data.draw(st.integers(1, 6))):
        level = data.draw(st.integers(1, mdp.horizon))
        changed = data.draw(changes(mdp))
        for state, setting in changed.items():
            values[state], policy[state] = setting.value, setting.action
            row = [Fraction(0)] * len(q[state])
            row[setting.action] = setting.value
            q[state] = list(setting.q) if setting.q is not None else row
        played = replay.play(changed, level)
        pair = Pair.from_fractions(values, policy)
        assert played.objective == values[mdp.start]
        assert list(played.errors) == average_bellman_errors(mdp, pair)
        broken = [
            v
            for v in OliveProgram(mdp, collected).violations(pair)
            if v.kind == "constraint"
        ]
        wrong = [s for s, row in enumerate(q) if max(row) != values[s]]
        wrong += [s for s, row in enumerate(q) if min(row) < 0 or max(row) > 1]
        assert len(played.broken) == len(broken) + len(set(wrong))
        for violation, line in pairs(broken, played):
            assert f"is {violation.amount}, not 0" in line
        added = []
        for h in range(1, mdp.horizon + 1) if all_levels else (level,):
            met = mdp.distribution(policy, h)
            known = [d.probabilities() for d in collected]
            if len(met.states) and met.probabilities() not in known:
                added.append(met)
                collected.append(met)
        assert list(played.added) == added
        assert replay.constraints == collected
        assert played.evaluated <= len(collected)


def pairs(broken, played):
    """Line up violated constraints with the last lines of a round."""
    lines = played.broken[len(played.broken) - len(broken) :]
    return zip(broken, lines, strict=True)


def test_only_what_is_touched_is_evaluated():
    """A change of C_2 leaves the constraint of C_1 alone, one of x1^0 does not."""
    mdp, _ = one_variable_family()
    replay = Replay(mdp)
    one, zero = Fraction(1), Fraction(0)
    tried = {0: Setting(1, one), 1: Setting(0, one)}
    assert replay.play(tried, 2).evaluated == 0
    assert [list(d.states) for d in replay.constraints] == [[1]]
    mended = {0: Setting(2, one), 1: Setting(0, zero), 2: Setting(0, one)}
    assert replay.play(mended, 1).evaluated == 1
    assert replay.play({2: Setting(1, one)}, 1).evaluated == 1  # s0, just added
    assert replay.play({3: Setting(0, one)}, 1).broken == (
        "the average Bellman error at {C1} is -2/3, not 0",
        "the average Bellman error at {s0} is 1/2, not 0",
    )


def test_the_range_must_hold_the_first_function():
    mdp, _ = one_variable_family()
    with pytest.raises(ValueError, match="0 lies outside"):
        Replay(mdp, Fraction(1, 2), 1)
