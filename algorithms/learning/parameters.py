"""What the parameters of the paper's algorithms have in common.

A class of declared parameters has the theorem's values in ``constants``; `ByTheorem` or
`ByChoice` in front makes it a constructor of the theorem's parameters, or of free ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np

from ..exact.arrays import (
    Number,
    check_count,
    check_flag,
    check_unit,
    log,
    ratio_up,
    rational,
)

_NONE = object()  # no practical default


@dataclass(frozen=True)
class Declaration:
    """What is known of a parameter."""

    # Raises ValueError for a name and a value out of range
    check: Callable[[str, Any], Any]
    meaning: str = ""  # Help of the setting; "" where it is none
    exact: bool = False  # Whether it is a rational, given by decimal digits
    optional: bool = False  # Whether None is a value
    # Practical default, or a function of what is declared before it
    practical: Any = _NONE
    label: str | None = None  # What messages and JSON call it; None: its own name
    # Attribute that JSON shows for it, "" for none; None: itself
    shown: str | None = None
    place: int = 0  # Where JSON shows it: lower places first, equal ones as declared


def declared(
    check: Callable[[str, Any], Any],
    meaning: str = "",
    default: Any = MISSING,
    **more: Any,
) -> Any:
    """Declare a parameter with a check of its own; ``more`` as in `Declaration`."""
    declaration = Declaration(check, meaning, optional=default is None, **more)
    return field(default=default, metadata={"declared": declaration})


def count(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a positive integer; ``more`` as in `Declaration`."""
    return declared(check_count, meaning, default, **more)


def flag(meaning: str = "", *, default: bool, **more: Any) -> Any:
    """Declare a choice, which JSON does not show."""
    return declared(check_flag, meaning, default, **{"shown": "", **more})


def positive(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a positive rational."""
    return declared(_check_positive, meaning, default, exact=True, **more)


def margin(meaning: str = "", *, default: Any = MISSING, **more: Any) -> Any:
    """Declare a rational that is not negative."""
    return declared(_check_margin, meaning, default, exact=True, **more)


def unit(label: str) -> Any:
    """Declare a rational in (0, 1)."""
    return declared(check_unit, "", MISSING, exact=True, label=label)


def _check_positive(name: str, value: Any) -> None:
    if not value > 0:
        raise ValueError(f"{name}: {value} is not positive")


def _check_margin(name: str, value: Any) -> None:
    if value < 0:
        raise ValueError(f"{name}: {value} is negative")


def without_none(chosen: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Leave out parameters of these names whose None stands for the default."""
    return {k: v for k, v in chosen.items() if v is not None or k not in names}


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Base of classes of declared parameters."""

    @classmethod
    def declarations(cls) -> dict[str, Declaration]:
        """Give the declarations by the name of the parameter."""
        found = {f.name: f.metadata.get("declared") for f in fields(cls)}
        return {name: entry for name, entry in found.items() if entry}

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Say what ``--set`` may choose, with the meaning of each."""
        known = cls.declarations().items()
        return {name: entry.meaning for name, entry in known if entry.meaning}

    def __post_init__(self) -> None:
        for name, entry in self.declarations().items():
            value = _check(name, getattr(self, name), entry)
            object.__setattr__(self, name, value)
        self.agree()

    def agree(self) -> None:
        """Refuse parameters that do not go together with a ValueError."""

    @classmethod
    def filled(cls, given: Mapping[str, Any], chosen: Mapping[str, Any]) -> Any:
        """All parameters, practical defaults filled in; ValueError out of range."""
        values = dict(given) | dict(chosen)
        for name, entry in cls.declarations().items():
            if name in values:
                value = values[name]
                if entry.exact and not (entry.optional and value is None):
                    value = rational(value, entry.label or name)
            elif entry.practical is _NONE:
                continue
            elif callable(entry.practical):
                value = entry.practical(SimpleNamespace(**values))
            else:
                value = entry.practical
            values[name] = _check(name, value, entry)
        return values

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        found = {}
        known = self.declarations().items()
        for name, d in sorted(known, key=lambda pair: pair[1].place):
            if d.shown != "":
                value = getattr(self, d.shown or name)
                key = d.shown or d.label or name
                found[key] = float(value) if d.exact and value is not None else value
        return found


def _check(name: str, value: Any, entry: Declaration) -> Any:
    """Return a parameter, numpy's numbers as Python's, or raise ValueError."""
    if isinstance(value, np.generic):
        value = value.item()
    if not (entry.optional and value is None):
        entry.check(entry.label or name, value)
    return value


Version = Literal["theorem", "paper"]


@dataclass(frozen=True, kw_only=True)
class PacParameters(Declared):
    """What every guarantee is stated with."""

    # eps, delta: ε and δ, in (0, 1)
    eps: Fraction = unit("epsilon")
    delta: Fraction = unit("delta")
    # ``"theorem"`` (corrected), ``"paper"`` (as printed) or ``"practical"``
    version: str = "practical"

    def to_json(self) -> dict[str, Any]:
        """All of them; accuracies as floats, sizes as integers."""
        return {"version": self.version} | super().to_json()


@dataclass(frozen=True, kw_only=True)
class Parameters(PacParameters):
    """What the algorithms of the paper need to know, whatever they are."""

    algorithms: ClassVar[tuple[str, ...]] = ()
    """Names that `algorithm` may have."""

    # M, K, H: bound on the hidden states of a level, actions, levels
    M: int = count("bound on the hidden states of a level")
    K: int = count()
    H: int = count()
    algorithm: str  # Which algorithm they are for

    @classmethod
    def constants(cls, problem: ProblemSize) -> dict[str, Any]:
        """Compute what the theorem prescribes beyond ε, δ, M, K and H."""
        raise NotImplementedError

    @classmethod
    def named(cls, algorithm: str | None) -> str:
        """Name of the algorithm, the first by default; ValueError for another's."""
        if algorithm is not None and algorithm not in cls.algorithms:
            names = ", ".join(cls.algorithms)
            raise ValueError(
                f"algorithm: {algorithm!r} has no constants here, only {names}"
            )
        return algorithm or cls.algorithms[0]


@dataclass(frozen=True)
class ProblemSize:
    """What a theorem's constants depend on."""

    algorithm: str  # Whose constants
    # eps, delta, M, K, H: as in `Parameters`
    eps: Fraction
    delta: Fraction
    M: int
    K: int
    H: int
    # log_values, log_policies: ln |G| and ln |Π|
    log_values: float
    log_policies: float
    version: Version  # ``"theorem"`` or ``"paper"``

    def __post_init__(self) -> None:
        check_unit("epsilon", self.eps)
        check_unit("delta", self.delta)
        for name in ("M", "K", "H"):
            count = check_count(name, getattr(self, name))
            object.__setattr__(self, name, count)
        for name, size in (("log_G", self.log_values), ("log_Pi", self.log_policies)):
            if not 0 <= size < math.inf:
                raise ValueError(f"{name}: {size} is not finite and at least 0")
        if self.version not in ("theorem", "paper"):
            raise ValueError(f"version: {self.version!r} is not 'theorem' or 'paper'")

    def log(self, product: Number, *more: float) -> float:
        """ln(product / δ) plus further logarithms."""
        return math.log(product) - log(self.delta) + sum(more)

    @property
    def n_exp(self) -> int:
        """8 ln(4MH/δ)/ε, rounded up."""
        return ratio_up(8 * self.log(4 * self.M * self.H), self.eps)

    @property
    def n_eval(self) -> int:
        """32 ln(8MH/δ)/ε², rounded up."""
        return ratio_up(32 * self.log(8 * self.M * self.H), self.eps**2)


class ByTheorem(Parameters):
    """The theorem's own constants.

    Raises ValueError for an argument out of range or an unknown algorithm.

    Parameters
    ----------
    eps, delta
        ε and δ in (0, 1); floats stand for their decimal digits (0.1 is 1/10).
    M, K, H
        As for `Parameters`.
    log_G, log_Pi
        ln |G| and ln |Π|, not negative, as ``classes.log_size()`` gives them.
    algorithm
        One of `algorithms`; None: the first.
    version
        ``"theorem"``: corrected where an erratum applies; ``"paper"``: as printed.
    """

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        log_G: float,
        log_Pi: float,
        algorithm: str | None = None,
        version: Version = "theorem",
    ) -> None:
        of = rational(eps), rational(delta), M, K, H, log_G, log_Pi, version
        problem = ProblemSize(self.named(algorithm), *of)
        shared = ("algorithm", "eps", "delta", "M", "K", "H", "version")
        super().__init__(
            **{name: getattr(problem, name) for name in shared},
            **self.constants(problem),
        )


class ByChoice(Parameters):
    """Free parameters for small problems: as for `ByTheorem`, then any other field."""

    def __init__(
        self,
        eps: Number,
        delta: Number,
        M: int,
        K: int,
        H: int,
        algorithm: str | None = None,
        **chosen: Any,
    ) -> None:
        given = {"eps": rational(eps), "delta": rational(delta), "M": M, "K": K, "H": H}
        name = self.named(algorithm)
        super().__init__(algorithm=name, **self.filled(given, chosen))


@dataclass(frozen=True, kw_only=True)
class MetaAlgParameters(Parameters):
    """What a run of MetaAlg needs to know.

    Paths explored on demand are the first n_exp of the n_eval trajectories, so n_exp ≤
    n_eval (docs/errata.md, 12). With `repeat_paths` dfslearn runs again at a path it
    was run at: the paper does, its analysis needs only new states.
    """

    n_exp: int = count("paths explored on demand", practical=10, place=2)
    n_eval: int = count(
        "trajectories of an evaluation",
        practical=lambda p: max(p.n_exp, ratio_up(8.0, p.eps**2)),
        place=2,
    )
    max_iterations: int | None = count(
        "iterations of MetaAlg", default=None, shown="iterations", place=4
    )
    repeat_paths: bool = flag(
        "whether paths with data are explored again", default=True, practical=False
    )

    def agree(self) -> None:
        """Refuse fewer trajectories of an evaluation than paths explored."""
        if self.n_eval < self.n_exp:
            raise ValueError(
                f"n_eval: {self.n_eval} is below n_exp = {self.n_exp}, but the paths "
                "explored are the first n_exp of the n_eval trajectories"
            )

    @property
    def iterations(self) -> int:
        """Iterations of MetaAlg at most (M H, not M K: docs/errata.md, 9)."""
        return self.M * self.H if self.max_iterations is None else self.max_iterations


@dataclass(frozen=True, kw_only=True)
class DfsParameters(MetaAlgParameters):
    """What dfslearn needs to know in VALOR and in the two-sample algorithm.

    More than T_max calls of a level have left event E. `balanced`: each action equally
    often (n_train a multiple of K), with less noise than the theorem's uniform actions.
    """

    n_train: int = count(
        "draws of a stored data set", practical=lambda p: 100 * p.K, place=1
    )
    T_max: int = count("dfslearn calls of a level", place=3)
    balanced: bool = flag(
        "whether actions are taken equally often", default=False, practical=True
    )

    @property
    def rows(self) -> int:
        """Trajectories of a data set."""
        return -(-self.n_train // self.K) * self.K if self.balanced else self.n_train
