"""The ledger: the paper's claims and our own, each with the check that decides it.

A file that registers claims is a subject, unless they name another; other files hold
what claims share. Every check is deterministic: its seeds are in it. A claim is
registered beside the code that checks it, by decorating the check, whose docstring is
the statement:

>>> from olivine.claims import EXACT, Refuted, claim
>>> @claim("example", "arithmetic", EXACT)
... def _check() -> str:
...     '''1 + 1 = 2.'''
...     if 1 + 1 != 2:
...         raise Refuted(f"1 + 1 is {1 + 1}")
...     return "one addition"

An entry without a check is shown as open, never hidden. Below are also the tables of
what entries are about: the paper's numbered statements, and theorems in Coq.
"""

from __future__ import annotations

import hashlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Literal

Method = Literal[
    "exact",
    "exhaustive on small instances",
    "exact on drawn instances",
    "monitored in runs",
    "statistical with confidence",
    "by certificate",
]
EXACT: Method = "exact"
EXHAUSTIVE: Method = "exhaustive on small instances"
DRAWN: Method = "exact on drawn instances"
MONITORED: Method = "monitored in runs"
STATISTICAL: Method = "statistical with confidence"
CERTIFIED: Method = "by certificate"
Verdict = Literal["holds", "holds as corrected", "refuted", "open"]


@dataclass(frozen=True)
class Evidence:
    """What a check found.

    Attributes
    ----------
    holds
        Whether the statement, as registered, held in everything checked.
    text
        What was checked, with numbers; the counterexample when refuted.
    """

    holds: bool
    text: str

    def __and__(self, other: Evidence) -> Evidence:
        """Return the evidence that both hold."""
        return Evidence(self.holds and other.holds, f"{self.text}; {other.text}")


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger.

    Attributes
    ----------
    id
        Short stable identifier, kebab-case.
    source
        Where the claim stands: "paper, thm:olive_nphard_g", "docs/reduction.md,
        Theorem O".
    statement
        The claim in our words. Assumptions cited from elsewhere are named.
    method
        How it is checked.
    check
        Runs the check, or None while nobody has written one (then it is open).
    erratum
        The number of the erratum (docs/errata.md) with which the claim holds, if
        the printed claim does not hold as it stands; else "".
    subject
        Page that shows it: the file of `claims` that registers it, or another.
    """

    id: str
    source: str
    statement: str
    method: Method
    check: Callable[[], Evidence] | None
    erratum: str = ""
    subject: str = ""

    def verdict(self, evidence: Evidence | None) -> Verdict:
        """Verdict that follows from the evidence of a run of `check`."""
        if evidence is None:
            return "open"
        if not evidence.holds:
            return "refuted"
        return "holds as corrected" if self.erratum else "holds"


_REGISTRY: dict[str, Claim] = {}
INTRODUCTIONS: dict[str, str] = {}
"""Title and introduction of subjects that have no file of their name."""


class Refuted(Exception):  # noqa: N818
    """What a check raises where the statement fails, with the counterexample."""


_Decorator = Callable[[Callable[[], Evidence | str]], Callable[[], Evidence]]


def claim(
    id: str,
    source: str,
    method: Method,
    erratum: str = "",
    *,
    statement: str = "",
    subject: str = "",
) -> _Decorator:
    """Register the decorated function as the check of a claim.

    Parameters
    ----------
    id, source, method, erratum
        As in `Claim`.
    statement
        Of a claim whose statement is put together; else it is the check's docstring.
    subject
        Name of the subject, where it is not that of the file.

    Returns
    -------
    The decorator. The check gives its evidence, or only the text of it where the
    statement held, and may raise `Refuted`; what is registered always gives evidence.

    Raises
    ------
    ValueError
        If the identifier is taken.
    """
    if id in _REGISTRY:
        raise ValueError(f"claim {id!r} is registered twice")

    def decorate(check: Callable[[], Evidence | str]) -> Callable[[], Evidence]:
        @wraps(check)
        def evidence() -> Evidence:
            try:
                found = check()
            except Refuted as refuted:
                return Evidence(False, str(refuted))
            return Evidence(True, found) if isinstance(found, str) else found

        # Without docstrings (python -OO) the list has no statements.
        said = statement or " ".join((check.__doc__ or "").split())
        page = subject or check.__module__.rpartition(".")[2]
        _REGISTRY[id] = Claim(id, source, said, method, evidence, erratum, page)
        return evidence

    return decorate


def claims_of(source: str, subject: str = "") -> Callable[..., _Decorator]:
    """Give `claim` for what stands in one source: its place there is enough."""

    def below(id: str, place: str, *method: Any, statement: str = "") -> _Decorator:
        whole = f"{source}{' ' if place.startswith('(') else ', '}{place}"
        return claim(id, whole, *method, statement=statement, subject=subject)

    return below


def registered() -> tuple[Claim, ...]:
    """All entries in order of registration."""
    return tuple(_REGISTRY.values())


def load() -> list[Claim]:
    """All entries by subject, those of the file of its name first, as they stand."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    for name in names:
        import_module(f"{__name__}.{name}")

    def place(entry: Claim) -> tuple[str, bool, str]:
        file = getattr(entry.check, "__module__", "").rpartition(".")[2]
        return entry.subject, file != entry.subject, file

    return sorted(registered(), key=place)


@dataclass(frozen=True)
class Statement:
    """A numbered statement of the paper."""

    number: str  # Kind and number among its kind, like "Lemma 4"
    subject: str  # What it is about, in a few words
    claims: tuple[str, ...]  # Identifiers of the ledger's entries that check it


_STATEMENTS = """
Definition | oracle-efficient | valor-calls global-policy-oracles
Theorem | oracle efficiency of VALOR | valor-theorem valor-calls
    policy-optimisation-is-csc
Theorem | PAC bound of VALOR | valor-theorem valor-constants valor-infinite-classes
    valor-approximate-realizability
Theorem | OLIVE is not oracle-efficient | olive-is-not-oracle-efficient
    olive-benign-ties
Theorem | OLIVE's program is NP-hard, (g, π) | olive-nphard-g
Proposition | oracles of tabular classes are polynomial | tabular-csc-is-polynomial
    tabular-ls-is-polynomial tabular-lp-is-polynomial
Assumption | policy realizability | assumptions-separate
Assumption | value realizability | assumptions-separate
Assumption | policy-value completeness | assumptions-separate
    all-functions-are-not-complete
Assumption | policy completeness | assumptions-separate
Fact | how the assumptions are related | completeness-fact completeness-fact-corrected
    completeness-implies-realizability policy-completeness-implies-realizability
Definition | learned state (VALOR) | valor-iterations valor-on-demand
Definition | deviation bounds (VALOR) | valor-event-e
Lemma | probability of event E | valor-event-e valor-constants valor-hoeffding
Lemma | error when learning a state | valor-accuracy
Lemma | error when not recursing | valor-accuracy
Proposition | accuracy of learned values | valor-accuracy valor-bias-is-linear
Lemma | suboptimality as a sum | valor-suboptimality-sum
Proposition | the pooled policy | valor-policy valor-unlearned-share
Lemma | MetaAlg with VALOR | valor-iterations valor-theorem valor-constants
Lemma | π* is feasible | valor-policy-constrained
Proposition | the constrained policy | valor-policy-constrained valor-unlearned-share
Lemma | MetaAlg, constrained | valor-iterations valor-theorem valor-constants
Theorem | PAC bound, constrained | valor-theorem valor-constants
Theorem | alternative algorithms (informal) | two-sample-informal
Theorem | PAC bound, two-sample | two-sample-theorem two-sample-trajectories
    two-sample-end two-sample-needs-completeness
Definition | learned states (two-sample) | two-sample-nested
Fact | val ⊆ learned ⊆ check | two-sample-nested
Definition | deviation bounds (two-sample) | two-sample-event-e
Lemma | probability of event E (two-sample) | two-sample-event-e two-sample-variance
Proposition | learned values (two-sample) | two-sample-accuracy two-sample-outvoted
    two-sample-clipped
Proposition | policy (two-sample) | two-sample-policy valor-unlearned-share
Lemma | MetaAlg, two-sample | two-sample-metaalg two-sample-constants valor-iterations
Theorem | PAC bound, global policy | global-policy-theorem
Definition | deviation bounds (global policy) | global-policy-event
Lemma | policy on tested states | global-policy-tested
Lemma | global policy fitting | global-policy-fit
Lemma | policy quality | global-policy-quality
Lemma | termination | global-policy-termination
Lemma | probability of the deviation bounds | global-policy-event
    global-policy-constants
Theorem | the program is NP-hard, simple form, (g, π) | olive-nphard-g-simple
Theorem | the program is NP-hard, simple form, Q-functions | olive-nphard-f-simple
    erratum-28
Theorem | OLIVE's program is NP-hard, Q-functions | olive-nphard-f
Definition | Bellman backup algorithm | bellman-backup backup-algorithm
Theorem | the backup barrier | backup-barrier backup-barrier-slud backup-barrier-ties
Proposition | average constraints stop exploring | average-barrier
    average-barrier-balanced
Proposition | square loss of g* | square-loss-barrier
"""
"""Kind, subject, and the entries that check it; a line that is indented goes on."""


def _cells(rows: str) -> Iterator[list[str]]:
    for row in rows.strip().replace("\n    ", " ").splitlines():
        yield row.split(" | ")


def _numbered(rows: str) -> tuple[Statement, ...]:
    counts = Counter[str]()
    found = []
    for kind, subject, claims in _cells(rows):
        counts[kind] += 1
        number = f"{kind} {counts[kind]}"
        found.append(Statement(number, subject, tuple(claims.split())))
    return tuple(found)


STATEMENTS = _numbered(_STATEMENTS)
"""All of them, in the paper's order."""


def numbers_of(claim: str) -> tuple[str, ...]:
    """Numbers of the statements that an entry checks, in the paper's order."""
    return tuple(s.number for s in STATEMENTS if claim in s.claims)


@dataclass(frozen=True)
class Proof:
    """What Coq proves of an entry."""

    # Names in ``proofs/Theorems.v``; docs/proofs.md says what each states
    theorems: tuple[str, ...]
    statement: str  # `digest` of the entry's statement
    part: str = ""  # Which part of the statement they are; "" for all of it

    def __str__(self) -> str:
        return ", ".join(self.theorems) + (f" ({self.part})" if self.part else "")


def digest(statement: str) -> str:
    """Twelve hexadecimal digits of a statement's SHA-256."""
    return hashlib.sha256(statement.encode()).hexdigest()[:12]


_PROOFS = """
lemma-1 | 9a299e89fa05 | three_sat_back three_sat_forth lemma_1
theorem-o | d0907bc6f9f7 | optimum_paper optimum_normalized optimum_gap
    optimum_all_levels optimum_strict
theorem-o-paper | ac69d4e1a388 | optimum_paper
theorem-o-normalized | c04036b0f391 | optimum_normalized
theorem-o-gap | 11b9bbc00589 | optimum_gap
theorem-o-all-levels | 5ed85e44bcac | optimum_all_levels
theorem-o-strict | e41c66db834f | optimum_strict
olive-nphard-g-simple | 14f6adffffa5 | paper_decides normalized_decides gap_decides
    all_levels_decides | the optimum is 1 exactly for satisfiable formulas
olive-nphard-g | 5c9e7023efb6 | run_paper run_normalized run_gap theorem_T run_exists |
    the runs
olive-nphard-all-levels | d2ac65ca39fe | run_all_levels | the run
run-same-for-all-members | 61b81f5ce024 | run_paper run_normalized run_gap
    run_all_levels | maximisers, levels and constraints
theorem-t | 15c30c5e3781 | theorem_T run_goes_on run_exists any_level_strays
theorem-r | 1373cab0c59a | theorem_R theorem_R_all forced_run_goes_on
    forced_run_all_goes_on optimum_forced
ranges-lemma-0 | d3ae5309cade | lemma_0 | for forced
randomised-policies-do-not-help | 57c77d3f32b6 | randomised_policies_do_not_help |
    the hard program of each variant but forced
two-actions | 7ef17d068859 | two_actions_optimum theorem_T_two_actions two_run_goes_on
    two_trees_exist | the optimum and the runs
strict-tolerance-optimum | 618aba6f9300 | optimum_strict_within
    critical_tolerance_of_eight_signs one_in_739_is_false | up to the bound on τ
strict-noise | 9ff29bdd026c | near_run_meets_hard_program near_run_goes_on
    estimates_decide | that every run arrives, and what its program decides
approximate-maximisers | c65e3e333f21 | near_run_meets_hard_program near_run_goes_on
    fits_near fits_own_constants fits_own_samples fiftieth_strays |
    the "if", and the "only if" for exact expectations and φ = 0
constant-accuracy | 470c12820e3f | constant_accuracy | with exact expectations
deterministic-multi-is-np-hard | f846929e0dac | multi_decides_three_sat multi_size |
    feasible exactly if satisfiable
"""
"""Entry, digest of its statement, theorems, and the part that they are of it."""


def _proofs(rows: str) -> Iterator[tuple[str, Proof]]:
    for entry, statement, theorems, *part in _cells(rows):
        yield entry, Proof(tuple(theorems.split()), statement, *part)


PROOFS = dict(_proofs(_PROOFS))
"""By the entry's id."""
