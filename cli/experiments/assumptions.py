"""``learn --check-assumptions``: classes are examined before the algorithm runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..common.console import print_table, tell

if TYPE_CHECKING:
    from ...algorithms.assumptions import Assumption
    from ...algorithms.classes import PolicyClassByLevel, ValueClassByLevel
    from ...algorithms.environments.protocol import Environment
    from ...algorithms.learning.registry import Algorithm
    from ...algorithms.learning.results import LearningResult, MonitorReport


class ViolatedError(ValueError):
    """An assumption of the algorithm is violated, and the user does not insist."""


class Examination:
    """Check an algorithm's assumptions on the classes of a run: `found`, by name."""

    def __init__(self, *, allow_unrealizable: bool, show: bool) -> None:
        self.allow_unrealizable = allow_unrealizable
        self.found: dict[str, Assumption] = {}
        self._show = show
        self._algorithm: Algorithm | None = None
        self._environment: Environment | None = None

    def begin(self, algorithm: Algorithm, environment: Environment, kind: str) -> None:
        """Say what is run on what; tabular classes are examined at once."""
        import numpy as np

        from ...algorithms.learning.draw_classes import make_classes

        self._algorithm, self._environment = algorithm, environment
        if kind == "tabular" and algorithm.assumptions:
            rng = np.random.default_rng(0)  # tabular classes draw nothing
            self(*make_classes(environment, "tabular", rng))

    def __call__(self, values: ValueClassByLevel, policies: PolicyClassByLevel) -> None:
        """Examine classes; once a run."""
        from ...algorithms.assumptions import check_assumptions

        assert self._algorithm is not None
        assert self._environment is not None
        if self.found:
            return
        needed = self._algorithm.assumptions
        self.found = check_assumptions(self._environment, values, policies, needed)
        if self._show:
            self._print(self._algorithm.name)
        if self.violated and not self.allow_unrealizable:
            raise ViolatedError(
                f"{', '.join(self.violated)} violated, so the guarantee of "
                f"{self._algorithm.name} has no ground; --run-anyway runs it "
                "nevertheless"
            )

    @property
    def violated(self) -> list[str]:
        """Names of the assumptions that do not hold."""
        return [name for name, a in self.found.items() if a.holds is False]

    def to_json(self) -> dict[str, Any]:
        """Give the key ``assumptions`` of the record."""
        names = () if self._algorithm is None else self._algorithm.assumptions
        unseen = {
            "holds": None,
            "reason": "the algorithm showed no classes",
            "counterexample": None,
        }
        return {
            name: self.found[name].to_json() if name in self.found else unseen
            for name in names
        }

    def binding(self, result: LearningResult) -> dict[str, MonitorReport]:
        """Give the monitors that can contradict: ``always`` ones after a violation."""
        monitors = result.monitors.items()
        return {k: m for k, m in monitors if not self.violated or m.scope == "always"}

    def _print(self, name: str) -> None:
        show_assumptions(name, self.to_json())


def show_assumptions(name: str, assumptions: Mapping[str, Any]) -> None:
    """Print assumptions of an algorithm as a table."""
    if not assumptions:
        tell(f"{name} makes none of the paper's assumptions on classes")
        return
    words = {True: "yes", False: "NO", None: "unknown"}
    tell(f"{name} assumes of its classes")
    print_table(
        ("assumption", "holds", "why"),
        [(key, words[a["holds"]], a["reason"]) for key, a in assumptions.items()],
    )
