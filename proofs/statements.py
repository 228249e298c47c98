"""Print what Theorems.v names: each statement, and every definition it rests on.

    make -C proofs statements         # makes statements.txt anew
    make -C proofs check-statements   # fails unless Coq prints the same

Names stand with their file, so that two `feasible` cannot be confused. Definitions
are followed to the last, so a change of any of them shows, whatever the names.
"""

from __future__ import annotations

import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMITTED = HERE / "statements.txt"
REMAKE = "make -C proofs statements"
HEAD = f"""\
What Coq prints for the theorems of Theorems.v, and for all definitions that they rest
on. Made by `{REMAKE}`; read the difference before you commit it.

"""
DECLARED = re.compile(r"^ *(?:Theorem|Lemma|Corollary) (\w+)\b", re.M)
DECISION = re.compile(r" =\s.*?(?=\n {5}: .*\}\s+\+\s+\{[^{}]*\}$)", re.S)
PROJECTION = re.compile(r"let \([\w', ]+\)\s+:=\s+\w+\s+in\s+\w+\s+:")


def theorems() -> list[str]:
    """List the names in Theorems.v, each with its file in front."""
    files = {
        name: file.stem
        for file in HERE.glob("*.v")
        for name in DECLARED.findall(file.read_text())
    }
    listed = (HERE / "Theorems.v").read_text()
    return [
        f"{files[name]}.{name}"
        for name in re.findall(r"^Print Assumptions (\w+)\.$", listed, re.M)
    ]


def answers(command: str, names: list[str], library: Path) -> dict[str, str]:
    """Ask Coq about each name. An error of Coq raises RuntimeError."""
    if not names:
        return {}
    modules = sorted({name.partition(".")[0] for name in names})
    text = f"""From Coq Require Import List Bool ZArith QArith Reals.
From Olivine Require {" ".join(modules)}.
Import ListNotations.
Open Scope R_scope.
Set Printing Width 88.
Set Printing Depth 1000.
"""
    text += "".join(f'Redirect "{i}" {command} {n}.\n' for i, n in enumerate(names))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "Asked.v")
        file.write_text(text)
        done = subprocess.run(
            ["coqc", "-Q", str(library), "Olivine", file.name],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        texts = (Path(folder, f"{i}.out").read_text() for i in range(len(names)))
        return dict(zip(names, (re.sub(" +\n", "\n", t) for t in texts), strict=True))


def printed(names: list[str], library: Path = HERE) -> str:
    """Print statements in the order given, then the definitions under them by name."""
    ours = "|".join(file.stem for file in HERE.glob("*.v"))
    named = re.compile(rf"\b(?:{ours})(?:\.[A-Za-z_][\w']*)+")
    stated = new = answers("Check", names, library)
    defined: dict[str, str] = {}
    while new:
        met = {name for block in new.values() for name in named.findall(block)}
        found = answers("Print", sorted(met - {*stated, *defined}), library)
        new = {n: re.split(r"\n\n?Arguments ", found[n])[0].strip() for n in found}
        # Of a decision procedure, of type {P} + {~ P}, the type says everything.
        new = {n: DECISION.sub("", block, count=1) for n, block in new.items()}
        defined |= new
    # A constructor prints its type, so the same answer can come twice.
    blocks = dict.fromkeys([*stated.values(), *(defined[n] for n in sorted(defined))])
    kept = [block.strip() for block in blocks if not PROJECTION.search(block)]
    return HEAD + "\n\n".join(kept) + "\n"


def difference(library: Path = HERE) -> str:
    """Compare what Coq prints with statements.txt, as a unified diff."""
    lines = difflib.unified_diff(
        COMMITTED.read_text().splitlines(),
        printed(theorems(), library).splitlines(),
        "proofs/statements.txt",
        "printed by Coq",
        lineterm="",
    )
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        changed = difference()
        if changed:
            sys.exit(
                f"{changed}\nproofs/statements.txt is not what Coq prints (made with "
                f"Coq 8.16). If the change above is meant: {REMAKE}"
            )
    else:
        COMMITTED.write_text(printed(theorems()))
