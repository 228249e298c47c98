"""Baselines for contrast: known algorithms beside which VALOR and OLIVE are seen.

==========  ==================================================================
`psdp`      policy search by dynamic programming, CSC oracle, uniform roll-in
`fqi`       fitted Q iteration, LS oracle, uniform roll-in
`backup`    Bellman backup algorithms as the paper defines them, both oracles
`rmax`      R-max for somebody who can decode hidden states: no oracle
==========  ==================================================================
"""

from olivine.algorithms.baselines.backup import backup
from olivine.algorithms.baselines.fqi import fqi
from olivine.algorithms.baselines.parameters import (
    BatchParameters,
    practical_parameters,
    theorem_parameters,
)
from olivine.algorithms.baselines.psdp import psdp
from olivine.algorithms.baselines.rmax import rmax
from olivine.algorithms.baselines.rmax_parameters import (
    RmaxParameters,
    rmax_practical,
    rmax_theorem,
)

__all__ = [
    "BatchParameters",
    "RmaxParameters",
    "backup",
    "fqi",
    "practical_parameters",
    "psdp",
    "rmax",
    "rmax_practical",
    "rmax_theorem",
    "theorem_parameters",
]
