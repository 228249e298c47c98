"""The most that can be lost while nothing goes wrong: a linear program.

Inside the event of the deviation bounds every estimate may be off by τ, and every
oracle may give any answer that its contract allows. At H = 2 the worst that can come of
it is 23τ at the printed φ and 24τ at the corrected one: 23ε/12 at the printed
constants, 23ε/22 where only τ is set right, to ε/(11H), and ε at the corrected ones,
which therefore cannot be bettered without changing φ. With more levels φ_2 + 12τ can
still be lost (`olivine.cli.ledger.support.global_policy_adversary` reaches it in runs):
(11H+1)τ at the printed φ, and 12Hτ, which is all that the corrected constants allow.

>>> worst_loss(Fraction(11)), worst_loss(Fraction(12))
(Fraction(23, 1), Fraction(24, 1))
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

from olivine.solvers.lp import solve_lp
from olivine.solvers.model import LinearModel

_LARGEST = 1000
"""Values are at most this many τ; far from binding."""


class _Program:
    """A linear program over named quantities, in units of τ."""

    def __init__(self) -> None:
        self.model = LinearModel("worst loss", maximise=True)
        self.index: dict[str, int] = {}

    def _terms(self, terms: Mapping[str, int]) -> tuple[list[int], list[int]]:
        for name in terms:
            if name not in self.index:
                found = self.model.add_variable(name, -_LARGEST, _LARGEST)
                self.index[name] = found
        return [self.index[name] for name in terms], list(terms.values())

    def at_most(self, terms: Mapping[str, int], limit: Fraction | int) -> None:
        """Σ coefficient · quantity ≤ limit."""
        self.model.add_row(*self._terms(terms), "<=", limit)

    def near(self, estimate: str, *truth: str) -> None:
        """|estimate - Σ truth| ≤ τ."""
        terms = dict.fromkeys(truth, -1)
        self.at_most({estimate: 1} | terms, 1)
        self.at_most({estimate: -1} | dict.fromkeys(truth, 1), 1)

    def largest(self, terms: Mapping[str, int]) -> Fraction | None:
        """Maximum of Σ coefficient · quantity; None where infeasible."""
        self.model.set_objective(*self._terms(terms), maximise=True)
        found = solve_lp(self.model, exact=True)
        return None if found.objective is None else Fraction(found.objective)


def worst_loss(phi: Fraction) -> Fraction:
    """Most that is lost inside the event at H = 2, K = 2, by linear programming.

    The root leads to q, which is learned, and to p, which is pruned by comparison
    with q. Quantities: V*, V^π̂ and rewards at the root, the averages on D, D' and
    the training sets, and V̂. What the algorithm has computed binds the averages.

    Parameters
    ----------
    phi
        φ_2 in units of τ = τ_val = τ_pol: 11 as printed, 12 corrected.

    Returns
    -------
    The loss in units of τ; oracles are exact.
    """
    losses = []
    for optimal, taken in itertools.product("pq", repeat=2):
        program = _Program()
        # Nothing is better than V*.
        for s in "pq":
            program.at_most({f"V {s}": 1, f"V* {s}": -1}, 0)
        # The fit at q: V̂ is the largest average, π̂'s is at least V̂ - 2τ.
        program.near("D_q π̂", "V q")
        program.near("D_q π*", "V* q")
        program.at_most({"D_q π*": 1, "V̂ q": -1}, 0)
        program.at_most({"V̂ q": 1, "D_q π̂": -1}, 2)
        # The test of p passes: V_opt is at least E_D[g*], for g* meets the constraint
        # E_D'[g*] ≤ E_D'[r̄] + φ + 2τ.
        program.near("D g*", "V* p")
        program.near("D r", "V p")
        program.near("D' g*", "V* q")
        program.near("D' r", "V q")
        program.at_most({"D' g*": 1, "D' r": -1}, phi + 2)
        program.at_most({"D g*": 1, "D' r": -1}, phi + 4)
        program.at_most({"D' r": 1, "D r": -1}, 2)
        # The fit at the root, whose rewards are free.
        for s in "pq":
            program.near(f"D_root {s}", f"reward {s}", f"V {s}")
            program.at_most({f"D_root {s}": 1, "V̂ root": -1}, 0)
        program.at_most({"V̂ root": 1, f"D_root {taken}": -1}, 2)
        terms = {f"reward {optimal}": 1, f"V* {optimal}": 1}
        for name in (f"reward {taken}", f"V {taken}"):
            terms[name] = terms.get(name, 0) - 1
        found = program.largest({name: c for name, c in terms.items() if c})
        if found is not None:
            losses.append(found)
    return max(losses)
