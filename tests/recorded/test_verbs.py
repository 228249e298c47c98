"""What each verb prints and writes for small inputs is as recorded, times left out."""

import hashlib
import io
import time

import pytest
from matplotlib.figure import Figure

from tests.support.commands import CASES, olivine
from tests.support.drawn import drawn
from tests.support.recorded import recorded

LINES = 70
"""Lines of a text that are recorded as they are; the others have a digest."""

FOLDERS = """
verify cadical/full1.cnf cadical/sat1.cnf odd/width-four.cnf --time-limit 60
verify cadical/full2.cnf --variant strict --route milp --route brute \
--route witness --time-limit 60
verify odd/*.cnf --json --route sat --route maxsat
verify dense/mixed-widths.cnf --variant normalized --json --route maxsat
verify cadical/full2.cnf --variant gap --json --time-limit 60
verify cadical/ph2.cnf --variant forced --json --route sat --route maxsat
verify cadical/false.cnf odd/xor.cnf odd/nothing.cnf --variant all-levels \
--time-limit 60
verify faults/*.cnf faults/*.wcnf --json --route sat
verify cadical/full2.cnf --certificate c.json ; check c.json cadical/full2.cnf
verify cadical/sat1.cnf --certificate c.json ; check c.json cadical/full2.cnf
verify cadical/ph2.cnf --certificate c.json --json ; check c.json cadical/ph2.cnf --json
solve cadical/full2.cnf ; solve cadical/sat1.cnf ; solve odd/xor.cnf ; solve none.cnf
solve cadical/full2.cnf --engine milp --json ; solve faults/bigw.wcnf
trace cadical/full1.cnf ; trace cadical/full2.cnf --variant strict
trace cadical/sat1.cnf --variant all-levels --member sat
trace cadical/sat1.cnf --ties random --levels all --json --variant gap
trace cadical/full2.cnf --ties benign --json ; trace cadical/sat1.cnf --ties benign
trace cadical/full1.cnf --levels largest --variant normalized
trace cadical/full2.cnf --member random --seed 3 --json --variant forced
multi cadical/full2.cnf cadical/sat1.cnf odd/xor.cnf ; multi cadical/full2.cnf --json
barrier ; barrier average -o a.svg ; barrier average --contexts 4 --json
barrier backup --horizon 2 --samples 9 --runs 5
barrier backup --horizon 2 --ratio 3/2 --ties for --runs 20 --samples 30 --json
barrier square-loss --runs 20 --samples 50 -o s.svg
barrier square-loss --runs 20 --samples 4 --samples 9 --json --epsilon 0.1
compare --algorithms psdp,fqi,lsvee --env tabular,lock --seeds 3 -o c.svg --rows r.jsonl
compare --algorithms rmax,two-sample --env tabular,random-finite --seeds 2 --json
curves --algorithms psdp,fqi --env tabular --seeds 3 -o c.svg
curves --algorithms rmax,valor --env random-finite --seeds 2 --set states=2 --json
draw cadical/full2.cnf -o f.tex ; draw cadical/sat1.cnf -o f.svg --variant strict
draw odd/width-four.cnf -o f.tex --variant all-levels --json
draw cadical/ph2.cnf -o f.tex --no-witness --variant gap
draw satlib/uf20-01.cnf -o f.tex --variant normalized ; draw dense/random0.cnf -o f.tex
draw cadical/full2.cnf -o f.png --penalty 1/8
draw cadical/ph4.cnf -o f.tex --witness
draw dense/full3-four-times.cnf -o f.svg --witness
generate cadical/full1.cnf -o out --solve --start ; extract out out/start.sol
generate cadical/sat1.cnf -o out --variant strict --formulation strengthened
generate cadical/full1.cnf -o out --variant gap --two-actions
generate cadical/full2.cnf -o out --formulation projected --format lp
generate cadical/sat1.cnf -o out --variant all-levels --member 10
generate cadical/full1.cnf cadical/sat1.cnf -o out --format json --format prism --solve
generate cadical/full1.cnf -o out --variant forced --format drn --format dot
generate cadical/sat1.cnf -o out --start ; extract out out/start.sol --json
report cadical/full2.cnf -o r.html ; report cadical/sat1.cnf -o s.html --variant strict
report odd/width-four.cnf -o r.html --variant all-levels --json
learn --list ; claims lemma-1 vertex-lemma
learn valor --env tabular --check-assumptions ; learn olive --env random-finite
learn psdp --env lock --params practical --classes linear ; learn rmax --env tabular
learn fqi --env random-finite --run-anyway --params practical
learn two-sample --env tabular --params practical --check-assumptions --json
sweep formulas.toml -o r.jsonl -j 1 ; sweep formulas.toml -o r.jsonl
sweep learning.toml -o r.jsonl -j 1 --figure p.svg --json
"""

SWEEPS = {
    "formulas.toml": """
kind = "formulas"
routes = ["sat", "maxsat", "witness"]
[[random]]
variables = 5
ratios = [2, 8]
formulas = 3
""",
    "learning.toml": """
kind = "learning"
algorithms = ["psdp", "lsvee"]
environments = ["tabular", "random-finite"]
seeds = 2
settings = { states = 2 }
""",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with links to the cases; what is drawn is described in its place."""
    for name in ("cadical", "odd", "dense", "satlib", "faults"):
        (tmp_path / name).symlink_to(CASES / name)
    for name, text in SWEEPS.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    for clock in ("monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, clock, lambda: 1.0)
    figures = []

    def describe(figure, file, **_) -> None:
        figures.append(drawn(figure))
        file.write("<svg></svg>" if isinstance(file, io.StringIO) else b"")

    monkeypatch.setattr(Figure, "savefig", describe)
    return tmp_path, figures


def lines(text: str) -> list[str]:
    found = text.splitlines()
    rest = found[LINES:]
    digest = hashlib.sha256("\n".join(rest).encode()).hexdigest()[:16]
    return found if not rest else [*found[:LINES], f"{len(rest)} lines {digest}"]


@pytest.mark.parametrize("commands", FOLDERS.strip().splitlines())
def test_what_is_printed_and_written(commands: str, folder) -> None:
    path, figures = folder
    found, before = {}, set(path.iterdir())
    for command in commands.split(" ; "):
        arguments = [
            name
            for word in command.split()
            for name in (
                sorted(str(p.relative_to(path)) for p in path.glob(word))
                if "*" in word
                else [word]
            )
        ]
        done = olivine(*arguments)
        out = done.records if "--json" in arguments else lines(done.out)
        found[command] = [done.status, out, lines(done.err)]
    for new in set(path.iterdir()) - before:
        for file in (new, *new.rglob("*")):
            if file.is_file():
                text = file.read_text(encoding="utf-8", errors="replace")
                found[str(file.relative_to(path))] = lines(text)
    recorded("verbs", commands, found | {"figures": figures}, path)
