"""What is released: one version everywhere, archives that are whole and install."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import olivine
import pytest

from tests.support.commands import ROOT


def test_the_version_is_one() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^## (\S+),", changes, re.MULTILINE)[1] == olivine.__version__
    assert f"\nversion: {olivine.__version__}\n" in cited


ENDS = (".py", ".toml", ".md", ".typed")
DATA = ("schemas.json", "page.css", "play.html")


@pytest.fixture(scope="module")
def archives(tmp_path_factory) -> tuple[Path, Path]:
    """The wheel, and the source archive, built from the files that git knows."""
    source, made = (tmp_path_factory.mktemp(name) for name in ("source", "made"))
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("no git here")
    for name in listed.stdout.splitlines():
        if name.endswith((*ENDS, "LICENSE", *DATA)):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    pytest.importorskip("setuptools")
    build = (
        "import sys; from setuptools import build_meta as b; made = sys.argv[1]; "
        "b.build_wheel(made); b.build_sdist(made)"
    )
    command = [sys.executable, "-c", build, str(made)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (wheel,), (archive,) = made.glob("*.whl"), made.glob("*.tar.gz")
    return wheel, archive


@pytest.mark.long
def test_the_wheel_holds_the_package_and_nothing_else(archives) -> None:
    wheel, archive = archives
    assert olivine.__version__ in wheel.name
    assert olivine.__version__ in archive.name
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
    ours = {n for n in names if not n.startswith(f"olivine-{olivine.__version__}")}
    assert {n.split("/")[0] for n in ours} == {"olivine"}
    assert {"olivine/__init__.py", "olivine/py.typed", "olivine/rl.py"} <= ours
    assert {f"olivine/cli/{name}" for name in DATA} <= ours
    tops = {n.split("/")[1] for n in ours if n.count("/") > 1}
    assert tops == {"cli", "claims", "reduction", "algorithms", "solvers"}
    assert "olivine/setup.py" not in ours
    with tarfile.open(archive) as opened:
        kept = {name.partition("/")[2] for name in opened.getnames()}
    modules = {n.partition("/")[2] for n in ours}
    modules |= {"setup.py", "pyproject.toml"}
    assert modules <= kept
    assert not any(name.startswith("tests/") for name in kept)


@pytest.mark.long
@pytest.mark.parametrize("kind", [0, 1])
def test_an_archive_installs_and_runs(archives, tmp_path, kind) -> None:
    """Beside the dependencies of this environment; a wheel alone says what it needs."""
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    options = ["--no-build-isolation", "--target", str(target), str(archives[kind])]
    subprocess.run([*pip, *options], check=True, capture_output=True)
    code = f"import sys; sys.path.insert(0, {str(target)!r}); import olivine; "
    code += "print(olivine.__file__, olivine.verify.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(target / "olivine" / "__init__.py"), "verify"]


@pytest.mark.long
def test_twine_finds_no_fault(archives) -> None:
    pytest.importorskip("twine")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_paper_is_of_the_length_asked_for() -> None:
    text = (ROOT / "paper" / "paper.md").read_text("utf-8")
    body = text[text.index("# Summary") : text.index("# References")]
    assert 600 <= len(body.split()) <= 1000
    bibliography = (ROOT / "paper" / "paper.bib").read_text("utf-8")
    cited = set(re.findall(r"@(\w+)", body))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))


def test_the_workflow_runs_the_projects_own_check_on_the_ends_of_its_range() -> None:
    (workflow,) = (ROOT / ".github" / "workflows").glob("*.yml")
    text = workflow.read_text("utf-8")
    assert re.findall(r"run: (.+)", text) == ["bash .ci/run"]
    assert (ROOT / ".ci" / "run").is_file()
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    supported = re.findall(r"Python :: (3\.\d+)", project)
    tried = re.findall(r"^ +(3\.\d+)$", text, re.MULTILINE)
    assert {supported[0], supported[-1]} <= set(tried)
    assert f'requires-python = ">={supported[0]}"' in project
