"""Instances for the global policy algorithm, and the most that it can lose."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..algorithms.classes import (
    FinitePolicyClass,
    FiniteValueClass,
    MixedPolicy,
    PolicyClassByLevel,
)
from ..algorithms.environments import from_lists
from ..algorithms.environments.finite import FiniteEnvironment
from ..algorithms.environments.protocol import ActionRule
from ..algorithms.exact.data import EmpiricalMeasure
from ..algorithms.global_policy.algorithm import global_policy
from ..algorithms.global_policy.parameters import GlobalPolicyParameters
from ..algorithms.learning.problem import Problem
from ..algorithms.oracles.ledger import unguard
from ..algorithms.oracles.multi import ClassificationSet, MultiResult, MultiStatus
from ..solvers.lp import solve_lp
from ..solvers.model import LinearModel
from .instances import instance, known_values

HALF = Fraction(1, 2)
_UNIT = 2000
"""Rewards are multiples of 1/2000: laws of returns have a cell for each multiple."""


def _rounded(value: Fraction) -> Fraction:
    return Fraction(round(value * _UNIT), _UNIT)


def two_states(rewards: Sequence[Fraction], horizon: int = 2) -> Problem:
    """Make an instance with two states at level 2, q by action 0 and p by action 1.

    G = {g*} and every policy: the theorem's assumptions hold.
    """
    root, at_q, at_p = rewards[:2], rewards[2:4], rewards[4:]
    ahead = ["end3", "end3"] if horizon > 2 else []
    levels: list[Any] = [
        [("root", {"x": 1}, {"x": [*root]}, ["q", "p"])],
        [
            ("q", {"y": 1}, {"y": [*at_q]}, ahead),
            ("p", {"z": 1}, {"z": [*at_p]}, ahead),
        ],
    ]
    for h in range(3, horizon + 1):
        following = [f"end{h + 1}"] * 2 if h < horizon else []
        levels.append([(f"end{h}", {"w": 1}, {"w": [0, 0]}, following)])
    return instance("two-states", levels)


def overpruned(
    parameters: GlobalPolicyParameters, *, value: int = -1, mean: int = 1
) -> Problem:
    """Make an instance where the state pruned loses about φ_2 + 6τ_val, without noise.

    The learned state q is worth w. The policy's return at p is 2τ_val less, which the
    test lets pass, and p's optimal action, which nothing ever tries, is worth what
    the test takes for no more than w: w + φ_2 + 4τ_val. The root pays 3τ_val to go
    to p, so there is nothing better than to go there. At the printed constants the
    loss is (11H - 5)ε/(6H), at H = 2 already 17ε/12. With a value of 1 or a mean of -1
    p is as far on the other side, so that its test must fail.
    """
    tau, phi = parameters.tau_val, parameters.phi(2)
    little, w = tau / 8, 3 * tau
    at_p = w - 2 * tau + mean * little, w + phi + 4 * tau + value * little
    rewards = [Fraction(0), 3 * tau, w, w, *at_p]
    return two_states([_rounded(r) for r in rewards], parameters.H)


def pruned_then_learned() -> Problem:
    """Make an instance in which a pruned path fails its test later and is learned.

    Level 2 has q, p, s, in this order, and three policies that are best at q. The
    first is good at p, but not at s. Learning s changes the policy to the second, for
    which p is bad. Only the third is optimal.
    """
    levels = [
        [("root", {"x": 1}, {"x": [0, 0, 0]}, ["q", "p", "s"])],
        [
            ("q", {"xq": 1}, {"xq": [HALF, HALF, 0]}, []),
            ("p", {"xp": 1}, {"xp": [HALF, 0, 0]}, []),
            ("s", {"xs": 1}, {"xs": [0, Fraction(9, 10), 0]}, []),
        ],
    ]
    three = FinitePolicyClass([[0, 0, 0], [0, 1, 1], [0, 0, 1]], 3)
    return instance("pruned-then-learned", levels, policies={2: three})


def stale(parameters: GlobalPolicyParameters) -> Problem:
    """Make an instance in which a learned state loses more than φ_2 for a while.

    At level 3 c1 and c2 are pruned by comparison with u; the policy is bad at c1 and
    good at c2, so that q at level 2, learned, goes to c2. Then q' is to be learned,
    whose child s is new: the policy of level 3 changes, c2 becomes bad too (as much
    as its test allows), and q still goes there. Only when q' has been learned is the
    policy of level 2 fitted again.
    """
    tau, phi = parameters.tau_val, parameters.phi(3)
    little, w = tau / 8, Fraction(1, 10)
    bad = _rounded(w - 2 * tau + little)
    good = _rounded(w + phi + 4 * tau - little)
    s = _rounded(w + parameters.phi(2) + 30 * tau)
    zero = Fraction(0)
    at_q: list[Any] = [zero, good - bad - _rounded(tau / 2), zero]
    none: list[Any] = [zero, zero, zero]
    levels = [
        [("root", {"x": 1}, {"x": none}, ["q", "q'", "q'"])],
        [
            ("q", {"y1": 1}, {"y1": at_q}, ["u", "c1", "c2"]),
            ("q'", {"y2": 1}, {"y2": none}, ["s", "u", "u"]),
        ],
        [
            ("u", {"zu": 1}, {"zu": [w, w, w]}, []),
            ("c1", {"z1": 1}, {"z1": [bad, good, 0]}, []),
            ("c2", {"z2": 1}, {"z2": [good, bad, 0]}, []),
            ("s", {"zs": 1}, {"zs": [0, s, 0]}, []),
        ],
    ]
    three = FinitePolicyClass([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]], 3)
    return instance("stale", levels, policies={3: three})


def incomplete() -> Problem:
    """Make an instance that is realizable but not policy complete.

    At level 3 p is pruned by comparison with u, and the policy gets a little less
    there than is possible, as the test allows. Given that policy, at level 2 action
    0 is better in q1, though action 1 is optimal. Π_2 has the optimal policy and one
    that takes action 0 in q1, but the latter gets nothing in q2: no policy, and no
    mixture, is good in both states. Made for the theorem's constants at ε = 0.3.
    """
    gap, fifth = Fraction(3, 50), Fraction(1, 5)
    levels = [
        [("root", {"x": 1}, {"x": [0, 0]}, ["q1", "q2"])],
        [
            ("q1", {"y1": 1}, {"y1": [gap, 0]}, ["u", "p"]),
            ("q2", {"y2": 1}, {"y2": [0, HALF]}, ["u", "u"]),
        ],
        [
            ("u", {"z1": 1}, {"z1": [fifth, fifth]}, []),
            ("p", {"z2": 1}, {"z2": [fifth, fifth + 2 * gap]}, []),
        ],
    ]
    best: Any = [[fifth, fifth + 2 * gap]]
    constant = FinitePolicyClass([[0, 0], [1, 1]], 2)
    return instance("incomplete", levels, {3: FiniteValueClass(best)}, {2: constant})


def search(
    rng: np.random.Generator,
    parameters: GlobalPolicyParameters,
    *,
    evaluations: int = 200,
    grid: int = 4,
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """Search for the environment of two states on which honest runs lose most.

    The rewards of `two_states` are multiples of τ_val/grid. A third of the runs are at
    random rewards; from the worst of them local search goes on: a move changes one or
    two rewards, and is kept unless the loss falls. Every run samples.
    """
    unit = parameters.tau_val / grid
    most = int(Fraction(1, 2) / unit)  # so that no return exceeds 1
    starts = rng.integers(0, most + 1, size=(evaluations // 3 + 1, 6))
    losses = [_loss(start.tolist(), unit, parameters, rng) for start in starts]
    best = max(losses)
    now = starts[losses.index(best)]
    for _ in range(evaluations - len(starts)):
        moved = now.copy()
        for place in rng.choice(6, size=int(rng.integers(1, 3)), replace=False):
            moved[place] += rng.integers(-2 * grid, 2 * grid + 1)
        moved = np.clip(moved, 0, most)
        found = _loss(moved.tolist(), unit, parameters, rng)
        if found >= best:
            now, best = moved, found
    return best, tuple(n * unit for n in now.tolist())


def _loss(
    numbers: Sequence[int],
    unit: Fraction,
    parameters: GlobalPolicyParameters,
    rng: np.random.Generator,
) -> Fraction:
    """V* - V^π̂ of one run; 0 where it fails."""
    made = two_states([n * unit for n in numbers])
    arguments = made.environment, made.values, made.policies, parameters, rng
    result = global_policy(*arguments)
    if not result.succeeded or result.policies is None:
        return Fraction(0)
    truth = made.environment.truth
    return truth.optimal_value - truth.policy_value(result.policies)


_LARGEST = 1000
"""Values are at most this many τ; far from binding."""


class _Program:
    """A linear program over named quantities, in units of τ."""

    def __init__(self) -> None:
        self.model = LinearModel("worst loss", maximise=True)
        self.index: dict[str, int] = {}

    def _terms(self, terms: Mapping[str, int]) -> tuple[list[int], list[int]]:
        for name in terms:
            if name not in self.index:
                found = self.model.add_variable(name, -_LARGEST, _LARGEST)
                self.index[name] = found
        return [self.index[name] for name in terms], list(terms.values())

    def at_most(self, terms: Mapping[str, int], limit: Fraction | int) -> None:
        """Σ coefficient · quantity ≤ limit."""
        self.model.add_row(*self._terms(terms), "<=", limit)

    def near(self, estimate: str, *truth: str) -> None:
        """|estimate - Σ truth| ≤ τ."""
        terms = dict.fromkeys(truth, -1)
        self.at_most({estimate: 1} | terms, 1)
        self.at_most({estimate: -1} | dict.fromkeys(truth, 1), 1)

    def largest(self, terms: Mapping[str, int]) -> Fraction | None:
        """Maximum of Σ coefficient · quantity; None where infeasible."""
        self.model.set_objective(*self._terms(terms), maximise=True)
        found = solve_lp(self.model, exact=True)
        return None if found.objective is None else Fraction(found.objective)


def worst_losses(phi: Fraction) -> dict[str, Fraction]:
    """Most that is lost inside the event at H = 2, K = 2, by linear programming.

    The root leads to q, which is learned, and to p, which is pruned by comparison with
    q. Quantities: V*, V^π̂ and rewards at the root, the averages on D, D' and the
    training sets, and V̂. What the algorithm has computed binds the averages; that V ≤
    V* and the fit at q is left out, as it lowers nothing. `phi`: φ_2 in units of τ =
    τ_val = τ_pol: 11 as printed, 12 corrected. By what is optimal and what is taken.
    """
    losses = {}
    for optimal, taken in itertools.product("pq", repeat=2):
        program = _Program()
        # The test of p passes: V_opt is at least E_D[g*], for g* meets the constraint
        # E_D'[g*] ≤ E_D'[r̄] + φ + 2τ.
        program.near("D g*", "V* p")
        program.near("D r", "V p")
        program.near("D' g*", "V* q")
        program.near("D' r", "V q")
        program.at_most({"D' g*": 1, "D' r": -1}, phi + 2)
        program.at_most({"D g*": 1, "D' r": -1}, phi + 4)
        program.at_most({"D' r": 1, "D r": -1}, 2)
        # The fit at the root, whose rewards are free.
        for s in "pq":
            program.near(f"D_root {s}", f"reward {s}", f"V {s}")
            program.at_most({f"D_root {s}": 1, "V̂ root": -1}, 0)
        program.at_most({"V̂ root": 1, f"D_root {taken}": -1}, 2)
        terms = {f"reward {optimal}": 1, f"V* {optimal}": 1}
        for name in (f"reward {taken}", f"V {taken}"):
            terms[name] = terms.get(name, 0) - 1
        found = program.largest({name: c for name, c in terms.items() if c})
        if found is not None:
            losses[f"{optimal} for {taken}"] = found
    return losses


def worst_loss(phi: Fraction) -> Fraction:
    """Most that is lost, whatever is optimal and whatever is taken for it."""
    return max(worst_losses(phi).values())


class ScriptedEnvironment(FiniteEnvironment):
    """An environment whose roll-outs are written down, for a run without chance."""

    def __init__(
        self,
        environment: FiniteEnvironment,
        script: Mapping[
            tuple[tuple[int, ...], bool], Sequence[tuple[int, int, Fraction, Fraction]]
        ],
    ) -> None:
        super().__init__(environment.truth.model, environment.name)
        self._script = script

    def draw(
        self,
        rules: Sequence[ActionRule],
        n: int,
        rng: np.random.Generator,
        *,
        level: int | None = None,
        successors: bool = True,
    ) -> EmpiricalMeasure:
        """Give what is written down, whatever the policies."""
        assert level is not None
        path: Any = tuple(rules[: level - 1])
        rows = self._script[path, rules[level - 1] == "uniform"]
        codes, actions, returns, chances = zip(*rows, strict=True)
        scale = int(np.lcm.reduce([c.denominator for c in chances], dtype=object))
        self.trajectories += n
        return EmpiricalMeasure(
            list(codes),
            actions=list(actions),
            rewards=list(returns),
            weights=[int(c * scale) for c in chances],
            draws=n,
        )


def worst_permitted(
    policy_class: Any, /, sets: Sequence[ClassificationSet], *, epsilon_feas: float
) -> MultiResult:
    """Answer with the member of a finite class that is worst of those permitted."""
    revealed: FinitePolicyClass = unguard(policy_class)
    best: tuple[Fraction, Any, list[Fraction]] | None = None
    for member in revealed.members:
        costs = []
        for item in sets:
            rows = np.arange(len(item.data))
            chosen = np.asarray(item.costs)[rows, member(item.data.observations)]
            costs.append(item.data.expectation_exact(chosen))
        within = all(c <= s.limit for c, s in zip(costs, sets, strict=True))
        if within and (best is None or sum(costs) > best[0]):
            best = sum(costs, Fraction(0)), member, costs
    policy, averages = (None, None) if best is None else best[1:]
    k = revealed.n_actions
    return MultiResult(
        MultiStatus.UNKNOWN if policy is None else MultiStatus.FEASIBLE,
        "worst permitted",
        epsilon_feas,
        0,
        None,
        policy=None if policy is None else MixedPolicy((policy,), (Fraction(1),), k),
        costs=None if averages is None else np.array([float(c) for c in averages]),
        violation=np.inf if policy is None else 0.0,
    )


@dataclass(frozen=True, eq=False)
class Adversary:
    """A run in which everything goes as badly as the event allows."""

    instance: Problem  # Its environment is scripted. Use `worst_permitted` as oracle.
    # What the policy returned loses, a little less than `worst_loss` times τ
    loss: Fraction


def adversary(parameters: GlobalPolicyParameters) -> Adversary:
    """Make the worst case for given constants, K = M = 2, H ≥ 2 and one τ.

    All happens at levels 1 and 2; nothing is paid later. Deviations are
    τ(1 - 1/1000), and comparisons hold by τ/1000 at least, so that no rounding decides.
    """
    tau, e = parameters.tau_val, Fraction(1, 1000)
    d, phi = 1 - e, parameters.phi(2) / tau  # in units of τ, like all that follows
    best_q, w = Fraction(12), 10 - 2 * d + e
    best_p, v = w + phi + 4 + d - e, w - 2 - d + e
    bonus = w - v + 2 + 2 * d - e
    top = Fraction(4, 5) / tau  # paid at the good observation of p
    high, low = best_p / top, 1 - best_p / top

    def coin(chance: Fraction, value: Fraction) -> dict[Fraction, Fraction]:
        return {value * tau: chance, Fraction(0): 1 - chance}

    def one(value: Fraction) -> dict[Fraction, Fraction]:
        return coin(value * tau, 1 / tau)

    zero: list[Any] = [0, 0]
    at_high: list[Any] = [top * tau, coin(v / best_p, top)]
    at_q: list[Any] = [one(best_q), one(w)]
    horizon = parameters.H
    ends = [["end"] * 2 if h < horizon else [] for h in range(2, horizon + 1)]
    levels: list[Any] = [
        [("root", {"x": 1}, {"x": [0, bonus * tau]}, ["q", "p"])],
        [
            ("q", {"y": 1}, {"y": at_q}, ends[0]),
            ("p", {"z1": high, "z2": low}, {"z1": at_high, "z2": zero}, ends[0]),
        ],
        *[[("end", {"w": 1}, {"w": zero}, following)] for following in ends[1:]],
    ]
    environment = from_lists(levels, "adversary")

    def rows(
        law: Mapping[Fraction, Fraction], code: int, action: int, chance: Fraction
    ) -> list[tuple[int, int, Fraction, Fraction]]:
        return [(code, action, value, chance * p) for value, p in law.items()]

    half, zeros = Fraction(1, 2), {Fraction(0): Fraction(1)}
    seen_high = (best_p - d) / top
    root_p = {bonus * tau + value: p for value, p in coin((v - d) / top, top).items()}
    script: dict[tuple[tuple[int, ...], bool], Any] = {
        # D_q: the best policy looks worse, the other one better.
        ((0,), True): rows(one(best_q - d), 0, 0, half) + rows(one(w + d), 0, 1, half),
        ((0,), False): rows(one(w), 0, 1, Fraction(1)),
        # D: p looks worth less than it is, and the policy better.
        ((1,), False): rows(coin((v + d) / (best_p - d), top), 1, 1, seen_high)
        + rows(zeros, 2, 1, 1 - seen_high),
        ((), True): rows(one(w + d), 0, 0, half) + rows(root_p, 0, 1, half),
    }
    for h in range(3, horizon + 1):
        for path in ((0,) * (h - 2) + (a,) for a in (0, 1)):
            script[path, False] = rows(zeros, 0, 0, Fraction(1))
            script[path, True] = rows(zeros, 0, 0, half) + rows(zeros, 0, 1, half)
    either = FinitePolicyClass([[0], [1]], 2)
    both = FinitePolicyClass([[0, 0, 0], [1, 1, 1]], 2)
    instance = Problem(
        ScriptedEnvironment(environment, script),
        known_values(environment),
        PolicyClassByLevel([either, both, *[either] * (horizon - 2)]),
    )
    return Adversary(instance, (bonus + best_p - w) * tau)
