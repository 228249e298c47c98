"""Lines and tables for people: nothing cut, no terminal escapes but our own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from .common import printable, stdout_console
from .streams import SPELLED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NARROW = 16
"""Columns of a terminal that a folded text gets at least."""


def tell(text: str = "") -> None:
    """Print one line on standard output; a terminal wraps it, nothing is cut."""
    print(printable(text))


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str = "",
    caption: str = "",
    right: Collection[str] = (),
    folded: Collection[str] = (),
    spare: Sequence[str] = (),
    boxed: bool = False,
) -> None:
    """Print a table that fits the terminal, without breaking a word or a number.

    What does not fit becomes a list, a line for each cell.
    """
    console = stdout_console()

    def shown(text: str) -> str:
        """Spell, before anything is aligned, as the stream would."""
        plain = "\n".join(map(printable, text.split("\n")))
        return plain.encode(console.encoding, SPELLED).decode(console.encoding)

    columns = [list(map(shown, column)) for column in zip(header, *rows, strict=True)]
    kept = list(range(len(header)))
    for name in ("", *spare) if len(columns[0]) > 2 else ("",):
        kept = [k for k in kept if header[k] != name]
        table = _table([(header[k], columns[k]) for k in kept], right, folded, boxed)
        if _fit(console, table):
            table.title, table.caption = title or None, caption or None
            console.print(table)
            return
    names, *cells = zip(*columns, strict=True)
    blocks = ["\n".join(map(_line, names, row)) for row in cells]
    print("\n\n".join(filter(None, [title, *blocks, caption])))


def _line(name: str, cell: str) -> str:
    return f"{' '.join(name.split())}: {cell}"


def _table(
    columns: Iterable[tuple[str, Sequence[str]]],
    right: Collection[str],
    folded: Collection[str],
    boxed: bool,
) -> Table:
    """Make a table of columns, each its name and, as shown, header and cells."""
    from rich.box import HEAVY_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=HEAVY_HEAD if boxed else None)
    texts = []
    for name, (head, *cells) in columns:
        table.add_column(
            Text(head),
            justify="right" if name in right else "left",
            overflow="fold" if name in folded else "ellipsis",
        )
        texts.append(map(Text, cells))
    for row in zip(*texts, strict=True):
        table.add_row(*row)
    return table


def _fit(console: Console, table: Table) -> bool:
    """Set the columns' widths to the console's, if each word has room in them."""
    options = console.options.update(max_width=10**6)
    sizes = [
        [console.measure(cell, options=options) for cell in (c.header, *c.cells)]
        for c in table.columns
    ]
    words = [max(size.minimum for size in column) for column in sizes]
    lines = [max(size.maximum for size in column) for column in sizes]
    frame = console.measure(table, options=options).maximum - sum(lines)
    if not console.is_terminal:
        # A pipe has room: no file name is broken, so that a search finds it.
        console.width = max(console.width, frame + sum(words))
    least = [
        min(word, NARROW) if column.overflow == "fold" else word
        for word, column in zip(words, table.columns, strict=True)
    ]
    room = console.width - frame - sum(least)
    sized = zip(table.columns, least, lines, strict=True)
    # Names of files get what the others leave.
    for column, low, high in sorted(sized, key=lambda each: each[0].overflow == "fold"):
        more = max(0, min(room, high - low))
        column.width = low + more
        room -= more
    return sum(least) + frame <= console.width
