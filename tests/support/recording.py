"""An environment that records which members of the protocol are used."""

from typing import Any

from olivine.algorithms.environments.protocol import Environment, UnknownTruthError

MEMBERS = [name for name in vars(Environment) if not name.startswith("_")]


class _Recording:
    def __init__(self, environment: Environment, knows: bool) -> None:
        self.inner, self.knows, self.used = environment, knows, set()


def _member(name: str) -> property:
    def get(self: Any) -> Any:
        self.used.add(name)
        if name == "truth" and not self.knows:
            raise UnknownTruthError("recording")
        return getattr(self.inner, name)

    return property(get)


_Members = type("_Members", (_Recording,), {name: _member(name) for name in MEMBERS})


def recording(environment: Environment, *, knows: bool = False) -> Any:
    """The environment, whose attribute ``used`` is the set of members asked for.

    Its truth is unknown, unless ``knows``.
    """
    return _Members(environment, knows)
