"""Hooks of the site (mkdocs.yml): pages from outside docs/, and the reference.

Links in the files are those of the repository. Here they become links of the site:
README and its like are pages, a notebook is the page of its cells, and an example is
a file beside them. A link to anything else above docs/ makes the build warn, so that
``mkdocs build --strict`` fails.
"""

from __future__ import annotations

import importlib
import inspect
import json
import logging
import os
import pkgutil
import posixpath
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
LOG = logging.getLogger("mkdocs.hooks.olivine")

# File of the repository: its path on the site.
PAGES = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/lecture.ipynb": "tutorials/lecture.md",
}
FILES = {
    "LICENSE": "project/LICENSE.txt",
    "CITATION.cff": "project/CITATION.cff",
    **{f"examples/{p.name}": f"examples/{p.name}" for p in (ROOT / "examples").iterdir()
       if p.suffix in {".py", ".toml"} and p.stem != "__init__"},
}  # fmt: skip
SOURCES = {there: here for here, there in PAGES.items()}
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
# A package's title and docstring; its names are those of its modules.
OPENING = """# {}

::: {}
    options:
      members: {}
      show_root_heading: false
      show_root_toc_entry: false
"""
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def cells(notebook: str) -> str:
    """Turn the cells of a notebook, and what they showed, into Markdown."""
    parts = []
    for cell in json.loads(notebook)["cells"]:
        text = "".join(cell["source"])
        code = cell["cell_type"] == "code"
        parts.append(f"```python\n{text}\n```" if code else text)
        for output in cell.get("outputs", ()):
            if "text" in output:
                parts.append(f"```text\n{''.join(output['text'])}```")
            else:
                svg = "".join(output["data"]["image/svg+xml"])
                svg = svg[svg.index("<svg") :].replace("\n", " ")
                parts.append(f'<div class="{shape(svg)}">{svg}</div>')
    return "\n\n".join(parts) + "\n"


def shape(svg: str) -> str:
    """Class of a picture; a wide one scrolls on a phone (site.css)."""
    width = re.search(r'^<svg[^>]* width="([\d.]+)pt"', svg)
    return "picture wide" if width and float(width[1]) > 400 else "picture"


def modules(package: ModuleType) -> list[str]:
    """Names of the public modules in a package, not in its packages."""
    found = pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    return [m.name for m in found if not m.ispkg and "._" not in m.name]


def opening(package: ModuleType, title: str) -> str:
    """Write the head of a package's page: what it says and defines itself."""
    name = package.__name__
    own = [k for k, v in vars(package).items() if k[0] != "_" and home_of(v) == name]
    return OPENING.format(title, name, f"[{', '.join(own)}]" if own else "false")


def home_of(thing: object) -> str | None:
    """Name of the module that a class or function is of."""
    return getattr(thing, "__module__", None)


def summary(thing: object) -> str:
    """Take the first line of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def reference() -> dict[str, str]:
    """Write the pages of the reference: the public names, and a page a package."""
    from olivine.claims.page import typeset  # not before the package is there

    olivine = importlib.import_module("olivine")
    rows = ["# The public names", "", "| name | what it is |", "| --- | --- |"]
    for name in olivine.__all__:
        thing = getattr(olivine, name)
        home = f"{thing.__module__}.{thing.__qualname__}"
        about = typeset(summary(thing), escape=False)
        rows.append(f"| [`olivine.{name}`][{home}] | {about} |")
    pages = {"olivine": "\n".join(rows) + "\n"}
    for part in ("reduction", "algorithms", "solvers"):
        top = importlib.import_module(f"olivine.{part}")
        below = pkgutil.walk_packages(top.__path__, top.__name__ + ".")
        for name in [top.__name__, *(m.name for m in below if m.ispkg)]:
            package = importlib.import_module(name)
            blocks = [f"::: {module}\n" for module in modules(package)]
            if blocks:
                short = name.removeprefix("olivine.")
                pages[short] = "\n".join([opening(package, short), *blocks])
    part = importlib.import_module("olivine.cli.experiments")
    head = opening(part, "cli.experiments")
    pages["cli.experiments"] = (
        f"{head}\n::: {part.__name__}.api\n"  # the rest is internal
    )
    return pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the part of the navigation that is generated."""
    config["reference"] = reference()
    nav: list[dict[str, Any]] = [{n: f"reference/{n}.md"} for n in config["reference"]]
    for entry in config.nav or []:
        if "Reference" in entry:
            entry["Reference"] = nav
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what does not lie in docs/."""
    from mkdocs.structure.files import File  # here, for tests without MkDocs

    for here, there in (PAGES | FILES).items():
        text = (ROOT / here).read_text("utf-8")
        text = cells(text) if here.endswith(".ipynb") else text
        files.append(File.generated(config, there, content=text))
    for name, text in config["reference"].items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Let long names in tables break where their words end."""

    def broken(name: re.Match[str]) -> str:
        return re.sub(r"([_/.(])(?=\w)", r"\1<wbr>", name[0])

    def loosened(cell: re.Match[str]) -> str:
        text = "(?<=<code>)[^<]*"
        return re.sub(text, lambda code: re.sub(r"\S{17,}", broken, code[0]), cell[0])

    return re.sub("<t([dh])\\b.*?</t\\1>", loosened, html, flags=re.DOTALL)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links of the repository into links of the site, outside of code."""
    there = page.file.src_uri
    here = SOURCES.get(there, f"docs/{there}")

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        if target.startswith("docs/"):
            on_site = target.removeprefix("docs/")
        elif target in PAGES | FILES:
            on_site = (PAGES | FILES)[target]
        else:
            LOG.warning("%s links to %s, which is not on the site", here, target)
            return link[0]
        start = posixpath.dirname(there) or "."
        return os.path.relpath(on_site, start).replace(os.sep, "/") + (link[2] or "")

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)
