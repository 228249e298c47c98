"""What each verb prints and writes for small inputs is as recorded, times left out."""

import hashlib
import io
import re
import sys
import time

import pytest
from matplotlib.figure import Figure
from olivine.cli.experiments import barrier

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
barrier square-loss --epsilon 1/3 --runs 5 --samples 10
barrier backup --horizon 1 --horizon 3 --runs 10 --seed 2 -o b.svg
check faults/s.json faults/s.cnf ; check faults/s.json faults/a.cnf --json ; \
check faults/s.json faults/s.cnf --variant gap ; \
check faults/s.json faults/s.cnf --penalty 1/3 --json ; \
check faults/s.json faults/s.cnf --export out
compare --algorithms psdp,lsvee,two-sample --env threesat,tabular --seeds 2 \
--set states=2 -o c.svg
compare --algorithms psdp,fqi,rmax --env tabular --params practical --set n=3 \
--set m=1 --seeds 4 --epsilon 0.05 -o c.svg --json -j 2
curves --algorithms psdp,lsvee --env threesat --seeds 2 -o c.svg
curves --algorithms lsvee --env threesat --seeds 1 -o c.svg --json
draw two.wcnf -o f.tex --witness --variant gap ; \
draw many.wcnf -o g.tex --witness --json
generate hard.wcnf -o out --format lp --start --solve ; extract out out/start.sol ; \
extract out out/program.lp ; extract out none.sol --json
generate some/b.cnf some/deep/a.cnf odd/garbage.cnf none.cnf -o out --format drn \
--json -j 2
generate some/b.cnf empty odd/variable-above-header.cnf -o out --format prism
generate cadical/full1.cnf -o out --format drn ; \
generate cadical/full1.cnf -o out --format drn --json ; \
generate cadical/full1.cnf -o out --format lp --force --member 1
generate cadical/ph2.cnf -o out --format mps --penalty 1/3
learn psdp --env tabular --epsilon 0.99 ; learn fqi --env threesat --seed 3
learn olive --env grid --params practical --set max_rounds=0
learn two-sample --env random-finite --classes finite --run-anyway
multi hard.wcnf odd/garbage.cnf --json ; multi none.cnf some
solve hard.wcnf ; solve both.wcnf --json ; solve wide.cnf
solve hard.wcnf --engine milp --time-limit 60 ; solve odd/variable-above-header.cnf
solve cadical/full1.cnf --engine milp --formulation projected --variant gap \
--time-limit 60 ; solve cadical/sat1.cnf --json
sweep named.toml -o r.jsonl -j 1
sweep bad.toml -o r.jsonl -j 1 ; sweep bad.toml -o r.jsonl -j 1 --json
trace cadical/full1.cnf --ties random --gamma 1/100 --seed 1 --time-limit 60
trace odd/variable-above-header.cnf --ties benign
verify hard.wcnf both.wcnf two.wcnf --json --route maxsat --route sat --route witness
verify some --certificate made --proofs proofs --route maxsat --route sat -j 2
verify some/a.cnf --certificate c.json --proofs out --json ; \
check c.json some/a.cnf --export again
verify cadical/full3.cnf --route witness
verify cadical/full2.cnf --route sat ; verify cadical/full2.cnf --route milp \
--time-limit 60
verify some none.cnf odd/garbage.cnf empty odd/variable-above-header.cnf --route sat
verify cadical/sat1.cnf --route treewidth --route sat --seed 3 --json
"""
REFUSED = """
barrier nothing
barrier averag --json
barrier average --runs 3
barrier average --contexts 3
barrier average -o a.txt
barrier average -o -
barrier average -o no/a.svg
barrier backup --contexts 4
barrier backup --ties fro
barrier backup --epsilon 1/5000
barrier backup --epsilon 2
barrier backup --epsilon x
barrier backup --ratio 3
barrier backup --ratio 1e999
barrier backup --runs 100001
barrier backup --samples 0
barrier backup --horizon 0
barrier square-loss --runs 0
barrier square-loss --epsilon 1
check none.json faults/s.cnf
check faults/s.json none.cnf
check faults/s.json odd/garbage.cnf
check faults/s.cnf faults/s.json
check faults/s.json faults/s.cnf --export hard.wcnf
check faults/s.json faults/s.cnf --export taken
claims lema-1
claims --page c.md
claims lemma-1 --run --page no/c.md
compare --algorithms pdsp --env grid
compare --algorithms psdp --env gird --json
compare --env grid --set n
compare --env grid --set no=1
compare --env grid --epsilon 2
compare --env grid -o c.txt
compare --env grid --rows c.csv
compare --env grid --rows no/c.jsonl
compare --seeds 999999
contrast -o out --time-limit 0
contrast -o out --variant forced
contrast -o some --max-n 3
contrast -o hard.wcnf --max-n 3 --json
curves --algorithms psdp
curves --env grid --params theorms
curves --algorithms lsvee --env grid --classes cubic
draw cadical/full2.cnf -o f.gif
draw cadical/full2.cnf -o -
draw cadical/full2.cnf -o no/f.svg
draw cadical/full2.cnf -o f.tex --variant forced
draw cadical/full2.cnf -o f.tex --variant strict --penalty 1/20
draw none.cnf -o f.tex --json
extract none x.sol
extract some x.sol --json
generate cadical/full1.cnf -o out --member 01a
generate cadical/full1.cnf -o out --member 011
generate cadical/full1.cnf -o out --two-actions
generate cadical/full1.cnf -o out --variant gap --two-actions --formulation projected
generate cadical/full1.cnf -o out --variant gap --two-actions --start
generate cadical/full1.cnf -o out --start --format dot
generate cadical/full1.cnf -o out --penalty 0
generate cadical/full1.cnf -o out --penalty 2/0
generate cadical/full1.cnf -o out --penalty 1e999
generate cadical/full1.cnf -o out --penalty 1/2 --variant strict
generate cadical/full1.cnf -o out --engine glop
generate cadical/full1.cnf -o out --memory lots
generate cadical/full1.cnf -o out --memory 0MB
generate cadical/full1.cnf -o out --time-limit never
generate cadical/full1.cnf -o out --time-limit -1
generate cadical/full1.cnf -o out --variant papr
generate cadical/full1.cnf -o some
generate cadical/full1.cnf -o hard.wcnf
generate cadical/full1.cnf cadical/sat1.cnf -o some
generate manifest.jsonl cadical/full1.cnf -o out
generate some/b.cnf some/deep/a.cnf -o some --force
generate none.cnf -o out --json
generate odd/garbage.cnf -o out
learn
learn psdp
learn psd --env tabular
learn psdp --env tabula
learn psdp --env tabular --set n
learn psdp --env tabular --set no=1
learn psdp --env tabular --set states=inf
learn psdp --env tabular --epsilon 1
learn psdp --env tabular --delta nan
learn psdp --env tabular --params theorm
learn psdp --env tabular --classes cubic --json
learn psdp --env tabular --time-limit 0
learn psdp --env no:such
learn psdp --env json:such
learn two-sample --env random-finite --classes finite --check-assumptions
learn two-sample --env random-finite --classes finite --check-assumptions --json
learn all --env tabular
learn psdp --curve c.svg
learn psdp --seeds 3
learn --algorithms psdp
multi none.cnf
multi odd/garbage.cnf --json
report cadical/full1.cnf -o r.html --variant forced
report cadical/full1.cnf -o no/r.html
report cadical/full1.cnf -o -
report hard.wcnf -o hard.wcnf --json
report odd/garbage.cnf -o r.html
solve none.cnf --json
solve cadical/full2.cnf --penalty 3
solve cadical/full2.cnf --engine lp
solve hard.wcnf --input-format cnf
solve odd/variable-above-header.cnf --strict
sweep none.toml -o r.jsonl
sweep formulas.toml -o r.cnf
sweep formulas.toml -o -
sweep formulas.toml -o formulas.toml
sweep formulas.toml -o no/r.jsonl --json
sweep formulas.toml -o r.jsonl --figure p.txt
sweep formulas.toml -o r.jsonl --parquet p.csv
trace none.cnf --json
trace odd/garbage.cnf
trace cadical/full2.cnf --member sat
trace cadical/full1.cnf --gamma 1/100
trace cadical/full1.cnf --gamma 2
trace cadical/full1.cnf --gamma x
trace cadical/full1.cnf --levels all
trace cadical/full1.cnf --ties benign --levels lowest
verify none.cnf
verify empty --json
verify some --proofs proofs
verify some --certificate made --proofs some/proofs
verify some --certificate hard.wcnf
verify some/a.cnf --certificate some/a.cnf
verify some/a.cnf --certificate no/c.json
verify some/a.cnf --certificate c.json --variant forced
verify some/a.cnf --certificate c.json --proofs hard.wcnf
verify some/a.cnf --certificate c.json --proofs taken
verify hard.wcnf --certificate c.json
verify cadical/full2.cnf --route millp
verify cadical/full2.cnf --engine glop
verify cadical/full2.cnf --max-variables 1
verify cadical/full2.cnf --max-bytes 9
verify cadical/full2.cnf --input-format wcnf
verify odd/variable-above-header.cnf --strict
"""

FILES = {
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
    "named.toml": """
kind = "formulas"
routes = ["sat", "maxsat"]
variants = ["paper", "normalized"]
penalty = 0.25
files = ["some", "hard.wcnf", "some/a.cnf"]
random = { variables = 3, clauses = [4, 4], formulas = 1, width = 2, seed = 7 }
""",
    "bad.toml": """
kind = "formulas"
routes = "sat"
files = ["odd/garbage.cnf", "some/b.cnf"]
""",
    "some/a.cnf": "p cnf 1 3\n1 0\n1 0\n-1 0\n",
    "some/b.cnf": "p cnf 2 2\n1 0\n2 0\n",
    "some/deep/a.cnf": "p cnf 1 1\n-1 0\n",
    "empty/notes.txt": "no formula",
    "taken/bound.cnf": "p cnf 1 1\n1 0\n",
    "hard.wcnf": "h 1 2 0\nh -1 0\n3 -2 0\n2 1 0\n",
    "both.wcnf": "h 1 0\nh -1 0\n3 2 0\n1 1 0\n",
    "two.wcnf": "h 1 0\nh -1 0\nh 2 0\nh -2 0\n3 1 0\n3 2 0\n",
    "many.wcnf": "".join(f"h {i} 0\n{i} {i} 0\n" for i in range(1, 10)) + "h -1 0\n",
    "wide.cnf": "p cnf 20002 2\n1 20002 0\n-1 0\n",
}
FOLDER_LINES, REFUSED_LINES = (t.strip().splitlines() for t in (FOLDERS, REFUSED))
REFUSING = list(dict.fromkeys(line.split()[0] for line in REFUSED_LINES))
KEYS = [*FOLDER_LINES, *(f"refused {verb}" for verb in REFUSING)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with links to the cases; what is drawn is described in its place."""
    for name in ("cadical", "odd", "dense", "satlib", "faults"):
        (tmp_path / name).symlink_to(CASES / name)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # module:function adds the folder
    monkeypatch.setattr(barrier, "HORIZONS", (1, 3))  # more take long
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


@pytest.mark.parametrize("commands", FOLDER_LINES)
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


def said(text: str) -> list[str]:
    """Lines; of a usage error its words, without the frame that a library draws."""
    if "Usage:" not in text:
        return lines(text)
    words = re.sub("[╭╮╰╯│─]", " ", text.partition("Error")[2])
    return [" ".join(words.split())]


@pytest.mark.parametrize("verb", REFUSING)
def test_what_is_refused(verb: str, folder) -> None:
    path, _ = folder
    found, before = {}, set(path.rglob("*"))
    for line in REFUSED_LINES:
        if line.split()[0] == verb:
            done = olivine(*line.split(), status=2)
            found[line] = [lines(done.out), said(done.err)]
    assert set(path.rglob("*")) == before
    recorded("verbs", f"refused {verb}", found, path)
