"""``import olivine``: a screen of names, loaded when they are used."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import olivine
import pytest


def imported() -> dict[str, str]:
    """Public names and their homes, as type checkers see them."""
    tree = ast.parse(Path(olivine.__file__).read_text("utf-8"))
    return {
        alias.name: f"olivine.{node.module}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


def test_python_and_type_checkers_see_the_same_names():
    homes = {name: f"olivine.{home}" for name, home in olivine._HOME.items()}
    assert homes == imported()
    assert sorted(homes) == sorted(olivine.__all__)
    assert {n for n in dir(olivine) if n[0] != "_"} == set(olivine.__all__)


@pytest.mark.parametrize("name", olivine.__all__)
def test_each_name_is_there_and_documented(name):
    assert inspect.getdoc(getattr(olivine, name))
    assert name in olivine.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'verfy'"):
        olivine.verfy  # noqa: B018


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


def test_make_knows_what_the_list_shows():
    assert olivine.make("threesat", 1, clauses=2).name == "threesat"
    with pytest.raises(ValueError, match="did you mean 'threesat'"):
        olivine.make("treesat")
