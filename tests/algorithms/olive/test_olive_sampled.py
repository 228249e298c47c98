"""OLIVE from data sets: the data, the program over them, the algorithm."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.algorithms.exact.arrays import END
from olivine.algorithms.exact.data import EmpiricalMeasure
from olivine.algorithms.mdp.tabular import TabularMDP, random_tabular_mdp
from olivine.algorithms.olive.parameters import (
    OliveParameters,
    tabular_log_size,
    theorem_parameters,
)
from olivine.algorithms.olive.run import TabularEnvironment, olive_sampled
from olivine.algorithms.olive_program.model import program_model
from olivine.algorithms.olive_program.optimisers import BranchAndBound, Milp
from olivine.algorithms.olive_program.program import OliveProgram, Pair
from olivine.algorithms.olive_program.sampled_program import (
    FinitePairs,
    LevelData,
    SampledConstraint,
    SampledProgram,
    on_policy_error,
)
from olivine.algorithms.olive_program.tiebreak import RandomTiebreak
from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel
from scipy.stats import chisquare

from tests.support import tabular
from tests.support.depth import deep, spread, with_rows
from tests.support.refusals import refused

HALF = Fraction(1, 2)


def counted(data: LevelData) -> dict[tuple[int, int, int], int]:
    """Draws of each (x, a, x′)."""
    found: Counter[tuple[int, int, int]] = Counter()
    if (tuples := data.tuples) is not None:
        columns = tuples.observations, tuples.actions, tuples.next_observations
        keys = zip(*(c.tolist() for c in columns), strict=True)
        for key, weight in zip(keys, tuples.weights.tolist(), strict=True):
            found[key] += weight
    return found


def population(mdp: TabularMDP, shares: dict[int, Fraction]) -> LevelData:
    """A data set in which every tuple is as frequent as it is probable."""
    rows = []
    for state, share in shares.items():
        actions = mdp.actions(state)
        for local, action in enumerate(actions):
            for after, p in mdp.successors(action) or [(END, Fraction(1))]:
                weight = share * p / len(actions)
                rows.append((state, local, mdp.reward(action), after, weight))
    scale = np.lcm.reduce([w.denominator for *_, w in rows], initial=1, dtype=object)
    x, a, r, after, w = zip(*rows, strict=True)
    missing = 1 - sum(shares.values())
    tuples = EmpiricalMeasure(
        list(x),
        actions=list(a),
        rewards=list(r),
        next_observations=list(after),
        weights=[int(v * scale * missing.denominator) for v in w],
    )
    return LevelData(tuples, int(scale * missing.denominator))


@given(st.data())
def test_the_population_gives_the_exact_program(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps(max_states=4))
    pair = data.draw(tabular.pairs(mdp))
    distribution = data.draw(tabular.distributions(mdp))
    shares = distribution.probabilities()
    exact = tabular.slow_error(mdp, distribution, pair)
    whole = LevelData(None, 1) if not shares else population(mdp, shares)
    assert SampledConstraint.of(whole, mdp.action_counts, 1).error(pair) == exact


def test_erratum_6_the_q_function_form_as_printed_divides_by_the_number_of_actions():
    """Without the factor K the same tolerance admits K times the error."""
    mdp = random_tabular_mdp(np.random.default_rng(0), horizon=2, width=2, n_actions=3)
    whole = population(mdp, {0: Fraction(1)})
    assert whole.tuples is not None
    pair = Pair.from_fractions([1, *[HALF] * (mdp.n_states - 1)], [1] * mdp.n_states)
    constraint = SampledConstraint.of(whole, mdp.action_counts, 1)
    taken = np.asarray(whole.tuples.actions) == 1
    g = np.array(pair.values(), dtype=object)
    after = whole.tuples.at(g, field="next_observations")
    terms = whole.tuples.at(g) - whole.tuples.exact_rewards - after
    printed = whole.tuples.expectation_exact(np.where(taken, terms, Fraction(0)))
    assert constraint.error(pair) == 3 * printed != 0
    for factor, feasible in ((1, False), (3, True)):
        program = SampledProgram(
            mdp.action_counts,
            EmpiricalMeasure([0]),
            [constraint],
            tolerance=abs(printed) * factor,
        )
        assert program.is_feasible(pair) == feasible


def drawn_program(seed: int, n: int, tolerance: Fraction) -> SampledProgram:
    rng = np.random.default_rng(seed)
    mdp = random_tabular_mdp(rng, horizon=2, width=2, n_actions=2)
    environment = TabularEnvironment(mdp)
    constraints = []
    for level in (1, 2):
        policy = rng.integers(0, 2, mdp.n_states)
        data = environment.draw([*[policy] * (level - 1), "uniform"], n, rng)
        constraints.append(SampledConstraint.of(data, mdp.action_counts, level))
    starts = environment.starts(n, rng)
    return SampledProgram(mdp.action_counts, starts, constraints, tolerance)


@settings(max_examples=deep(12, 4))  # a linear program a policy
@given(
    st.integers(0, 10**6),
    st.sampled_from([5, 60]),
    st.sampled_from(["value-policy", "q-function"]),
)
def test_models_have_the_optimum_of_all_policies(seed: int, n: int, form: str) -> None:
    """Against a linear program a policy, written from the definition."""
    program = drawn_program(seed, n, Fraction(1, 10))
    answer = BranchAndBound(form).maximise(program)  # type: ignore[arg-type]
    policies = itertools.product(*map(range, program.action_counts.tolist()))
    values = map(program_value(program), policies)
    best = max((v for v in values if v is not None), default=None)
    assert answer.value == best
    if best is None:
        assert answer.status == "infeasible"
        assert answer.proved
    else:
        assert answer.pair is not None
        assert program.is_feasible(answer.pair)
        engine = Milp("highs", form).maximise(program)  # type: ignore[arg-type]
        assert engine.value == best


def program_value(program: SampledProgram):  # type: ignore[no-untyped-def]
    def value(policy: tuple[int, ...]) -> Fraction | None:
        model = LinearModel()
        n = len(program.action_counts)
        for s in range(n):
            model.add_variable(f"g{s}", program.lower, program.upper)
        for constraint in program.constraints:
            # an affine function is known by its values at 0 and the unit vectors
            zero = constraint.error(Pair.from_fractions([0] * n, policy))
            slopes = [
                constraint.error(
                    Pair.from_fractions(np.eye(n, dtype=int)[s].tolist(), policy)
                )
                - zero
                for s in range(n)
            ]
            model.add_row(range(n), slopes, "<=", program.tolerance - zero)
            model.add_row(range(n), slopes, ">=", -program.tolerance - zero)
        shares = program.start_shares
        model.set_objective(list(shares), list(shares.values()), maximise=True)
        found = solve_lp(model, exact=True)
        return None if found.objective is None else Fraction(found.objective)

    return value


@with_rows(
    "changes, message",
    ({"action_counts": [1, 0]}, "at least one action"),
    ({"tolerance": -1}, "tolerance -1 is negative"),
    ({"lower": 2}, r"empty range \[2, 1\]"),
    ({"starts": EmpiricalMeasure([2])}, "observations"),
)
def test_bad_programs_are_refused(changes: dict[str, object], message: str) -> None:
    arguments = {"action_counts": [1, 2], "starts": EmpiricalMeasure([0]), **changes}
    refused(message, SampledProgram, **arguments)  # type: ignore[arg-type]


def test_bad_data_pairs_and_requests_are_refused(rng):
    counts = np.array([1, 2])
    full = {"rewards": [0], "next_observations": [END]}
    for code, action, message in (
        (0, 1, "an action that there is not"),
        (2, 0, "observation that is not below 2"),
    ):
        data = LevelData(EmpiricalMeasure([code], actions=[action], **full), 1)
        refused(message, SampledConstraint.of, data, counts, 1)
    with pytest.raises(ValueError, match="no actions"):
        SampledConstraint.of(LevelData(EmpiricalMeasure([0], **full), 1), counts, 1)
    refused("5 tuples from 4", LevelData, EmpiricalMeasure([0], weights=[5]), 4)
    program = SampledProgram(counts, EmpiricalMeasure([0]))
    with pytest.raises(ValueError, match="a pair on 1 observations"):
        program.is_feasible(Pair.from_fractions([0], [0]))
    with pytest.raises(ValueError, match="action that there is not"):
        program.is_feasible(Pair.from_fractions([0, 0], [1, 0]))
    refused("unknown form 'dual'", program_model, program, "dual")
    assert not program.is_feasible(Pair.from_fractions([0, 2], [0, 0]))
    environment = TabularEnvironment(random_tabular_mdp(np.random.default_rng(2)))
    policy = [0] * environment.mdp.n_states
    for n in (0, 2**53 + 1):
        refused(f"{n} trajectories", environment.run, policy, n, rng)
    for level in (0, 4):
        refused(f"rules: {level} for", environment.draw, [policy] * level, 5, rng)


@given(st.data())
def test_data_are_of_the_mdp_and_count_every_trajectory(data: st.DataObject) -> None:
    mdp = data.draw(tabular.mdps(max_states=5))
    policy = data.draw(tabular.policies(mdp))
    n = data.draw(st.sampled_from([1, 7, 10**12]))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    environment = TabularEnvironment(mdp)
    assert environment.starts(n, rng).total_weight == n
    followed = environment.run(policy, n, rng)
    assert len(followed) == mdp.horizon
    explored = [
        environment.draw([*[policy] * (h - 1), "uniform"], n, rng)
        for h in range(1, mdp.horizon + 1)
    ]
    for kind, levels in (("follow", followed), ("explore", explored)):
        for h, level in enumerate(levels, start=1):
            assert level.trajectories == n
            possible = tabular.slow_distribution(mdp, policy, h)
            certain = sum(possible.values()) == 1
            total = sum(counted(level).values())
            assert total == n if certain else total <= n
            for (x, a, after), count in counted(level).items():
                assert count > 0
                assert x in possible
                assert kind == "explore" or a == policy[x]
                successors = dict(mdp.successors(mdp.actions(x)[a]))
                assert after in successors if successors else after == END
    # what leaves a level arrives at the next
    for here, there in itertools.pairwise(followed):
        left, met = Counter[int](), Counter[int]()
        for (_, _, after), count in counted(here).items():
            left[after] += count
        for (x, _, _), count in counted(there).items():
            met[x] += count
        del left[END]
        assert left == met


def test_frequencies_are_those_of_the_definition(rng) -> None:
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=2, width=3, n_actions=3)
    policy = [2] * mdp.n_states
    n = 20_000
    data = counted(TabularEnvironment(mdp).draw([*[policy] * 1, "uniform"], n, rng))
    expected = {}
    for state, share in tabular.slow_distribution(mdp, policy, 2).items():
        for local, _ in enumerate(mdp.actions(state)):
            expected[state, local, END] = float(share) / 3
    observed = [data.get(key, 0) for key in expected]
    assert sum(observed) == n
    assert chisquare(observed, [n * p for p in expected.values()]).pvalue > 1e-4


def test_errors_along_a_policy_and_data_over_a_distribution(rng):
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=3, width=3)
    pair = Pair.from_fractions([HALF] * mdp.n_states, [1] * mdp.n_states)
    data = TabularEnvironment(mdp).run(pair.policy, 10**14, np.random.default_rng(0))
    for h, level in enumerate(data, start=1):
        exact = tabular.slow_error(mdp, mdp.distribution(pair.policy, h), pair)
        assert float(on_policy_error(level, pair)) == pytest.approx(exact, abs=1e-5)
    assert on_policy_error(LevelData(None, 3), pair) == 0
    mdp = random_tabular_mdp(np.random.default_rng(2), horizon=2, width=2)
    data = TabularEnvironment(mdp).data_over({0: HALF}, 10**6, rng)
    assert data.tuples is not None
    assert data.tuples.total_weight == pytest.approx(5 * 10**5, rel=0.01)


def theorem_of(mdp: TabularMDP, width: int, epsilon: float) -> OliveParameters:
    k = int(mdp.action_counts.max())
    return theorem_parameters(
        epsilon,
        0.1,
        horizon=mdp.horizon,
        n_actions=k,
        rank=width,
        log_size=tabular_log_size(mdp.n_states, k),
    )


@pytest.mark.parametrize("seed", spread(range(6), 2))
def test_theorem_parameters_give_a_good_policy(seed: int) -> None:
    """Failure probability 0.1 a run is the theorem's; in fact it is far smaller."""
    mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=2, width=2)
    parameters = theorem_of(mdp, 2, 0.3)
    rng = np.random.default_rng([seed, 1])
    result = olive_sampled(
        TabularEnvironment(mdp),
        parameters,
        rng,
        optimiser=BranchAndBound(),
        tiebreak=RandomTiebreak(rng) if seed % 2 else None,
    )
    assert result.status == "finished"
    assert result.policy is not None
    lost = mdp.optimal_values().value(0) - mdp.evaluate(result.policy).value(0)
    assert lost <= 0.3
    added = len(result.constraints)
    assert added == len(result.rounds) - 1 <= mdp.n_states
    assert result.trajectories == (
        parameters.n_est
        + parameters.n_eval * len(result.rounds)
        + parameters.n_train * added
    )
    for r in result.rounds[:-1]:
        assert r.level is not None
        assert r.errors[r.level - 1] * mdp.horizon >= parameters.stop


def test_a_finite_class_and_all_levels() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(5), horizon=2, width=2)
    own = [mdp.evaluate(policy) for policy in tabular.all_policies(mdp)]
    parameters = OliveParameters(Fraction(1, 20), Fraction(3, 10), 10, 10**6, 10**6, 20)
    result = olive_sampled(
        TabularEnvironment(mdp),
        parameters,
        np.random.default_rng(0),
        optimiser=FinitePairs(own),
        all_levels=True,
    )
    assert result.status == "finished"
    assert result.policy is not None
    assert len(result.constraints) == 2 * (len(result.rounds) - 1)
    best = mdp.optimal_values().value(0)
    assert best - mdp.evaluate(result.policy).value(0) <= Fraction(3, 10)


def test_hopeless_data_end_in_no_pair_or_the_round_limit() -> None:
    """One draw a data set and no tolerance to speak of."""
    endings = set()
    for seed in range(deep(12, 4)):
        mdp = random_tabular_mdp(np.random.default_rng(seed), horizon=3, width=3)
        parameters = OliveParameters(Fraction(0), Fraction(0), 1, 1, 1, 6)
        rng = np.random.default_rng(seed)
        result = olive_sampled(
            TabularEnvironment(mdp), parameters, rng, optimiser=BranchAndBound()
        )
        endings.add(result.status)
        assert (result.policy is not None) == (result.status == "finished")
    assert "round limit" in endings or "no pair left" in endings


def test_recalled_constants_by_hand() -> None:
    """ε = 1/2, H = 2, M = 1: L = ln(6·2·2/0.5) = ln 48."""
    found = theorem_parameters(
        0.5, 0.1, horizon=2, n_actions=3, rank=1, log_size=np.log(7)
    )
    length = np.log(48)
    assert found.tolerance == Fraction(1, 48)
    assert found.stop == Fraction(5, 16)
    assert found.n_est == int(np.ceil(128 * np.log(6 * 7 / 0.1)))
    assert found.n_eval == int(np.ceil(4608 * np.log(48 * length / 0.1)))
    assert found.n_train == int(np.ceil(221184 * np.log(7 * 24 * length / 0.1)))
    assert found.max_rounds == int(np.ceil(2 * length / np.log(5 / 3))) + 1
    assert found.stop > 2 * found.tolerance


@given(st.floats(1e-12, 0.99), st.integers(1, 50), st.integers(1, 200))
def test_the_theorems_tolerance_is_met_however_small(epsilon, horizon, rank) -> None:
    found = theorem_parameters(
        epsilon, 0.1, horizon=horizon, n_actions=2, rank=rank, log_size=1.0
    )
    tolerance = epsilon / (12 * horizon * np.sqrt(rank))
    assert float(found.tolerance) == pytest.approx(tolerance, rel=1e-5)
    assert float(found.stop) == pytest.approx(5 * epsilon / 8, rel=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 0.0}, {"delta": 1.0}, {"horizon": 0}, {"rank": 0}, {"log_size": -1}],
)
def test_bad_parameters_are_refused(changes: dict[str, float]) -> None:
    arguments = {
        "epsilon": 0.1,
        "delta": 0.1,
        "horizon": 2,
        "n_actions": 2,
        "rank": 2,
        "log_size": 1.0,
        **changes,
    }
    with pytest.raises(ValueError):
        theorem_parameters(**arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one trajectory"):
        OliveParameters(Fraction(0), Fraction(0), 0, 1, 1)
    refused("must not be negative", OliveParameters, Fraction(-1), Fraction(0), 1, 1, 1)


def test_exact_and_sampled_programs_agree_on_the_population() -> None:
    mdp = random_tabular_mdp(np.random.default_rng(8), horizon=2, width=2)
    collected = [mdp.distribution([0] * mdp.n_states, h) for h in (1, 2)]
    exact = OliveProgram(mdp, collected, Fraction(1, 30))
    sampled = SampledProgram(
        mdp.action_counts,
        EmpiricalMeasure([0]),
        [
            SampledConstraint.of(
                population(mdp, d.probabilities()), mdp.action_counts, d.level
            )
            for d in collected
        ],
        Fraction(1, 30),
    )
    solver = BranchAndBound()
    assert solver.maximise(exact).value == solver.maximise(sampled).value
