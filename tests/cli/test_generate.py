import errno
import itertools
import json
import os
import re
import stat
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from olivine.algorithms.mdp.tabular import TwoActions
from olivine.algorithms.olive_program.program import two_action_program
from olivine.cli.common.family_folder import FILES, request, stages, write_folder
from olivine.reduction.export.graphs import read_graphml, read_node_link
from olivine.reduction.family.family import Instance
from olivine.reduction.family.graph import mdp_from_graph
from olivine.reduction.formula.dimacs import read_dimacs, write_dimacs
from olivine.reduction.formula.random_formula import random_ksat

from tests.support.commands import CASES, olivine, small_files
from tests.support.depth import spread, with_rows
from tests.support.files import read_drn, read_prism

FULL2 = CASES / "cadical" / "full2.cnf"
WIDE = CASES / "odd" / "width-four.cnf"
ALL = {
    "family.json", "graph.dot", "graph.graphml", "graph.json", "member.drn",
    "member.prism", "program.lp", "program.mps", "three_sat.cnf",
}  # fmt: skip
VARIANTS = ["paper", "normalized", "gap", "all-levels", "strict"]


def names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


@pytest.mark.parametrize("variant", spread(VARIANTS, 2))
def test_everything_is_written_and_read_back(tmp_path, variant: str) -> None:
    out = tmp_path / "out"
    done = olivine("generate", FULL2, "-o", out, "--variant", variant, "--json")
    assert done.status == 0
    assert done.err == ""
    record = done.record
    assert names(out) == ALL == set(record["files"])
    for name, size in record["files"].items():
        assert (out / name).stat().st_size == size
    optimum = {"paper": "11/12", "strict": "7/48"}.get(variant, "15/16")
    assert set(record["read_back"]) == {"program.lp", "program.mps"}
    for check in record["read_back"].values():
        assert check == f"solved by HiGHS: optimum {optimum}"


@with_rows(
    "file, variant",
    *itertools.product([FULL2, WIDE, CASES / "odd" / "nothing.cnf"], VARIANTS),
    keep=5,
)
def test_the_description_is_right(tmp_path, variant: str, file: Path) -> None:
    out = tmp_path / "out"
    olivine("generate", file, "-o", out, "--variant", variant, status=0)
    description = json.loads((out / "family.json").read_text())
    graph = read_node_link(out / "graph.json")
    sizes = description["sizes"]
    assert sizes["declared"] == sizes["measured"]
    states = [v for v, kind in graph.nodes(data="kind") if kind == "state"]
    assert states == description["states"]
    assert len(states) == sizes["declared"]["states"]
    assert graph.graph["variant"] == description["variant"] == variant
    assert str(graph.graph["penalty"]) == description["penalty"]
    assert set(description["files"]) == ALL
    formula = read_dimacs(str(out / "three_sat.cnf")).formula
    assert formula.n_variables == description["three_sat"]["variables"]
    assert formula.n_clauses == description["three_sat"]["clauses"]
    assert len(description["three_sat"]["source"]) == formula.n_clauses
    lp_text = (out / "program.lp").read_text()
    for short, meaning in description["program"]["names"].items():
        assert meaning
        assert short in lp_text


def test_both_graph_files_are_equal_and_bytes_repeat(tmp_path):
    out = tmp_path / "out"
    olivine("generate", WIDE, "-o", out)
    one, other = read_node_link(out / "graph.json"), read_graphml(out / "graph.graphml")
    assert dict(one.nodes(data=True)) == dict(other.nodes(data=True))
    assert set(one.edges) == set(other.edges)
    # A limit that is not reached changes nothing.
    for name, more in (("a", []), ("b", ["--time-limit", "600"])):
        olivine("generate", WIDE, "-o", tmp_path / name, *more, status=0)
    for name in ALL:
        one, other = ((tmp_path / d / name).read_bytes() for d in ("a", "b"))
        assert one == other, name


def rewards(directory: Path) -> dict[str, Fraction]:
    graph = read_node_link(directory / "graph.json")
    return {
        state: graph.nodes[f"{state} [go]"]["reward"]
        for state, kind in graph.nodes(data="kind")
        if kind == "state" and state.startswith("x")
    }


@pytest.mark.parametrize("variant", spread(VARIANTS, 2))
def test_model_checkers_get_the_member_of_the_graph(tmp_path, variant: str) -> None:
    out = tmp_path / "out"
    olivine(
        "generate", WIDE, "-o", out, "--variant", variant, "--member", "0110", status=0
    )
    mdp = mdp_from_graph(read_node_link(out / "graph.json"))
    expected = mdp.optimal_values().value(mdp.start)
    assert read_drn((out / "member.drn").read_text()).optimal_value() == expected
    assert read_prism((out / "member.prism").read_text()).optimal_value() == expected
    edges = (out / "graph.dot").read_text().count(" -> ")
    assert edges == mdp.n_actions + mdp.n_transitions


def test_members(tmp_path) -> None:
    # Five variables: four of the input and a fresh one.
    for k, (member, bits) in enumerate(
        [(None, "00000"), ("01101", "01101"), ("0110", "0110?")]
    ):
        out = tmp_path / str(k)
        arguments = [] if member is None else ["--member", member]
        olivine("generate", WIDE, "-o", out, "--format", "json", *arguments, status=0)
        paid = rewards(out)
        for i, bit in enumerate(bits, start=1):
            if bit != "?":
                assert paid[f"x{i}^{bit}"] == 1
                assert paid[f"x{i}^{1 - int(bit)}"] == 0
        said = json.loads((out / "family.json").read_text())["member"]
        assert said.startswith(bits.rstrip("?"))
        assert len(said) == 5


@pytest.mark.parametrize("member", ["", "01", "011010", "01a0", "2222"])
def test_bad_members(tmp_path, member: str) -> None:
    done = olivine("generate", WIDE, "-o", tmp_path / "out", "--member", member)
    assert done.status == 2
    assert "--member" in done.err
    assert not (tmp_path / "out").exists()


@with_rows(
    "formats, files",
    (["mps", "json"], {"program.mps", "graph.json"}),
    (["lp"], {"program.lp"}),
    (["graphml"], {"graph.graphml"}),
    (["dot"], {"graph.dot"}),
    (["drn", "prism"], {"member.drn", "member.prism"}),
    keep=2,
)
def test_formats(tmp_path, formats, files) -> None:
    out = tmp_path / "out"
    options = [word for name in formats for word in ("--format", name)]
    olivine("generate", FULL2, "-o", out, *options, status=0)
    assert names(out) == files | {"family.json", "three_sat.cnf"}


@with_rows("formulation", "projected", "faithful", "strengthened", keep=1)
def test_formulations(tmp_path, formulation: str) -> None:
    out = tmp_path / "out"
    done = olivine("generate", FULL2, "-o", out, "--formulation", formulation, "--json")
    assert done.status == 0
    assert done.record["formulation"] == formulation
    assert set(done.record["read_back"].values()) == {"solved by HiGHS: optimum 11/12"}


@pytest.mark.parametrize(("variant", "gap"), [("paper", "1/12"), ("strict", "1/240")])
def test_program_files_say_the_gap_that_solvers_must_use(tmp_path, variant, gap):
    out = tmp_path / "out"
    formats = ["--format", "lp", "--format", "mps"]
    olivine("generate", FULL2, "-o", out, "--variant", variant, *formats, status=0)
    for name, mark in (("program.lp", "\\"), ("program.mps", "*")):
        lines = (out / name).read_text().splitlines()
        assert lines[1].startswith(f"{mark} values of the optimum differ by {gap} or ")
        assert "relative gap of 0" in lines[1]
        assert max(map(len, lines[:3])) < 200
    one = tmp_path / "one.cnf"
    one.write_text("p cnf 1 1\n1 0\n")
    olivine("generate", one, "-o", tmp_path / "o", *formats, status=0)
    assert "can have one value only" in (tmp_path / "o" / "program.lp").read_text()


def test_the_plain_output_says_what_was_written_and_standard_input_is_read(tmp_path):
    done = olivine("generate", FULL2, "-o", tmp_path)  # an empty folder will do
    assert done.status == 0
    assert names(tmp_path) == ALL
    for name in ALL:
        assert name in done.out
    out = tmp_path / "out"
    done = olivine("generate", "-", "-o", out, "--json", stdin=FULL2.read_bytes())
    assert done.status == 0
    assert done.record["file"] == "-"
    assert names(out) == ALL


def test_files_in_the_way_need_force_or_are_refused(tmp_path):
    (tmp_path / "mine").write_text("mine")
    olivine("generate", FULL2, "-o", tmp_path, "--json", status=2, error="not empty")
    assert names(tmp_path) == {"mine"}
    olivine("generate", FULL2, "-o", tmp_path, "--force", status=0)
    assert names(tmp_path) == ALL | {"mine"}
    # Fewer files now: those of the first run must not stay to contradict.
    olivine("generate", WIDE, "-o", tmp_path, "--force", "--format", "lp", status=0)
    assert names(tmp_path) == {"mine", "family.json", "program.lp", "three_sat.cnf"}
    (tmp_path / "out").write_text("mine")
    olivine("generate", FULL2, "-o", tmp_path / "out", "--force", status=2)
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        done = olivine("generate", FULL2, "-o", tmp_path / "out", status=2)
        assert "Permission denied" in done.err
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.skipif(not os.path.isdir("/proc/1"), reason="needs /proc")
def test_a_place_where_nothing_can_be_made() -> None:
    done = olivine("generate", FULL2, "-o", "/proc/olivine", status=2)
    assert done.err.startswith("olivine: ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("before", "place"),
    spread(itertools.product(["graph", "program", "description"], ["new", "empty"]), 3),
)
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, before, place) -> None:
    from olivine.cli.common import family_folder
    from olivine.reduction.family import graph

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(*arguments, **options):
        raise full

    module, step = {
        "graph": (graph, "validate_graph"),
        "program": (family_folder, "_write_program"),
        "description": (family_folder, "pretty_json"),
    }[before]
    monkeypatch.setattr(module, step, fail)
    (tmp_path / "empty").mkdir()
    done = olivine("generate", FULL2, "-o", tmp_path / place, "--json", status=2)
    assert "No space left on device" in done.record["error"]
    assert [p.name for p in tmp_path.rglob("*")] == ["empty"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of files")
@pytest.mark.parametrize("place", spread(["new", "empty"], 1))
def test_a_write_that_fails_midway_leaves_nothing(tmp_path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with small_files(5_000):
        done = olivine("generate", FULL2, "-o", tmp_path / place)
    assert done.status == 2
    assert "File too large" in done.err
    assert [p.name for p in tmp_path.rglob("*")] == ["empty"]


def test_a_graph_too_large_is_refused_before_anything_is_written(
    tmp_path, monkeypatch
) -> None:
    from olivine.reduction.family import graph

    monkeypatch.setattr(graph, "DEFAULT_MEMORY_LIMIT", 1000)
    done = olivine("generate", FULL2, "-o", tmp_path / "out", "--json", status=2)
    assert "GiB" in done.record["error"]
    assert "--format" in done.record["error"]
    assert not (tmp_path / "out").exists()
    only = ["--format", "lp", "--format", "mps"]
    olivine("generate", FULL2, "-o", tmp_path / "out", *only, status=0)


def test_a_program_file_with_another_optimum_is_a_contradiction(
    tmp_path, monkeypatch
) -> None:
    import olivine.cli.common.family_folder as family_folder

    real = family_folder.write_lp

    def wrong(model, path, remarks):
        model.set_objective(
            list(model.objective),
            [c / 2 for c in model.objective.values()],
            maximise=model.maximise,
        )
        return real(model, path, remarks)

    monkeypatch.setattr(family_folder, "write_lp", wrong)
    done = olivine("generate", FULL2, "-o", tmp_path / "out", "--format", "lp")
    assert done.status == 1
    assert "contradiction: " in done.err
    assert not (tmp_path / "out").exists()


@with_rows("variant, optimum", ("strict", "7/48"), ("gap", "15/16"), keep=1)
def test_two_actions_a_state(tmp_path, variant: str, optimum: str) -> None:
    out = tmp_path / "out"
    options = ["--variant", variant, "--two-actions", "--member", "01"]
    done = olivine("generate", FULL2, "-o", out, *options, "--json", status=0)
    assert names(out) == ALL
    for check in done.record["read_back"].values():
        assert check == f"solved by HiGHS: optimum {optimum}"
    family = Instance.of(read_dimacs(FULL2).formula, variant).family
    trees, program = two_action_program(family.program())
    mdp = TwoActions(family.mdp([0, 1])).mdp
    assert mdp_from_graph(read_node_link(out / "graph.json")) == mdp
    assert mdp_from_graph(read_graphml(out / "graph.graphml")) == mdp
    described = json.loads((out / "family.json").read_text())["two_actions"]
    assert described["nodes"] == list(trees.mdp.state_names)
    assert described["horizon"] == mdp.horizon == 3 + 3 + 1
    assert described["constraints"] == len(program.distributions)
    assert described["actions"] == mdp.n_actions
    assert described["transitions"] == mdp.n_transitions


@with_rows(
    "options, reason",
    (["--variant", "paper"], "variant paper is not layered"),
    (["--variant", "gap", "--formulation", "projected"], "goes with faithful"),
)
def test_where_two_actions_do_not_go(tmp_path, options: list[str], reason: str) -> None:
    out = tmp_path / "out"
    done = olivine("generate", FULL2, "-o", out, "--two-actions", *options, status=2)
    assert reason in done.err
    assert not out.exists()


def _planted(path: Path, m: int) -> Path:
    write_dimacs(
        random_ksat(m // 3, m, 3, np.random.default_rng(1), planted=True), path
    )
    return path


@pytest.mark.children
def test_at_the_time_limit_nothing_is_written(tmp_path) -> None:
    file, out = _planted(tmp_path / "f.cnf", 4000), tmp_path / "out"
    out.mkdir()
    (out / "program.lp").write_text("earlier")
    arguments = ["generate", file, "-o", out, "--force", "--format", "lp"]
    done = olivine(*arguments, "--time-limit", "0.05", "--json", status=3)
    assert done.record["status"] == "unknown"
    assert re.fullmatch(
        r"limit of 0\.05 s of CPU time reached at .+, \d of 5 steps done; "
        "nothing is written",
        done.record["reason"],
    )
    assert names(out) == {"program.lp"}
    assert (out / "program.lp").read_text() == "earlier"
    assert names(tmp_path) == {"f.cnf", "out"}
    done = olivine(*arguments[:4], "--time-limit", "0.05", "--force", status=3)
    assert done.out == ""
    assert "nothing is written" in done.err


@pytest.mark.parametrize("wanted", [list(FILES), ["lp"], ["drn"], ["mps", "dot"]])
@pytest.mark.parametrize("solve", [False, True])
def test_the_steps_are_those_named(tmp_path, wanted: list[str], solve: bool) -> None:
    source = read_dimacs(FULL2)
    instance = Instance.of(source.formula, "paper", None)
    begun: list[str] = []
    asked = request(instance.family, wanted, "faithful", solve=solve)
    write_folder(tmp_path, instance, source, asked, begun.append)
    assert begun == stages(wanted, solve=solve)


LP = ["--format", "lp", "--formulation", "projected"]


def rows(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "manifest.jsonl").read_text("ascii").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.children)])
def test_a_folder_of_formulas(tmp_path, jobs: int) -> None:
    """What is bad has its line in the manifest, and the others are written."""
    given, out = tmp_path / "given", tmp_path / "out"
    (given / "below").mkdir(parents=True)
    for place, text in {
        "a.cnf": "p cnf 1 1\n1 0\n",
        "below/b.cnf": "p cnf 1 2\n1 0\n-1 0\n",
        "bad.cnf": "p cnf 1 1\nx 0\n",
        "empty.cnf": "p cnf 0 0\n",
        "e\u00e9\udce9.cnf": "p cnf 1 1\n0\n",  # a name that is not UTF-8
    }.items():
        (given / place).write_text(text)
    arguments = ["generate", given, "-o", out, *LP, "--solve", "--jobs", jobs]
    done = olivine(*arguments, "--json", status=2)
    found = rows(out)
    assert found == [json.loads(line) for line in done.out.splitlines()]
    files = sorted(str(p) for p in given.rglob("*.cnf"))
    assert [row["file"] for row in found] == files
    known = {Path(row["file"]).name: row.get("known") for row in found}
    assert known["a.cnf"] | known["empty.cnf"] == {
        "satisfiable": True,
        "unsatisfied": 0,
        "optimum": "1",
        "optimum_by": ["sat", "maxsat", "witness"],
    }
    assert known["b.cnf"]["optimum"] == "5/6"
    assert known["b.cnf"]["unsatisfied"] == 1
    assert known["bad.cnf"] is None
    assert "bad.cnf:2: " in found[files.index(str(given / "bad.cnf"))]["error"]
    written = {row["file"]: Path(row["directory"]) for row in found if "files" in row}
    assert {place.name for place in out.iterdir()} == {
        "manifest.jsonl",
        *(Path(file).name for file in written),
    }
    for file, folder in written.items():
        alone = tmp_path / "alone" / Path(file).name
        olivine("generate", file, "-o", alone, *LP, "--solve", status=0)
        assert (
            names(alone)
            == names(folder)
            == {"family.json", "program.lp", "three_sat.cnf"}
        )
        for name in names(alone):
            assert (alone / name).read_bytes() == (folder / name).read_bytes()


def test_formulas_below_the_output_are_not_read(tmp_path) -> None:
    (tmp_path / "a.cnf").write_text("p cnf 1 1\n1 0\n")
    for more in ([], ["--force"]):
        olivine("generate", tmp_path, "-o", tmp_path / "out", *LP, *more, status=0)
        assert names(tmp_path / "out") == {"a.cnf", "manifest.jsonl"}
        assert len(rows(tmp_path / "out")) == 1


def test_equal_names_are_kept_apart_by_path(tmp_path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.cnf", "sub/a.cnf", "sub/b.cnf"):
        (tmp_path / name).write_text("p cnf 1 1\n1 0\n")
    out = tmp_path / "out"
    olivine("generate", tmp_path, "-o", out, *LP, status=0)
    assert names(out) == {"a.cnf", "sub_a.cnf", "b.cnf", "manifest.jsonl"}


@pytest.mark.parametrize("other", ["sub/../a.cnf", "manifest.jsonl"])
def test_folders_that_would_clash(tmp_path, other: str) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.cnf", other):
        (tmp_path / name).write_text("p cnf 1 1\n1 0\n")
    out = tmp_path / "out"
    done = olivine("generate", tmp_path / "a.cnf", tmp_path / other, "-o", out, *LP)
    assert done.status == 2
    assert "would both be written to" in done.err
    assert not out.exists()


@pytest.mark.parametrize("place", ["manifest.jsonl", "a.cnf/three_sat.cnf"])
def test_an_input_in_the_output_is_refused(tmp_path, place: str) -> None:
    out = tmp_path / "out"
    (out / "a.cnf").mkdir(parents=True)
    for file in (tmp_path / "a.cnf", out / place):
        file.write_text("p cnf 1 1\n1 0\n")
    arguments = [tmp_path / "a.cnf", out / place, "-o", out, "--force"]
    olivine("generate", *arguments, *LP, status=2)
    assert (out / place).read_text() == "p cnf 1 1\n1 0\n"


def test_the_start_is_the_best_assignment_known(tmp_path) -> None:
    out = tmp_path / "out"
    done = olivine("generate", FULL2, "-o", out, *LP, "--solve", "--start", "--json")
    assert done.status == 0
    start = json.loads((out / "family.json").read_text())["program"]["start"]
    assert start == {"value": done.record["known"]["optimum"], "unsatisfied": 1}
