"""docs/comparison.md from the records of ``olivine compare``.

Run from the project's folder::

    OMP_NUM_THREADS=1 olivine compare --json -o docs/comparison.svg > comparison.jsonl
    python -m benchmarks.comparison < comparison.jsonl > docs/comparison.md
"""

import json
import os
import sys

from olivine.cli.experiments.summaries import comparison_row, remarks

from benchmarks import order

HEAD = """# The algorithms compared

How often does each algorithm succeed on each environment, and what does it cost? This
page compares all algorithms on all environments, over many seeds. It was written by

```sh
OMP_NUM_THREADS=1 olivine compare --json -o docs/comparison.svg > comparison.jsonl
python -m benchmarks.comparison < comparison.jsonl > docs/comparison.md
```

Every algorithm on every environment with its default options, {seeds} seeds, ε =
{epsilon:g}: the seed fixes environment, classes and samples. Constants are the
theorem's where observations are finite (data sets of any size are then one draw of
counts) and practical ones elsewhere; practical trajectories compare budgets chosen by
hand, not theorems. Columns: runs that end with "success" and $V^\\star - V^\\pi \\le
\\varepsilon$, of all seeds; and, over the runs that ended, the median of the
trajectories; mean oracle calls, or functions evaluated where an algorithm enumerates;
mean and worst suboptimality (on `lock-gaussian` estimated from 20,000 episodes); mean
seconds of a run, its monitors not included, as an order (one BLAS thread, {cores}
cores shared with other work).

![Trajectories of each algorithm on each environment](comparison.svg)

At theorems' constants the trajectories are the price of a proof, not of the problem:
they rank the analyses. PSDP and fitted Q iteration explore by uniform actions, which
is enough for three levels and two actions but not for the diabolical lock's five
levels of ten. Two algorithms know what the others have to learn: R-max the hidden
states, `backup` a path to each of them. Neither explores as the others do; they are
references, not competitors. On the locks every finite class reads the decoded state,
by the true decoder: nothing there has to be learned from the features, and the
figures do not show how well an algorithm copes with rich observations. On `threesat`
dynamics are stochastic, and of the paper's algorithms only OLIVE applies.
"""

COLUMNS = (
    "algorithm",
    "constants, classes",
    "ε-optimal",
    "trajectories",
    "calls",
    r"$V^\star - V^\pi$ (worst)",
    "seconds",
)


def section(env, records):
    """Heading, table and remarks of an environment."""
    lines = [f"## {env}", "", f"| {' | '.join(COLUMNS)} |", "| --- " * 7 + "|"]
    lines += [f"| {' | '.join(cells(r))} |" for r in records if r["refused"] is None]
    said = [f"- {line}" for line in remarks(records)]
    return "\n".join([*lines, "", *said, ""] if said else [*lines, ""])


def cells(record):
    """A row with its seconds as an order."""
    *others, _ = comparison_row(record)
    return [*others, "" if record["seconds"] is None else order(record["seconds"])]


def main():
    """Read records, write the page."""
    records = [json.loads(line) for line in sys.stdin]
    contradictions = [r for r in records if r["contradictions"]]
    first = records[0]
    print(HEAD.format(cores=os.cpu_count(), **first))
    runs = sum(record["runs"] for record in records)
    found = sum(len(record["contradictions"]) for record in contradictions)
    print(
        f"{runs} runs; claims of an analysis violated where they must hold: {found}.\n"
    )
    for env in dict.fromkeys(record["env"] for record in records):
        print(section(env, [r for r in records if r["env"] == env]))


if __name__ == "__main__":
    main()
