"""Environments with classes, made to show what an algorithm does or fails to do."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    PolicyClassByLevel,
    TabularPolicyClass,
    TabularValueClass,
    ValueClass,
    ValueClassByLevel,
)
from ..algorithms.classes.q_functions import FiniteQClass
from ..algorithms.environments import from_lists
from ..algorithms.environments.protocol import Environment
from ..algorithms.exact.arrays import check_count
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.learning.draw_classes import DecodedPolicyClass, DecodedValueClass
from ..algorithms.learning.events import Triple
from ..algorithms.learning.problem import Problem
from ..algorithms.two_sample.algorithm import TwoSampleLearner
from ..algorithms.two_sample.parameters import TwoSamplePracticalParameters
from ..algorithms.valor.algorithm import LocalValues
from ..algorithms.valor.parameters import PracticalParameters

HALF = Fraction(1, 2)


def known_values(environment: Environment) -> ValueClassByLevel:
    """G_h = {g*} at every level: nothing is as easy to mistake for a learned state.

    Whatever is asked of a value function at a learned state, at others it stays g*.
    """
    levels = range(1, environment.horizon + 1)
    return ValueClassByLevel(
        [FiniteValueClass([environment.truth.values(h).tolist()]) for h in levels]
    )


def instance(
    name: str,
    levels: Sequence[Any],
    values: Mapping[int, ValueClass] | None = None,
    policies: Mapping[int, FinitePolicyClass] | None = None,
) -> Problem:
    """Make an instance of lists: levels as `from_lists` takes them, G_h and Π_h.

    Classes that are not given for a level are tabular; without values G_h = {g*}.
    """
    environment = from_lists(levels, name)
    k, chosen = environment.n_actions, policies or {}
    sizes = [(h, environment.space(h).n_codes or 0) for h in range(1, len(levels) + 1)]
    every = [chosen.get(h, TabularPolicyClass(n, k)) for h, n in sizes]
    known = known_values(environment)
    if values is not None:
        given = [values.get(h, TabularValueClass(n)) for h, n in sizes]
        known = ValueClassByLevel(given)
    return Problem(environment, known, PolicyClassByLevel(every))


def fork(
    left: Sequence[Any], right: Sequence[Any], start: Sequence[Any] = (0, 0)
) -> list[Any]:
    """Make levels: two actions lead to a state each, of one observation; rewards."""
    ends: list[Any] = [("left", {"x": 1}, {"x": [*left]}, []),
            ("right", {"y": 1}, {"y": [*right]}, [])]  # fmt: skip
    return [[("s0", {"start": 1}, {"start": [*start]}, ["left", "right"])], ends]


def functions(*rows: Sequence[Any] | NDArray[Any]) -> FiniteValueClass:
    """Make the class of these functions, in rationals."""
    return FiniteValueClass(np.array(rows, dtype=object))


def wrongly_pruned() -> Problem:
    """Make an instance whose second level is pruned at first.

    All functions of G_2 (there is one) agree on the values of both states, so
    dfslearn never descends, level 2 has no data, and its policy is arbitrary: of
    two actions the one that pays nothing. Only exploration on demand learns it.
    """
    levels = fork([0, 1], [0, HALF])
    return instance("wrongly-pruned", levels, {2: FiniteValueClass([[1.0, 0.5]])})


def path_with_traps(horizon: int) -> list[Any]:
    """Make the levels of a path that action 1 follows, paid at its end.

    Action 0 falls into a trap for good. Level 1 has the path's state alone.
    """
    unpaid, paid = {"x": [0, 0]}, {"x": [0, 1]}
    levels: list[Any] = []
    for h in range(1, horizon + 1):
        last = h == horizon
        following = [] if last else [f"trap{h + 1}", f"path{h + 1}"]
        states = [(f"path{h}", {"x": 1}, paid if last else unpaid, following)]
        if h > 1:
            fallen = [] if last else [f"trap{h + 1}"] * 2
            states.append((f"trap{h}", {"c": 1}, {"c": [0, 0]}, fallen))
        levels.append(states)
    return levels


def late_discovery(horizon: int) -> Problem:
    """Make an instance that needs H iterations of MetaAlg, more than M K; H >= 2.

    The optimal path goes by action 1 through one state a level; action 0 falls
    into a trap for good. G = {g*}, so that everything is pruned at first, and at a
    state that is not learned the policy takes action 0. So every iteration learns
    one more state of the optimal path (and once the traps): M = K = 2.
    """
    values = dict.fromkeys(range(2, horizon + 1), FiniteValueClass([[1.0, 0.0]]))
    return instance("late-discovery", path_with_traps(horizon), values)


def unrepresented() -> Problem:
    """Make an instance with g* but without Q*: fitted Q iteration has a bias.

    Everything is deterministic. Two actions lead to two states; action 0 pays
    nothing there, action 1 pays 1/2 and 15/16. G_2 has two functions, g* = (1/2, 15/16)
    and f = (1, 0). The nearest to action 0's (0, 0) is f (squared distance 1 against
    1.13), so the first state seems to be worth 1 by action 0: fitted Q iteration goes
    there and gets nothing of V* = 15/16, however much data it has.

    The paper's realizability holds, its policy-value completeness too: it speaks of
    what best actions are worth, and fitted Q iteration asks what all are. VALOR asks
    for g* only.
    """
    best = Fraction(15, 16)
    both = functions([HALF, best], [Fraction(1), Fraction(0)])
    return instance("unrepresented", fork([0, HALF], [0, best]), {2: both})


def amplified(horizon: int, *, actions: int = 4) -> Problem:
    """Make an instance with Q* in the class, where chance errors grow by 3/2 a level.

    The first action chooses one of K chains. At the end of the last one a reward of
    3/4 is certain; the others pay 1 or 0 with probability 1/2 each. On each of these
    G has, beside 1/2, one function above it by Δ_h = (3/8)(2/3)^(h-2) at level h. A
    fit to targets Δ_{h+1} above 1/2 takes Δ_h = (3/2)Δ_{h+1}, nearer than 0, so if the
    reward looks better than 1/2 by more than Δ_H/2 for any action at the end (with
    probability near 1 - 2^-K for each chain, as long as √n Δ_H is small), the chain
    seems to be worth 7/8 at the start, and 1/4 is lost.

    Realizable, with Q* too; not complete: the backup of 1/2 + Δ_{h+1} is not in G_h. It
    is the paper's barrier for Bellman backups with Q-functions, without ties.
    """
    for name, value in (("horizon", horizon), ("actions", actions)):
        check_count(name, value)
        if value < 2:
            raise ValueError(f"{name}: {value} is below 2")
    names = [f"c{i}" for i in range(actions)]
    paid: list[Any] = [*[{0: HALF, 1: HALF}] * (actions - 1), Fraction(3, 4)]
    levels: list[Any] = [[("s0", {"start": 1}, {"start": [0] * actions}, names)]]
    values: dict[int, ValueClass] = {}
    for h in range(2, horizon + 1):
        last = h == horizon
        levels.append(
            [
                (
                    c,
                    {c: 1},
                    {c: [r if last else 0] * actions},
                    [] if last else [c] * actions,
                )
                for c, r in zip(names, paid, strict=True)
            ]
        )
        # Every choice of 1/2 or 1/2 + Δ_h on each chain but the last.
        above = HALF + Fraction(3, 8) * Fraction(2, 3) ** (h - 2)
        rows = itertools.product(*[(HALF, above)] * (actions - 1), (Fraction(3, 4),))
        values[h] = functions(*rows)
    return instance("amplified", levels, values)


def half_hidden() -> Problem:
    """Make an instance in which half of the trajectories meet what is not learned.

    G = {g*}, so that nothing below the start is learned at first. At x it is best to go
    to a state where all actions pay 3/5, at y to one where action 0 pays nothing.
    """
    shown, known = {"x": HALF, "y": HALF}, Fraction(3, 5)
    levels = [
        [("s0", shown, {"x": [0, 0], "y": [0, HALF]}, ["known", "new"])],
        [
            ("known", {"z": 1}, {"z": [known, known]}, []),
            ("new", {"w": 1}, {"w": [0, HALF]}, []),
        ],
    ]
    return instance("half-hidden", levels)


def coin() -> Problem:
    """Make an instance with a state, and a reward of 1 or 0 with probability 1/2."""
    fair = {0: HALF, 1: HALF}
    return instance("coin", [[("s0", {"x": 1}, {"x": [fair, fair]}, [])]])


def disagreeing(offsets: Sequence[Fraction], *, one_state: bool = False) -> Problem:
    """Make an instance in which functions of level 2 are off by these, and all certain.

    Two actions lead to a state each, or both to one. Every action pays 1/2 there, so
    that the values at level 2, and what follows from them, are off as a test allows.
    """
    levels, width = fork([HALF, HALF], [HALF, HALF]), 2
    if one_state:
        first, ends = levels
        levels, width = [[(*first[0][:3], ["left", "left"])], ends[:1]], 1
    off_by = functions(*[[HALF + off] * width for off in offsets])
    return instance("disagreeing", levels, {2: off_by})


def sacrificed(
    rng: np.random.Generator, *, copies: int = 40, error: Fraction = Fraction(1, 50)
) -> LocalValues:
    """Prepare a run in which pooling sacrifices a state with a single data set.

    At level 2 there are two states and two policies, the optimal one and one that
    gets nothing in the second state. The first state has `copies` data sets whose
    {V_a} are off by `error`, as accuracies allow, in favour of the other policy:
    a gain of 2·error each, against a loss of 1/2 in the only data set of the
    second state. Pooling takes the bad policy once copies · 4 · error > 1.
    """
    levels = [
        [("s0", {"start": 1}, {"start": [0, 0]}, ["often", "rare"])],
        [
            ("often", {"x": 1}, {"x": [0, 0]}, ["paid", "paid"]),
            ("rare", {"y": 1}, {"y": [0, 0]}, ["paid", "unpaid"]),
        ],
        [
            ("paid", {"z": 1}, {"z": [HALF, HALF]}, []),
            ("unpaid", {"w": 1}, {"w": [0, 0]}, []),
        ],
    ]
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    made = instance("sacrificed", levels, {}, {2: constant})
    parameters = PracticalParameters(
        0.2, 0.1, 2, 2, 3, n_train=2000, eps_stat=0.001, slack=0.05
    )
    run = LocalValues(made, parameters, rng)

    def learn(path: tuple[int, ...], value: Fraction, *futures: Fraction) -> None:
        rules: list[Any] = [*path, "uniform"]
        draws = parameters.n_train
        data = made.environment.draw(rules, draws, rng, successors=False)
        run.datasets[1].append(Triple(path, data, value, futures))

    for _ in range(copies):
        learn((0,), HALF + error, HALF - error, HALF + error)
    learn((1,), HALF, HALF, Fraction(0))
    return run


HORIZON = 16
"""Least H at which an error of 3.8τ, doubled at each level, exceeds ε."""


def unlearned() -> Problem:
    """Make an instance that needs exploration on demand.

    At level 2 all functions of G_2 (there is one) have the same mean in both
    states, so the identity test takes the second state for the first and its
    policy is not learned: of two actions the one that pays nothing. The way there
    pays 2/5, so the policy found first goes there. G and Π are complete.
    """
    levels = fork([HALF, 0], [0, HALF], start=[0, Fraction(2, 5)])
    return instance("unlearned", levels, {2: FiniteValueClass([[0.5, 0.5]])})


def two_means(apart: Fraction) -> Problem:
    """Make an instance with two states whose means of the only function differ so."""
    near = HALF + apart
    levels = fork([HALF, HALF], [near, near])
    return instance("two-means", levels, {2: functions([HALF, near])})


@dataclass(frozen=True, eq=False)
class Outvoted:
    """A run with data sets made by hand, all of them inside event E."""

    made: Problem  # Environment and classes
    run: TwoSampleLearner  # Level 2 has its learned sets
    paths: tuple[tuple[int, ...], ...]  # Where each of these comes from, in order
    loss: Fraction  # What the wrong policy loses at the state of the last one


def outvoted(copies: int = 100) -> Outvoted:
    """Make learned sets within τ_V that let one state lose copies · τ_V.

    At level 2 = H there are two states and two policies, constant ones. In the
    first state both get 1/2; in the second, action 0 gets more. The first has
    `copies` data sets in which action 1 was drawn a little more often, as τ_V
    allows: it looks better by almost 2τ_V in each. Pooled, these outvote the only data
    set of the second state (erratum 15: the sum is over learned sets, of which
    there can be T_max, not over M val sets). G and Π are complete.
    """
    if not 1 <= copies <= 125:
        raise ValueError(f"copies: {copies} is not in 1..125")
    accuracy = Fraction(1, 1000)
    loss = copies * accuracy  # half of what the copies gain together
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    levels = fork([HALF, HALF], [HALF + loss, HALF])
    made = instance("outvoted", levels, {}, {2: constant})
    parameters = TwoSamplePracticalParameters(
        0.2, 0.1, 2, 2, 2, tau=0.01, tau_V=accuracy, tau_L=0.01
    )
    run = TwoSampleLearner(made, parameters, np.random.default_rng(0))
    # K P_D(a) r = 1/2 ± 0.99 τ_V.
    biased = EmpiricalMeasure(
        [0, 0], actions=[0, 1], rewards=[HALF, HALF], weights=[49901, 50099]
    )
    fair = EmpiricalMeasure([1, 1], actions=[0, 1], rewards=[HALF + loss, HALF])
    run.learned[1] += [*[biased] * copies, fair]
    return Outvoted(made, run, (*[(0,)] * copies, (1,)), loss)


def doubling(eps: Fraction = Fraction(3, 10)) -> Problem:
    """Make an instance on which each level doubles the error of the next.

    Two chains of H = 16 levels leave the start, by actions 0 ("low") and 1
    ("high"); everything is certain, every state has one observation. Both end in
    a reward of about 1/2; the high chain pays 1.1ε before that. So V* - V of the
    low chain is 1.1ε. Π has all policies, and G_h = {g*_h - e_h 1{high}, g*_h}:

    - Last level: g*(high) = g*(low) + 1.9τ and e_H = 3.8τ, τ = ε/(192H²) as in
      the theorem. Both functions differ by 1.9τ between the states, so data from
      "high" look like those from "low", which was there first, and are dropped.
      On "low" both functions have no loss: a tie, and the first is taken.
    - Before: e_h = 199/100 e_{h+1}. The regression's target at "high" is
      g* - e_{h+1}, nearer to the first function than to g*. So the error nearly
      doubles, until at level 2 "high" seems to be worth less than "low".

    g* ∈ G and π* ∈ Π, but g* - e_{h+1} 1{high}, the backup of the first function
    of level h+1, is not in G_h: G is not policy-value complete.
    """
    if not 0 < eps <= Fraction(4, 10):
        raise ValueError(f"eps: {float(eps)} is not in (0, 0.4]")
    tau = eps / (2**6 * 3 * HORIZON**2)
    gap = eps * Fraction(11, 10)
    error = Fraction(19, 5) * tau
    # Returns are at most 1/2 + gap + 1.9τ < 1.
    levels: list[Any] = []
    classes: dict[int, ValueClass] = {}
    for h in range(HORIZON, 1, -1):
        last, paid = h == HORIZON, gap if h == HORIZON - 1 else 0
        low = HALF if last else 0
        high = HALF + error / 2 if last else paid
        following = [[], []] if last else [[f"low{h + 1}"] * 2, [f"high{h + 1}"] * 2]
        levels.append(
            [
                (f"low{h}", {"x": 1}, {"x": [low, low]}, following[0]),
                (f"high{h}", {"y": 1}, {"y": [high, high]}, following[1]),
            ]
        )
        # (low, high): g* with an error at high, and g*; low is worth 1/2.
        right = HALF + Fraction(19, 10) * tau + (0 if last else gap)
        wrong = max(right - error, Fraction(0))
        classes[h] = functions([HALF, wrong], [HALF, right])
        error *= Fraction(199, 100)
    levels.append([("start", {"s": 1}, {"s": [0, 0]}, ["low2", "high2"])])
    return instance("amplified", levels[::-1], classes)


@dataclass(frozen=True, eq=False)
class QInstance:
    """An environment with a class of Q-functions that holds Q*."""

    environment: Environment  # It
    functions: FiniteQClass  # F
    optimal: int  # Number of Q* in F


def misled_at(horizon: int) -> QInstance:
    """Make an instance in which every consensus test passes though F errs.

    One state a level lies on the optimal path, where action 1 leads on (and is paid
    at the end); action 0 falls into a trap for good. F holds, for each level h, the
    function that takes the two actions of the path's state for each other at h alone,
    and Q* at last. All agree on the value of every state, so nothing below the
    root is learned at first; each policy that is then tried falls at the next
    level, and exploration on demand learns one more state of the path. H policies
    are needed: more than K, and with H - 1 rejections.
    """
    if horizon < 2:
        raise ValueError(f"horizon: {horizon} is below 2")
    right, wrong = [[0, 1], [0, 0]], [[1, 0], [0, 0]]
    levels, tables = path_with_traps(horizon), []
    for h, states in enumerate(levels, 1):
        rows = [wrong if g == h else right for g in range(1, horizon + 2)]
        tables.append([row[: len(states)] for row in rows])
    environment = from_lists(levels, "misled")
    return QInstance(environment, FiniteQClass(tables), horizon)


def far_apart(gap: Fraction) -> QInstance:
    """Make an instance in which two functions differ by a gap in all of two levels."""
    levels = fork([HALF, HALF], [HALF, HALF])
    both = [[[[HALF + off] * 2] * n for off in (0, gap)] for n in (1, 2)]
    return QInstance(from_lists(levels, "far-apart"), FiniteQClass(both), 0)


def noisy_successor() -> QInstance:
    """Make an instance that needs the average over next observations.

    The state after the first emits x (worth 1) and y (worth 0) half each, so Q* is
    1/2 at the start and has variance 1/4 one step later. The other function claims
    1/2 everywhere: at the start it has no Bellman error either, and no variance.
    Fitted to one sampled x' a draw, Q* has the larger risk, by 1/4.
    """
    environment = from_lists(
        [
            [("s", {"start": 1}, {"start": [0, 0]}, ["t", "t"])],
            [("t", {"x": HALF, "y": HALF}, {"x": [1, 1], "y": [0, 0]}, [])],
        ],
        "noisy-successor",
    )
    start = [[[HALF, HALF]], [[HALF, HALF]]]
    below = [[[HALF, HALF], [HALF, HALF]], [[1, 1], [0, 0]]]
    return QInstance(environment, FiniteQClass([start, below]), 1)


def one_sample_risks(
    instance: QInstance, path: tuple[int, ...], n: int, rng: np.random.Generator
) -> list[Fraction]:
    """Risks with one sampled next observation in place of the average.

    Average over n draws of (f(x, a) - r - f(x', π_f(x')))² for every function:
    what LSVEE does *not* compute (compare `olivine.algorithms.lsvee.algorithm.risks`).
    """
    functions, level = instance.functions, len(path) + 1
    data = instance.environment.draw((*path, "uniform"), n, rng)
    assert data.actions is not None
    here = functions.values(level, data.observations)
    chosen = here[:, np.arange(len(data)), data.actions]
    ahead = functions.state_values(level + 1, data.codes("next_observations"))
    errors = chosen - data.exact_rewards[None] - ahead
    return [data.expectation_exact(row) for row in errors * errors]


def decoupled(functions: FiniteQClass) -> tuple[ValueClassByLevel, PolicyClassByLevel]:
    """G and Π, by level, of a class of Q-functions; equal members are merged.

    If Q* is in F, then g* is in G and π* in Π.
    """
    values: list[FiniteValueClass] = []
    policies: list[FinitePolicyClass] = []
    for h in range(1, functions.horizon + 1):
        table = functions.table(h)
        best = np.array(list(dict.fromkeys(map(tuple, table.max(axis=2).tolist()))))
        greedy = np.unique(table.argmax(axis=2).astype(np.int64), axis=0)
        decode = functions.decoder(h)
        if decode is None:
            values.append(FiniteValueClass(best))
            policies.append(FinitePolicyClass(greedy, functions.n_actions))
        else:
            real = best.astype(np.float64)
            values.append(DecodedValueClass(real, decode))
            policies.append(DecodedPolicyClass(greedy, decode, functions.n_actions))
    return ValueClassByLevel(values), PolicyClassByLevel(policies)
