"""Progress of ``olivine learn``: level, learned states and calls of dfslearn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from olivine.algorithms.learning.events import Iteration, Observer, Path, Triple
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from rich.console import Console


def make_progress(console: Console) -> Progress:
    """Make a bar without an end, for nobody knows how many calls there will be."""
    return Progress(
        TextColumn("iteration {task.fields[iteration]}, level {task.fields[level]}"),
        BarColumn(),
        TextColumn("{task.fields[learned]} data sets, {task.completed:.0f} calls"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


class ProgressObserver(Observer):
    """Moves a bar.

    Parameters
    ----------
    progress
        From `make_progress`.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task(
            "learning", total=None, iteration=1, level=1, learned="0"
        )
        self._learned: Counter[int] = Counter()

    def entered(self, path: Path) -> None:
        """Count a call and show its level."""
        self._progress.update(self._task, advance=1, level=len(path) + 1)

    def stored(self, triple: Triple) -> None:
        """Show the data sets of each level."""
        self._learned[triple.level] += 1
        levels = range(1, max(self._learned) + 1)
        learned = "/".join(str(self._learned[h]) for h in levels)
        self._progress.update(self._task, learned=learned)

    def iterated(self, iteration: Iteration) -> None:
        """Show which iteration comes next."""
        self._progress.update(self._task, iteration=iteration.number + 1)
