"""Docstrings as Markdown for the site: fences and formulas."""

import re
from typing import Any

import griffe
from olivine.claims.page import typeset

# Sections that numpydoc parses itself begin with a line of dashes.
SECTION = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)
# An interpreter's session, a literal block behind "::", a table between lines of "===".
SESSION = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
LITERAL = re.compile(r"::\n\n((?:(?: {2,}.*)?\n?)+)(?=^\S|\Z)", re.MULTILINE)
# Stars of V*, g*: no emphasis, where they are not code.
STARS = re.compile(r"(`+[^`]*`+)|(?<![\w*\\])([VgQπu]\u0302?)\*(?!\*)")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
STAR = re.compile(r"(?<![\w\\`])([VgQπu])\*(?!\*)")  # of V* and g*: no emphasis
# What is said of a parameter, an attribute or a result.
DESCRIPTION = re.compile(r"^ {4}.+(?:\n {4}.+)*", re.MULTILINE)
TABLE = re.compile(r"^=+ +=[= ]*\n(?:.+\n)+?=+ +=[= ]*$", re.MULTILINE)


def as_markdown(text: str) -> str:
    """Keep stars; fence sessions, literal blocks and tables before a section."""
    found = SECTION.search(text)
    end = found.start() if found else len(text)
    head, rest = text[:end], text[end:]
    head = SESSION.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", head)
    head = LITERAL.sub(lambda m: f":\n\n```text\n{m[1].rstrip()}\n```\n\n", head)
    head = TABLE.sub(lambda m: f"```text\n{m[0]}\n```", head)
    parts = FENCE.split(head)
    parts[::2] = map(formulas, parts[::2])
    fields, examples, session = rest.partition("Examples\n---")
    fields = DESCRIPTION.sub(lambda m: formulas(m[0]), fields)
    return "".join([*parts, fields, examples, session])


def formulas(text: str) -> str:
    """Typeset formulas; of what is left, no star of V* begins emphasis."""
    return STAR.sub(r"\1\*", typeset(text, escape=False))


class Docstrings(griffe.Extension):
    """Rewrite each docstring as it is read."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
