"""OLIVE (Jiang et al. 2017, recalled) as an algorithm that learns from data.

Optimism led iterative value-function elimination explores with a policy that promises
most among all that satisfy the average Bellman equations seen so far. It needs
polynomially many samples where the Bellman rank is small, and solves a program each
round (`olivine.algorithms.olive_program`): NP-hard already for tabular classes.
"""

from .learning import ALGORITHMS, OLIVE, OliveLearningResult

__all__ = ["ALGORITHMS", "OLIVE", "OliveLearningResult"]
