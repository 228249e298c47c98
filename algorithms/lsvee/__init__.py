"""LSVEE (Krishnamurthy, Agarwal, Langford 2016): value elimination by enumeration.

=====================  =======================================================
`lsvee`                the algorithm
`LsveeTheorem`         its theorem's constants, as recalled
`LsveePractical`       free parameters
`LsveeMonitors`        what its analysis claims of a run, checked
=====================  =======================================================
"""

from olivine.algorithms.lsvee.lsvee import lsvee
from olivine.algorithms.lsvee.monitors import LsveeMonitors
from olivine.algorithms.lsvee.parameters import LsveeParameters
from olivine.algorithms.lsvee.practical import LsveePractical
from olivine.algorithms.lsvee.theorem import LsveeTheorem

__all__ = [
    "LsveeMonitors",
    "LsveeParameters",
    "LsveePractical",
    "LsveeTheorem",
    "lsvee",
]
