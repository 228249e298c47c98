"""One run: read its options, examine its classes, run, compare with the truth."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from ...algorithms.exact import calling
from ..common.output import print_table, tell

if TYPE_CHECKING:
    from ...algorithms.assumptions import Assumption
    from ...algorithms.classes import PolicyClassByLevel, ValueClassByLevel
    from ...algorithms.environments.protocol import Environment
    from ...algorithms.learning.events import Recorder
    from ...algorithms.learning.problem import LearningResult, MonitorReport
    from ...algorithms.learning.registry import Algorithm

PATIENCE = 10  # wall seconds for each second of CPU time, so a waiting run ends

MONTE_CARLO = 20_000  # episodes of our models that estimate V^π if it is not exact
PLAYED = 1_000  # episodes where nothing is known but how to play


def register_environments(*named: str) -> None:
    """Have all environments known by name, those named ``module:function`` too."""
    from ...algorithms.environments import names, register
    from ...reduction import environments  # noqa: F401 (registers its own)

    for name in named:
        if ":" in name and name not in names():
            register(name, _own(name))


def _own(name: str) -> Callable[..., Environment]:
    """Wrap the user's function of options; a Generator may come before them."""
    from ...algorithms.environments.check import as_environment

    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last, so that nothing there hides a library
    with calling(f"--env: {name}"):  # whatever the user's module raises
        made = getattr(import_module(module), attribute)
        takes = inspect.signature(made).parameters.values()
    drawn = any(p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in takes)

    @functools.wraps(made)
    def make(rng: Any, **options: Any) -> Environment:
        given = ["rng"] * drawn + [f"{k}={v!r}" for k, v in options.items()]
        call = f"--env: {name}({', '.join(given)})"
        with calling(call):
            found = made(rng, **options) if drawn else made(**options)
        return as_environment(found, call)

    return make


def own_environment(given: Any, seed: int) -> Environment:
    """Give one's own environment, or what one's function makes of a seed."""
    from ...algorithms.environments.check import as_environment

    if not callable(given):
        return as_environment(given)
    call = f"environment: {getattr(given, '__qualname__', repr(given))}({seed})"
    with calling(call):
        found = given(seed)
    return as_environment(found, call)


@dataclass(frozen=True)
class LearningRun:
    """A run of an algorithm on an environment, complete but for its seed."""

    algorithm: str
    env: str
    params: str  # ``"theorem"``, ``"paper"``, ``"practical"`` or ``"frugal"``
    classes: Any  # Kind of the classes, or one's own as `Task` takes them
    epsilon: float  # Accuracy, in (0, 1)
    delta: float  # Failure probability, in (0, 1)
    for_env: Mapping[str, Any]  # Options of the environment
    for_algorithm: Mapping[str, Any]  # Settings of the algorithm
    time_limit: float | None = None  # Seconds of CPU time of a run, None for no limit
    world: Any = None  # One's own environment, or a function of a seed; or `env`

    def environment(self, seed: int) -> Environment:
        """Make the environment of a seed."""
        from ...algorithms.environments import make

        if self.world is not None:
            return own_environment(self.world, seed)
        register_environments(self.env)
        return make(self.env, seed, **self.for_env)

    @property
    def kind(self) -> str:
        """Kind of the classes, "own" for one's own."""
        return self.classes if isinstance(self.classes, str) else "own"

    def _classes(self, algorithm: Algorithm, environment: Environment) -> Any:
        """Give the kind of classes, one's own, or what one's function makes."""
        from ...algorithms.learning.learn import choose_classes

        made = self.classes
        if not callable(made):
            return made
        call = f"classes: {getattr(made, '__qualname__', repr(made))}(environment)"
        with calling(call):
            return choose_classes(made(environment), algorithm, environment)

    def with_seed(
        self,
        seed: int,
        observers: tuple[Any, ...] = (),
        examination: Examination | None = None,
        recorder: Recorder | None = None,
        progress: bool = False,
    ) -> tuple[dict[str, Any], LearningResult]:
        """Run and compare with the truth; the seed fixes all that is drawn."""
        with limited(self.time_limit):
            return self._with_seed(seed, observers, examination, recorder, progress)

    def _with_seed(
        self,
        seed: int,
        observers: tuple[Any, ...],
        examination: Examination | None,
        recorder: Recorder | None,
        progress: bool,
    ) -> tuple[dict[str, Any], LearningResult]:
        import numpy as np

        from ...algorithms.learning import registry
        from ...algorithms.learning.learn import Heartbeat, judged
        from ...algorithms.learning.problem import contradictions

        environment = self.environment(seed)
        algorithm = registry.get(self.algorithm)
        if examination is not None:
            examination.begin(algorithm, environment, self.classes)
        if recorder is not None:
            recorder.begin(environment)
            observers = (*observers, recorder)
        beat = Heartbeat(f"{self.algorithm} on {self.env}", environment)
        start = time.perf_counter()
        task = registry.Task(
            environment,
            cast("Any", self.params),
            self._classes(algorithm, environment),
            self.epsilon,
            self.delta,
            np.random.default_rng([seed, 1]),
            dict(self.for_algorithm),
            (*observers, beat),
            examination,
            examination is not None and examination.allow_unrealizable,
        )
        with beat if progress else nullcontext():
            result = algorithm.answer(task)
        seconds = time.perf_counter() - start
        if recorder is not None:
            recorder.end(result.policies)
        result = judged(algorithm, result, environment, self.epsilon)
        record = result.to_json()
        with algorithm.playing():
            record |= _truth(environment, result, seed)
        record |= {
            "env": self.env,
            "params": self.params,
            "classes": self.kind,
            "settings": dict(self.for_env) | dict(self.for_algorithm),
            "seed": seed,
            "seconds": round(result.seconds or seconds, 6),
        }
        if examination is not None:
            record["assumptions"] = examination.to_json()
            record["contradictions"] = contradictions(examination.binding(result))
        return record, result


def prepare(
    name: str | None,
    env: str | None,
    params: str,
    classes: str | None,
    epsilon: float,
    delta: float,
    settings: Sequence[str] = (),
    time_limit: float | None = None,
) -> LearningRun:
    """Check what the command line says and make a run of it."""
    from ...algorithms.learning import registry
    from ...algorithms.learning.draw_classes import KINDS

    if name is None:
        raise ValueError("ALGORITHM: missing (--list shows them)")
    if env is None:
        raise ValueError("--env: missing (--list shows the environments)")
    algorithm = registry.get(name)
    register_environments(env)
    algorithm.check_kind("--params", params)
    kind = _choice("--classes", classes or algorithm.default_classes, KINDS)
    for option, value in (("--epsilon", epsilon), ("--delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{option}: {value} is not in (0, 1)")
    for_env, for_algorithm = _split(algorithm, env, settings)
    return LearningRun(
        name, env, params, kind, epsilon, delta, for_env, for_algorithm, time_limit
    )


class OutOfTimeError(BaseException):
    """A run did not end within its limit; no `except Exception` is to take it."""


_FOREVER = 1e8  # seconds, three years; timers overflow at some 1e9


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTimeError after so much CPU time, or much more wall time.

    It comes again each second: Python drops an exception raised in a callback. The
    signal is as late as a tick of the kernel, so CPU time is read at the end as well.
    """
    timed = hasattr(signal, "setitimer")
    if seconds is None or seconds > _FOREVER or not timed:
        yield
        return

    late = OutOfTimeError(f"limit of {seconds:g} s of CPU time reached")
    reached = False

    def stop(*_: object) -> None:
        nonlocal reached
        reached = True
        raise late

    patience = threading.Timer(
        PATIENCE * seconds, os.kill, (os.getpid(), signal.SIGPROF)
    )
    patience.daemon = True
    before, begun = signal.signal(signal.SIGPROF, stop), time.process_time()
    try:
        patience.start()
        signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        patience.cancel()
        signal.signal(signal.SIGPROF, before)
    if reached or time.process_time() - begun > seconds:
        raise late


def _choice(option: str, value: str, known: Sequence[Any]) -> Any:
    from ...algorithms.learning.registry import suggestion

    if value not in known:
        hint = suggestion(value, known)
        raise ValueError(f"{option}: {value!r} is none of {', '.join(known)}{hint}")
    return value


def _split(
    algorithm: Algorithm, env: str, settings: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    from ...algorithms.environments import options
    from ...algorithms.learning.registry import suggestion

    known = options(env)
    for_env: dict[str, Any] = {}
    for_algorithm: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set: {text!r} is not KEY=VALUE")
        read = _value(value)
        if isinstance(read, float) and not math.isfinite(read):
            raise ValueError(f"--set: {text} is no finite number")
        if key in known:
            for_env[key] = read
        elif key in algorithm.settings:
            for_algorithm[key] = read
        else:
            every = [*known, *algorithm.settings]
            raise ValueError(
                f"--set: unknown {key!r}{suggestion(key, every)}; {env} has "
                f"{', '.join(known)}; {algorithm.name} has "
                f"{', '.join(algorithm.settings)}"
            )
    return for_env, for_algorithm


def _value(text: str) -> Any:
    """Read a value: an integer (also 1e3), a number, true, false, none, or a word.

    >>> _value("1e3"), _value("1e-3"), _value("1000.0")
    (1000, 0.001, 1000.0)
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d{1,9}[eE]\+?\d{1,2}", text):
        return int(Fraction(text))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _truth(
    environment: Environment, result: LearningResult, seed: int
) -> dict[str, Any]:
    """Give V^π, V* and their difference: rationals, or an estimate of the first."""
    import numpy as np

    from ...algorithms.environments.protocol import knows_truth
    from ...algorithms.learning.events import evaluate

    best = None
    if known := knows_truth(environment):
        best = environment.truth.optimal_value
    found: dict[str, Any] = {
        "value": None,
        "optimal_value": None if best is None else str(best),
        "suboptimality": None,
    }
    if result.policies is None:
        return found
    policies, rng = list(result.policies), np.random.default_rng([seed, 2])
    if best is not None and environment.truth.exact:
        value = environment.truth.policy_value(policies)
        return found | {"value": str(value), "suboptimality": str(best - value)}
    if known:
        n = MONTE_CARLO
        mean, error = environment.truth.estimate_policy_value(policies, n, rng)
    else:
        played = result.evaluation or evaluate(environment, policies, PLAYED, seed=rng)
        mean, error, n = played.mean, played.standard_error, played.episodes
    if best is not None:
        found["suboptimality"] = str(float(best) - mean)
    return found | {"value": str(mean), "standard_error": error, "episodes": n}


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
            show_assumptions(self._algorithm.name, self.to_json())
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
