"""An environment over a finite model, and what is true of it, in Fractions.

Counts go level by level, one multinomial a row given the last: data of any size cost
their support. The truth is for tests and monitors only.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.finite import TabularPolicy, TabularValue
from ..classes.protocols import action_weights, check_action, check_policies
from ..exact.arrays import END, frozen, group_sums, object_array, weighted_sum
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import multinomial, multinomial_rows
from .finite_model import (
    FiniteLevel,
    FiniteModel,
    ReturnLaws,
    Steps,
    draw_actions,
    draw_codes,
    draw_episodes,
    draw_steps,
    path_weights,
)
from .protocol import (
    AnyPolicy,
    BaseEnvironment,
    DrawCall,
    Environment,
    ObservationSpace,
    Path,
    RunCall,
    Trajectories,
    check_path,
    leading_path,
)

ZERO = Fraction(0)
_ROOT_BITS = 64


def finite_model(environment: Environment) -> FiniteModel | None:
    """Give the hidden model where observations are its codes, else None."""
    model = getattr(environment.truth, "model", None)
    if not environment.space(1).is_finite or not isinstance(model, FiniteModel):
        return None
    return model


def table(function: Any, level: FiniteLevel) -> NDArray[Any]:
    """Values of a function at every code, as the rationals that its floats are."""
    values = np.asarray(function(np.arange(level.n_codes)))
    return object_array([Fraction(v) for v in values.tolist()])


def shares(rule: Any, level: FiniteLevel, n_actions: int) -> NDArray[Any]:
    """Give the action probabilities at every code: Fractions, shape (X, K)."""
    weights = action_weights(rule, np.arange(level.n_codes), n_actions)
    found = np.empty(weights.shape, dtype=object)
    for x, row in enumerate(weights.tolist()):
        found[x] = [Fraction(w, sum(row)) for w in row]
    return found


def followed(rule: Any, level: FiniteLevel, q: NDArray[Any]) -> NDArray[Any]:
    """E[q(x, a)], a by a rule, at every code: Fractions, shape (X,)."""
    weights = action_weights(rule, np.arange(level.n_codes), q.shape[1]).tolist()
    rows = zip(weights, q.tolist(), strict=True)
    return object_array([weighted_sum(ws, vs) / sum(ws) for ws, vs in rows])


def means(level: FiniteLevel, values: Sequence[Fraction]) -> list[Fraction]:
    """E_s[f(x)] of each hidden state, f given at every code."""
    found = []
    for row, total in zip(level.emissions, level.emission_totals, strict=True):
        codes = np.flatnonzero(row).tolist()
        whole = weighted_sum(row[codes].tolist(), [values[x] for x in codes])
        found.append(whole / int(total))
    return found


def law(weights: NDArray[np.int64]) -> list[tuple[int, Fraction]]:
    """List (number, probability) of the positive ones of n weights, ascending."""
    total = int(weights.sum())
    places = np.flatnonzero(weights).tolist()
    return [(i, Fraction(int(weights[i]), total)) for i in places]


def start_shares(model: FiniteModel) -> list[Fraction]:
    """Probability of each hidden state of level 1."""
    total = int(model.start.sum())
    return [Fraction(int(w), total) for w in model.start]


def backed_up(
    model: FiniteModel, level: int, ahead: Sequence[Fraction] | None
) -> NDArray[Any]:
    """E[r + f(x') | x, a], Fractions (X, K); ``ahead``: f at h+1, None past H."""
    if ahead is None or level == model.horizon:
        return q_values(model, level, None)
    return q_values(model, level, means(model.levels[level], ahead))


def q_values(
    model: FiniteModel, level: int, states: Sequence[Fraction] | None
) -> NDArray[Any]:
    """E[r + v(s') | x, a]: as `backed_up`, for values of the next hidden states."""
    current = model.levels[level - 1]
    q: NDArray[Any] = current.mean_rewards / model.unit
    if states is None:
        return q
    after = np.empty(current.transitions.shape[:2], dtype=object)
    for s, a in np.ndindex(after.shape):
        row = current.transitions[s, a].tolist()
        after[s, a] = weighted_sum(row, states) / sum(row)
    return np.asarray(q + after[current.state_of_code], dtype=object)


def policy_q_values(model: FiniteModel, policies: Sequence[Any]) -> list[NDArray[Any]]:
    """Q^π(x, a) of each level: Fractions, shape (X, K)."""
    found: list[NDArray[Any]] = []
    ahead: list[Fraction] | None = None
    for h in range(model.horizon, 0, -1):
        q = backed_up(model, h, ahead)
        ahead = followed(policies[h - 1], model.levels[h - 1], q).tolist()
        found.insert(0, q)
    return found


def occupancies(model: FiniteModel, rules: Sequence[Any]) -> list[list[Fraction]]:
    """Probability of each hidden state; rules are ``"uniform"`` or a policy a level."""
    here = start_shares(model)
    found = [here]
    for h in range(1, model.horizon):
        level = model.levels[h - 1]
        chances = shares(rules[h - 1], level, model.n_actions)
        by_action = [
            means(level, chances[:, a].tolist()) for a in range(model.n_actions)
        ]
        ahead = [ZERO] * model.levels[h].n_states
        for s, a in np.ndindex(level.transitions.shape[:2]):
            weight = here[s] * by_action[a][s]
            row = level.transitions[s, a].tolist()
            if weight:
                for target in np.flatnonzero(row).tolist():
                    ahead[target] += weight * Fraction(row[target], sum(row))
        here = ahead
        found.append(here)
    return found


def clipped(values: NDArray[Any]) -> NDArray[Any]:
    """Values moved into [0, 1]."""
    return np.asarray(np.minimum(np.maximum(values, 0), 1), dtype=object)


def root_up(value: Fraction) -> Fraction:
    """Square root of a rational that is not negative, rounded up by < 2^-63."""
    scaled = math.ceil(value * 4**_ROOT_BITS)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 2**_ROOT_BITS)


class FiniteTruth:
    """The `olivine.algorithms.environments.protocol.Truth` of a finite model."""

    exact = True

    def __init__(self, model: FiniteModel) -> None:
        self.model = model

    @property
    def optimal_value(self) -> Fraction:
        """V*."""
        return self.path_value(())

    def n_states(self, level: int) -> int:
        """Return the number of hidden states of a level."""
        return self.model.level(level).n_states

    def reachable(self, level: int) -> frozenset[int]:
        """Hidden states that some path reaches with positive probability."""
        self.model.level(level)
        reached: NDArray[Any] = self.model.start > 0
        for current in self.model.levels[: level - 1]:
            reached = np.any(current.transitions[reached] > 0, axis=(0, 1))
        return frozenset(np.flatnonzero(reached).tolist())

    def state(self, path: Path) -> int:
        """Hidden state at the end of a path (deterministic dynamics only)."""
        self._require_deterministic("state")
        weights, _ = path_weights(self.model, path)
        return int(np.flatnonzero(weights)[0])

    def successor(self, level: int, state: int, action: int) -> int:
        """Next hidden state, END past the last level (deterministic only)."""
        self._require_deterministic("successor")
        successors = self.model.level(level).successors
        check_action(state, len(successors), "state")
        return int(successors[state, check_action(action, self.model.n_actions)])

    def state_value(self, level: int, state: int) -> Fraction:
        """V*(s); 0 at level H+1."""
        if level == self.model.horizon + 1:
            return ZERO
        check_action(state, self.model.level(level).n_states, "state")
        value: Fraction = self._optimal[level - 1][1][state]
        return value

    def path_value(self, path: Path) -> Fraction:
        """V*(p); 0 after H actions."""
        return self._at_end(path, [states for _, states in self._optimal])

    def values(self, level: int) -> NDArray[Any]:
        """g*(x) at every code of the level, Fractions."""
        return frozen(self.q_values(level).max(axis=1))

    def q_values(self, level: int) -> NDArray[Any]:
        """Q*(x, a), Fractions, shape (X, K)."""
        self.model.level(level)
        return self._optimal[level - 1][0]

    def policy(self, level: int) -> NDArray[np.int64]:
        """π*(x), the first of the best actions."""
        return np.asarray(self.q_values(level).argmax(axis=1), dtype=np.int64)

    def optimal_policies(self) -> list[AnyPolicy]:
        """π* of each level as policies."""
        levels = range(1, self.model.horizon + 1)
        return [TabularPolicy(self.policy(h)) for h in levels]

    def optimal_value_functions(self) -> list[Any]:
        """Return g* of each level as value functions, exact tables inside."""
        levels = range(1, self.model.horizon + 1)
        return [TabularValue.from_fractions(self.values(h).tolist()) for h in levels]

    def policy_value(self, policies: Sequence[AnyPolicy]) -> Fraction:
        """V^π, exactly."""
        return self.policy_path_value((), policies)

    def policy_path_value(self, path: Path, policies: Sequence[AnyPolicy]) -> Fraction:
        """Return the expected return from level len(path)+1 on under the policies."""
        check_policies(policies, self.model.horizon)
        ahead: Any = None
        below: list[Any] = []
        for h in range(self.model.horizon, len(path), -1):
            level = self.model.levels[h - 1]
            q = q_values(self.model, h, ahead)
            ahead = means(level, followed(policies[h - 1], level, q).tolist())
            below.append(ahead)
        return self._at_end(path, [None] * len(path) + below[::-1])

    def observation_probabilities(self, path: Path) -> NDArray[Any]:
        """P(x_h = x) after the path: Fractions, shape (X,)."""
        weights, total = path_weights(self.model, path)
        level = self.model.levels[len(path)]
        chances = np.full(level.n_codes, ZERO, dtype=object)
        for s in np.flatnonzero(weights):
            scale = total * int(level.emission_totals[s])
            for x in np.flatnonzero(level.emissions[s]):
                weight = int(weights[s]) * int(level.emissions[s, x])
                chances[x] = Fraction(weight, scale)
        return frozen(chances)

    def expectation(self, path: Path, values: Any) -> Any:
        """E_p[g(x_h)]: a float for floats, a Fraction for Fractions."""
        if len(path) == self.model.horizon:
            self.path_value(path)  # checks the actions
            return 0
        chances = self.observation_probabilities(path)
        table = values(np.arange(len(chances))) if callable(values) else values
        table = np.asarray(table)
        if table.shape != chances.shape:
            raise ValueError(
                f"values: shape {table.shape} for {len(chances)} observations"
            )
        return _average(chances.tolist(), table.tolist(), table.dtype == object)

    def action_expectation(
        self, path: Path, policy: AnyPolicy, future: Sequence[Any]
    ) -> Any:
        """E_p[r_h + V_{π(x_h)}]: a float for floats, a Fraction for Fractions."""
        if len(future) != self.model.n_actions:
            raise ValueError(f"future: {len(future)} values, K={self.model.n_actions}")
        exact = all(isinstance(v, (int, Fraction)) for v in future)
        joint, gains = [], []
        for place, share, row in self._choices(path, policy):
            for a, weight in enumerate(row):
                if weight:
                    joint.append(share * Fraction(weight) / sum(map(Fraction, row)))
                    reward = self.model.levels[len(path)].mean_rewards[place, a]
                    gains.append(reward / self.model.unit + future[a])
        return _average(joint, gains, exact)

    def _choices(
        self, path: Path, policy: AnyPolicy
    ) -> Iterator[tuple[int, Fraction, list[Any]]]:
        """Yield codes after a path, their probabilities and weights of actions."""
        chances = self.observation_probabilities(path)
        codes = np.flatnonzero(chances)
        weights = action_weights(policy, codes, self.model.n_actions).tolist()
        yield from zip(codes.tolist(), chances[codes], weights, strict=True)

    def estimate_policy_value(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Monte Carlo mean and standard error over n ≥ 2 episodes."""
        check_policies(policies, self.model.horizon)
        if n < 2:
            raise ValueError(f"n: {n} episodes give no standard error")
        steps = self._episodes(list(policies)[: self.model.horizon], n, rng)
        returns = np.sum([s.units for s in steps], axis=0) / self.model.unit
        return float(returns.mean()), float(returns.std(ddof=1) / math.sqrt(n))

    def _episodes(
        self, policies: Sequence[AnyPolicy], n: int, rng: np.random.Generator
    ) -> list[Steps]:
        return draw_episodes(self.model, policies, n, rng)

    @cached_property
    def _optimal(self) -> list[tuple[NDArray[Any], list[Fraction]]]:
        found: list[tuple[NDArray[Any], list[Fraction]]] = []
        ahead = None
        for h, level in reversed(list(enumerate(self.model.levels, 1))):
            q = q_values(self.model, h, ahead)
            ahead = means(level, q.max(axis=1).tolist())
            found.append((frozen(q), ahead))
        return found[::-1]

    def _at_end(self, path: Path, states: Sequence[Any]) -> Fraction:
        """Average over the hidden states at the end of a path of 0..H actions."""
        if len(path) == self.model.horizon:
            check_path(path, self.model.n_actions)
            return ZERO
        weights, total = path_weights(self.model, path)
        values = states[len(path)]
        return weighted_sum(map(int, weights), values) / total

    def _require_deterministic(self, what: str) -> None:
        if not self.model.deterministic:
            raise ValueError(f"{what}: hidden dynamics are stochastic, no path has one")


def _average(chances: Sequence[Fraction], values: Sequence[Any], exact: bool) -> Any:
    pairs = zip(chances, values, strict=True)
    if exact:
        return sum((p * v for p, v in pairs), ZERO)
    return math.fsum(float(p) * float(v) for p, v in pairs)


class OverModel(BaseEnvironment):
    """An environment with a hidden model."""

    def __init__(self, model: FiniteModel, name: str) -> None:
        super().__init__(name, model.horizon, model.n_actions)
        self._model = model
        self.deterministic = model.deterministic
        self.max_states = max(level.n_states for level in model.levels)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.name!r}, H={self.horizon}, "
            f"K={self.n_actions}, M={self.max_states})"
        )


class FiniteEnvironment(OverModel):
    """The `Environment` of a finite model; codes may have ``features``, (X_h, d)."""

    def __init__(
        self,
        model: FiniteModel,
        name: str,
        *,
        features: Sequence[NDArray[np.float64]] | None = None,
    ) -> None:
        super().__init__(model, name)
        self.features = None if features is None else tuple(features)
        self.truth = FiniteTruth(model)

    def space(self, level: int) -> ObservationSpace:
        """Codes 0..|X_h|-1 of level 1..H, else ValueError."""
        return ObservationSpace(n_codes=self._model.level(level).n_codes)

    def _draw(self, call: DrawCall) -> EmpiricalMeasure:
        rules, n, rng, h, successors, returns = call
        path = leading_path(rules[: h - 1])
        states = multinomial(n, path_weights(self._model, path)[0], rng)
        levels = self._model.levels
        for i, rule in enumerate(rules[len(path) : h - 1]):
            steps = draw_steps(levels[i], states, rule, rng)
            following = levels[i + 1].n_states
            states = group_sums(steps.counts, steps.next_states, following, n)
        at = levels[h - 1]
        if h > len(rules):
            by_code = draw_codes(at, states, rng)
            codes = np.flatnonzero(by_code)
            return EmpiricalMeasure(codes, weights=by_code[codes])
        if returns:
            codes, actions, counts = draw_actions(at, states, rules[h - 1], rng)
            weights = ReturnLaws(self._model, rules, h).weights(codes, actions)
            split = multinomial_rows(counts, weights, rng)
            row, units = np.nonzero(split)
            steps = Steps(codes[row], actions[row], units, units, split[row, units])
        else:
            steps = draw_steps(at, states, rules[-1], rng)
        return self._measure(h, steps, rng, successors)

    def _run(self, call: RunCall) -> Trajectories:
        policies, n, rng, first, transitions = call
        single = draw_episodes(self._model, policies, first, rng)
        parts = [[steps] for steps in single] if first else [[] for _ in single]
        if n > first:
            states = multinomial(n - first, self._model.start, rng)
            for h, level in enumerate(self._model.levels):
                steps = draw_steps(level, states, policies[h], rng)
                parts[h].append(steps)
                if h + 1 < self.horizon:
                    following = self._model.levels[h + 1].n_states
                    states = group_sums(steps.counts, steps.next_states, following, n)
        whole = [_joined(steps) for steps in parts]
        pairs = (zip(s.units.tolist(), s.counts.tolist(), strict=True) for s in whole)
        total = sum(units * count for level in pairs for units, count in level)
        kept = [
            self._measure(h, steps, rng, True)
            for h, steps in enumerate(whole if transitions else [], 1)
        ]
        paths = np.stack([steps.actions for steps in single], axis=1)
        gained = np.sum([steps.units for steps in single], axis=0) / self._model.unit
        mean = Fraction(total, n * self._model.unit)
        return Trajectories(n, mean, paths, gained, tuple(kept))

    def _measure(
        self, h: int, steps: Steps, rng: np.random.Generator, successors: bool
    ) -> EmpiricalMeasure:
        row, following, counts = np.arange(len(steps.codes)), None, steps.counts
        if successors and h < self.horizon:
            emissions = self._model.levels[h].emissions[steps.next_states]
            split = multinomial_rows(counts, emissions, rng)
            row, following = np.nonzero(split)
            counts = split[row, following]
        elif successors:
            following = np.full(len(row), END, dtype=np.int64)
        unit, units = self._model.unit, steps.units[row].tolist()
        made = {u: Fraction(u, unit) for u in set(units)}  # each distinct one once
        return EmpiricalMeasure(
            steps.codes[row],
            actions=steps.actions[row],
            rewards=object_array([made[u] for u in units]),
            next_observations=following,
            weights=counts,
        )


def _joined(parts: Sequence[Steps]) -> Steps:
    columns = zip(*(vars(steps).values() for steps in parts), strict=True)
    return Steps(*map(np.concatenate, columns))
