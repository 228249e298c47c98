"""How far two measures are apart for a value class: sup_g |E_D[g] - E_D'[g]|.

The two-sample algorithm's identity test (paper, appendix C.1). For every class
it is a linear program over G, asked of the LP oracle in both directions; by
class that is

- tabular: the total variation distance;
- finite: the largest difference over the members;
- linear: two linear programs;
- a ball of a kernel's Hilbert space: the maximum mean discrepancy in closed
  form, radius · ‖μ_D - μ_D'‖, by O(n²) kernel evaluations (Gretton et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..classes.protocols import ValueClass, ValueFunction
from ..exact.data import EmpiricalMeasure, Field
from .functionals import Functional
from .lp import ValueProgram


@dataclass(frozen=True)
class Discrepancy:
    """A largest difference of means."""

    value: float  # |E_D[g] - E_D'[g]| at `function`, not negative
    suboptimality: float  # Certified bound on the supremum minus `value`
    function: ValueFunction  # The function that tells the measures apart


def mean_discrepancy(
    value_class: ValueClass,
    first: EmpiricalMeasure,
    second: EmpiricalMeasure,
    *,
    epsilon_sub: float,
    field: Field = "observations",
) -> Discrepancy:
    """Find the function of a class whose means differ most.

    Raises ValueError as for the LP oracle; and if observations differ in kind.
    """
    difference = Functional.expectation(first, field=field).minus(
        Functional.expectation(second, field=field)
    )
    program = ValueProgram(value_class)
    above, below = (
        program.optimise(
            difference,
            maximise=maximise,
            epsilon_sub=epsilon_sub,
            epsilon_feas=epsilon_sub,
        )
        for maximise in (True, False)
    )
    if above.value is None or below.value is None:
        raise ValueError("value_class: it is empty on these observations")
    # Either direction bounds the supremum from above: keep the larger value,
    # and the larger of the two upper bounds minus it.
    best = above if above.value >= -below.value else below
    if best.function is None:
        raise AssertionError("an optimal program has a function")
    value = max(above.value, -below.value, 0.0)
    ceiling = max(above.value + above.suboptimality, -below.value + below.suboptimality)
    return Discrepancy(value, max(0.0, ceiling - value), best.function)
