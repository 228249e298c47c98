"""DFS-learn, consensus and TD-elim: how LSVEE learns values without states.

The three subroutines of Krishnamurthy, Agarwal and Langford 2016, recalled (the
paper of VALOR has only their outline, in the section "What is new compared to
LSVEE"). F is the set of functions that survive, V^f(p) = E_p[f(x, π_f(x))]::

    DFS-learn(p, F, δ)
      for a in A
        D' ← n_test observations at the end of p∘a
        V̂^f(p∘a) ← average over D' of f(x, π_f(x)), for f in F      (enumerates)
        unless all V̂^f(p∘a) agree up to the tolerance                (consensus)
          F ← DFS-learn(p∘a, F, δ)
      D ← n_train tuples (x, a, r) after p, a uniform                (TD-elim)
      R̂(f) ← average over D of (f(x,a) - r - V̂^f(p∘a))², for f in F  (enumerates)
      F ← {f in F: R̂(f) ≤ min R̂ + slack}

TD-elim compares f(x, a) with r plus an *average* of f over next observations,
V̂^f(p∘a), from the test's data. With one sampled x' in its place the square
would also contain the variance of f(x', π_f(x')), which differs from function to
function, and Q* could be the one that goes. The average is at hand because the
dynamics are deterministic: p∘a leads to one state.

What was not recalled with certainty, and what is done here:

- Below level H there is nothing: V̂^f = 0 for every f, no data, no test.
- A child that was descended into keeps the estimates of its test's data; those
  of survivors agree by then, in the good event.
- Estimates and risks are exact rationals over weighted data, so comparisons
  with tolerance and slack are exact too.
- More than `max_eliminations` in one call from outside cannot happen in the
  good event, where a call learns each state once: the run fails. Without that
  bound an unlucky run would walk the whole tree, K^H paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from olivine.algorithms.classes.q_functions import FiniteQClass
from olivine.algorithms.environments.protocol import Environment
from olivine.algorithms.learning.events import EventFailedError, Observer, Path
from olivine.algorithms.lsvee.averages import Cells, risks, state_value_averages
from olivine.algorithms.lsvee.events import Comparison, Elimination, LsveeObserver
from olivine.algorithms.lsvee.parameters import LsveeParameters, Sizes


class Survivors:
    """The state of a run: the functions that have not been eliminated.

    Parameters
    ----------
    environment
        Where data come from.
    functions
        F, an exact class with Q* in it.
    parameters
        All constants.
    rng
        The only source of randomness.
    observers
        Told of every step.

    Attributes
    ----------
    members
        Numbers of the survivors, ascending.
    learned
        Eliminations done at each level.
    enumerated
        Functions evaluated so far, counted once for each data set.
    """

    def __init__(
        self,
        environment: Environment,
        functions: FiniteQClass,
        parameters: LsveeParameters,
        rng: np.random.Generator,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.environment, self.functions = environment, functions
        self.parameters, self.rng = parameters, rng
        self.observers = tuple(observers)
        self._watchers = [o for o in observers if isinstance(o, LsveeObserver)]
        self.members: NDArray[np.int64] = np.arange(len(functions))
        self.learned = [0] * environment.horizon
        self.enumerated = 0
        self._left = 0

    def learn(self, path: Path, sizes: Sizes) -> None:
        """Call DFS-learn from outside.

        Raises
        ------
        EventFailedError
            If it would learn more states than it can in the good event.
        """
        self._left = self.parameters.max_eliminations
        self._dfs_learn(path, sizes)

    def _dfs_learn(self, path: Path, sizes: Sizes) -> None:
        for observer in self.observers:
            observer.entered(path)
        if self._left == 0:
            raise EventFailedError(
                "one call of DFS-learn went on to more than max_eliminations = "
                f"{self.parameters.max_eliminations} states, impossible in the good "
                "event"
            )
        self._left -= 1
        shape = (len(self.functions), self.parameters.K)
        futures = np.full(shape, Fraction(0), dtype=object)
        if len(path) + 1 < self.environment.horizon:
            for a in range(self.parameters.K):
                test = self._consensus((*path, a), sizes)
                futures[test.members, a] = test.values
                if not test.agreed:
                    for observer in self.observers:
                        observer.descending(test.path)
                    self._dfs_learn(test.path, sizes)
        self._td_eliminate(path, futures, sizes)

    def _consensus(self, path: Path, sizes: Sizes) -> Comparison:
        data = self.environment.observe(path, sizes.n_test, self.rng)
        for observer in self.observers:
            observer.tested(path, data)
        level, members = len(path) + 1, self.members
        values = state_value_averages(self.functions, level, data, members)
        self.enumerated += len(members)
        spread = max(values.tolist()) - min(values.tolist())
        agreed = spread <= self.parameters.tolerance(level - 1)
        test = Comparison(path, data, members, values, agreed, sizes)
        for watcher in self._watchers:
            watcher.compared(test)
        return test

    def _td_eliminate(self, path: Path, futures: NDArray[Any], sizes: Sizes) -> None:
        level, members = len(path) + 1, self.members
        data = self.environment.sample(path, sizes.n_train, self.rng, successors=False)
        cells = Cells.of(self.functions, level, data)
        found = risks(self.functions, level, cells, futures[members], members)
        self.enumerated += len(members)
        limit = min(found.tolist()) + sizes.slack
        kept = np.array([risk <= limit for risk in found.tolist()])
        self.members = members[kept]
        self.learned[level - 1] += 1
        done = Elimination(path, cells, members, futures[members], found, kept, sizes)
        for watcher in self._watchers:
            watcher.eliminated(done)


__all__ = ["Survivors"]
