"""Theorem T by search: in `strict` every legal run meets exactly the hard program."""

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.olive.parameters import theorem_parameters
from olivine.algorithms.olive_program.model import policy_optimum
from olivine.algorithms.olive_program.program import OliveProgram
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.run.every_tie import Faces, Noise, every_tie

from tests.support.depth import deep, spread, with_rows
from tests.support.families import as_three_sat, families

FEW = [
    (1, [[1, 1, 1]]),
    (1, [[1, -1, 1]]),
    (2, [[1, 2, 2]]),
    (1, [[1, 1, 1], [-1, -1, -1]]),
]


def up_to_renaming(n: int, m: int) -> Iterator[list[list[int]]]:
    """Formulas with exactly n variables and m clauses; signs matter, as y is zero."""
    literals = [x for i in range(1, n + 1) for x in (i, -i)]
    clauses = list(itertools.combinations_with_replacement(literals, 3))
    seen = set()
    for rows in itertools.combinations_with_replacement(clauses, m):
        forms = []
        for order in itertools.permutations(range(1, n + 1)):
            to = {s * (i + 1): s * k for i, k in enumerate(order) for s in (1, -1)}
            forms.append(tuple(sorted(tuple(sorted(to[x] for x in r)) for r in rows)))
        if min(forms) not in seen:
            seen.add(min(forms))
            yield [list(r) for r in rows]


@pytest.mark.parametrize("levels", ["lowest", "largest"])
@pytest.mark.parametrize(("n", "clauses"), spread(FEW, 2))
def test_every_run_meets_the_hard_program(n, clauses, levels):
    found = every_tie(Family(as_three_sat(clauses, n), "strict"), levels=levels)
    assert found.always, found.example
    assert found.rounds == (len(clauses) + 2 * n + 1,) * 2
    # Any subset of the X_i, then of the C_j, then of the pairs, after s0.
    assert found.programs == 1 + 2**n + 2 ** len(clauses) - 1 + 2**n - 2
    assert found.faces >= found.programs


@pytest.mark.parametrize(("n", "clauses"), FEW)
def test_with_any_level_some_run_does_not(n, clauses):
    found = every_tie(Family(as_three_sat(clauses, n), "strict"), levels="any")
    assert not found.always
    assert found.example


@pytest.mark.parametrize("variant", ["paper", "normalized"])
@pytest.mark.parametrize("levels", ["lowest", "largest"])
def test_in_the_other_variants_some_run_does_not(variant, levels):
    family = Family(as_three_sat([[1, 2, 2]], 2), variant)
    assert not every_tie(family, levels=levels).always


PHI = Fraction(1, 100)
ETA = (Fraction(1, 20) - PHI) / 11, (Fraction(1, 20) - PHI) / 7


@pytest.mark.parametrize(
    ("formula", "noise"),
    spread(itertools.product(FEW[::3], [("lowest", ETA[0]), ("largest", ETA[1])]), 2),
)
def test_the_noise_that_runs_stand_is_exact(formula, noise):
    """All estimates below the threshold; at it a run binds s0 a second time."""
    (n, clauses), (levels, eta) = formula, noise
    family = Family(as_three_sat(clauses, n), "strict")
    stop = 3 * PHI + (6 * eta if levels == "lowest" else 0)
    below = Noise(eta - Fraction(1, 10**6), PHI, stop)
    found = every_tie(family, levels=levels, noise=below)
    assert found.always, found.example
    at = every_tie(family, levels=levels, noise=Noise(eta, PHI, stop))
    assert at.example[0] == at.example[-1] == "1 s0"


@given(families(variant=Variant.STRICT, max_variables=1, max_clauses=1), st.data())
@settings(max_examples=deep(8, 4))  # every run of OLIVE in each
def test_thresholds_decide_whether_all_noisy_runs_meet_it(family, data):
    """Both thresholds for S, wherever η, φ and S lie."""
    phi = Fraction(data.draw(st.integers(1, 40)), 1000)
    eta = phi * Fraction(data.draw(st.integers(1, 20)), 20)
    stop = 3 * phi + data.draw(st.integers(0, 100)) * Fraction(1, 1000)
    levels = data.draw(st.sampled_from(["lowest", "largest"]))
    wanted = stop < Fraction(1, 20) + 2 * phi - 5 * eta
    if levels == "lowest":
        wanted &= stop > 3 * phi + 6 * eta
    else:
        wanted &= phi + 7 * eta < Fraction(1, 20)
    noise = Noise(eta, phi, stop)
    assert every_tie(family, levels=levels, noise=noise).always == wanted


@with_rows(
    "further, met, levels",
    *(
        (further, further < 0, levels)
        for further in (-1, 0, 1)
        for levels in ("lowest", "largest")
    ),
    keep=3,
)
def test_the_accuracy_of_olive_with_its_own_constants(further, met, levels):
    """Constraints within φ, errors of a round within ε/(8H): runs go on if ε < 1/15."""
    epsilon = Fraction(1, 15) + further * Fraction(1, 10**6)
    own = theorem_parameters(
        float(epsilon), 0.1, horizon=3, n_actions=7, rank=3, log_size=1.0
    )
    noise = Noise(own.tolerance, own.tolerance, 5 * epsilon / 8, epsilon / 24)
    family = Family(as_three_sat([[1, 1, 1]], 1), "strict")
    assert abs(own.stop - noise.stop) < Fraction(1, 10**8)
    assert every_tie(family, levels=levels, noise=noise).always == met


@with_rows(
    "noise, message",
    ((Fraction(1, 50), PHI, 1), "outside 0..φ"),
    ((-PHI, PHI, 1), "outside 0..φ"),
    ((PHI, PHI, 1, -PHI), "noise -1/100 of the errors is negative"),
    ((PHI, PHI, 1, PHI, -PHI), "γ = -1/100 is negative"),
    ((PHI, PHI, 2 * PHI), "cannot stop at 1/50, below Hφ = 3/100"),
)
def test_noise_that_olive_does_not_allow(noise, message):
    family = Family(as_three_sat([[1, 1, 1]], 1), "strict")
    with pytest.raises(ValueError, match=message):
        every_tie(family, noise=Noise(*noise))


@pytest.mark.long  # four minutes
def test_all_small_formulas():
    searched, faces = 0, Counter()
    for n, m in itertools.product((1, 2), (1, 2)):
        for clauses in up_to_renaming(n, m):
            family = Family(as_three_sat(clauses, n), "strict")
            for levels in ("lowest", "largest"):
                found = every_tie(family, levels=levels)
                assert found.always, (clauses, levels, found.example)
                assert found.programs == 2 ** (n + 1) + 2**m - 2
                faces[levels] += found.faces
            assert not every_tie(family, levels="any").always, clauses
            searched += 1
    assert searched == 4 + 10 + 10 + 110
    # The sum of the last column in docs/ties.md.
    assert faces == {"lowest": 20470, "largest": 20470}


@pytest.mark.parametrize("phi", [PHI, 5 * PHI])
def test_no_policy_is_worth_more_than_what_cuts_the_search(phi):
    """With noise, too: values are attained at φ + η."""
    family = Family(as_three_sat([[1, 1, 1]], 1), "strict")
    mdp, bound = family.mdp(), list(family.distributions())
    search = Faces(mdp, family.ranges(), "lowest", Noise(phi, phi, 3 * phi))
    most = OliveProgram(mdp, bound, 2 * phi, upper=family.ranges())
    caps = search._caps(most)
    for policy in itertools.product(*map(range, mdp.action_counts)):
        pair = policy_optimum(most, policy)
        if pair is not None:
            assert most.objective(pair) <= caps[policy[0]]
