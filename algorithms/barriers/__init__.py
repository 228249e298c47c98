"""Further barriers (paper, appendix "Additional Barriers"), as problems to run."""

from .average import AverageBarrier
from .backup import BackupBarrier
from .square_loss import SquareLossBarrier

NAMES = ("backup", "average", "square-loss")  # names on the command line

__all__ = ["NAMES", "AverageBarrier", "BackupBarrier", "SquareLossBarrier"]
