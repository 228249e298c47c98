"""``import olivine``: a screen of names, loaded when they are used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import olivine
import pytest
from olivine.algorithms.baselines import theorem_parameters
from olivine.algorithms.baselines.backwards import psdp


def imported() -> dict[str, str]:
    """Public names and their homes, as type checkers see them."""
    tree = ast.parse(Path(olivine.__file__).read_text("utf-8"))
    return {
        alias.name: f"olivine.{node.module}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


def test_names_that_are_there_and_names_that_are_not():
    homes = {name: f"olivine.{home}" for name, home in olivine._HOME.items()}
    assert homes == imported()
    assert sorted(homes) == sorted(olivine.__all__)
    assert {n for n in dir(olivine) if n[0] != "_"} == set(olivine.__all__)
    with pytest.raises(AttributeError, match="no attribute 'verfy'"):
        olivine.verfy  # noqa: B018
    assert olivine.make("threesat", 1, clauses=2).name == "threesat"
    with pytest.raises(ValueError, match="did you mean 'threesat'"):
        olivine.make("treesat")


@pytest.mark.parametrize("name", olivine.__all__)
def test_each_name_is_there_and_documented(name):
    assert inspect.getdoc(getattr(olivine, name))
    assert name in olivine.__doc__


def _calls():
    rng = np.random.default_rng(0)
    family = olivine.Family(olivine.Formula.from_clauses([[1, 2, 3]]))
    env = olivine.make("tabular", 0)
    made = olivine.make_classes(env, "tabular", rng)
    return {
        "environment is int, which lacks name": lambda: olivine.valor(
            3, *made, None, rng
        ),
        "value_class: NoneType lacks admit": lambda: olivine.two_sample(
            env, None, None, None, rng
        ),
        "policy_class: int lacks n_actions": lambda: olivine.check_assumptions(
            env, made[0], 3
        ),
        "parameters: None is no": lambda: olivine.valor(env, *made, None, rng),
        "parameters: 3 is no BatchParameters": lambda: psdp(env, made[1], 3, rng),
        "policy_class: int lacks n_actions, admit": lambda: psdp(
            env, 3, theorem_parameters("psdp", 0.3, 0.1, M=2, K=2, H=3), rng
        ),
        "functions: 3 is no FiniteQClass": lambda: olivine.lsvee(env, 3, None, rng),
        "observers: None is no list": lambda: olivine.learn(
            "rmax", env, observers=None
        ),
        "parameters: 3 is no kind": lambda: olivine.learn("rmax", env, parameters=3),
        "rng: 0 is no numpy.random.Generator": lambda: olivine.random_ksat(4, 5, 3, 0),
        "n: '4' is no integer": lambda: olivine.random_ksat("4", 5, 3, rng),
        "m: 0.5 is no integer": lambda: olivine.random_ksat(4, 0.5, 3, rng),
        "name: 3 is no name of an environment": lambda: olivine.make(3),
        "algorithm: 3 is no name of an algorithm": lambda: olivine.learn(3, env),
        "algorithm: 4 is no name": lambda: olivine.curves(env, [4]),
        "algorithms: 3 is no name and no list": lambda: olivine.curves(env, 3),
        "algorithms: 2 is no name and no list": lambda: olivine.compare(env, 2),
        "time_limit: 'a' is no positive number": lambda: olivine.curves(
            env, "rmax", time_limit="a"
        ),
        "policies: 3 is no list": lambda: olivine.evaluate(env, 3),
        "family: 1 is no Family": lambda: olivine.graph(1),
        "family: 2 is no Family": lambda: olivine.build(2),
        "family: 3 is no Family": lambda: olivine.forward(3, [True]),
        "family: 4 is no Family": lambda: olivine.back(4, None),
        "family: 5 is no Family": lambda: olivine.adversarial_run(5),
        "pair: 3 is no pair": lambda: olivine.back(family, 3),
        "model: 3 is no LinearModel": lambda: olivine.to_pulp(3),
        "mdp: 3 is no TabularMDP": lambda: olivine.olive_exact(3),
        "levels: 3 is no list of levels": lambda: olivine.from_lists(3),
        "levels, level 1: 3 is no list": lambda: olivine.from_lists([3]),
        "states: 3 is no list": lambda: olivine.TabularMDP.from_lists(3),
        "clauses: 3 is no list": lambda: olivine.Formula.from_clauses(3),
        "formula: 3 is no Formula": lambda: olivine.to_pysat(3),
        "formula: 4 is no Formula": lambda: olivine.write_dimacs(4, "-"),
        "n_variables: 0.5 is no integer": lambda: olivine.Formula(0.5, [], [0]),
        "max_variables: 'a' is no integer": lambda: olivine.parse_dimacs(
            b"p cnf 0 0\n", max_variables="a"
        ),
        "comments: 3 is no list": lambda: olivine.write_dimacs(
            olivine.Formula(0, [], [0]), "-", comments=3
        ),
        "routes: 3 is no route": lambda: olivine.verify(
            olivine.Formula(0, [], [0]), routes=3
        ),
        "moves: 3 is no list": lambda: olivine.adversarial_run(family, moves=3),
        "memory_limit: None is no integer": lambda: olivine.graph(
            family, memory_limit=None
        ),
        "instance: 3 is no Instance": lambda: olivine.make_certificate(3, 1, []),
        "optimiser: int has no maximise": lambda: olivine.olive_exact(
            family.mdp(), optimiser=3
        ),
        "max_rounds: 'a' is no integer": lambda: olivine.olive_exact(
            family.mdp(), max_rounds="a"
        ),
        "environment: int lacks": lambda: olivine.olive_sampled(3, None, rng),
        "m: 1000000000000 with": lambda: olivine.random_ksat(4, 10**12, 3, rng),
        "seeds: 1000000000 is not in": lambda: olivine.curves(env, "rmax", seeds=10**9),
        "levels, level 1: 's' is no state": lambda: olivine.from_lists(["s"]),
        "chunks: 3 is neither bytes": lambda: olivine.parse_dimacs(3),
        "chunks: 'p cnf 0 0' is neither": lambda: olivine.parse_dimacs("p cnf 0 0"),
    }


@pytest.mark.parametrize("line", _calls())
def test_a_wrong_argument_is_named_with_what_is_expected(line):
    with pytest.raises((TypeError, ValueError)) as caught:
        _calls()[line]()
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_nothing_is_loaded_before_it_is_used():
    code = (
        "import sys, olivine\n"
        "loaded = {m.split('.')[0] for m in sys.modules}\n"
        "heavy = {'numpy', 'pysat', 'pulp', 'networkx', 'scipy', 'highspy', 'rich'}\n"
        "assert not loaded & heavy, loaded & heavy\n"
        "assert [m for m in sys.modules if m.startswith('olivine')] == ['olivine']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_command_works_beside_modules_of_the_same_names(tmp_path):
    """A user's own solvers.py, reduction.py or algorithms/ does not get in the way."""
    (tmp_path / "solvers.py").write_text("raise RuntimeError('the wrong solvers')")
    (tmp_path / "reduction.py").write_text("raise RuntimeError('the wrong reduction')")
    (tmp_path / "algorithms").mkdir()
    (tmp_path / "algorithms" / "__init__.py").write_text("raise RuntimeError")
    (tmp_path / "f.cnf").write_text("p cnf 1 1\n1 0\n")
    command = [sys.executable, "-m", "olivine", "verify", "f.cnf", "--route", "sat"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
