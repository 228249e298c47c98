"""Which algorithms run on which environments: cells, each complete but for a seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .options import listed
from .runs import LearningRun, prepare, register_environments

MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """Algorithms, environments and seeds."""

    environments: tuple[str, ...] = ()  # Their names; all if there are none
    params: str | None = None  # Constants; None: the theorem's, or practical ones
    epsilon: float = 0.3  # Accuracy
    delta: float = 0.1  # Failure probability
    seeds: int = 50  # Runs of a cell: seeds first, first + 1,
    first: int = 0  # The first seed
    run_limit: float = 10.0  # Seconds of CPU time of one run
    algorithms: tuple[str, ...] = ()  # Their names; all if there are none
    classes: str | None = None  # Kind of the classes; None: each algorithm's own
    settings: tuple[str, ...] = ()  # KEY=VALUE, for those that have KEY

    def cells(self) -> list[LearningRun]:
        """All cells, by environment; at most `MOST_RUNS` runs."""
        from ...algorithms import environments
        from ...algorithms.learning import registry

        register_environments(*self.environments)
        worlds = tuple(dict.fromkeys(self.environments or environments.names()))
        algorithms = tuple(dict.fromkeys(self.algorithms or registry.names()))
        self._check_settings(algorithms, worlds)
        runs = len(worlds) * len(algorithms) * self.seeds
        if runs > MOST_RUNS:
            raise ValueError(f"{runs} rows are too many; at most {MOST_RUNS} can be")
        return [
            self._cell(algorithm, environment)
            for environment in worlds
            for algorithm in algorithms
        ]

    @property
    def each(self) -> range:
        """The seeds."""
        return range(self.first, self.first + self.seeds)

    def _check_settings(
        self, algorithms: Sequence[str], environments: Sequence[str]
    ) -> None:
        from ...algorithms.environments import options
        from ...algorithms.learning import registry

        known = {k for a in algorithms for k in registry.get(a).settings}
        known |= {k for e in environments for k in options(e)}
        for text in self.settings:
            key, equals, _ = text.partition("=")
            if not equals:
                raise ValueError(f"--set: {text!r} is not KEY=VALUE")
            if key not in known:
                raise ValueError(
                    f"--set: unknown {key!r}{registry.suggestion(key, known)}"
                )

    def _cell(self, algorithm: str, environment: str) -> LearningRun:
        from ...algorithms.environments import options
        from ...algorithms.learning import registry

        own = registry.get(algorithm).settings.keys() | options(environment).keys()
        cell = prepare(
            algorithm,
            environment,
            self.params or "theorem",
            self.classes,
            self.epsilon,
            self.delta,
            [s for s in self.settings if s.partition("=")[0] in own],
            self.run_limit,
        )
        return adapted(cell, self.params, self.classes, self.first)


def planned(
    env: str | None,
    algorithms: str | None,
    params: str | None,
    classes: str | None,
    epsilon: float,
    delta: float,
    setting: Sequence[str] | None,
    seed: int,
    seeds: int,
    time_limit: float,
) -> Plan:
    """Make a plan of the options that `curves` and `compare` share."""
    return Plan(
        listed(env), params, epsilon, delta, seeds, seed, time_limit,
        listed(algorithms), classes, tuple(setting or ()),
    )  # fmt: skip


def adapted(
    cell: LearningRun, params: str | None, classes: object, seed: int
) -> LearningRun:
    """Choose what was left open; continuous observations take no theorem's sample."""
    from ...algorithms.environments.protocol import knows_truth
    from ...algorithms.learning import registry

    world, algorithm = cell.environment(seed), registry.get(cell.algorithm)
    if classes is None and algorithm.without_truth and not knows_truth(world):
        cell = replace(cell, classes=algorithm.without_truth)
    if all(world.space(h).is_finite for h in range(1, world.horizon + 1)):
        return cell
    default = "finite" if cell.classes == "tabular" else cell.classes
    return replace(
        cell,
        params=params or "practical",
        classes=default if classes is None else classes,
    )
