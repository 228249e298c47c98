"""Each check of a round can fail, and says which round failed and why."""

from fractions import Fraction

import numpy as np
import pytest
from olivine.algorithms.mdp.planning import Distribution
from olivine.reduction.family.family import Family
from olivine.reduction.run.bound import StartBound
from olivine.reduction.run.run import adversarial_run
from olivine.reduction.run.schedule import Move, Setting, schedule

from tests.support.families import as_three_sat

FAMILY = Family(as_three_sat([[1, -2, 3], [-1, 2, 3]], 3))


def altered(family, number, **changes):
    """The schedule with one move changed."""
    moves = list(schedule(family))
    old = moves[number - 1]
    fields = {name: getattr(old, name) for name in Move.__dataclass_fields__}
    moves[number - 1] = Move(**(fields | changes))
    return moves


def failed(moves, number):
    run = adversarial_run(FAMILY, None, moves)
    assert not run.holds
    assert any(line.startswith(f"round {number}, [") for line in run.failures())
    return run.rounds[number - 1]


def test_a_pair_a_value_or_an_action_that_is_wrong_is_named():
    changes = dict(next(schedule(FAMILY)).changes)
    changes[0] = Setting(changes[0].action, Fraction(9, 10))
    done = failed(altered(FAMILY, 1, changes=changes), 1)
    assert not done.checks.maximiser
    assert "g(s0) is 9/10, not the optimum 1" in done.failures[0]
    changes = dict(list(schedule(FAMILY))[2].changes)
    high = Fraction(3, 2)
    changes[FAMILY.literal_state(0, 1)] = Setting(0, high, (high,))
    done = failed(altered(FAMILY, 3, changes=changes), 3)
    assert "the Q-values at x1^1 leave [0, 1]" in done.failures[0]
    changes = dict(next(schedule(FAMILY)).changes)
    zero, one = Fraction(0), Fraction(1)
    changes[2] = Setting(0, zero, (zero, one, zero, zero, zero, zero, zero))
    done = failed(altered(FAMILY, 1, changes=changes), 1)
    assert "the action at C2 is not greedy" in done.failures[0]


def test_a_broken_constraint_is_named_until_it_is_mended():
    changes = dict(list(schedule(FAMILY))[1].changes)
    del changes[1]  # C_1 stays at 1
    run = adversarial_run(FAMILY, None, altered(FAMILY, 2, changes=changes))
    assert [r.number for r in run.rounds if not r.checks.maximiser] == [2]
    line = "the average Bellman error at {C1} is 1, not 0"
    assert line in run.rounds[1].failures[0]
    # in round 3 x_1 rises to 1, and with it the clause is set anew
    assert run.rounds[2].checks.maximiser


def test_a_level_without_error_or_a_missing_round_is_named():
    done = failed(altered(FAMILY, 3, level=1), 3)
    assert not done.checks.positive_error
    assert not done.checks.constraint_as_stated
    assert "the average Bellman error at level 1 is 0" in done.failures[0]
    assert "it adds {s0} at level 1" in done.failures[1]
    assert "it does not add {x1^0, x1^1} at level 2" in done.failures[2]
    moves = list(schedule(FAMILY))[:-1]
    run = adversarial_run(FAMILY, None, moves)
    assert all(r.checks.maximiser and r.checks.positive_error for r in run.rounds)
    assert not run.program_as_stated
    assert len(run.difference) == 1
    assert run.difference[0].endswith("is stated but not collected")


def test_a_run_that_binds_literals_behind_a_clause_is_refused():
    """Level 3 of a clause round tells members apart: it is not in the program."""
    moves = altered(FAMILY, 1, level=3)
    y = np.zeros(3, dtype=bool)
    run = adversarial_run(FAMILY, ~y, moves)
    assert not run.rounds[0].checks.constraint_as_stated
    assert any("collected but not stated" in line for line in run.difference)


@pytest.mark.parametrize("y", [[True], [0, 1, 2], "010"])
def test_a_member_that_is_none_is_refused(y):
    with pytest.raises(ValueError, match="truth values"):
        adversarial_run(FAMILY, y)


def test_moves_that_name_nothing_are_refused():
    with pytest.raises(ValueError, match="level 4 is outside"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, level=4))
    changes = {1: Setting(7, Fraction(0))}
    with pytest.raises(ValueError, match="'C1' has no action 7"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, changes=changes))
    changes = {1: Setting(0, Fraction(1), (Fraction(1),) * 6)}
    with pytest.raises(ValueError, match="do not match"):
        adversarial_run(FAMILY, None, altered(FAMILY, 1, changes=changes))


def test_only_a_pair_of_equal_shares_bounds_the_start():
    """Unequal shares, as behind a clause with x and not x, leave it more."""
    family = Family(as_three_sat([[1, 1, -1]], 1), "strict")
    first, bound = family.literal_state(0, 0), StartBound(family)
    for state, level in ((0, 1), (family.clause_state(0), 2), (first - 1, 2)):
        bound.add(Distribution.from_fractions({state: 1}, level))
    for share, best in ((Fraction(1, 3), "17/100"), (Fraction(1, 2), "3/20")):
        shares = {first: share, first + 1: 1 - share}
        bound.add(Distribution.from_fractions(shares, 3))
        assert bound.value() == Fraction(best)


def test_a_clause_without_a_weight_bounds_the_start_as_one_of_weight_1():
    clauses = [[1, 2, 3], [-1, -2, 3], [1, -2, -3]]
    plain, weighted = (
        Family(as_three_sat(clauses, 3, weights), "strict")
        for weights in (None, [1, 1, 1])
    )
    bounds = [StartBound(family) for family in (plain, weighted)]
    seen = []
    first, variables = plain.layout.first_literal_state, range(4, 7)
    shares = [{v: Fraction(1)} for v in (0, *variables)]
    shares += [{first + 2 * i + k: Fraction(1, 2) for k in (0, 1)} for i in range(3)]
    shares += [{clause: Fraction(1)} for clause in (1, 2, 3)]
    for share in shares:
        level = 1 if 0 in share else 3 if max(share) >= first else 2
        for bound in bounds:
            bound.add(Distribution.from_fractions(share, level))
        seen.append([bound.value() for bound in bounds])
    assert all(one == other for one, other in seen)
    assert seen[-1][0] == Fraction(3, 20) < seen[-2][0]
