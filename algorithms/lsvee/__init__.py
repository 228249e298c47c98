"""LSVEE (Krishnamurthy, Agarwal, Langford 2016): value elimination by enumeration.

=====================  =======================================================
`lsvee`                the algorithm
`LsveeTheorem`         its theorem's constants, as recalled
`LsveePractical`       free parameters
`LsveeMonitors`        what its analysis claims of a run, checked
=====================  =======================================================
"""

from algorithms.lsvee.lsvee import lsvee
from algorithms.lsvee.monitors import LsveeMonitors
from algorithms.lsvee.parameters import LsveeParameters
from algorithms.lsvee.practical import LsveePractical
from algorithms.lsvee.theorem import LsveeTheorem

__all__ = [
    "LsveeMonitors",
    "LsveeParameters",
    "LsveePractical",
    "LsveeTheorem",
    "lsvee",
]
