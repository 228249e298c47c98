"""Check a certificate of the optimum of OLIVE's program, trusting nothing else.

Imports nothing of the project. ``python checker.py CERTIFICATE FILE`` exits with 0
(valid), 1 (not valid) or 2 (unreadable). Format and mathematics: docs/certificate.md.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import re
import struct
import sys
import zlib
from collections import Counter, deque
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain, product
from pathlib import Path
from typing import Any, NamedTuple

from dratify import CNF, check_proof, parse_proof

FORMAT = "olivine certificate 1"
MAX_CLAUSES = 10**6  # of a formula that counts
LIMITS = (10**7, None)  # these two lines are explained in docs/dimacs.md
MAX_LINE, FREE_BYTES, MAX_RATIO = 1 << 26, 1 << 20, 100
ACTIONS = {f"{b:03b}": (b > 3, b % 4 > 1, b % 2 > 0) for b in range(1, 8)}
_OPENERS = {b"\x1f\x8b": gzip, b"BZh": bz2, b"\xfd7zXZ\x00": lzma}


class Formula(NamedTuple):
    """Clauses of nonzero integers over variables 1 to n, and a weight for each."""

    n: int
    clauses: list[list[int]]
    weights: list[int]
    weighted: bool = False  # whether the weights were given, and not just 1 each

    def digest(self) -> str:
        """SHA-256 of the content as docs/certificate.md defines it."""
        m, literals = len(self.clauses), list(chain(*self.clauses))
        offsets = accumulate(map(len, self.clauses), initial=0)
        numbers = [self.n, m, len(literals), int(self.weighted), *offsets, *literals]
        layout = f"<{m + 5}q{len(literals)}i{m * self.weighted}q"
        content = struct.pack(layout, *numbers, *self.weights[: m * self.weighted])
        return hashlib.sha256(b"olivine formula 1\n" + content).hexdigest()


def read_formula(path: str, asked: str | None = None, limits: Any = LIMITS) -> Formula:
    """Read a file within limits (variables, bytes) by docs/dimacs.md, else OSError."""
    named = not asked and re.search(r"(?i)\.wcnf(\.xz)?(\.bz2)?(\.gz)?$", path)
    lines, size, (variables, most) = list[bytes](), 0, limits
    a_line = most or MAX_LINE
    with sys.stdin.buffer if path == "-" else open(path, "rb") as stream:
        try:
            head = stream.readline(a_line + 6)
            for opener in [o for m, o in _OPENERS.items() if head.startswith(m)]:
                packed, head = head + stream.read(), b""
                most = most or FREE_BYTES + MAX_RATIO * len(packed)
                stream = opener.open(io.BytesIO(packed))
            for line in chain([head], iter(lambda: stream.readline(a_line + 2), b"")):
                size += len(line)
                if len(line.rstrip(b"\n")) > a_line or size > (most or size):
                    raise ValueError(f"over {most} bytes, or over {a_line} in a line")
                lines.append(line)
            return _parse_formula(b"".join(lines), asked, bool(named), variables)
        except (ValueError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise OSError(f"{path}: {error}") from None


def _parse_formula(data: bytes, asked: str | None, named: bool, most: int) -> Formula:
    data = re.split(rb"(?m)^[ \t\r\v\f]*%", data.removeprefix(b"\xef\xbb\xbf"))[0]
    one_line = re.search(rb"\r(?!\n)", data.strip())  # lines end in CR alone
    data = re.sub(rb"(?m)^[ \t\r\v\f]*c.*", b"", data).lstrip()
    n, top, weighted = 0, 10**40, True
    if data.startswith(b"p"):
        header, _, data = data.partition(b"\n")
        p, kind, *counts = [*header.split(), b""]
        fine = len(counts) in {b"cnf": (3,), b"wcnf": (3, 4)}.get(kind, ())
        if p != b"p" or not fine or asked not in (None, kind.decode()):
            raise ValueError("the header is malformed or not of the format asked for")
        n, weighted = _integer(counts[0], 0, most), kind == b"wcnf"
        _integer(counts[1], 0, 10**40 - 1)
        top = _integer(counts[2], 1, 10**40 - 1) if counts[2] else top
    elif not (named or asked == "wcnf") or not (data or not one_line):
        raise ValueError("no 'p cnf' header")
    data = re.sub(rb"(?<!\S)0+[ \t\r\v\f]+c.*", b"0", data)  # a comment behind a 0
    clauses, weights, tokens = list[list[int]](), list[int](), iter(data.split())
    for token in tokens:
        if weighted:
            if token == b"h" or _integer(token, 1, 10**40) >= top:
                raise ValueError("a hard clause: the family needs all clauses soft")
            weights.append(_integer(token, 1, 2**63 - 1))
            token = next(tokens, b"")
        clauses.append([])
        while literal := _integer(token, -most, most):
            clauses[-1].append(literal)
            token = next(tokens, b"")
    n = max(map(abs, chain([n], *clauses)))
    return Formula(n, clauses, weights or [1] * len(clauses), weighted)


def _integer(token: bytes, low: int, high: int) -> int:
    if fine := re.fullmatch(rb"(-?)0*+([1-9][0-9]{0,39})|0+", token):
        value = int((fine[1] or b"") + (fine[2] or b"0"))
        if low <= value <= high:
            return value
    raise ValueError(f"{token[:40]!r} where an integer in {low}..{high} is due")


def three_sat(formula: Formula) -> Formula:
    """Bring a formula to 3-SAT form: split, pad, and keep every weight."""
    n, clauses, weights = formula.n, list[list[int]](), list[int]()
    for clause, weight in zip(formula.clauses, formula.weights, strict=True):
        c = list(dict.fromkeys(clause))
        c += c[-1:] * (3 - len(c))
        fresh = range(n + 1, n + len(c) - 2) if c else range(n + 1, n + 2)
        n += len(fresh)
        first, last = [*c[:1], *(-y for y in fresh)], [*fresh, *c[-1:]]
        pieces = zip(first, c[1:-1], last, strict=True) if c else ([n] * 3, [-n] * 3)
        clauses += map(list, pieces)
        weights += [weight] * (len(clauses) - len(weights))
    if not clauses:
        n, clauses, weights = max(n, 1), [[1, -1, -1]], [1]
    if n >= 2**31:
        raise OSError(f"the 3-SAT form needs {n} variables, more than {2**31 - 1}")
    return Formula(n, clauses, weights, formula.weighted)


def bound_formula(three: Formula, bound: int) -> Formula:
    """Build F_k of docs/certificate.md, for k = `bound`."""
    merged: Counter[frozenset[int]] = Counter()
    for clause, weight in zip(three.clauses, three.weights, strict=True):
        if not any(-literal in clause for literal in clause):
            merged[frozenset(clause)] += weight
    n, clauses, nodes = three.n, [], deque[dict[int, int]]()
    for literals, weight in merged.items():
        clauses.append(sorted(literals))
        if weight < bound:
            n += 1
            clauses[-1].append(n)
            nodes.append({weight: n})
    while len(nodes) > 1:
        a, b = nodes.popleft(), nodes.popleft()
        if len(clauses) + (len(a) + 1) * (len(b) + 1) > MAX_CLAUSES:
            raise ValueError(f"counting to {bound} takes over {MAX_CLAUSES} clauses")
        sums = sorted({*a, *b, *(s + t for s in a for t in b if s + t < bound)})
        node = {total: n + k for k, total in enumerate(sums, 1)}
        n += len(sums)
        clauses += [[-x, node[s]] for child in (a, b) for s, x in child.items()]
        for (s, x), (t, y) in product(a.items(), b.items()):
            clauses.append([-x, -y, *([node[s + t]] if s + t < bound else [])])
        nodes.append(node)
    return Formula(n, clauses, [])


def check_refutation(formula: Formula, proof: bytes) -> None:
    """Check a DRAT proof, all steps RUP: `dratify` is unsound on RAT with deletions."""
    try:
        cnf, steps = CNF(formula.n), parse_proof(proof.decode("ascii"))
    except ValueError as error:
        raise ValueError(f"proof: {str(error)[:80]}") from None
    for clause in formula.clauses:
        cnf.add_dimacs(clause)
    if steps[-1:] != [("a", ())]:
        raise ValueError("proof: the last step is not the empty clause")
    result = check_proof(cnf, steps, check_rat=False, engine="python")
    if not result.ok:
        raise ValueError(f"proof: the clause of step {result.failed_step} is not RUP")


def rewards(variant: str, p: Fraction) -> tuple[Fraction, ...]:
    """Return top, rewards of [solve], [try x], [try C], and the chance of a clause."""
    if variant == "strict":
        return tuple(map(Fraction, ("1/10", "1/10", "7/100", "0", "1/2")))
    top, solve, attempt = (1, 0, -p) if variant == "paper" else (1 - p, p, 0)
    return tuple(map(Fraction, (top, solve, solve, attempt, 1)))


def values(three: Formula, variant: str, p: Fraction, x: list[bool], pi: Any) -> Any:
    """Return the one g that truth values `x` and pi allow, and the weight left."""
    n, paper, no = three.n, variant == "paper", Fraction(0)
    top, solve, variable, attempt, reach = rewards(variant, p)
    actions = ACTIONS | ({"[quit]": ()} if variant == "all-levels" else {})
    left, total, clauses = 0, no, list[Fraction]()
    for clause, weight, b in zip(three.clauses, three.weights, pi["C"], strict=True):
        if b not in actions:
            raise ValueError(f"pi: {b!r} is no action of a clause state")
        truth = [x[abs(literal) - 1] == (literal > 0) for literal in clause]
        left += 0 if any(truth) else weight
        clauses.append(top * sum(map(bool.__eq__, truth, actions[b])) / 3)
        total += clauses[-1] * weight
    start = {"[solve]": solve + reach * total / sum(three.weights)}
    start |= {f"[try x{i}]": variable + top / 2 for i in range(1, n + 1)}
    start |= {f"[try C{j}]": attempt + value for j, value in enumerate(clauses, 1)}
    if pi["s0"] not in start:
        raise ValueError(f"pi: {pi['s0']!r} is no action of s0")
    g = {"s0": start[pi["s0"]], "C": clauses, "X": [] if paper else [top / 2] * n}
    g |= {"x0": [top * (not t) for t in x], "x1": [top * t for t in x]}
    bottom = {"all-levels": 1, "strict": 2}.get(variant, 0)
    return g | {"bottom": [no] * bottom}, left


@lru_cache
def rational(text: str) -> Fraction:
    """Read a rational in lowest terms, "1/3", of at most 200 digits a part."""
    fine = re.fullmatch(r"-?[0-9]{1,200}(/[1-9][0-9]{0,199})?", text)
    if fine and text == str(Fraction(text)):
        return Fraction(text)
    raise ValueError(f"{text[:40]!r} is no rational in lowest terms, or too long a one")


def parse(text: bytes) -> Any:
    """Parse JSON without floats, repeated keys and integers of over 200 digits."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twice := [k for k, n in Counter(k for k, _ in pairs).items() if n > 1]:
            raise ValueError(f"the key {twice[0][:40]!r} occurs twice in an object")
        return dict(pairs)

    def refuse(number: str) -> None:
        raise ValueError(f"{number[:40]} is a floating-point number; none is due")

    hooks: dict[str, Any] = {"object_pairs_hook": unique, "parse_float": refuse}
    hooks |= {"parse_constant": refuse, "parse_int": lambda s: rational(s).numerator}
    try:
        plain = text.decode(json.detect_encoding(text))
        # a string that does not end goes to the end: no place is looked at twice
        marks = re.findall(r"[][{}]", re.sub(r'(?s)"(?:[^"\\]|\\.)*+"?', "", plain))
        if max(accumulate(1 if m in "[{" else -1 for m in marks), default=0) > 99:
            raise OSError("the certificate is nested too deeply")
        return json.loads(plain, **hooks)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OSError(f"the certificate is no JSON: {error}") from None


def canonical(value: Any) -> str:
    """JSON with sorted keys, without blanks, in ASCII; a rational is a string."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def seal(certificate: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON with null in place of the field `sha256`."""
    text = canonical(certificate | {"sha256": None})
    return hashlib.sha256(text.encode()).hexdigest()


def _keys(where: str, value: Any, names: str) -> None:
    if type(value) is not dict or sorted(value) != sorted(names.split()):
        raise ValueError(f"{where} is no object with exactly the fields {names}")


def _compare(where: str, found: Any, due: Any) -> None:
    a, b = canonical(found), canonical(due)
    if type(found) is type(due) is list and len(found) == len(due):
        found, due = dict(enumerate(found, 1)), dict(enumerate(due, 1))
    if a != b and type(found) is type(due) is dict and set(found) == set(due):
        for key in due:
            _compare(f"{where} {key}", found[key], due[key])
    elif a != b:
        raise ValueError(f"the certificate's{where} is {a[:80]}; due is {b[:80]}")


def judge(text: bytes, read_proof: Callable[[], bytes], formula: Formula) -> Any:
    """Return what a certificate proves; ValueError if not valid."""
    given, three = parse(text), three_sat(formula)
    _keys("it", given, "format formula three_sat family claim g pi proof sha256")
    family, claim, g = given["family"], given["claim"], given["g"]
    _keys("family", family, "variant penalty")
    _keys("claim", claim, "satisfiable at_least at_most optimum")
    _keys("g", g, "s0 C X x0 x1 bottom")
    _keys("pi", given["pi"], "s0 C")
    due: dict[str, Any] = {"format": FORMAT, "sha256": seal(given)}
    for name, f in (("formula", formula), ("three_sat", three)):
        due[name] = {"variables": f.n, "clauses": len(f.clauses), "sha256": f.digest()}
    _compare("", {name: given[name] for name in due}, due)
    variant, p, least = family["variant"], family["penalty"], claim["at_least"]
    p, x, actions = rational(str(p)), g["x1"], given["pi"]["C"]
    ok = {"paper": p <= 1, "gap": 4 * p == 1, "normalized": p < 1, "all-levels": p < 1}
    ok["strict"] = 20 * p == 1
    if p <= 0 or not ok.get(str(variant)) or type(least) is not int or least < 0:
        raise ValueError(f"no variant {variant!r} with penalty {p}, at_least {least!r}")
    if type(x) is not list or len(x) != three.n or type(actions) is not list:
        raise ValueError(f"g: x1 is no list of {three.n}, or pi: C is none")
    pi = {"s0": str(given["pi"]["s0"]), "C": list(map(str, actions))}
    top, solve, *_, reach = rewards(variant, p)
    g, left = values(three, variant, p, [value == str(top) for value in x], pi)
    loss = min(reach * top * Fraction(least, 3 * sum(three.weights)), p)
    best = solve + reach * top - loss  # Theorem O
    if g["s0"] != best or least > left:
        raise ValueError(f"at_least {least} allows {best}, and g(s0) is {g['s0']}")
    proof = read_proof() if least else b""
    due |= {"family": {"variant": variant, "penalty": p}, "g": g, "pi": pi}
    due["claim"] = claim | {"satisfiable": not left, "at_most": left, "optimum": best}
    due["proof"] = hashlib.sha256(proof).hexdigest() if least else None
    _compare("", given, due)
    if least:
        check_refutation(bound_formula(three, least), proof)
    return {"formula": due["formula"], **family, **claim}


if __name__ == "__main__":
    try:
        path, about = Path(sys.argv[1]), read_formula(sys.argv[2])
        proof = Path(f"{path}.drat")
        print("valid:", canonical(judge(path.read_bytes(), proof.read_bytes, about)))
    except ValueError as problem:
        sys.exit(f"not valid: {problem}")
    except (OSError, IndexError) as problem:
        print("unreadable:", problem, file=sys.stderr)
        sys.exit(2)
