"""Hardness, and where it ends.

What is checked is our step. That 3-SAT is NP-hard, and how well it can be approximated,
are assumptions that the entries name.
"""

import functools
import itertools
from fractions import Fraction

import numpy as np

from ..algorithms.classes.finite import TabularPolicyClass
from ..algorithms.mdp.planning import Pair
from ..algorithms.olive_program.model import program_model
from ..algorithms.olive_program.program import Form, OliveProgram
from ..algorithms.oracles import random_csc
from ..algorithms.oracles.multi import ClassificationSet, MultiStatus, multi
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import Parameters, without_sides
from ..reduction.formula.formula import Formula, ThreeSat
from ..reduction.formula.random_formula import random_ksat
from ..reduction.multi import MultiInstance, verify_multi_hardness
from ..reduction.program.optimum import back, check, forward, optimum
from ..reduction.program.program import build
from ..reduction.verify.routes import best_member
from ..solvers.milp.milp import solve_milp
from ..solvers.outcome import Status
from ..solvers.treewidth import Elimination, solve_by_treewidth
from . import CERTIFIED, DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim, samples
from .optimum import stated
from .samples import (
    assignments,
    eight_clauses,
    families,
    least_unsatisfied,
    program_optimum,
    vertex_bound,
)

_SIMPLE = (
    "paper, theorem {number} in its order (thm:olive_nphard_{letter}_simple, appendix "
    "on the oracle-inefficiency of OLIVE)"
)
_ASSUMED = (
    " Assumption: 3-SAT is NP-hard (Cook 1971, Karp 1972). Checked: the reduction has "
    "the declared, linear size; the constraints are the same for every member; the "
    "optimum is 1 (in strict 3/20) exactly for satisfiable formulas; certificates go "
    "both ways."
)


@claim(
    "olive-nphard-g-simple",
    _SIMPLE.format(number=9, letter="g"),
    DRAWN,
    statement="OLIVE's program over tabular (g, π) with φ = 0 and chosen data sets is "
    "NP-hard." + _ASSUMED,
)
def _hard_over_pairs() -> Evidence:
    return _reduction_works("value-policy")


@claim(
    "olive-nphard-f-simple",
    _SIMPLE.format(number=10, letter="f"),
    DRAWN,
    statement="The same program over tabular Q-functions f and their greedy policies "
    "is NP-hard: it has the same optimum, since every (g, π) is induced by an f and "
    "every f induces a (g, π)." + _ASSUMED,
)
def _hard_over_q_functions() -> Evidence:
    return _reduction_works("q-function")


def _reduction_works(form: Form) -> Evidence:
    counts = {True: 0, False: 0}
    for variant in without_sides():
        for family in families(variant, 8, 8, max_variables=3, max_clauses=2):
            satisfiable = least_unsatisfied(family) == 0
            try:
                _check_size(family)
                _check_members(family, form)
                _check_certificates(family)
                _check_optimum(family, form, satisfiable)
            except Refuted as fault:
                raise Refuted(f"{family}: {fault}") from None
            counts[satisfiable] += 1
    return Evidence(
        counts[True] > 0 and counts[False] > 0,
        f"{counts[True]} satisfiable and {counts[False]} unsatisfiable families: sizes "
        "measured, members compared, certificates of all assignments checked, "
        f"{form} programs solved by HiGHS, their optima bounded from above at the "
        "vertices of what the constraints leave free",
    )


def _check_size(family: Family) -> None:
    declared, measured = family.declared_sizes(), family.measured_sizes()
    if declared != measured:
        raise Refuted(f"declared {declared}, measured {measured}")
    n, m = family.n_variables, family.n_clauses
    if max(measured.states, measured.constraints) > 3 + m + 3 * n:
        raise Refuted(f"{measured} for n = {n}, m = {m}")


def _check_members(family: Family, form: Form) -> None:
    """Compare each member's program with the all-zero member's."""
    own = program_model(family.program(), form).model
    given = family.distributions()
    for y in assignments(family.n_variables):
        program = OliveProgram(family.mdp(y), given, upper=family.ranges())
        other = program_model(program, form).model
        if (own.rows, own.objective) != (other.rows, other.objective):
            raise Refuted(f"the program of member {y.astype(int).tolist()} differs")


def _check_certificates(family: Family) -> None:
    for assignment in assignments(family.n_variables):
        pair = forward(family, assignment)
        value = check(family, pair)
        satisfied = family.three_sat.satisfied(assignment).all()
        if (value == stated(family.parameters, 0)) != satisfied:
            raise Refuted(f"the certificate of {assignment.tolist()} is worth {value}")
        if satisfied and not family.three_sat.satisfied(back(family, pair)).all():
            raise Refuted(f"{assignment.tolist()} comes back as no model")


def _check_optimum(family: Family, form: Form, satisfiable: bool) -> None:
    """Compare the program's optimum in a form with satisfiability."""
    built = build(family, "faithful", form)
    outcome = solve_milp(built.model)
    if outcome.status is not Status.OPTIMAL or outcome.values is None:
        raise Refuted(f"HiGHS: {outcome.status}")
    pair = built.pair(outcome.values)
    value = check(family, pair)
    right = (value == stated(family.parameters, 0)) == satisfiable
    if value != vertex_bound(family.program()) or not right:
        raise Refuted(f"optimum {value}, satisfiable: {satisfiable}")
    if satisfiable and not family.three_sat.satisfied(back(family, pair)).all():
        raise Refuted("the engine's own optimal pair gives no model")
    if form == "q-function":
        _check_equivalence(family)


def _check_equivalence(family: Family) -> None:
    """Go from pairs to Q-functions and back, in exact arithmetic."""
    rng = np.random.default_rng(family.n_clauses)
    built = program_model(family.program(), "q-function")
    mdp = family.mdp()
    for assignment in assignments(family.n_variables):
        pair = forward(family, assignment)
        point = built.point(pair)
        if not built.model.is_feasible(point):
            raise Refuted("a feasible pair gives an infeasible f")
        if built.pair(point).values() != pair.values():
            raise Refuted("f does not give the pair back")
    # Any f: its (max, argmax) has the constraints' left-hand sides of f itself.
    f = [Fraction(int(v), 12) for v in rng.integers(0, 13, mdp.n_actions)]
    greedy = [max(mdp.actions(s), key=lambda a: f[a]) for s in range(mdp.n_states)]
    policy = [a - mdp.actions(s).start for s, a in enumerate(greedy)]
    pair = Pair.from_fractions([f[a] for a in greedy], policy)
    errors = []
    for distribution in family.distributions():
        error = Fraction(0)
        for s, share in distribution.probabilities().items():
            future = sum(p * f[greedy[t]] for t, p in mdp.successors(greedy[s]))
            error += share * (f[greedy[s]] - mdp.reward(greedy[s]) - future)
        errors.append(error)
    if errors != family.program().errors(pair):
        raise Refuted("f and its greedy pair have other errors")


# Within a constant ------------------------------------------------------------

_HASTAD = (
    " Assumption: for every ε > 0 it is NP-hard to tell a satisfiable E3-SAT formula "
    "(three distinct variables a clause) from one where at most a 7/8+ε share of the "
    "clauses can be satisfied (Håstad 2001)."
)
_WORST = {
    (Variant.PAPER, Fraction(1, 3)): (Fraction(23, 24), Fraction(1, 3)),
    (Variant.PAPER, Fraction(1)): (Fraction(23, 24), Fraction(1, 3)),
    (Variant.GAP, Fraction(1, 4)): (Fraction(31, 32), Fraction(1, 4)),
    (Variant.NORMALIZED, Fraction(1, 25)): (Fraction(24, 25), Fraction(8, 25)),
}


def _worst_families(three_sat: ThreeSat) -> list[Family]:
    """Families of a formula as `_WORST` has them; `gap` fixes its penalty itself."""
    return [
        Family(three_sat, variant, None if variant is Variant.GAP else p)
        for variant, p in _WORST
    ]


@claim(
    "constant-gap",
    "docs/reduction.md, consequences of Theorem O",
    EXACT,
    statement="With a constant penalty OLIVE's program is NP-hard to approximate "
    "within a constant: 1 cannot be distinguished from 23/24 + ε/3 in paper with p ≥ "
    "1/3, from 31/32 + ε/4 in gap, from 24/25 + 8ε/25 in normalized with p = 1/25, the "
    "widest gap of any p there." + _HASTAD,
)
def _constant_gap() -> Evidence:
    shares = [Fraction(k, 400) for k in range(50)]  # of the clauses: 1/8 − ε, ε > 0
    for (variant, penalty), (worst, slope) in _WORST.items():
        parameters = Parameters(variant, penalty, 400)
        for share in shares:
            epsilon = Fraction(1, 8) - share
            # u >= share·m unsatisfied clauses: the optimum falls with u.
            value = optimum(parameters, int(share * 400))
            if value > worst + slope * epsilon:
                raise Refuted(f"{parameters}, ε = {epsilon}: {value}")
        if optimum(parameters, 50) != worst:
            raise Refuted(f"{parameters}: {optimum(parameters, 50)}")
    normalized = {
        p: 1 - optimum(Parameters(Variant.NORMALIZED, p, 8), 1)
        for p in (Fraction(k, 1000) for k in range(1, 1000))
    }
    widest = max(normalized, key=lambda p: normalized[p])
    solved = [program_optimum(f) for f in _worst_families(eight_clauses().three_sat())]
    expected = [worst for worst, _ in _WORST.values()]
    return Evidence(
        widest == Fraction(1, 25) and solved == expected,
        f"{len(shares)} shares below 1/8 in {len(_WORST)} families; 999 penalties of "
        f"normalized: widest at p = {widest}; the programs of the eight clauses, u = "
        f"m/8, solved: {', '.join(map(str, solved))}",
    )


@claim("least-affine-penalty", "docs/reduction.md, consequences of Theorem O", EXACT)
def _least_affine_penalty() -> Evidence:
    """In normalized p = 1/7 is the least penalty with which the optimum is affine in u
    for every formula."""
    for m in range(2, 61, 2):
        parameters = Parameters(Variant.NORMALIZED, Fraction(1, 7), m)
        for u in range(m // 2 + 1):
            if optimum(parameters, u) != 1 - Fraction(2 * u, 7 * m):
                raise Refuted(f"m = {m}, u = {u}")
    solved = [_affine_optimum(copies) for copies in (1, 2, 3)]
    below = Fraction(1, 7) - Fraction(1, 10**9)
    capped = optimum(Parameters(Variant.NORMALIZED, below, 2), 1)
    return Evidence(
        capped == 1 - below and all(value == Fraction(6, 7) for value in solved),
        "affine for every even m up to 60 and u up to m/2 at p = 1/7; programs of one "
        f"to three copies of x, ¬x (u = m/2) solved: {', '.join(map(str, solved))}; at "
        "1/7 − 1e-9 already x, ¬x is capped",
    )


def _affine_optimum(copies: int) -> Fraction | None:
    """Optimum of the program of copies of x, ¬x in normalized with p = 1/7."""
    formula = Formula.from_clauses([[1], [-1]] * copies, 1)
    return program_optimum(Family(formula, Variant.NORMALIZED, Fraction(1, 7)))


@claim(
    "random-assignment-is-sharp",
    "docs/reduction.md, consequences of Theorem O",
    EXHAUSTIVE,
)
def _random_assignment_is_sharp() -> str:
    """A random assignment leaves m/8 clauses of three distinct variables unsatisfied on
    average, so every such formula has an optimum of at least 23/24, 31/32 and 24/25 in
    the families of the constant gap: the thresholds are sharp."""
    rng = np.random.default_rng(9)
    compared = 0
    sizes = (3, 4, 6)[: samples.instances(3)]
    for n, m in itertools.product(sizes, (1, 8, 30)):
        three_sat = random_ksat(n, m, 3, rng).three_sat()
        total = sum(three_sat.unsatisfied_weight(a) for a in assignments(n))
        if Fraction(total, 2**n) != Fraction(m, 8):
            raise Refuted(f"n = {n}, m = {m}: mean {total}/{2**n}")
        for family, (worst, _) in zip(
            _worst_families(three_sat), _WORST.values(), strict=True
        ):
            found = program_optimum(family)
            if found is None or found < worst:
                raise Refuted(f"{family}, n = {n}, m = {m}: {found}")
            compared += 1
    return f"exact means over all assignments; {compared} programs"


@claim(
    "olive-program-fixed-parameter", "docs/reduction.md, Fixed-parameter", EXHAUSTIVE
)
def _fixed_parameter() -> str:
    """The optimum of OLIVE's program over a formula's family takes at most (8n + m) 2^w
    steps on tables, given a tree decomposition of width w of the 3-SAT form's primal
    graph. Argument: Theorem O makes it a function of the least unsatisfied weight u,
    and dynamic programming over the decomposition finds u exactly. Cited, not checked:
    few occurrences do not help (for some ε > 0 it is NP-hard to tell satisfiable
    formulas from those of which at most a share 1 − ε can be satisfied, with each
    variable in five clauses: Feige 1998); planar incidence graphs do (MAX-3SAT then has
    a polynomial-time approximation scheme: Khanna and Motwani 1996)."""
    compared, widths = 0, set()
    for variant in without_sides():
        for family in families(variant, 10, 24, max_variables=5, max_clauses=6):
            weights = family.weights  # None for a plain formula
            found = solve_by_treewidth(
                family.clauses.tolist(),
                family.n_variables,
                None if weights is None else weights.tolist(),
            )
            _check_steps(found, family.n_variables, family.n_clauses)
            left = family.three_sat.unsatisfied_weight(found.model)
            value = best_member(family).value
            if (
                not found.cost == left == least_unsatisfied(family)
                or optimum(family.parameters, found.cost) != value
            ):
                raise Refuted(f"{family}: u = {found.cost}, optimum {value}")
            compared += 1
            widths.add(found.width)
    for blocks in (1, 20, 400):
        formula = _chains(blocks)
        clauses = formula.three_sat().clauses.tolist()
        found = solve_by_treewidth(clauses, formula.n_variables)
        _check_steps(found, formula.n_variables, len(clauses))
        if (found.cost, found.width) != (blocks, 1):
            raise Refuted(f"{blocks} chains: {found.cost} left unsatisfied")
    steps = []
    for width in (2, 4, 8, 12):
        rows = [[i, i + k, -i - width] for k in range(1, width) for i in range(1, 41)]
        found = solve_by_treewidth(rows, 40 + width)
        _check_steps(found, 40 + width, len(rows))
        if found.width != width:
            raise Refuted(f"a band of width {width} is decomposed with {found.width}")
        steps.append(found.entries)
    return (
        f"{compared} families of width {min(widths)} to {max(widths)}: u as by all "
        "assignments, the optimum as by exact planning in all members; 1, 20 and 400 "
        "chains x1, x1 → x2, ..., ¬x5 that leave one clause each, joined end to end; "
        f"steps counted in all, {steps} on bands of width 2, 4, 8, 12"
    )


def _check_steps(found: Elimination, n: int, m: int) -> None:
    """Hold the entries of tables that were counted against the bound."""
    least = 1 << found.width if found.width else 0  # nothing to decide at width 0
    if not least <= found.entries <= (8 * n + m) << found.width:
        raise Refuted(f"n = {n}, m = {m}, width {found.width}: {found.entries} steps")


def _chains(blocks: int) -> Formula:
    """Return chains x1, x1 → x2, ..., ¬x5, the end of each implying the next head."""
    i = np.arange(5 * blocks).reshape(blocks, 5) + 1
    steps = [[-a, b] for row in i.tolist() for a, b in itertools.pairwise(row)]
    ends = [[sign * int(row[k])] for row in i for sign, k in ((1, 0), (-1, 4))]
    joints = [[-a, a + 1] for a in i[:-1, -1].tolist()]
    return Formula.from_clauses([*steps, *ends, *joints], 5 * blocks)


_SEED = 0
_FORMULAS = 40


def _formulas() -> list[Formula]:
    rng = np.random.default_rng(_SEED)
    drawn = []
    for _ in range(samples.instances(_FORMULAS, 12)):  # some of each kind
        n = int(rng.integers(3, 9))
        drawn.append(random_ksat(n, round(4.26 * n), 3, rng))
    return drawn


@claim(
    "deterministic-multi-is-np-hard",
    "paper, appendix Additional Oracles; docs/reduction.md, several data sets",
    EXHAUSTIVE,
    "7",
)
def _deterministic_is_hard() -> Evidence:
    """The multi-data-set oracle for one deterministic tabular policy decides 3-SAT:
    with a data set for each clause, cost 1 for each falsified literal and U_j = 2/3, it
    is feasible for any ε_feas < 1/3 exactly if the formula is satisfiable. CSC being
    polynomial there, no polynomial number of CSC calls implements it unless P = NP.
    (NP-hardness of 3-SAT: Cook 1971, assumed.)"""
    drawn, satisfiable = _formulas(), 0
    for formula in drawn:
        found = verify_multi_hardness(formula)
        sizes = found.instance
        if sizes.declared_sizes() != sizes.measured_sizes():
            raise Refuted(f"sizes: {sizes.measured_sizes()}")
        if found.agree is not True or "brute" not in found.routes:
            raise Refuted(f"{formula}: {found.to_json()}")
        if found.satisfiable and found.assignment is None:
            raise Refuted(f"{formula}: no certificate came back")
        satisfiable += bool(found.satisfiable)
    return Evidence(
        0 < satisfiable < len(drawn),
        f"{len(drawn)} random formulas of 3 to 8 variables, {satisfiable} satisfiable: "
        "a SAT solver, the oracle's MILP and all 2^n policies agree, and policies come "
        f"back as models (seed {_SEED})",
    )


@claim(
    "mixture-multi-by-csc",
    "paper, appendix Additional Oracles (multiplicative weights)",
    CERTIFIED,
    "7",
)
def _mixtures_by_csc() -> str:
    """For finite mixtures of policies, multiplicative weights over CSC calls implement
    the multi-data-set oracle in at most ⌈R² ln J / (2 (ε_feas − δ)²)⌉ calls of accuracy
    δ (Hedge; Arora, Hazan, Kale 2012), or prove there is none."""
    epsilon, share, refused = 0.1, 0.0, 0
    formulas, problems = _formulas(), samples.instances(40)
    for formula in formulas:
        instance = MultiInstance(formula.three_sat())
        mixture = instance.solve("multiplicative-weights", epsilon_feas=epsilon)
        if not mixture.feasible or mixture.violation > epsilon:
            raise Refuted(f"{formula}: {mixture}")
    rng = np.random.default_rng(_SEED)
    solve = functools.partial(
        multi, epsilon_feas=epsilon, method="multiplicative-weights"
    )
    for number in range(problems):
        policies, sets = TabularPolicyClass(6, 3), []
        tables = rng.integers(0, 3, (3, 6))
        for _ in range(2 + number % 9):
            drawn = random_csc(rng, 18, 6, 3)
            codes, rows = drawn.data.observations, np.arange(18)
            costs = [
                drawn.data.expectation_exact(drawn.costs[rows, t[codes]])
                for t in tables
            ]
            limit = sum(costs, Fraction(0)) / 3 - (1 if number % 4 == 0 else 0)
            sets.append(ClassificationSet(drawn.data, drawn.costs, limit))
        found = solve(policies, sets)
        wanted = MultiStatus.INFEASIBLE if number % 4 == 0 else MultiStatus.FEASIBLE
        if found.status is not wanted or not found.honoured:
            raise Refuted(f"problem {number}: {found}")
        if found.call_bound is None or found.calls > found.call_bound:
            raise Refuted(f"problem {number}: {found.calls} calls")
        share = max(share, found.calls / found.call_bound)
        refused += found.status is MultiStatus.INFEASIBLE
    return (
        f"{len(formulas)} instances of 3-SAT, satisfiable or not, and {problems} "
        f"random problems of 2 to 10 data sets, {refused} of them proved infeasible; "
        f"at most {share:.1%} of the calls allowed (seed {_SEED})"
    )
