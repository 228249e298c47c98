"""Objects of your own: whether they have the members, and what their calls give."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..exact import OwnCodeError, calling, check_returned, what_it_is
from ..exact.arrays import END, check_count
from ..exact.data import EmpiricalMeasure
from ..exact.multinomial import generator
from .protocol import (
    BaseEnvironment,
    DrawCall,
    Environment,
    ObservationSpace,
    RunCall,
    Trajectories,
    Truth,
    UnknownTruthError,
    missing_members,
)

_DRAWS = 20
_RAISED = object()  # In place of a return value


def check_environment(environment: Any, *, seed: int = 0) -> tuple[str, ...]:
    """Call every member of `protocol.Environment` and judge what it returns.

    Parameters
    ----------
    environment
        The object; about 20 trajectories for each level and method are drawn of it.
    seed
        Of paths, actions and samples.

    Returns
    -------
    What was not checked, and why, a sentence each; mostly empty.

    Raises
    ------
    ValueError
        With a line for each failure: the call, what it gave, what was expected.
    """
    check = _Check(environment, generator(seed))
    missing = missing_members(environment)
    for member in missing:
        check.fail(member, "nothing", "a member of the protocol")
    if not missing:
        check.facts()
    if not check.failures:
        for h in range(1, environment.horizon + 1):
            check.level(h)
        check.whole()
        check.refusals()
        check.truth()
    if check.failures:
        lines = "".join(f"\n- {failure}" for failure in check.failures)
        raise ValueError(f"{type(environment).__name__} is no environment:{lines}")
    return tuple(check.notes)


def as_environment(found: Any, call: str = "environment") -> Environment:
    """Refuse what is no environment; judge each answer of one that is not ours."""
    if isinstance(found, BaseEnvironment):
        return cast("Environment", found)
    missing = missing_members(found)
    is_class = isinstance(found, type)
    if is_class or missing:
        lacks = "" if is_class else f", which lacks {', '.join(missing)}"
        if inspect.isroutine(found):
            lacks = "; call it to make the environment"
        raise OwnCodeError(
            f"{call} is {what_it_is(found)}{lacks}; `olivine.check_environment` says "
            "what an environment must do"
        )
    return _Judged(found, call)


def check_class(name: str, given: Any, protocol: type) -> None:
    """Refuse what is no class of functions, and say what it lacks."""
    if isinstance(given, type):
        raise OwnCodeError(f"{name}: {what_it_is(given)}; give an object of it")
    if missing := missing_members(given, protocol):
        raise OwnCodeError(
            f"{name}: {what_it_is(given)} lacks {', '.join(missing)} of "
            f"{protocol.__name__} (olivine.algorithms.classes.protocols)"
        )


class _Judged(BaseEnvironment):
    """One's own environment, each answer judged as `check_environment` does."""

    def __init__(self, own: Any, call: str) -> None:
        self._own = own
        with calling(f"{call}, a {type(own).__name__}"):
            sizes = [
                check_count(n, getattr(own, n))
                for n in ("horizon", "n_actions", "max_states")
            ]
            name = check_returned(f"{call}.name", own.name, str)
        super().__init__(name, *sizes[:2])
        self.max_states = sizes[2]

    def __getattr__(self, name: str) -> Any:
        """Whatever else it has: what a simulator says of itself, for instance."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)

    def _call(self, call: str) -> str:
        return f"environment {self.name!r}: {call}"

    def space(self, level: int) -> ObservationSpace:
        """Observations of a level 1..H, else ValueError."""
        call = self._call(f"space({level})")
        with calling(call):
            found = self._own.space(level)
        check_returned(call, found, ObservationSpace)
        return found  # type: ignore[no-any-return]

    @property
    def deterministic(self) -> bool:  # type: ignore[override]
        """Whether hidden dynamics are deterministic."""
        call = self._call("deterministic")
        with calling(call):
            found = self._own.deterministic
        return check_returned(call, found, bool)  # type: ignore[no-any-return]

    @property
    def features(self) -> Any:
        """Features of the codes of each level; None without any."""
        with calling(self._call("features")):
            return self._own.features

    @property
    def truth(self) -> Truth:
        """The truth as the object has it; UnknownTruthError where it has none."""
        call = self._call("truth")
        try:
            found = self._own.truth
        except UnknownTruthError:
            raise
        except Exception:
            with calling(call):
                raise
        if found is not None and (missing := missing_members(found, Truth)):
            raise OwnCodeError(
                f"{call} is {what_it_is(found)}, which lacks {', '.join(missing)}"
            )
        return found  # type: ignore[no-any-return]

    def _draw(self, call: DrawCall) -> EmpiricalMeasure:
        rules, n, rng, h, successors, returns = call
        level = h if returns else None
        name = self._call(f"draw({len(rules)} rules, {n}, rng, level={level})")
        with calling(name):
            data = self._own.draw(rules, n, rng, level=level, successors=successors)
        check = _Check(self, rng)
        check.measure(name, h, data, successors, h <= len(rules), n=n)
        check.refuse()
        return data  # type: ignore[no-any-return]

    def _run(self, call: RunCall) -> Trajectories:
        policies, n, rng, first, kept = call
        name = self._call(f"run(policies, {n}, rng, first={first})")
        with calling(name):
            found = self._own.run(policies, n, rng, first=first, transitions=kept)
        check = _Check(self, rng)
        check.trajectories(name, found, n, first, kept)
        check.refuse()
        return found  # type: ignore[no-any-return]


@dataclass
class _Check:
    env: Any
    rng: np.random.Generator
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self) -> None:
        """Raise for the first failure."""
        if self.failures:
            raise OwnCodeError(self.failures[0])

    def fail(self, call: str, given: Any, expected: str) -> None:
        self.failures.append(f"{call} gave {given!s:.120}; expected {expected}")

    def expect(self, good: Any, call: str, given: Any, expected: str) -> bool:
        if not good:
            self.fail(call, given, expected)
        return bool(good)

    def call(self, text: str, function: Any, *given: Any, **options: Any) -> Any:
        try:
            return function(*given, **options)
        except Exception as error:
            self.fail(text, f"{type(error).__name__}: {error}", "a value")
            return _RAISED

    def facts(self) -> None:
        env = self.env
        self.expect(isinstance(env.name, str), "name", repr(env.name), "a str")
        for name in ("horizon", "n_actions", "max_states"):
            value = self.call(name, getattr, env, name)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            good = whole and value >= 1
            good |= value is _RAISED  # which is told
            self.expect(good, name, repr(value), "an integer, at least 1")
        flag, count = env.deterministic, env.trajectories
        self.expect(isinstance(flag, bool), "deterministic", repr(flag), "a bool")
        good = isinstance(count, int) and count >= 0
        self.expect(good, "trajectories", repr(count), "an integer, at least 0")
        for h in range(1, 1 if self.failures else env.horizon + 1):
            space = self.call(f"space({h})", env.space, h)
            good = isinstance(space, ObservationSpace) or space is _RAISED
            self.expect(good, f"space({h})", space, "an ObservationSpace")
        if not self.failures:
            self._features()

    def _features(self) -> None:
        tables, env = self.env.features, self.env
        if tables is None:
            return
        if not self.expect(
            isinstance(tables, tuple) and len(tables) == env.horizon,
            "features",
            f"{type(tables).__name__}",
            f"None, or a tuple of {env.horizon} arrays",
        ):
            return
        for h, table in enumerate(tables, 1):
            shape, codes = np.shape(table), env.space(h).n_codes
            self.expect(
                len(shape) == 2 and shape[0] == codes and np.isfinite(table).all(),
                f"features[{h - 1}]",
                f"shape {shape}",
                f"finite numbers of shape ({codes}, d)",
            )

    def policies(self) -> list[Callable[[Any], NDArray[Any]]]:
        k = self.env.n_actions
        chances = self.rng.dirichlet(np.ones(k))

        def last(x: Any) -> NDArray[Any]:
            return np.full(len(x), k - 1)

        def mixed(x: Any) -> NDArray[Any]:
            return np.tile(chances, (len(x), 1))

        return [last if h % 2 else mixed for h in range(self.env.horizon)]

    def level(self, h: int) -> None:
        env, rng = self.env, self.rng
        path = rng.integers(env.n_actions, size=h - 1).tolist()
        pis, last = self.policies(), env.n_actions - 1
        self._draw([*path, "uniform"], h, after=True)
        self._draw([*path, last], h, action=last, successors=False)
        self._draw(path, h, acts=False, level=h)
        self._draw([*path, *pis[h - 1 :]], h, level=h)
        self._draw([*path, 0, *pis[h:]], h, action=0, level=h)
        self._draw([*pis[: h - 1], "uniform"], h, after=True)
        self._draw(["uniform"] * h + pis[h:], h, level=h)

    def _draw(
        self,
        rules: Sequence[Any],
        h: int,
        *,
        after: bool = False,
        acts: bool = True,
        action: int | None = None,
        **options: Any,
    ) -> None:
        shown = ", ".join("π" if callable(rule) else repr(rule) for rule in rules)
        more = "".join(f", {name}={value}" for name, value in options.items())
        call, before = f"draw([{shown}], {_DRAWS}, rng{more})", self.env.trajectories
        data = self.call(call, self.env.draw, rules, _DRAWS, self.rng, **options)
        if data is _RAISED:
            return
        counted = self.env.trajectories - before
        self.expect(counted == _DRAWS, call, f"{counted} trajectories more in "
                    "`trajectories`", str(_DRAWS))  # fmt: skip
        self.measure(call, h, data, after, acts, action)

    def measure(
        self,
        call: str,
        h: int,
        data: Any,
        after: bool,
        acts: bool = True,
        action: int | None = None,
        n: int = _DRAWS,
    ) -> None:
        if not self.expect(isinstance(data, EmpiricalMeasure), call,
                           type(data).__name__, "an EmpiricalMeasure"):  # fmt: skip
            return
        self.expect(data.draws == n, call, f"{data.draws} draws", str(n))
        self._observations(call, h, data.observations, "observations")
        if not acts:
            return
        if data.actions is None or data.rewards is None:
            self.fail(call, "no actions or no rewards", "both")
            return
        known = range(self.env.n_actions) if action is None else (action,)
        self.expect(
            np.isin(data.actions, known).all(), call, f"actions {data.actions}",
            f"actions in {list(known)}",
        )  # fmt: skip
        inside = (data.rewards >= 0) & (data.rewards <= 1 + 1e-9)
        given = f"rewards {data.rewards[~inside]}"
        self.expect(inside.all(), call, given, "[0, 1]")
        following, last = data.next_observations, h == self.env.horizon
        finite = self.env.space(h).is_finite
        if after and not last and following is not None:
            self._observations(call, h + 1, following, "next observations")
        elif after and last and finite and following is not None:
            self.expect((following == END).all(), call, following, "END after level H")
        elif (following is not None) != (after and (finite or not last)):
            given = "none" if following is None else "some"
            other = "some" if following is None else "none"
            self.fail(call, f"{given} next observations", other)

    def _observations(self, call: str, h: int, x: Any, what: str) -> None:
        space = self.env.space(h)
        if space.is_finite:
            good = x.ndim == 1 and ((x >= 0) & (x < space.n_codes)).all()
            expected = f"codes in 0..{space.n_codes - 1}"
        else:
            good = x.ndim == 2 and x.shape[1] == space.dimension
            expected = f"shape (n, {space.dimension})"
        self.expect(good, call, f"{what} of shape {x.shape}: {x[:5]}", expected)

    def whole(self) -> None:
        asked = {"first": 3, "transitions": True}
        call = f"run(policies, {_DRAWS}, rng, first=3, transitions=True)"
        given = self.policies(), _DRAWS, self.rng
        found = self.call(call, self.env.run, *given, **asked)
        if found is not _RAISED:
            self.trajectories(call, found, _DRAWS, 3, True)

    def trajectories(
        self, call: str, found: Any, n: int, first: int, transitions: bool
    ) -> None:
        names = [each.name for each in fields(Trajectories)]
        given, whole = type(found).__name__, all(hasattr(found, n) for n in names)
        expected = f"Trajectories ({', '.join(names)})"
        if not self.expect(whole, call, given, expected):
            return
        mean, paths = found.mean_return, found.paths
        good = isinstance(mean, Fraction) and 0 <= mean <= 1 + Fraction(1, 10**9)
        self.expect(good, call, f"mean_return {mean!r}", "a Fraction in [0, 1]")
        self.expect(found.n == n, call, f"n = {found.n}", str(n))
        shape, gained = (first, self.env.horizon), np.asarray(found.returns)
        good = gained.shape == (first,) and bool(((gained >= 0) & (gained <= 1)).all())
        expected = f"{first} returns in [0, 1]"
        self.expect(good, call, f"returns {found.returns}", expected)
        known = np.isin(paths, range(self.env.n_actions))
        good = np.shape(paths) == shape and bool(known.all())
        self.expect(good, call, f"paths {paths}", f"actions of shape {shape}")
        kept = len(found.transitions)
        due = self.env.horizon if transitions else 0
        if self.expect(kept == due, call, f"{kept} transitions", str(due)):
            for h, data in enumerate(found.transitions, 1):
                self.measure(f"{call}.transitions[{h - 1}]", h, data, True, n=n)

    def refusals(self) -> None:
        env, rng, pis = self.env, self.rng, self.policies()
        k, far = env.n_actions, env.horizon + 1

        def at(level: int, rules: Sequence[Any]) -> Any:
            return env.draw(rules, 1, rng, level=level)

        bad: list[tuple[Any, ...]] = [
            ("space(0)", env.space, 0),
            (f"space({far})", env.space, far),
            ("draw(['uniform'], 0, rng)", env.draw, ["uniform"], 0, rng),
            (f"draw([{k}], 1, rng)", env.draw, [k], 1, rng),
            (f"draw(path of H actions, 1, rng, level={far})", at, far, [0] * (far - 1)),
            (f"draw(policies, 1, rng, level={far})", at, far, pis),
            ("draw([], 1, rng)", env.draw, [], 1, rng),
            ("run([], 1, rng)", env.run, [], 1, rng),
            (f"draw([{k}], 1, rng, level=2)", at, 2, [k]),
        ]
        for text, call, *arguments in bad if env.horizon > 1 else bad[:-1]:
            try:
                given = call(*arguments)
            except ValueError:
                continue
            except Exception as error:
                self.fail(text, f"{type(error).__name__}: {error}", "a ValueError")
            else:
                self.fail(text, given, "a ValueError")

    def truth(self) -> None:
        try:
            truth = self.env.truth
            best = truth.optimal_value
        except UnknownTruthError as error:
            self.notes.append(f"the truth is not known: {error}")
            determinism = getattr(self.env, "determinism", None)
            simulator = getattr(self.env, "simulator", None)
            blind = simulator is None or simulator.state is None
            if self.env.deterministic and determinism != "everything" and blind:
                self.notes.append(
                    "that hidden transitions are deterministic is taken on trust: "
                    "there is no `state` to compare"
                )
            return
        except Exception as error:
            self.fail("truth", f"{type(error).__name__}: {error}",
                      "a Truth or an UnknownTruthError")  # fmt: skip
            return
        good = isinstance(best, Fraction) and 0 <= best <= 1
        self.expect(good, "truth.optimal_value", repr(best), "a Fraction in [0, 1]")
        if self.env.deterministic:
            path = (0,) * (self.env.horizon - 1)
            self.call(f"truth.state({list(path)})", truth.state, path)
