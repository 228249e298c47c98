"""Consensus: whether the functions that agree with the data agree on a new value.

At levels h = 2..H two linear programs find the highest and the lowest value at a child
over the functions of G_h within φ_h of every learned value (paper, Algorithm 3, lines 5
and 6). Infeasible programs cannot happen in event E: the run fails, or, with
``fall_back``, φ of that level is doubled until some function agrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ..classes.protocols import ValueClass
from ..exact.data import EmpiricalMeasure, pool
from ..learning.events import EventFailedError, Path, Triple
from ..oracles import Constraint, Functional
from ..oracles.ledger import guard
from ..oracles.lp import LpResult, ValueProgram
from .parameters import ValorParameters


class ConsensusPrograms:
    """The programs of levels 2 to H, growing with the data sets."""

    def __init__(
        self,
        value_class: ValueClass,
        parameters: ValorParameters,
        horizon: int,
        observations: Callable[[Triple], EmpiricalMeasure],
    ) -> None:
        self.parameters = parameters
        self._values = guard(value_class)
        deeper = range(2, horizon + 1)
        self._programs = {h: ValueProgram(self._values.at_level(h)) for h in deeper}
        self._triples: dict[int, list[Triple]] = {h: [] for h in deeper}
        self._scale = dict.fromkeys(deeper, 1)
        self._observations = observations

    def add(self, triple: Triple) -> None:
        """Constrain a level by |V - E_D[g(x_h)]| ≤ φ_h."""
        self._triples[triple.level].append(triple)
        self._programs[triple.level].add(self._near(triple))

    def learned(self, level: int) -> Sequence[Triple]:
        """Give the learned states that constrain the programs of a level."""
        return self._triples[level]

    def limit(self, level: int) -> Fraction:
        """Largest V_opt - V_pes that is a consensus, φ doubled as often as it was."""
        return self.parameters.consensus(level, self._scale[level])

    def extremes(
        self, path: Path, data: EmpiricalMeasure
    ) -> tuple[tuple[Fraction, Fraction], bool]:
        """V_opt and V_pes of D' at the end of a path, and whether φ was doubled."""
        level, objective = len(path) + 1, Functional.expectation(data)
        relaxed = False
        while (extremes := self._extremes(level, objective)) is None:
            if not self.parameters.fall_back:
                raise EventFailedError(
                    f"no value function of level {level} agrees with what was learned "
                    f"(consensus test at path {list(path)}), impossible in event E"
                )
            relaxed = True
            self._relax(level)
        return extremes, relaxed

    def noise(self, level: int, batches: Sequence[EmpiricalMeasure]) -> Fraction:
        """How far V_opt - V_pes of one state differs between two samples, at most."""
        others = Functional.expectation(pool(batches[:-1], shares="draws"))
        last = Functional.expectation(batches[-1])
        extremes = self._extremes(level, others.minus(last))
        return Fraction(0) if extremes is None else extremes[0] - extremes[1]

    def _extremes(
        self, level: int, objective: Functional
    ) -> tuple[Fraction, Fraction] | None:
        """V_opt and V_pes, or None where no function meets the constraints."""
        found = self.solve(level, objective)
        return None if found is None else (optimum(found[0]), optimum(found[1]))

    def solve(
        self, level: int, objective: Functional
    ) -> tuple[LpResult, LpResult] | None:
        """Maximum and minimum of a functional, or None where infeasible."""
        results = []
        for maximise in (True, False):
            found: LpResult = self._programs[level].optimise(
                objective,
                maximise=maximise,
                epsilon_sub=float(self.parameters.eps_sub),
                epsilon_feas=float(self.parameters.eps_feas),
            )
            if not found.feasible or found.value is None:
                return None
            results.append(found)
        return results[0], results[1]

    def _relax(self, level: int) -> None:
        self._scale[level] *= 2
        self.rebuild(level)

    def rebuild(self, level: int) -> None:
        """Make the program of a level anew: φ, or what was seen, has changed."""
        constraints = [self._near(triple) for triple in self._triples[level]]
        self._programs[level] = ValueProgram(self._values.at_level(level), constraints)

    def _near(self, triple: Triple) -> Constraint:
        """|V - E_D[g(x_h)]| ≤ φ_h."""
        h = triple.level
        return Constraint.near(
            Functional.expectation(self._observations(triple)),
            triple.value,
            self.parameters.phi(h) * self._scale[h],
        )


def optimum(found: LpResult) -> Fraction:
    """Optimum of a feasible program, as a rational."""
    exact = found.exact_value
    return Fraction(found.value or 0) if exact is None else exact
