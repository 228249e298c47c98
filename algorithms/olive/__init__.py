"""OLIVE (Jiang et al. 2017) as an algorithm that learns from data.

Optimism led iterative value-function elimination explores with a policy that
promises most among all that still satisfy the average Bellman equations seen so
far. It needs polynomially many samples wherever the Bellman rank is small, and
solves a program each round (`olivine.algorithms.olive_program`): NP-hard already for
tabular classes, and OLIVE meets hard ones if its ties are broken against it.

Source: Jiang, Krishnamurthy, Agarwal, Langford, Schapire, "Contextual Decision
Processes with Low Bellman Rank are PAC-Learnable", ICML 2017; the algorithm's
statement and constants are recalled, as no public implementation exists.
"""

from .learning import ALGORITHMS, OLIVE, OliveLearningResult

__all__ = ["ALGORITHMS", "OLIVE", "OliveLearningResult"]
