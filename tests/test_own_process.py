"""The page about own processes: its code runs, its table is what algorithms do."""

import re

import numpy as np
import olivine
import pytest
from olivine.algorithms.environments.protocol import UnknownTruthError
from olivine.algorithms.learning import registry
from olivine.algorithms.learning.draw_classes import make_q_class

from tests.support.pages import DOCS, python_blocks, run_script
from tests.support.recording import recording

PAGE = "own-process.md"
BLOCKS = python_blocks(PAGE)
LISTED = {"deterministic", "draw", "run", "truth"}


def test_the_code_about_simulators_runs(tmp_path):
    blocks = [b for b in BLOCKS if "gymnasium" not in b and "sklearn" not in b]
    assert len(blocks) >= 5
    run_script("\n".join(blocks), tmp_path)


EXTRA = [block for block in BLOCKS if re.search("gymnasium|sklearn", block)]


def marked(block):
    """MiniGrid, Taxi and ice take seconds; their quick twins are in test_gymnasium."""
    slow = any(word in block for word in ("minigrid", "Taxi", "is_slippery=True"))
    return pytest.param(block, marks=[pytest.mark.long] * slow)


@pytest.mark.parametrize("block", [*map(marked, EXTRA)])
def test_code_that_needs_an_extra_runs(block, tmp_path):
    for package in ("gymnasium", "minigrid", "sklearn"):
        if package in block:
            pytest.importorskip(package, reason=f"{package} is not installed")
    run_script(block, tmp_path)


def table() -> dict[str, set[str]]:
    text = (DOCS / PAGE).read_text("utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (`.*`) \|$", text, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", members)) for name, members in rows}


@pytest.mark.parametrize("algorithm", registry.names())
def test_the_table_says_what_an_algorithm_uses(algorithm):
    members = table().get(algorithm)
    row = f"docs/{PAGE}: the table of algorithms needs a row for {algorithm}"
    assert members is not None, row
    env = olivine.make("tabular", 1, states=2, actions=2, horizon=2)
    classes = "tabular"
    if algorithm in ("lsvee", "olive"):
        classes = make_q_class(env, np.random.default_rng(0), size=8)
    # Without the truth there are no monitors, only the algorithm; it asks once
    # whether there is a truth, which is not counted.
    seen = recording(env, knows="truth" in members)
    olivine.learn(algorithm, seen, classes, parameters="practical")
    used = seen.used & LISTED
    assert used - {"truth"} == members - {"truth"}, row.replace("a row", "another row")
    if "truth" in members:
        with pytest.raises(UnknownTruthError):
            olivine.learn(algorithm, recording(env), classes, parameters="practical")


def test_the_table_has_no_algorithm_that_is_gone():
    gone = set(table()) - {*registry.names()}
    assert not gone, f"docs/{PAGE}: the table has rows of {gone}"
