"""What a checker of an assumption returns: holds, or a counterexample, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Missing = Literal["value", "policy"]


@dataclass(frozen=True)
class Counterexample:
    """A function that an assumption asks for and a class lacks.

    Attributes
    ----------
    missing
        Whether a value function of G or a policy of Π is missing.
    level
        h of the class that lacks it, 1..H.
    codes
        The observations x_h that can be observed; tables below are over these.
    wanted
        For ``"value"``: the missing function, Fractions. For ``"policy"``: at
        each observation the actions any of which would do.
    observation, state
        Where the nearest member of the class is wrong first: a code, and the
        hidden state (numbered within its level) that emits it.
    nearest
        What the nearest member has there; None where no member has any number
        like that (a value outside [0, 1]).
    given
        What asks for it, by level: g' of level h+1, or the policies of levels
        h+1..H, as tables over the observable codes of their levels. Empty where
        it is g* or π*.
    """

    missing: Missing
    level: int
    codes: tuple[int, ...]
    wanted: tuple[Any, ...]
    observation: int
    state: int
    nearest: Fraction | float | int | None
    given: tuple[tuple[int, tuple[Any, ...]], ...] = ()

    def __str__(self) -> str:
        name = f"{'G' if self.missing == 'value' else 'Π'}_{self.level}"
        where = f"observation {self.observation} (hidden state {self.state})"
        at = self.wanted[self.codes.index(self.observation)]
        if self.missing == "policy":
            need = f"action {' or '.join(map(str, at))}"
        else:
            need = f"value {_word(at)}"
        if self.nearest is None:
            short = f"{need} at {where} is outside [0, 1]"
        else:
            short = f"{need} needed at {where}, the nearest member has "
            short += _word(self.nearest)
        given = ""
        if self.given:
            letter = "g'" if self._given_kind == "value" else "π"
            tables = ", ".join(
                f"{letter}_{h} = [{_listed(row)}]" for h, row in self.given
            )
            given = f" for {tables}"
        kind = "value function" if self.missing == "value" else "policy"
        return f"{name} lacks a {kind}{given}: {short}"

    @property
    def _given_kind(self) -> Missing:
        """Whether `given` is a value function or policies."""
        exact = any(isinstance(v, Fraction) for _, row in self.given for v in row)
        return "value" if exact else "policy"

    def to_json(self) -> dict[str, Any]:
        """Plain values; Fractions as strings."""
        return {
            "missing": self.missing,
            "level": self.level,
            "codes": list(self.codes),
            "wanted": [_plain(v) for v in self.wanted],
            "observation": self.observation,
            "state": self.state,
            "nearest": _plain(self.nearest),
            "given": {str(h): [_plain(v) for v in row] for h, row in self.given},
        }


_SHOWN = 12
_LARGE = 10**6


def _listed(row: tuple[Any, ...]) -> str:
    """Entries of a table, the first ones of a long one."""
    rest = " ..." if len(row) > _SHOWN else ""
    return " ".join(map(_word, row[:_SHOWN])) + rest


def _word(value: Any) -> str:
    """Write a number; a ratio of large integers in decimals."""
    if isinstance(value, Fraction) and value.denominator > _LARGE:
        return f"{float(value):.6g}..."
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Assumption:
    """Whether an assumption holds of an environment and classes.

    Attributes
    ----------
    name
        As in the registry of algorithms, say "policy-completeness".
    holds
        None: not decided, `reason` says why.
    reason
        One sentence.
    counterexample
        Exactly where it does not hold; None for a class that only oracles know.
    """

    name: str
    holds: bool | None
    reason: str
    counterexample: Counterexample | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        example = self.counterexample
        return {
            "holds": self.holds,
            "reason": self.reason,
            "counterexample": None if example is None else example.to_json(),
        }
