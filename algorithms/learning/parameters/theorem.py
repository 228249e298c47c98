"""Parameters that a theorem prescribes."""

from __future__ import annotations

from olivine.algorithms.exact.numbers import Number
from olivine.algorithms.learning.parameters.fields import Parameters
from olivine.algorithms.learning.parameters.formulas import Problem, Version, formula_of
from olivine.algorithms.learning.parameters.names import VALOR


class TheoremParameters(Parameters):
    """The theorem's own constants.

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits (0.1 is 1/10).
    M, K, H
        As for `Parameters`.
    log_G, log_Pi
        ln |G| and ln |Π|, not negative; for tabular classes |X_h| ln 2 and
        |X_h| ln K of the largest level (``classes.log_size()``), which is
        enough because only linear functionals of g are estimated.
    algorithm
        ``"valor"``, ``"valor-constrained"``, or what has been registered.
    version
        ``"theorem"``: corrected where an erratum applies; ``"paper"``.
        For VALOR both have the same constants.

    Raises
    ------
    ValueError
        For an argument out of range or an unknown algorithm.
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        log_G: float,
        log_Pi: float,
        algorithm: str = VALOR,
        version: Version = "theorem",
    ) -> None:
        problem = Problem.checked(eps, delta, M, K, H, log_G, log_Pi, version)
        formula = formula_of(algorithm)
        super().__init__(
            algorithm=algorithm,
            eps=problem.eps,
            delta=problem.delta,
            M=M,
            K=K,
            H=H,
            version=version,
            **formula(problem),
        )
