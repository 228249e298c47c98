"""OLIVE's optimisation problem is NP-hard, VALOR's oracles are polynomial: both, run.

A 3-SAT formula becomes a family of MDPs over which OLIVE's program has optimum 1
exactly if the formula is satisfiable:

>>> import olivine
>>> answer = olivine.verify(olivine.Formula.from_clauses([[1], [-1]]))
>>> answer.satisfiable, answer.optimum
(False, Fraction(5, 6))

=======================  =========================================================
formulas                 `read_dimacs`, `parse_dimacs`, `write_dimacs`, `Formula`,
                         `random_ksat`, `to_pysat`
the reduction            `Family`, `graph`, `build` and `to_pulp` (OLIVE's program),
                         `forward` and `back` (assignments and pairs (g, π))
answers                  `verify`, `decide`, `make_certificate`, `adversarial_run`
decision processes       `TabularMDP`, `make`, `from_lists`; your own:
                         `from_simulator`, `from_gymnasium`, `check_environment`;
                         and `to_gymnasium`
classes of functions     `make_classes`, `check_assumptions`, `sklearn_policies`,
                         `sklearn_values`
learning algorithms      `learn` runs any of them; `evaluate` plays what they
                         learned; `valor`, `valor_constrained`,
                         `two_sample`, `global_policy`, `lsvee`, `olive_exact`,
                         `olive_sampled`; over seeds: `curves`, `compare`
=======================  =========================================================

Each name is loaded when it is first used. More is in the packages behind them:
`olivine.reduction`, `olivine.algorithms`, `olivine.solvers`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .algorithms.assumptions import check_assumptions
    from .algorithms.classes import sklearn_policies, sklearn_values
    from .algorithms.environments import from_lists
    from .algorithms.environments.check import check_environment
    from .algorithms.environments.from_simulator import from_gymnasium, from_simulator
    from .algorithms.global_policy import global_policy
    from .algorithms.learning.draw_classes import make_classes
    from .algorithms.learning.events import evaluate
    from .algorithms.learning.learn import learn
    from .algorithms.lsvee import lsvee
    from .algorithms.mdp.tabular import TabularMDP
    from .algorithms.olive.run import olive_sampled
    from .algorithms.olive_program.rounds import olive_exact
    from .algorithms.two_sample import two_sample
    from .algorithms.valor import valor, valor_constrained
    from .cli.experiments.api import compare, curves
    from .reduction.certificate.certificate import make_certificate
    from .reduction.environments import make, to_gymnasium
    from .reduction.family.family import Family
    from .reduction.family.graph import graph
    from .reduction.formula.dimacs import parse_dimacs, read_dimacs, write_dimacs
    from .reduction.formula.formula import Formula
    from .reduction.formula.prepare import to_pysat
    from .reduction.formula.random_formula import random_ksat
    from .reduction.program.optimum import back, forward
    from .reduction.program.program import build
    from .reduction.run.run import adversarial_run
    from .reduction.verify.decision import decide
    from .reduction.verify.verification import verify
    from .solvers.milp.milp import to_pulp

__version__ = "0.2.0"

# The imports above, for Python; a test holds both together.
_HOMES = {
    "algorithms.assumptions": ("check_assumptions",),
    "algorithms.classes": ("sklearn_policies", "sklearn_values"),
    "algorithms.environments": ("from_lists",),
    "algorithms.environments.check": ("check_environment",),
    "algorithms.environments.from_simulator": ("from_gymnasium", "from_simulator"),
    "algorithms.global_policy": ("global_policy",),
    "algorithms.learning.draw_classes": ("make_classes",),
    "algorithms.learning.events": ("evaluate",),
    "algorithms.learning.learn": ("learn",),
    "algorithms.lsvee": ("lsvee",),
    "algorithms.mdp.tabular": ("TabularMDP",),
    "algorithms.olive.run": ("olive_sampled",),
    "algorithms.olive_program.rounds": ("olive_exact",),
    "algorithms.two_sample": ("two_sample",),
    "algorithms.valor": ("valor", "valor_constrained"),
    "cli.experiments.api": ("compare", "curves"),
    "reduction.certificate.certificate": ("make_certificate",),
    "reduction.environments": ("make", "to_gymnasium"),
    "reduction.family.family": ("Family",),
    "reduction.family.graph": ("graph",),
    "reduction.formula.dimacs": ("parse_dimacs", "read_dimacs", "write_dimacs"),
    "reduction.formula.formula": ("Formula",),
    "reduction.formula.prepare": ("to_pysat",),
    "reduction.formula.random_formula": ("random_ksat",),
    "reduction.program.optimum": ("back", "forward"),
    "reduction.program.program": ("build",),
    "reduction.run.run": ("adversarial_run",),
    "reduction.verify.decision": ("decide",),
    "reduction.verify.verification": ("verify",),
    "solvers.milp.milp": ("to_pulp",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Family",
    "Formula",
    "TabularMDP",
    "adversarial_run",
    "back",
    "build",
    "check_assumptions",
    "check_environment",
    "compare",
    "curves",
    "decide",
    "evaluate",
    "forward",
    "from_gymnasium",
    "from_lists",
    "from_simulator",
    "global_policy",
    "graph",
    "learn",
    "lsvee",
    "make",
    "make_certificate",
    "make_classes",
    "olive_exact",
    "olive_sampled",
    "parse_dimacs",
    "random_ksat",
    "read_dimacs",
    "sklearn_policies",
    "sklearn_values",
    "to_gymnasium",
    "to_pulp",
    "to_pysat",
    "two_sample",
    "valor",
    "valor_constrained",
    "verify",
    "write_dimacs",
]


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
