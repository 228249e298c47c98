"""Refuse sizes whose tables would not fit, by the name of the option to change."""

from __future__ import annotations

MOST_NUMBERS = 10**7
"""Entries of an environment's largest table."""


def check_sizes(least: int, **sizes: int) -> None:
    """Refuse an option outside `least`..`MOST_NUMBERS`, whatever the others are.

    Raises
    ------
    ValueError
        For the first one, with its name, value and range.
    """
    for name, value in sizes.items():
        if value < least:
            raise ValueError(f"{name}: {value} is below {least}")
        if value > MOST_NUMBERS:
            raise ValueError(f"{name}: {value} is not in {least}..{MOST_NUMBERS}")


def check_table(numbers: int, most: int = MOST_NUMBERS, **sizes: int) -> None:
    """Refuse a table of too many numbers; the largest option is to blame.

    Parameters
    ----------
    numbers
        Entries of the table.
    most
        The limit.
    **sizes
        Options that its size comes from.

    Raises
    ------
    ValueError
        If there are more.
    """
    if numbers <= most:
        return
    blamed = max(sizes, key=sizes.__getitem__)
    others = ", ".join(f"{k} = {v}" for k, v in sizes.items() if k != blamed)
    raise ValueError(
        f"{blamed}: {sizes[blamed]} with {others} makes a table of {numbers} "
        f"numbers, more than {most}"
    )
