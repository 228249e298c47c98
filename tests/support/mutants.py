"""Change the code of a function as text, for a test that the change is found out."""

import __future__

import ast
import inspect
import sys
import textwrap
from importlib import import_module
from typing import NamedTuple

from olivine.claims import load, samples


class Mutant(NamedTuple):
    """A change of a function's text that some check must find out."""

    function: str
    """Its module below olivine, a colon, its name: `claims.samples:lower_bound`."""
    old: str
    new: str
    entry: str
    """The claim that it refutes."""

    def __str__(self) -> str:
        return f"{self.entry}: {self.function}: {self.new.strip()[:40]}"

    def apply(self, patch) -> None:
        """Put the changed function in the place of the one there is."""
        home, _, name = self.function.partition(":")
        module = import_module(f"olivine.{home}")
        *outer, last = name.split(".")
        owner = module
        for part in outer:
            owner = getattr(owner, part)
        found = vars(owner)[last]
        wrap = type(found) if isinstance(found, staticmethod | classmethod) else None
        function = found.__func__ if wrap else found
        if isinstance(found, property):
            wrap, function = property, found.fget
        source = textwrap.dedent(inspect.getsource(function))
        assert source.count(self.old) == 1, f"{self.function} has changed: {self.old!r}"
        tree = ast.parse(source.replace(self.old, self.new))
        tree.body[0].decorator_list = []
        flags = __future__.annotations.compiler_flag
        # In a function of its own, so that super() finds the class.
        outside = ast.parse(f"def outside(__class__):\n    return {last}")
        outside.body[0].body.insert(0, tree.body[0])
        made = {}
        code = compile(outside, inspect.getfile(function), "exec", flags)
        exec(code, vars(module), made)
        changed = made["outside"](owner)
        patch.setattr(owner, last, wrap(changed) if wrap else changed)
        if owner is not module:
            return
        for other in [m for n, m in sys.modules.items() if n.startswith("olivine")]:
            for key, value in [*vars(other).items()]:
                if value is found:
                    patch.setattr(other, key, changed)


def refuted(entry: str) -> bool:
    """Whether a claim is refuted now; runs made before the change are forgotten."""
    (claim,) = (c for c in load() if c.id == entry)
    samples.forget()
    try:
        return claim.verdict(claim.check()) == "refuted"
    finally:
        samples.forget()
