"""Claims about what the paper remarks of VALOR: its bias, its classes."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes import (
    FiniteValueClass,
    TabularPolicyClass,
    TabularValueClass,
    ValueClassByLevel,
)
from ..algorithms.classes.protocols import ValueClass
from ..algorithms.environments import make
from ..algorithms.environments.finite_lists import Instance
from ..algorithms.exact.arrays import object_array
from ..algorithms.learning.deviations import largest_value_deviation
from ..algorithms.learning.draw_classes import make_classes
from ..algorithms.learning.events import Triple
from ..algorithms.learning.run import LearningResult
from ..algorithms.valor.algorithm import valor
from ..algorithms.valor.parameters import PracticalParameters, TheoremParameters
from . import runs
from .claim import (
    EXACT,
    EXHAUSTIVE,
    MONITORED,
    Evidence,
    Refuted,
    claim,
)
from .support.instances import amplified

SECTION = "paper, section VALOR"
_DRAWS = 10**9
_RUNS = 6


@claim("valor-bias-is-linear", f"{SECTION}, What is new compared to LSVEE", EXACT)
def _bias() -> Evidence:
    """The bias of values adds up over levels and does not multiply: the lemmas'
    recursion, a learned state's error at most the largest of V_a's plus ε_stat + ε_sub
    and V_a's at a pruned one φ_{h+1} + 3ε_stat + ε_feas + ε_sub, gives φ_h - 2ε_stat,
    (H-h+1)(6ε_stat + 2ε_sub + ε_feas) less 2ε_stat. On the instance where fitted Q
    iteration's errors grow by 3/2 a level (claim `backup-barrier-q-functions`) VALOR
    keeps that bound at 26 levels."""
    for horizon in (1, 2, 7, 60):
        p = _accurate(3, 3, horizon, Fraction(1, 50))
        step = 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
        worst = Fraction(0)  # of V_a past the last level
        for levels in range(1, horizon + 1):
            worst += p.eps_stat + p.eps_sub
            if worst > levels * step - 2 * p.eps_stat:
                raise Refuted(f"H = {horizon}, {levels} levels: {worst}")
            pruned = p.phi(horizon - levels + 1)
            pruned += 3 * p.eps_stat + p.eps_feas + p.eps_sub
            worst = max(worst, pruned)
    horizon = 26
    p = _accurate(4, 4, horizon, Fraction(1, 1000))
    result, errors = _learn(amplified(horizon), p)
    kept = all(error <= p.phi(h) - 2 * p.eps_stat for h, error in errors.items())
    grown = float(p.eps_stat) * 1.5 ** (horizon - 1)
    return Evidence(
        result.succeeded and kept,
        f"the recursion, exactly, for H up to 60; at H = {horizon} stored values are "
        f"off by {float(max(errors.values())):.1g} at most, where ε_stat = "
        f"{p.eps_stat} allows {float(p.phi(1)):.2g} at the start; factors of 3/2 would "
        f"make {grown:.2g} of it",
    )


@claim(
    "valor-infinite-classes",
    f"{SECTION}, remark after the PAC bound (Natarajan and pseudo-dimension)",
    EXHAUSTIVE,
)
def _infinite() -> Evidence:
    """Finite classes are not needed: for G = all functions to [0, 1] of |X|
    observations, infinite, of pseudo-dimension |X|, the largest deviation of a data set
    is that of the 2^|X| functions to {0, 1}; for all policies, of Natarajan dimension
    |X|, there are K^|X|. So |X| ln 2 and |X| ln K stand for ln |G| and ln |Π|, and the
    trajectories grow linearly in them. (For other infinite classes: standard tools,
    Jiang et al. 2017, section 5.3, assumed.)"""
    rng, compared = np.random.default_rng(0), 0
    for size in (1, 2, 4, 7):
        corners = FiniteValueClass(list(itertools.product((0.0, 1.0), repeat=size)))
        for _ in range(5):
            counts = rng.integers(1, 51, size)
            shares, truth = rng.multinomial(64, counts / counts.sum()), counts.tolist()
            pairs = zip(shares.tolist(), truth, strict=True)
            off = object_array(
                [Fraction(a, 64) - Fraction(b, sum(truth)) for a, b in pairs]
            )
            largest = largest_value_deviation(TabularValueClass(size), off)
            listed = largest_value_deviation(corners, off)
            inner = max(abs(float((g * off).sum())) for g in rng.random((50, size)))
            if largest is None or listed is None or largest < inner - 1e-12:
                raise Refuted(f"|X| = {size}: {largest}, inside {inner}")
            if abs(largest - listed) > 1e-12:
                raise Refuted(f"|X| = {size}: {largest}, listed {listed}")
            compared += 1
    bounds = [_bound(size) for size in (10**6, 2 * 10**6, 3 * 10**6)]
    first, second = bounds[1] - bounds[0], bounds[2] - bounds[1]
    off_line = abs(second / first - 1)
    return Evidence(
        off_line < 1e-9 and bounds[1] < 2 * bounds[0],
        f"{compared} data sets over 1 to 7 observations; trajectories at |X| = 1, 2, 3 "
        f"million are on a line within {max(off_line, 1e-12):.0e}",
    )


def _bound(size: int) -> int:
    """Trajectories of VALOR with tabular classes over that many observations."""
    values, policies = TabularValueClass(size), TabularPolicyClass(size, 3)
    sizes = values.log_size(), policies.log_size()
    return TheoremParameters(0.3, 0.1, 3, 3, 3, *sizes).trajectory_bound


@claim(
    "valor-approximate-realizability",
    f"{SECTION}, remark after the PAC bound ('we further expect')",
    MONITORED,
)
def _approximate() -> Evidence:
    """If G has a function within θ of g* instead of g*, and Π has π*, VALOR keeps its
    accuracies with ε_stat + θ in place of ε_stat: a data set's mean of that function is
    then within ε_stat + θ of V*, which is all that its lemmas use of g*. With ε_stat as
    it was the consensus program can be infeasible. (An approximate π* is not covered.)
    """
    theta, fine = Fraction(1, 100), Fraction(1, 10_000)
    good, stopped, largest = 0, 0, 0.0
    for seed in range(_RUNS):
        env = make("random-finite", seed, states=3, actions=2, horizon=3)
        rng = np.random.default_rng([seed, 1])
        levels: list[ValueClass] = [TabularValueClass(env.space(1).n_codes or 0)]
        for h in (2, 3):
            values = np.array(env.truth.values(h), dtype=object)
            signs = np.where(values > Fraction(1, 2), -1, 1)  # stays in [0, 1]
            near = np.array([v + s * theta for v, s in zip(values, signs, strict=True)])
            others = [rng.permutation(near) for _ in range(7)]
            levels.append(FiniteValueClass(np.array([near, *others], dtype=object)))
        policies = make_classes(env, "tabular", rng)[1]
        made = Instance(env, ValueClassByLevel(levels), policies)
        wide = _accurate(3, 2, 3, fine + theta)
        result, errors = _learn(made, wide)
        kept = all(e <= wide.phi(h) - 2 * wide.eps_stat for h, e in errors.items())
        good += result.succeeded and kept and runs.loss(made, result) <= wide.eps
        largest = max(largest, *map(float, errors.values()))
        stopped += _learn(made, _accurate(3, 2, 3, fine))[0].event_failed
    return Evidence(
        good == _RUNS and stopped > 0,
        f"θ = {theta}, ε_stat = {fine}: {good} of {_RUNS} runs as accurate as with "
        f"{fine + theta}, values off by {largest:.2g} at most; with {fine} alone "
        f"{stopped} of {_RUNS} meet an infeasible program",
    )


def _accurate(m: int, k: int, horizon: int, eps_stat: Fraction) -> PracticalParameters:
    """Give data of 10⁹ draws, and φ as in the analysis for an accuracy."""
    sizes = {"n_test": _DRAWS, "n_train": _DRAWS, "slack": None, "fall_back": False}
    fine = dict.fromkeys(("eps_sub", "eps_feas"), Fraction(1, 10**5))
    options: dict[str, Any] = sizes | fine | {"eps_stat": eps_stat}
    return PracticalParameters(0.3, 0.1, m, k, horizon, **options)


def _learn(
    made: Instance, parameters: PracticalParameters
) -> tuple[LearningResult, dict[int, Fraction]]:
    """Run VALOR; its result and the largest |V − V*| of each level."""
    truth, found = made.environment.truth, dict[int, Fraction]()

    def compare(event: object) -> None:
        if isinstance(event, Triple):
            error = abs(event.value - truth.path_value(event.path))
            found[event.level] = max(error, found.get(event.level, error))

    arguments = *runs.parts(made), parameters, np.random.default_rng(0)
    return valor(*arguments, observers=[compare]), found
