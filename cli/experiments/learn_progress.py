"""Progress of ``olivine learn``: level, learned states and calls of dfslearn."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ...algorithms.learning.events import Entered, Iteration, Triple

if TYPE_CHECKING:
    from rich.console import Console


def make_progress(console: Console) -> Progress:
    """Make a bar without an end: the number of calls is not known."""
    return Progress(
        TextColumn("iteration {task.fields[iteration]}, level {task.fields[level]}"),
        BarColumn(),
        TextColumn("{task.fields[learned]} data sets, {task.completed:.0f} calls"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


class ProgressObserver:
    """Moves a bar on a run's events."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task(
            "learning", total=None, iteration=1, level=1, learned="0"
        )
        self._learned: Counter[int] = Counter()

    def __call__(self, event: object) -> None:
        """Show a call's level, the data sets of each level, the next iteration."""
        match event:
            case Entered():
                self._progress.update(self._task, advance=1, level=event.level)
            case Triple():
                self._learned[event.level] += 1
                levels = range(1, max(self._learned) + 1)
                learned = "/".join(str(self._learned[h]) for h in levels)
                self._progress.update(self._task, learned=learned)
            case Iteration():
                number = event.number + 1
                self._progress.update(self._task, iteration=number)
