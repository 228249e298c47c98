"""Coq computes the transitions, rewards, programs and optima that Python exports.

All 3-SAT formulas with at most two variables and two clauses, every variant,
every member y. `proofs/Bridge.v` proves that the optimum it computes is the
least upper bound; Python's comes from backward induction over all members, not
from the formula.
"""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from olivine.reduction.family.family import Family, Variant
from olivine.reduction.formula.formula import Formula
from olivine.reduction.verify.routes import best_member

from tests.support.coq import built, coqc, needs_coq
from tests.support.families import VARIANTS

SEVENTH = Fraction(1, 7)
CASES = [(variant, None) for variant in VARIANTS]
CASES += [
    (variant, SEVENTH)
    for variant in VARIANTS
    if variant.declaration.fixed_penalty is None
]
BATCH = 99  # cases a file

pytestmark = [pytest.mark.coq, needs_coq]


def formulas():
    """Every 3-SAT form with n <= 2 and m <= 2, and a few with weights."""
    for n in (1, 2):
        literals = [sign * i for i in range(1, n + 1) for sign in (1, -1)]
        clauses = [c for k in (1, 2, 3) for c in itertools.combinations(literals, k)]
        for m in (1, 2):
            for chosen in itertools.product(clauses, repeat=m):
                yield Formula.from_clauses(chosen, n_variables=n)
    for chosen in itertools.product([(1,), (-1,), (1, -2)], repeat=2):
        yield Formula.from_clauses(chosen, n_variables=2, weights=[2, 5])


def listed(items):
    return f"[{'; '.join(items)}]"


def rational(value):
    return f"({value.numerator}, {value.denominator})"


def construction(family):
    """Of the variant's name in proofs/, with a penalty where it leaves a choice."""
    name, penalty = family.variant.replace("-", "_"), family.penalty
    if family.variant.declaration.fixed_penalty is not None:
        return name
    return f"({name} ({penalty.numerator} # {penalty.denominator}))"


def written_formula(family):
    weights = family.three_sat.weights
    if weights is None:
        weights = [1] * family.n_clauses
    return listed(
        f"signed {int(w)} {listed(str(int(literal)) for literal in clause)}"
        for w, clause in zip(weights, family.clauses, strict=True)
    )


def written_transitions(mdp):
    rows = []
    for action in range(mdp.n_actions):
        row = [int(mdp.transition_denominator[action])]
        for target, chance in mdp.successors(action):
            row += [target, int(chance * row[0])]
        rows.append(listed(map(str, row)))
    return listed(rows)


def written_rewards(family):
    members = []
    for y in itertools.product([False, True], repeat=family.n_variables):
        mdp = family.mdp(y)
        rewards = listed(rational(mdp.reward(a)) for a in range(mdp.n_actions))
        members.append(f"({listed(str(b).lower() for b in y)}, {rewards})")
    return listed(members)


def written_ranges(family):
    ends = family.ranges()
    if isinstance(ends, Fraction):
        ends = [ends] * family.mdp().n_states
    return listed(map(rational, ends))


def written_constraints(family):
    rows = []
    for d in family.distributions():
        row = [int(d.denominator)]
        for state, numerator in zip(d.states, d.numerators, strict=True):
            row += [int(state), int(numerator)]
        rows.append(listed(map(str, row)))
    return listed(rows)


def case(family, shift=Fraction(0)):
    """One comparison, the optimum off by `shift`."""
    best = best_member(family).value + shift
    return (
        f"agrees {construction(family)} {family.n_variables}%nat "
        f"{written_formula(family)}\n    (Exported {written_transitions(family.mdp())}"
        f"\n    {written_rewards(family)}\n    {written_ranges(family)}"
        f"\n    {written_constraints(family)}\n    {rational(best)})"
    )


@pytest.fixture(scope="module", autouse=True)
def definitions():
    built("Bridge.vo")


def disagreements(folder, cases):
    """The indices of the cases on which Coq and Python differ."""
    text = "From Coq Require Import List ZArith QArith.\n"
    text += "From Olivine Require Import Formula Family Bridge.\n"
    text += "Import ListNotations.\nOpen Scope Z_scope.\n"
    for index, item in enumerate(cases):
        text += f"Definition case_{index} := {item}.\n"
    names = listed(f"case_{index}" for index in range(len(cases)))
    text += f"Eval vm_compute in disagreements {names}.\n"
    file = folder / "Cases.v"
    file.write_text(text)
    done = coqc(file)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.split("= ", 1)[1].split(":", 1)[0]
    return [int(index) for index in re.findall(r"\d+", shown)]


@pytest.mark.long
def test_coq_computes_what_python_exports(tmp_path):
    families = [
        Family(formula.three_sat(), variant, penalty)
        for formula in formulas()
        for variant, penalty in CASES
    ]
    assert len(families) == len(CASES) * (3 + 9 + 14 + 196 + 9)
    for start in range(0, len(families), BATCH):
        cases = [case(family) for family in families[start : start + BATCH]]
        assert disagreements(tmp_path, cases) == []


def test_coq_computes_a_few(tmp_path):
    chosen = [
        Formula.from_clauses(clauses, n_variables=n)
        for n, clauses in [
            (1, [(1,), (-1,)]),
            (2, [(1, -2), (2, -1)]),
            (2, [(1, 2, -2)]),
        ]
    ]
    cases = [
        case(Family(formula.three_sat(), variant, penalty))
        for formula in chosen
        for variant, penalty in CASES
    ]
    assert disagreements(tmp_path, cases) == []


def test_the_comparison_notices_differences(tmp_path):
    three_sat = Formula.from_clauses([(1, -2), (2,)]).three_sat()
    family = Family(three_sat, Variant.NORMALIZED, SEVENTH)
    good = case(family)
    transitions, bound = written_transitions(family.mdp()), written_constraints(family)
    ends = written_ranges(family)

    def changed(part, old, new):
        assert part in good
        assert old in part
        return good.replace(part, part.replace(old, new, 1), 1)

    cases = [
        good,
        changed(transitions, "[1; 3; 1]", "[1; 4; 1]"),  # another target
        good.replace(transitions, transitions.rsplit("; [", 1)[0] + "]"),  # a row less
        changed(good, "(6, 7)", "(5, 7)"),  # another reward
        case(family, Fraction(1, 1000)),  # another optimum
        changed(ends, "(1, 1)", "(1, 2)"),  # another range
        changed(ends, "(1, 1); ", ""),  # a state less
        changed(bound, "[1; 0; 1]; ", ""),  # a constraint less
        changed(bound, "[1; 2; 1]", "[1; 1; 1]"),  # one twice, and one not at all
    ]
    assert len(set(cases)) == len(cases)
    assert disagreements(tmp_path, cases) == list(range(1, len(cases)))


FORCED = """
Definition mass (d : distribution) (z : state) : Q :=
  fold_right (fun xq t => if state_eq (fst xq) z then Qplus (snd xq) t else t) 0%Q d.
Definition alike (d e : distribution) : bool :=
  forallb (fun z => Qeq_bool (mass d z) (mass e z)) (map fst (d ++ e)).
Definition exported (M : mdp) x a d r : bool :=
  is_state M x && legal M x a && alike (transition M x a) d &&
  Qeq_bool (reward M x a) r.
Definition bound (n : nat) (f : formula) (l : list distribution) : bool :=
  Nat.eqb (length l) (length (hard_program n f)) &&
  forallb (fun d => existsb (alike d) (hard_program n f)) l.
"""


def forced_state(name):
    """The Coq state of a name that `forced` gives."""
    if name in ("s0", "bottom2", "bottom"):
        return {"s0": "Start", "bottom2": "Rest", "bottom": "End"}[name]
    kind, place = name[0], name[1:].partition("^")
    if kind == "x":
        return f"(Lit {int(place[0]) - 1} {str(place[2] == '1').lower()})"
    j, _, c = name[1:].partition(".")
    if kind == "C":
        return f"(Clause {int(j) - 1})"
    copy = f"{int(j) - 1} {str(c == '2').lower()}"
    if kind == "y":
        return f"(Side {copy})"
    group = f"(OfSide {copy})" if c else f"(OfVariable {int(j) - 1})"
    return f"({'Spare' if kind == 'z' else 'Try'} {group})"


def forced_action(name):
    """The Coq action of a name that `forced` gives."""
    if name in ("[go]", "[solve]", "[rest]"):
        return {"[go]": "Go", "[solve]": "Solve", "[rest]": "Pause"}[name]
    if name.startswith("[try "):
        return "(Enter " + forced_state(name[5:-1].upper()).removeprefix("(Try ")
    bits, _, copy = name.partition(".")
    listed_bits = " ".join(str(bit == "1").lower() for bit in bits)
    return f"(Spell {listed_bits} {str(copy == '2').lower()})"


def q(value):
    return f"({value.numerator} # {value.denominator})"


def forced_facts(family, y):
    """What Python exports of a member, as claims that Coq decides."""
    mdp = family.mdp(y)
    member = f"(member inside {family.n_variables} F (fun i => nth i "
    member += f"{listed(str(b).lower() for b in y)} false))"
    for s, name in enumerate(mdp.state_names):
        for a in mdp.actions(s):
            to = [
                f"({forced_state(mdp.state_names[t])}, {q(p)})"
                for t, p in mdp.successors(a)
            ]
            yield (
                f"exported {member} {forced_state(name)} "
                f"{forced_action(mdp.action_names[a])} {listed(to)} {q(mdp.reward(a))}"
            )
    hard = [
        listed(
            f"({forced_state(mdp.state_names[s])}, {q(p)})"
            for s, p in d.probabilities().items()
        )
        for d in family.distributions()
    ]
    yield f"bound {family.n_variables} F {listed(hard)}"


def test_coq_computes_the_forced_family(tmp_path):
    """Each transition and reward of each member, and the hard program."""
    built("ForcedRounds.vo")
    three_sat = Formula.from_clauses(
        [(1, -2, 3), (-1, 2), (3,)], n_variables=3, weights=[2, 5, 1]
    ).three_sat()
    family = Family(three_sat, Variant.FORCED)
    facts = []
    for y in itertools.product([False, True], repeat=family.n_variables):
        facts += forced_facts(family, y)
    wrong = facts[0].replace("(0 # 1)", "(1 # 1)")
    assert wrong != facts[0]
    file = tmp_path / "Members.v"
    formula = written_formula(family).replace("signed", "Bridge.signed")
    file.write_text(
        "From Coq Require Import List Bool ZArith QArith.\nImport ListNotations.\n"
        "From Olivine Require Bridge.\n"
        "From Olivine Require Import Formula Forced ForcedRounds.\n"
        f"{FORCED}Open Scope Z_scope.\n"
        f"Definition F : formula := {formula}.\nClose Scope Z_scope.\n"
        f"Definition facts := {listed(facts)}.\n"
        f"Eval vm_compute in (length facts, forallb (fun b => b) facts, {wrong}).\n"
    )
    done = coqc(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"({len(facts)}, true, false)" in done.stdout.replace("%nat", "")
