"""Imports go down: the floors of the packages, and no circle among modules."""

import ast
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from olivine.algorithms.learning.registry import MODULES

from tests.support.depth import with_rows

ROOT = Path(__file__).parents[1]

FOLDERS = ("cli", "claims", "reduction", "algorithms", "solvers")

FLOORS = (
    ("olivine.__main__",),
    ("olivine",),
    ("cli",),
    ("claims",),
    ("reduction",),
    ("algorithms.barriers",),
    # The algorithms: none imports another's folder.
    tuple(sorted({".".join(name.split(".")[1:3]) for name in MODULES})),
    ("algorithms.learning", "algorithms.olive_program"),
    ("algorithms.assumptions",),
    ("algorithms.oracles",),
    ("algorithms.environments",),
    ("algorithms.mdp", "algorithms.classes"),
    ("algorithms.exact",),
    ("solvers",),
)
"""From top to bottom. A room imports from itself and from lower floors only.

`olivine` is the public names (files at the root), its version apart, which is there
before all others. Modules named in strings are not seen: learning.registry loads the
algorithms by name."""

Edges = dict[str, dict[str, int]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Module names, without ``olivine.`` below the root, and their files."""
    files = [f for f in root.glob("*.py") if f.name != "setup.py"]
    files += [f for folder in FOLDERS for f in (root / folder).rglob("*.py")]
    found = {}
    for file in files:
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(parts if len(parts) > 1 else ("olivine", *parts))
        found[name.removesuffix(".__init__")] = file
    return found


def package_of(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Full name of the package in which a module's relative imports begin."""
    full = (
        ("olivine", *name.split("."))
        if name.split(".")[0] != "olivine"
        else (*name.split("."),)
    )
    is_package = name == "olivine" or any(n.startswith(f"{name}.") for n in names)
    return full if is_package else full[:-1]


def imports(tree: ast.AST, package: tuple[str, ...], *, typing: bool = False):
    """Yield (name, line, whether for type checkers alone), lazy imports included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            top = package[: len(package) - node.level + 1] if node.level else ()
            assert top or not node.level, f"line {node.lineno} leaves the package"
            for alias in node.names:
                if alias.name == "__version__":
                    continue
                full = (*top, *filter(None, [node.module]), alias.name)
                yield ".".join(full), node.lineno, typing
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, typing
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node, package, typing=True)
        elif not isinstance(node, ast.expr):
            yield from imports(node, package, typing=typing)


def edges(texts: dict[str, str]) -> tuple[Edges, Edges]:
    """Which module imports which others, at which line: all, and those at run time."""
    every: Edges = {name: {} for name in texts}
    running: Edges = {name: {} for name in texts}
    for name, text in texts.items():
        package = package_of(name, texts)
        for full, line, typing in imports(ast.parse(text), package):
            target = full.removeprefix("olivine.")
            while target and target not in texts:
                target = target.rpartition(".")[0]
            if not target and full.split(".")[0] == "olivine":
                target = "olivine"
            if target and target != name:
                every[name][target] = line
                if not typing:
                    running[name][target] = line
    return every, running


def room(module: str) -> tuple[int, str]:
    """Floor of a module, counted from the top, and its room."""
    for floor, rooms in enumerate(FLOORS):
        for name in rooms:
            if module == name or module.startswith(f"{name}."):
                return floor, name
    raise AssertionError(f"{module} is on no floor")


def upward(every: Edges) -> list[str]:
    """List the imports that do not go down."""
    wrong = []
    for name, targets in every.items():
        for target, line in targets.items():
            (own, home), (floor, other) = room(name), room(target)
            if floor <= own and other != home:
                wrong.append(f"{name}:{line} imports {target}")
    return wrong


def circle(running: Edges) -> list[str]:
    """Find modules that import each other in a circle; empty if there is none."""
    done: set[str] = set()

    def search(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for target in running[name]:
            if found := search(target, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in running if (found := search(name, []))), [])


def package_texts() -> dict[str, str]:
    bare = {"algorithms"}  # a docstring alone, on no floor
    found = {n: f.read_text("utf-8") for n, f in modules().items()}
    assert all(len(ast.parse(found[n]).body) == 1 for n in bare)
    return {n: t for n, t in found.items() if n not in bare}


@pytest.fixture(scope="module")
def found() -> tuple[Edges, Edges]:
    """The package's imports: all, and those at run time."""
    return edges(package_texts())


def test_imports_go_down_so_only_the_command_line_knows_the_claims(found):
    every, _ = found
    assert sum(map(len, every.values())) > 1000  # the imports were found
    assert upward(every) == []


def test_no_modules_import_each_other_in_a_circle(found):
    """Imports for types and inside functions count."""
    every, _ = found
    assert circle(every) == []


@with_rows(
    "text, wrong",
    ("import olivine.reduction.formula", True),
    ("def f():\n    from .. import valor", True),
    ("from ...claims import page", True),
    ("from ... import make", True),
    ("import olivine", True),
    (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from ..valor import x",
        True,
    ),
    ("from ..exact import y", False),
    ("from . import z\nimport numpy", False),
)
def test_an_import_that_goes_up_or_aside_is_found(text, wrong):
    others = ("olivine", "reduction.formula", "algorithms.valor", "claims.page")
    below = ("algorithms.exact", "algorithms.olive", "algorithms")
    texts = dict.fromkeys((*others, *below), "") | {"algorithms.olive.review": text}
    assert bool(upward(edges(texts)[0])) == wrong


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_circle_is_found_even_if_an_import_of_it_is_inside_a_function(length):
    names = [f"solvers.m{i}" for i in range(length)]
    texts = {a: f"from ..{b} import x" for a, b in pairwise(names)}
    texts[names[-1]] = f"def f():\n    import olivine.{names[0]}"
    found = circle(edges(texts)[1])
    assert len(found) == length + 1
    assert set(found) == set(names)
    texts[names[-1]] = f"if TYPE_CHECKING:\n    import olivine.{names[0]}"
    assert circle(edges(texts)[1]) == []


def test_imports_inside_the_package_are_relative_and_found_by_path():
    """So an editor follows them in a clone in which nothing is installed."""
    files = modules()
    wrong = []
    for file in files.values():
        tree = ast.parse(file.read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                wrong += [f"{file}:{node.lineno}" for a in node.names
                          if a.name.split(".")[0] == "olivine"]  # fmt: skip
            elif isinstance(node, ast.ImportFrom) and not node.level:
                if node.module.split(".")[0] == "olivine":
                    wrong.append(f"{file}:{node.lineno}")
            elif isinstance(node, ast.ImportFrom):
                home = file.parents[node.level - 1].joinpath(
                    *(node.module or "").split(".")
                )
                there = home / "__init__.py"
                if node.module and home.with_suffix(".py").exists():
                    there = home.with_suffix(".py")
                ours = there.read_text("utf-8")
                wrong += [
                    f"{file}:{node.lineno} {alias.name}"
                    for alias in node.names
                    if not (home / alias.name).is_dir()
                    and not (home / f"{alias.name}.py").exists()
                    and not re.search(rf"\b{alias.name}\b", ours)
                ]
    assert len(files) > 100
    assert wrong == []
