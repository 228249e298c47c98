"""VALOR: values stored locally for RL (paper, Algorithms 1 to 4).

======================  =======================================================
`valor`                 dfslearn and the pooled policy step (Algorithms 1 to 3)
`valor_constrained`     the same with the constrained policy step (Algorithm 4)
`linear_defaults`       practical parameters for linear classes on features
======================  =======================================================
"""

from olivine.algorithms.valor.constrained import valor_constrained
from olivine.algorithms.valor.linear_defaults import linear_defaults
from olivine.algorithms.valor.pooled import valor

__all__ = ["linear_defaults", "valor", "valor_constrained"]
