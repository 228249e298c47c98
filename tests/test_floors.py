"""Imports go down: the floors of the packages, and no circle among modules."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = (
    ("olivine.__main__",),
    ("cli",),
    ("olivine",),
    ("reduction",),
    ("algorithms.barriers",),
    (
        "algorithms.valor",
        "algorithms.two_sample",
        "algorithms.global_policy",
        "algorithms.lsvee",
        "algorithms.baselines",
        "algorithms.olive",
    ),
    ("algorithms.learning",),
    ("algorithms.assumptions",),
    ("algorithms.oracles",),
    ("algorithms.environments",),
    ("algorithms.mdp", "algorithms.classes"),
    ("algorithms.exact",),
    ("solvers",),
)
"""From top to bottom. A room imports from itself and from lower floors only.

`olivine` is the public names (api/). Modules named in strings are not seen:
learning.registry loads the algorithms by name."""

LEDGER = "cli.ledger"
"""The claims: only the command line imports them."""

Edges = dict[str, dict[str, int]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Module names, without ``olivine.``, and their files."""
    folders = ("api", "cli", "reduction", "algorithms", "solvers")
    found = {}
    for file in (f for folder in folders for f in (root / folder).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        found["olivine" + name[3:] if parts[0] == "api" else name] = file
    return found


def imports(tree: ast.AST, *, typing: bool = False):
    """Yield (name, line, whether for type checkers alone), lazy imports included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno, typing
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, typing
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports(node, typing=True)
        elif not isinstance(node, ast.expr):
            yield from imports(node, typing=typing)


def edges(texts: dict[str, str]) -> tuple[Edges, Edges]:
    """Which module imports which others, at which line: all, and those at run time."""
    every: Edges = {name: {} for name in texts}
    running: Edges = {name: {} for name in texts}
    for name, text in texts.items():
        for target, line, typing in imports(ast.parse(text)):
            full = target
            target = target.removeprefix("olivine.")
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
    """List the imports that do not go down, or come into the ledger from below."""
    wrong = []
    for name, targets in every.items():
        for target, line in targets.items():
            (own, home), (floor, other) = room(name), room(target)
            into_ledger = target.startswith(LEDGER) and home != "cli"
            if into_ledger or (floor <= own and other != home):
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


def test_imports_go_down_and_nothing_below_the_command_line_knows_the_claims(found):
    every, _ = found
    assert sum(map(len, every.values())) > 1000  # the imports were found
    assert upward(every) == []


def test_no_modules_import_each_other_in_a_circle(found):
    _, running = found
    assert circle(running) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("import olivine.reduction.formula", True),
        ("def f():\n    from olivine.algorithms import valor", True),
        ("from olivine.cli.ledger import page", True),
        ("import olivine", True),
        (
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from olivine.algorithms.valor import x",
            True,
        ),
        ("from olivine.algorithms.exact import y", False),
        ("from olivine.algorithms.olive import z\nimport numpy", False),
    ],
)
def test_an_import_that_goes_up_or_aside_is_found(text, wrong):
    others = ("olivine", "reduction.formula", "algorithms.valor", "cli.ledger.page")
    below = ("algorithms.exact", "algorithms.olive", "algorithms")
    texts = dict.fromkeys((*others, *below), "") | {"algorithms.olive.model": text}
    assert bool(upward(edges(texts)[0])) == wrong


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_circle_is_found_even_if_an_import_of_it_is_inside_a_function(length):
    names = [f"solvers.m{i}" for i in range(length)]
    texts = {a: f"from olivine.{b} import x" for a, b in pairwise(names)}
    texts[names[-1]] = f"def f():\n    import olivine.{names[0]}"
    found = circle(edges(texts)[1])
    assert len(found) == length + 1
    assert set(found) == set(names)
    texts[names[-1]] = f"if TYPE_CHECKING:\n    import olivine.{names[0]}"
    assert circle(edges(texts)[1]) == []
