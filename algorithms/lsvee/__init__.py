"""LSVEE (Krishnamurthy, Agarwal, Langford 2016): its entry, and what is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..classes.q_functions import FiniteQClass
from ..environments.finite import FiniteTruth
from ..environments.protocol import Environment
from ..exact.arrays import object_array
from ..learning.draw_classes import make_q_class, optimal_member
from ..learning.events import Descending, Path
from ..learning.monitors import MetaAlgReview, claim_table
from ..learning.parameters import Version
from ..learning.problem import LearningResult, Problem, Scope
from ..learning.registry import Task, declare, show_q_functions, sizes_of
from .algorithm import Cells, Consensus, Elimination, Start, lsvee
from .parameters import LSVEE, LsveeParameters, LsveePractical, LsveeTheorem, root_down

__all__ = ["LsveeParameters", "LsveePractical", "LsveeTheorem", "lsvee"]


def code_chances(
    environment: Environment, functions: FiniteQClass, path: Path
) -> NDArray[Any] | None:
    """Probability of each code at the end of a path: Fractions, or None."""
    truth: Any = environment.truth
    level = len(path) + 1
    if environment.space(level).is_finite:
        return np.asarray(truth.observation_probabilities(path))
    listed = truth.emission.listed(level, truth.state(path))
    if listed is None:
        return None
    counts = np.bincount(
        functions.codes(level, listed), minlength=functions.n_codes(level)
    )
    return object_array([Fraction(c, len(listed)) for c in counts.tolist()])


def optimal_q(environment: Environment, level: int) -> NDArray[Any]:
    """Q* at every code, (codes, K); at every hidden state for features."""
    if environment.space(level).is_finite:
        return np.asarray(environment.truth.q_values(level))
    truth: Any = environment.truth
    return np.asarray(FiniteTruth.q_values(truth, level))


def true_values(
    functions: FiniteQClass, level: int, chances: NDArray[Any], members: Any
) -> list[Fraction]:
    """V^f(p) = E_p[f(x, π_f(x))] of members of an exact class."""
    codes = np.flatnonzero(chances)
    best = functions.numerator_table(level, best=True)[members][:, codes]
    sums = best.astype(object) @ chances[codes]
    return [value / functions.denominator for value in sums.tolist()]


def bellman_errors(
    environment: Environment,
    functions: FiniteQClass,
    elimination: Elimination,
    chances: NDArray[Any],
) -> list[Fraction]:
    """Mean squared Bellman errors of the members that competed.

    E[(f(x, a) - E[r | x, a] - V̂^f(p∘a))²], a uniform; E[r | x, a] = Q*(x, a) -
    V*(p∘a).
    """
    level = len(elimination.path) + 1
    codes = np.flatnonzero(chances)
    means = _mean_rewards(environment, elimination.path)[codes]
    values = functions.table(level)[elimination.members][:, codes]
    errors = values - means[None] - elimination.futures[:, None, :]
    of_codes = (errors * errors).sum(axis=2) / functions.n_actions
    return [Fraction(v) for v in (of_codes @ chances[codes]).tolist()]


def optimal_risk(environment: Environment, path: Path, cells: Cells) -> Fraction:
    """Average over a data set of (Q*(x, a) - r - V*(p∘a))²."""
    means = _mean_rewards(environment, path)[cells.codes, cells.actions]
    rows = zip(
        means.tolist(),
        cells.weights.tolist(),
        cells.rewards.tolist(),
        cells.squares.tolist(),
        strict=True,
    )
    whole = sum((u * (u * w - 2 * r) + s for u, w, r, s in rows), Fraction(0))
    return whole / cells.total


def _mean_rewards(environment: Environment, path: Path) -> NDArray[Any]:
    """E[r | x, a] at the observations of the state at the end of a path."""
    futures: Sequence[Fraction] = [
        environment.truth.path_value((*path, a)) for a in range(environment.n_actions)
    ]
    found: NDArray[Any] = optimal_q(environment, len(path) + 1) - object_array(futures)
    return found


_UNLISTED = "observations are features that cannot be listed"


class LsveeMonitors(MetaAlgReview):
    """Record a run, then check it, by docs/lsvee.md; √K φ = ε/(320 H²)."""

    p: LsveeParameters
    claims = claim_table(
        """
        realizable       premise  Q* ∈ F
        test-deviations  premise  |V̂^f(p) - V^f(p)| ≤ φ/2 for every function of every
                                  test
        risk-deviations  premise  Bernstein's bound on the excess risks of every
                                  elimination
        qstar-kept       lemma    Q* is never eliminated
        consensus        lemma    where a test agrees, true values differ by ≤ tol(h) +
                                  φ
        futures          lemma    what an elimination is given differs by ≤ tol(h), and
                                  from V*(p∘a) by ≤ tol(h) + φ/2
        td-errors        lemma    survivors have root mean square Bellman errors ≤ 5φ/2
        value-accuracy   lemma    at a learned state of level h, true values of
                                  survivors differ from each other, and V*(p), by ≤
                                  tol(h) + 5√Kφ
        no-relearning    lemma    no descent into a learned state
        terminates       lemma    no call of DFS-learn learns more than it can
        policy-bound     lemma    V^f - V^π_f ≤ p_ul + H(5√Kφ/2 + φ/2), p_ul the chance
                                  to meet a state not learned
        trajectories     lemma    within the bound
        start-estimate   chance   |V̂* - V^f| ≤ ε/8 for the function that gave it
        evaluation       chance   |V̂ - V^π| ≤ ε/8
        progress         chance   each rejected policy leads to a new state
        epsilon-optimal  chance   V* - V^π ≤ ε, and the run succeeds
        """
    )

    def __init__(self, problem: Problem, parameters: LsveeParameters) -> None:
        super().__init__(problem, parameters)
        self._functions: FiniteQClass = problem.values.as_exact()
        self._best = optimal_member(self._functions, problem.environment)
        # √K φ, and a rational just above φ
        self._step = parameters.eps / (320 * parameters.H**2)
        self._phi = parameters.phi * (1 + Fraction(1, 2**60))

    def words(self) -> dict[str, Scope]:
        free = self.p.version == "practical"  # then the lemmas claim nothing
        lemma: Scope = "fact" if free else "event"
        return {"lemma": lemma, "chance": "fact" if free else "probable"}

    def begin(self) -> None:
        super().begin()
        self._first = 0

    def on_descending(self, call: Descending) -> None:
        again = self.truth.state(call.path) in self.learned[call.level - 1]
        self.tallies["no-relearning"].never(again, f"path {list(call.path)}")

    def on_consensus(self, comparison: Consensus) -> None:
        """Check the deviations of a test, and what its agreement means."""
        path = comparison.path
        true = self._true_values(path, comparison.members)
        if true is None:
            for name in ("test-deviations", "consensus"):
                self.tallies[name].skip(_UNLISTED)
            return
        pairs = zip(comparison.values.tolist(), true, strict=True)
        self.tallies["test-deviations"].at_most(
            max(abs(v - t) for v, t in pairs),
            comparison.sizes.accuracy,
            f"test at path {list(path)}",
        )
        if comparison.agreed:
            self.tallies["consensus"].at_most(
                max(true) - min(true),
                self.p.tolerance(len(path)) + self._phi,
                f"test at path {list(path)}",
            )

    def on_elimination(self, elimination: Elimination) -> None:
        """Check what an elimination was given, and what it left."""
        path = elimination.path
        self.learned[len(path)].add(self.truth.state(path))
        survivors = elimination.survivors.tolist()
        self._first = survivors[0]
        if self._best in elimination.members.tolist():
            self.tallies["qstar-kept"].never(
                self._best not in survivors, f"path {list(path)}"
            )
        self._check_futures(elimination)
        chances = code_chances(self.environment, self._functions, path)
        if chances is None:
            for name in ("risk-deviations", "td-errors", "value-accuracy"):
                self.tallies[name].skip(_UNLISTED)
            return
        self._check_errors(elimination, chances)
        level = len(path) + 1
        true = true_values(self._functions, level, chances, survivors)
        true.append(self.truth.path_value(path))
        self.tallies["value-accuracy"].at_most(
            max(true) - min(true),
            self.p.tolerance(level) + 5 * self._step,
            f"path {list(path)}",
        )

    def _check_futures(self, elimination: Elimination) -> None:
        path, tally = elimination.path, self.tallies["futures"]
        tolerance = self.p.tolerance(len(path) + 1)
        for a in range(self.p.K):
            values = elimination.futures[:, a].tolist()
            true = self.truth.path_value((*path, a))
            tally.at_most(max(values) - min(values), tolerance, f"path {list(path)}")
            tally.at_most(
                max(abs(v - true) for v in values),
                tolerance + self._phi / 2,
                f"V* after path {list(path)}",
            )

    def _check_errors(self, elimination: Elimination, chances: Any) -> None:
        path, rate = elimination.path, elimination.sizes.rate
        errors = bellman_errors(self.environment, self._functions, elimination, chances)
        reference = optimal_risk(self.environment, path, elimination.cells)
        for error, risk, kept in zip(
            errors, elimination.risks.tolist(), elimination.kept.tolist(), strict=True
        ):
            self.tallies["risk-deviations"].at_most(
                abs(risk - reference - error),
                root_down(18 * error * rate) + Fraction(5, 3) * rate,
                f"path {list(path)}",
            )
            if kept:
                self.tallies["td-errors"].at_most(
                    error, Fraction(25, 4) * self.p.phi_squared, f"path {list(path)}"
                )

    def on_start(self, start: Start) -> None:
        """Check V̂*."""
        true = self._true_values((), [start.member])
        if true is None:
            self.tallies["start-estimate"].skip(_UNLISTED)
            return
        self.tallies["start-estimate"].at_most(
            abs(start.estimate - true[0]), self.p.eps / 8, "V̂*"
        )

    def promised(self) -> Fraction | None:
        """V^f of the first survivor."""
        true = self._true_values((), [self._first])
        return None if true is None else true[0]

    def policy_loss(self) -> Fraction:
        """H(5√Kφ/2 + φ/2)."""
        return self.p.H * (Fraction(5, 2) * self._step + self._phi / 2)

    def ended(self, result: LearningResult) -> None:
        super().ended(result)
        realizable = self.tallies["realizable"]
        if self.environment.space(1).is_finite or self.truth.exact:
            realizable.never(self._best is None, "Q* is not in F")
        else:
            realizable.skip(_UNLISTED)
        self.tallies["terminates"].never(result.event_failed, result.reason)

    def _true_values(self, path: Path, members: Any) -> list[Fraction] | None:
        chances = code_chances(self.environment, self._functions, path)
        if chances is None:
            return None
        return true_values(self._functions, len(path) + 1, chances, members)


def _class(task: Task) -> Problem:
    if isinstance(task.classes, FiniteQClass):
        return Problem(task.environment, task.classes)
    if task.classes != "finite":
        kind = "such" if isinstance(task.classes, tuple) else task.classes
        raise ValueError(
            f"classes: lsvee evaluates every function of its class in each step, which "
            f"{kind} classes are too large for; take finite, or a FiniteQClass"
        )
    size = {name: task.settings[name] for name in ("size",) if name in task.settings}
    functions = make_q_class(task.environment, task.rng, **size)
    show_q_functions(task, functions)
    return Problem(task.environment, functions)


def _parameters(task: Task, problem: Problem) -> LsveeParameters:
    sizes, chosen = sizes_of(task)
    size = len(problem.values)
    if task.parameters == "practical":
        return LsveePractical(*sizes, size, **chosen)
    version: Version = "paper" if task.parameters == "paper" else "theorem"
    return LsveeTheorem(*sizes, size, version=version)


ALGORITHMS = (
    declare(
        LSVEE,
        "value elimination by enumeration of Q-functions (Krishnamurthy et al. 2016)",
        parameters=_parameters,
        learn=lsvee,
        review=LsveeMonitors,
        classes=_class,
        default_classes="finite",
        settings=LsveeParameters.settings() | {"size": "most functions in the class"},
        # For Q-functions: Q* in F (which also puts π* and g* among π_f and max_a f).
        assumptions=("value-realizability",),
    ),
)
