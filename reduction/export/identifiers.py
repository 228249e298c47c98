"""Names of states and actions as identifiers of other tools' languages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def identifiers(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Turn each distinct name into an identifier of its own.

    Runs of characters other than letters, digits and underscores become an underscore,
    at the ends nothing: "x1^0" is x1_0, "[try C1]" is try_C1, "001" is _001. Of two
    names that would be one, the later gets a number.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for name in dict.fromkeys(names):
        stem = _OTHER.sub("_", name).strip("_")
        if not stem or stem[0].isdigit():
            stem = f"_{stem}"
        identifier, number = stem, 2
        while identifier in used:
            identifier, number = f"{stem}_{number}", number + 1
        used.add(identifier)
        found[name] = identifier
    return found
