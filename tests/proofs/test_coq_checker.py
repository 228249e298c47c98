"""The checker that is verified in Coq agrees with `olivine check`."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from olivine.reduction.certificate import checker as python_checker
from olivine.reduction.family.family import Instance
from olivine.reduction.formula.dimacs import write_dimacs
from olivine.reduction.formula.formula import Formula

from tests.reduction.certificate.test_certificate import CASES, REFUSED, made
from tests.support.certificates import (
    certified,
    forgery,
    leaves,
    objects,
    other_numbers,
    replaced,
    sealed,
)
from tests.support.commands import CASES as FILES
from tests.support.commands import olivine, run_olivine
from tests.support.coq import PROOFS, built
from tests.support.depth import deep
from tests.support.families import VARIANTS

CHECKER = PROOFS / "checker" / "olivine_checker"
FORGERIES, CHANGES = deep(200, 12), deep(None, 8)  # of each certificate; None: all
MISSING = [tool for tool in ("coqc", "ocamlopt", "make") if not shutil.which(tool)]

pytestmark = [
    pytest.mark.coq,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {MISSING}"),
]


@pytest.fixture(scope="module", autouse=True)
def checker():
    built("checker/olivine_checker")


@dataclass
class Verdict:
    status: int
    out: str
    reason: str


def verified(*arguments, stdin: bytes = b"") -> Verdict:
    """Run the extracted checker."""
    command = [str(CHECKER), *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True)
    return Verdict(done.returncode, done.stdout.decode(), done.stderr.decode())


def asked(certificate: Path, file: Path, *options) -> tuple[int, dict | None]:
    """Exit status and statement of `olivine check`."""
    done = olivine("check", certificate, file, "--json", *options)
    return done.status, done.record["statement"] if done.status == 0 else None


def judged(certificate: Path, file: Path) -> tuple[int, dict | None]:
    """The same from the module behind it, which is ten times faster."""
    try:
        formula = python_checker.read_formula(str(file))
        proof = Path(f"{certificate}.drat").read_bytes
        statement = python_checker.judge(certificate.read_bytes(), proof, formula)
    except OSError:
        return 2, None
    except ValueError:
        return 1, None
    return 0, json.loads(python_checker.canonical(statement))


def agreed(certificate: Path, file: Path, *options, ask=asked) -> int:
    """Ask both; the same verdict, and the same statement if it is valid."""
    ours = verified("--json", *options, certificate, file)
    status, statement = ask(certificate, file, *options)
    text = certificate.read_text(errors="replace") if certificate.exists() else ""
    assert ours.status == status, (ours, text[:3000])
    if ours.status == 0:
        assert json.loads(ours.out) == statement
        assert not ours.reason
    else:
        start = "not valid: " if ours.status == 1 else "unreadable: "
        assert ours.reason.startswith(start), ours
        assert len(ours.reason) > len(start) + 1
        assert "xception" not in ours.reason
        assert not ours.out
    return ours.status


def written(folder: Path, text: str, proof: str | None) -> Path:
    path = folder / "c.json"
    path.write_text(text)
    drat = folder / "c.json.drat"
    drat.unlink(missing_ok=True)
    if proof is not None:
        drat.write_text(proof)
    return path


def formula_file(folder: Path, instance) -> Path:
    plain = instance.formula.weights is None
    path = folder / f"formula.{'cnf' if plain else 'wcnf'}"
    write_dimacs(instance.formula, path)
    return path


def damaged(certificate, draw: random.Random, forgeries: int, changes: int | None):
    """Certificates and proofs that a forger might try, digests renewed or not."""
    content, proof = json.loads(certificate.text), certificate.proof
    for _ in range(forgeries):
        forged, other = forgery(content, proof, draw)
        yield sealed(forged, other), other
    found = []
    for path, value in leaves(content):
        for new in other_numbers(value):
            changed = replaced(content, path, new)
            found += [(json.dumps(changed), proof), (sealed(changed, proof), proof)]
    for path in objects(content):
        inner = content
        for key in path:
            inner = inner[key]
        found.append(
            (sealed(replaced(content, path, inner | {"more": 1}), None), proof)
        )
        for key in inner:
            for other in (None, True, [], {}, [[]], 3, "", [inner[key]]):
                wrong = replaced(content, (*path, key), other)
                found.append((sealed(wrong, None), proof))
    lines = certificate.text.splitlines(keepends=True)
    for k in range(len(lines)):
        found.append(("".join(lines[:k] + lines[k + 1 :]), proof))
    steps = (proof or "").splitlines(keepends=True)
    for k, step in enumerate(steps):
        for new in ["", *(f"{number}\n" for number in other_numbers(step.strip()))]:
            text = "".join([*steps[:k], new, *steps[k + 1 :]])
            found += [(certificate.text, text), (sealed(content, text), text)]
    yield from found if changes is None else draw.sample(found, changes)


@pytest.fixture
def no_second_start(monkeypatch) -> None:
    """Small formulas need no deeper stack, for which the checker starts itself anew."""
    monkeypatch.setenv("OLIVINE_CHECKER_STACK", "raised")


def compare(name: str, variant: str, folder: Path, forgeries: int, changes) -> None:
    instance, certificate = made(name, variant)
    file = formula_file(folder, instance)
    path = written(folder, certificate.text, certificate.proof)
    assert agreed(path, file) == agreed(path, file, ask=judged) == 0
    verdicts: Counter[int] = Counter()
    draw = random.Random(f"{name} {variant} coq")
    for text, proof in damaged(certificate, draw, forgeries, changes):
        verdicts[agreed(written(folder, text, proof), file, ask=judged)] += 1
    assert verdicts[1] > forgeries // 2


@pytest.mark.usefixtures("no_second_start")
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_forgeries(name: str, variant: str, tmp_path) -> None:
    compare(name, variant, tmp_path, FORGERIES, CHANGES)


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED, ids=lambda v: v[:30])
def test_what_the_checker_refuses(old: str, new: str, reason: str, tmp_path) -> None:
    instance, certificate = made("eight", "paper")
    text = certificate.text.replace(old, new, 1)
    file = formula_file(tmp_path, instance)
    assert agreed(written(tmp_path, text, certificate.proof), file) > 0
    try:
        content = json.loads(text, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return
    # With the digest renewed; a key twice is once again, and all is well.
    text = sealed(content, certificate.proof)
    status = agreed(written(tmp_path, text, certificate.proof), file)
    assert (status == 0) == (reason == "twice")


@pytest.mark.parametrize("folder", ["cadical", "dense"])
@pytest.mark.parametrize("variant", ["paper", "gap", "strict"])
def test_certificates_of_the_cases(folder: str, variant: str, tmp_path) -> None:
    """Made by `olivine verify`; on another formula both refuse them."""
    files = sorted((FILES / folder).glob("*.cnf"), key=lambda f: f.stat().st_size)[:6]
    path = tmp_path / "c.json"
    for k, file in enumerate(files):
        options = ["--variant", variant, "--certificate", path, "--time-limit", "20"]
        path.unlink(missing_ok=True)
        olivine("verify", file, "--route", "sat", "--route", "maxsat", *options)
        if path.exists():
            assert agreed(path, file) == 0
            assert agreed(path, files[k - 1]) == int(len(files) > 1)


def test_unreadable_files(tmp_path) -> None:
    instance, certificate = made("eight", "paper")
    file = formula_file(tmp_path, instance)
    path = written(tmp_path, certificate.text, None)
    assert agreed(path, file) == 2  # no proof file
    assert agreed(tmp_path / "none.json", file) == 2
    assert agreed(path, tmp_path / "none.cnf") == 2
    for text in ("", "[", "{", '{"a": 1,}', "nul", '{"a" 1}', "[1] 2", "[" * 5000):
        assert agreed(written(tmp_path, text, certificate.proof), file) == 2, text
    path.write_bytes(b'{"\xff": 1}')
    assert agreed(path, file) == 2
    path = written(tmp_path, certificate.text, certificate.proof)
    for text in (
        "",
        "p cnf 3",
        "p cnf x 3\n1 0\n",
        "p cnf 3 1\n1 2",
        "p cnf 3 1\n1 2 x 0\n",
        "p wcnf 3 1 5\n5 1 0\n",
        "p wcnf 3 1\n0 1 0\n",
        "h 1 0\n",
        "1 2 0\n",
        "p cnf 3 1\n99999999999 0\n",
    ):
        file.write_text(text)
        assert agreed(path, file) == 2, text


def test_ways_to_write_a_formula(tmp_path) -> None:
    """Comments, blank lines, percent signs and the like are read alike."""
    instance, certificate = made("eight", "paper")
    file = formula_file(tmp_path, instance)
    path = written(tmp_path, certificate.text, certificate.proof)
    text = file.read_text()
    for same in (
        "c comment\n" + text,
        "\ufeff" + text,
        text.replace(" 0\n", " 0 c comment\n"),
        text.replace("\n", "\r\n"),
        text.replace("\n", "\n c a comment\n"),
        text + "%\n0\n",
        text.replace(" 0\n", "\n00\n"),
        text.replace(" ", " \t "),
    ):
        file.write_text(same)
        assert agreed(path, file) == 0, same
    ours = verified(path, "-", stdin=text.encode())
    theirs = run_olivine("check", path, "-", stdin=text.encode())
    assert ours.status == theirs.status == 0


def test_a_compressed_formula_is_refused_with_advice(tmp_path) -> None:
    """Python's checker unpacks it; the extracted one says to do so first."""
    instance, certificate = made("eight", "paper")
    file = formula_file(tmp_path, instance)
    path = written(tmp_path, certificate.text, certificate.proof)
    file.write_bytes(gzip.compress(file.read_bytes()))
    verdict = verified(path, file)
    assert verdict.status == 2
    assert "unpack it" in verdict.reason


def test_proofs_read_alike(tmp_path) -> None:
    """Deletions, comments, spellings of integers, odd and wrong steps."""
    instance, certificate = made("eight", "paper")
    content, file = json.loads(certificate.text), formula_file(tmp_path, instance)
    for proof in (
        "1 2 0\n1 0\n2 0\n0\n",
        "c words\n1 2 0 1 0 0\n",
        "1 2\n0 1\n0 0\n",
        "1 1 2 0 d 1 2 3 0 1 0 0\n",
        "d 1 2 3 0 1 2 0 1 0 0\n",
        "d1 2 3 0 d 9 0 d 7 8 0 1 2 0 0\n",
        "1 2 0 d 1 0 1 0 d 1 0 0\n",
        "+1 2 -0 1 00 0\n",
        "1_0 -10 0 1 2 0 1 0 0\n",
        "1 -1 0 1 2 0 1 0 0\n",
        "99 0 0\n",
        "999999999999999999999999 0 0\n",
        "1 2 0\n",
        "1 2 0 d 0\n",
        "0 1 2 0\n",
        "1 d 2 0 0\n",
        "1 2 0 1 0 0",
        "1 2 0 1 0 0 1",
        "x 0\n",
        "",
        "\u00e9 0\n",
    ):
        agreed(written(tmp_path, sealed(content, proof), proof), file)


def test_a_step_may_hold_literals_that_units_make_false(tmp_path) -> None:
    """Of (1 2) variable 1 is known to be false, and the reason is a hint."""
    formula = Formula.from_clauses([[-1], [1, 2, 3], [1, 2, -3], [-2, 3], [-2, -3]])
    instance = Instance.of(formula, "paper")
    content = json.loads(certified(instance).text)
    file, proof = formula_file(tmp_path, instance), "1 2 0\n0\n"
    assert agreed(written(tmp_path, sealed(content, proof), proof), file) == 0


@pytest.mark.parametrize("seed", range(4))
def test_certificates_of_random_formulas(seed: int, tmp_path) -> None:
    """Clauses of one to five literals, weights or none, proofs with deletions."""
    draw = random.Random(seed)
    steps = 0
    for _ in range(5):
        n = draw.randint(3, 6)
        widths = [draw.randint(1, 5) for _ in range(draw.randint(2 * n, 3 * n))]
        clauses = [
            [draw.choice((1, -1)) * draw.randint(1, n) for _ in range(width)]
            for width in widths
        ]
        weights = [draw.randint(1, 4) for _ in clauses] if draw.random() < 0.3 else None
        formula = Formula.from_clauses(clauses, n, weights)
        instance = Instance.of(formula, draw.choice(VARIANTS))
        certificate = certified(instance)
        steps += (certificate.proof or "").count("\n")
        path = written(tmp_path, certificate.text, certificate.proof)
        assert agreed(path, formula_file(tmp_path, instance), ask=judged) == 0
    assert steps > 0


def test_it_is_fast(tmp_path) -> None:
    """Within ten times `olivine check`, on a proof of some hundred steps."""
    file, path = FILES / "satlib" / "uuf100-01.cnf", tmp_path / "c.json"
    routes = ["--route", "sat", "--route", "maxsat"]
    olivine("verify", file, *routes, "--certificate", path, status=0)
    olivine("check", path, file)  # imports
    start = os.times()
    olivine("check", path, file, status=0)
    between = os.times()
    assert verified(path, file).status == 0
    end = os.times()
    used = end.children_user + end.children_system
    used -= between.children_user + between.children_system
    assert used < 10 * (between.user - start.user) + 0.1
