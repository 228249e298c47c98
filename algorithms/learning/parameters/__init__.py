"""Parameters of VALOR and its relatives: from the theorem, or free.

`TheoremParameters` computes the constants of a theorem (Table 1 of the paper for
VALOR; the other algorithms' formulas are corrected where the paper errs): sample
sizes are exact Python integers, rounded up, accuracies are rationals.
`PracticalParameters` are whatever one likes. Algorithms take either, for both are
`Parameters`.

=============  ================================================================
`fields`       `Parameters`: all constants of a run, and what follows from them
`formulas`     constants by algorithm; one's own: ``register_formula(name, f)``
`theorem`      `TheoremParameters`
`practical`    `PracticalParameters`
`numbers`      rationals of decimal digits, rounding up, checks of ranges
=============  ================================================================

>>> import math
>>> p = TheoremParameters(0.2, 0.1, M=3, K=3, H=4, log_G=math.log(120), log_Pi=5)
>>> p.n_exp, p.T_max
(247, 2967)
>>> p.phi(4) == 6 * p.eps_stat + 2 * p.eps_sub + p.eps_feas
True
"""

from olivine.algorithms.exact.numbers import (
    Number,
    check_count,
    check_flag,
    check_unit,
    ratio_up,
    rational,
)
from olivine.algorithms.learning.parameters.fields import Parameters
from olivine.algorithms.learning.parameters.formulas import (
    Formula,
    Problem,
    Version,
    register_formula,
)
from olivine.algorithms.learning.parameters.names import CONSTRAINED, VALOR
from olivine.algorithms.learning.parameters.practical import PracticalParameters
from olivine.algorithms.learning.parameters.theorem import TheoremParameters

__all__ = [
    "CONSTRAINED",
    "VALOR",
    "Formula",
    "Number",
    "Parameters",
    "PracticalParameters",
    "Problem",
    "TheoremParameters",
    "Version",
    "check_count",
    "check_flag",
    "check_unit",
    "ratio_up",
    "rational",
    "register_formula",
]
