"""OLIVE, the algorithm of Jiang et al. 2017: the door to its parts.

Optimism led iterative value-function elimination explores with a policy that
promises most among all that still satisfy the average Bellman equations seen so
far. It needs polynomially many samples wherever the Bellman rank is small, and
solves a program each round. Such programs are NP-hard already for tabular classes,
and OLIVE meets hard ones if its ties are broken against it: that is what this
project is about.

===============================  ==============================================
`olive_exact`                    exact expectations on tabular MDPs, rationals
`olive_sampled`                  data sets, with `theorem_parameters`
`Milp`, `BranchAndBound`         tabular classes, in both forms: (g, π) and Q
`FinitePairs`                    finite classes: `pairs_of_class` of a
                                 `FiniteQClass`, `pairs_of_q_functions` of tables
`LayeredEnvironment`             any environment of the project, features included
`SolverTiebreak`,                which maximiser and which level
`RandomTiebreak`,
`ScriptedTiebreak`
===============================  ==============================================

Source: Jiang, Krishnamurthy, Agarwal, Langford, Schapire, "Contextual Decision
Processes with Low Bellman Rank are PAC-Learnable", ICML 2017; the algorithm's
statement and constants are recalled, as no public implementation exists.
"""

from __future__ import annotations

from olivine.algorithms.olive.environment import SampledEnvironment, TabularEnvironment
from olivine.algorithms.olive.environment_adapter import LayeredEnvironment
from olivine.algorithms.olive.exact import olive_exact
from olivine.algorithms.olive.finite_pairs import FinitePairs
from olivine.algorithms.olive.interfaces import Answer, Optimiser
from olivine.algorithms.olive.loop import OliveResult, OliveRound
from olivine.algorithms.olive.optimisers import BranchAndBound, Milp
from olivine.algorithms.olive.parameters import (
    OliveParameters,
    tabular_log_size,
    theorem_parameters,
)
from olivine.algorithms.olive.q_functions import pairs_of_class, pairs_of_q_functions
from olivine.algorithms.olive.sampled import olive_sampled
from olivine.algorithms.olive.tiebreak import (
    RandomTiebreak,
    ScriptedTiebreak,
    SolverTiebreak,
    Tiebreak,
)

__all__ = [
    "Answer",
    "BranchAndBound",
    "FinitePairs",
    "LayeredEnvironment",
    "Milp",
    "OliveParameters",
    "OliveResult",
    "OliveRound",
    "Optimiser",
    "RandomTiebreak",
    "SampledEnvironment",
    "ScriptedTiebreak",
    "SolverTiebreak",
    "TabularEnvironment",
    "Tiebreak",
    "olive_exact",
    "olive_sampled",
    "pairs_of_class",
    "pairs_of_q_functions",
    "tabular_log_size",
    "theorem_parameters",
]
