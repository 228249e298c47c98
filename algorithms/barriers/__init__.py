"""Further barriers (paper, appendix "Additional Barriers"), as problems to run.

======================  =====================================================
`BackupBarrier`         Bellman backups need a number of samples exponential
                        in the horizon
`AverageBarrier`        exploration with average constraints stops 1/2 below
                        the optimum
`SquareLossBarrier`     a bound on the square loss to a near-optimal roll-out
                        keeps functions that are √ε off
======================  =====================================================
"""

from .average import AverageBarrier
from .backup import BackupBarrier
from .square_loss import SquareLossBarrier

NAMES = ("backup", "average", "square-loss")
"""Names on the command line."""

__all__ = ["NAMES", "AverageBarrier", "BackupBarrier", "SquareLossBarrier"]
