"""Certificates for tests: made with brute force, damaged, and judged by truth."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from olivine.reduction.certificate import certificate, checker
from olivine.reduction.family.family import Instance
from olivine.reduction.family.variants import Variant
from olivine.reduction.program.optimum import optimum
from olivine.reduction.verify.routes import best_member

from tests.support.families import best_assignments

Path = tuple[Any, ...]


def certified(instance: Instance) -> certificate.Certificate:
    """Make the certificate of a small formula, u found by trying all assignments."""
    least, best = best_assignments(instance.family.three_sat)
    value = optimum(instance.family.parameters, least)
    outcome = certificate.make_certificate(instance, value, best[0])
    assert outcome.certificate is not None, outcome.reason
    return outcome.certificate


def judged(instance: Instance, text: str, proof: str | None) -> dict[str, Any]:
    """Judge texts as the checker does; its ValueError and OSError pass."""
    formula = certificate.as_checked(instance.formula)
    return checker.judge(text.encode(), (proof or "").encode, formula)


def sealed(content: dict[str, Any], proof: str | None) -> str:
    """Text of a certificate with the digests renewed, as a forger would."""
    if proof is not None and content.get("proof") is not None:
        content = content | {"proof": hashlib.sha256(proof.encode()).hexdigest()}
    return json.dumps(content | {"sha256": checker.seal(content)})


def is_true(instance: Instance, statement: dict[str, Any]) -> bool:
    """Whether a statement about the formula holds, without Theorem O.

    u by trying all assignments, the optimum by planning exactly in all members
    of the family that the statement names.
    """
    three_sat = instance.family.three_sat
    penalty = Fraction(statement["penalty"])
    variant = statement["variant"]
    fixed = Variant(variant).declaration.fixed_penalty is not None
    named = Instance.of(instance.formula, variant, None if fixed else penalty)
    least, _ = best_assignments(three_sat)
    return (
        penalty == named.family.penalty
        and statement["formula"]["sha256"] == instance.formula.digest()
        and statement["satisfiable"] is (least == 0)
        and statement["at_least"] <= least <= statement["at_most"]
        and Fraction(statement["optimum"]) == best_member(named.family).value
    )


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) of everything in JSON that is no object or list."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, child in items:
            yield from leaves(child, (*path, key))
    else:
        yield path, value


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every object in JSON."""
    if isinstance(value, dict):
        yield path
    if isinstance(value, dict | list):
        for key, child in (
            value.items() if isinstance(value, dict) else enumerate(value)
        ):
            yield from objects(child, (*path, key))


def replaced(content: Any, path: Path, value: Any) -> Any:
    """Copy JSON with the value at a path replaced."""
    if not path:
        return value
    result = copy.deepcopy(content)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return result


def other_numbers(value: Any) -> list[Any]:
    """What a leaf becomes when one number in it is changed."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [value + 1, value - 1, value + 10, -value - 1]
    found = []
    for number in re.finditer("[0-9]+", value):
        for change in (1, -1, 10):
            new = str(abs(int(number[0]) + change))
            found.append(value[: number.start()] + new + value[number.end() :])
    return [text for text in found if text != value]


def forgery(
    content: dict[str, Any], proof: str | None, draw: random.Random
) -> tuple[dict[str, Any], str | None]:
    """Change one to three things in a certificate and its proof."""
    forged, lines = copy.deepcopy(content), (proof or "").splitlines()
    for _ in range(draw.randint(1, 3)):
        if lines and draw.random() < 0.3:
            k = draw.randrange(len(lines))
            lines[k : k + 1] = draw.choice(
                [[], [lines[k]] * 2, [f"d {lines[k]}"], ["0"], [f"-{lines[k]}"]]
            )
            continue
        path, value = draw.choice(list(leaves(forged)))
        others = [v for p, v in leaves(forged) if p[0] == path[0]]
        new = draw.choice([*other_numbers(value), *others, not value, None, "0", 0])
        forged = replaced(forged, path, new)
    return forged, None if proof is None else "".join(f"{line}\n" for line in lines)


# A small LRAT checker: unit propagation over the clauses that each step names.


def replay(clauses: Iterable[Iterable[int]], lines: Iterable[str]) -> str:
    """Reason why the lines do not refute the clauses; "" if they do."""
    known = {k: set(clause) for k, clause in enumerate(clauses, 1)}
    for line in lines:
        number, *words = line.split()
        if words[0] == "d":
            for deleted in map(int, words[1:-1]):
                if known.pop(deleted, None) is None:
                    return f"{line!r} deletes what is not there"
            continue
        numbers = list(map(int, words))
        if numbers.count(0) != 2 or numbers[-1] != 0:
            return f"{line!r} has no two zeros"
        end = numbers.index(0)
        literals, hints = numbers[:end], numbers[end + 1 : -1]
        if int(number) in known or not refuted(literals, hints, known):
            return f"{line!r} does not follow"
        if not literals:
            return ""
        known[int(number)] = set(literals)
    return "no empty clause"


def refuted(literals: list[int], hints: list[int], known: dict[int, set[int]]) -> bool:
    """Whether the named clauses, in order, refute the negation of a clause."""
    false = set(literals)
    for hint in hints:
        left = known.get(hint, {1, -1}) - false
        if not left:
            return True
        if len(left) > 1:
            return False
        false |= {-literal for literal in left}
    return False
