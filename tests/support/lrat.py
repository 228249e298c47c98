"""A small LRAT checker: unit propagation over the clauses that each step names."""

from collections.abc import Iterable


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
