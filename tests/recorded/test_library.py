"""What the oracles, simulators and checks of assumptions give is as recorded."""

import dataclasses
import enum
from fractions import Fraction

import numpy as np
import olivine
import pytest
from olivine.algorithms import classes
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.oracles.csc import csc
from olivine.algorithms.oracles.least_squares import least_squares
from olivine.algorithms.oracles.lp import Constraint, Functional, lp, mean_discrepancy
from olivine.algorithms.oracles.multi import METHODS, ClassificationSet, multi
from olivine.claims import samples

from tests.support.depth import with_rows
from tests.support.recorded import recorded

N, K = 4, 3
SEEDS, SLIPS, WORLDS = range(4), (0.0, 0.25), ("tabular", "random-finite", "grid")
KINDS = "tabular", "finite", "linear"
KEYS = [
    *(f"oracles {kind} {seed}" for kind in KINDS for seed in SEEDS),
    *(f"simulator {slip}" for slip in SLIPS),
    *(f"assumptions {name} {kind}" for name in WORLDS for kind in KINDS[:2]),
    "formulas of claims",
]
PLAIN = (bool, int, float, str, Fraction, enum.Enum, type(None))


def shown(result, *functions: str) -> dict:
    """Plain fields of an answer, and its functions at all observations."""
    found = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)}
    plain = {k: v for k, v in found.items() if isinstance(v, PLAIN)}
    at = {k: found[k] and np.asarray(found[k](np.arange(N))) for k in functions}
    return plain | at


def classes_of(rng):
    """Policies and value functions of each kind."""
    features = np.eye(N)[:, :3] + 0.25
    some = rng.integers(0, K, (5, N))
    yield "tabular", classes.TabularPolicyClass(N, K), classes.TabularValueClass(N)
    values = classes.FiniteValueClass(rng.integers(0, 5, (6, N)) / 4)
    yield "finite", classes.FinitePolicyClass(some, K), values
    linear = classes.LinearPolicyClass(features, K)
    yield "linear", linear, classes.LinearValueClass(features, bound=1)


@pytest.mark.parametrize("seed", SEEDS)
def test_oracles(seed, rng) -> None:
    rng = np.random.default_rng(seed)
    sets = [
        ClassificationSet(
            EmpiricalMeasure(rng.integers(0, N, 6)), rng.integers(0, 5, (6, K)) / 4, 0.6
        )
        for _ in range(3)
    ]
    first, second = sets[0].data, sets[1].data
    accuracy = {"epsilon_sub": 1e-6, "epsilon_feas": 1e-6}
    mean = Functional.expectation(first, field="observations")
    wanted = Constraint(
        Functional.expectation(second, field="observations"), lower=0.25, upper=0.75
    )
    for name, policies, values in classes_of(rng):
        found = {
            "csc": shown(csc(policies, first, sets[0].costs, epsilon_sub=1), "policy"),
            "least_squares": shown(
                least_squares(values, first, rng.integers(0, 5, 6) / 4, epsilon_sub=1),
                "function",
            ),
            "apart": shown(
                mean_discrepancy(values, first, second, epsilon_sub=0.1), "function"
            ),
        }
        for up in (True, False):
            answer = lp(values, mean, [wanted], maximise=up, **accuracy)
            found[f"lp {up}"] = shown(answer)
        for method in METHODS:
            try:
                answer = multi(policies, sets, epsilon_feas=0.05, method=method)
                found[f"multi {method}"] = shown(answer)
            except ValueError as error:
                found[f"multi {method}"] = str(error)
        recorded("library", f"oracles {name} {seed}", found)


def walk(slip: float):
    """A simulator: right adds 1/3 three times; it slips."""
    at, rng = [1, 0], [np.random.default_rng(0)]

    def reset(seed):
        at[:], rng[0] = (1, 0), np.random.default_rng(seed)
        return 1

    def step(action):
        right = action == 1 and rng[0].random() >= slip
        at[:] = max(0, min(3, at[0] + (1 if right else -1))), at[1] + 1
        return at[0], right / 3, at[1] == 3

    codes = {"codes": 4, "states": 4}
    return olivine.from_simulator(reset, step, 2, 3, **codes)


@with_rows("slip", *SLIPS)
def test_simulators(slip) -> None:
    env = walk(slip)
    left, right = (classes.TabularPolicy(np.full(4, a)) for a in (0, 1))
    odd = classes.TabularPolicy(np.array([0, 1, 0, 1]))
    half = [Fraction(1, 2)] * 2
    found = {}
    for name, policy in {
        "right": right,
        "odd": odd,
        "mixed": classes.MixedPolicy((left, odd), half, 2),
        "some": classes.MixedPolicy((right, odd), half, 2),
    }.items():
        played = olivine.evaluate(env, [policy] * 3, 60, seed=3)
        found[name] = played.to_json()
    for name in ("psdp", "fqi", "rmax"):
        result = olivine.learn(name, env, parameters="practical", seed=1)
        found[name] = result.to_json() | {"seed": None}
    recorded("library", f"simulator {slip}", found)


@with_rows("name", *WORLDS)
def test_assumptions(name) -> None:
    env = olivine.make(name, 1)
    for kind in KINDS[:2]:
        made = olivine.make_classes(env, kind, np.random.default_rng(2))
        checked = olivine.check_assumptions(env, *made)
        found = {k: a.to_json() for k, a in checked.items()}
        recorded("library", f"assumptions {name} {kind}", found)


def test_formulas_that_claims_go_through() -> None:
    """Tests of the claims themselves take the first few only."""
    found = [
        [f.n_variables, list(map(list, f.clauses())), f.weights]
        for f in samples.formulas(3, 14)
    ]
    recorded("library", "formulas of claims", {"formulas": found})
