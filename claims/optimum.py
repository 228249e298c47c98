"""The optimum of OLIVE's program.

Lemma 1, Theorem O and what follows from them, and what the strengthened and the
projected formulation rest on.
"""

import itertools
import math
import re
from fractions import Fraction

import numpy as np

from ..algorithms.mdp.planning import Pair
from ..algorithms.olive_program.model import policy_optimum
from ..algorithms.olive_program.optimisers import enumerate_policies, policy_choices
from ..algorithms.olive_program.program import OliveProgram
from ..reduction.family.family import Family, Variant
from ..reduction.family.variants import Parameters, default_penalty, without_sides
from ..reduction.formula.formula import Formula, ThreeSat
from ..reduction.program.optimum import optimum, possible_optima
from ..reduction.program.program import FORMS, FORMULATIONS, build
from ..solvers.milp.milp import solve_milp
from . import DRAWN, EXACT, EXHAUSTIVE, Evidence, Refuted, claim
from .samples import (
    assignments,
    contradiction,
    eight_clauses,
    families,
    formulas,
    least_unsatisfied,
    milp_value,
    program_optimum,
)


@claim("lemma-1", "docs/reduction.md, Lemma 1", EXHAUSTIVE)
def _lemma_1() -> str:
    """Bringing a formula to 3-SAT form keeps the least total weight of unsatisfied
    clauses. Every assignment extends to one that leaves the same weight unsatisfied,
    and no extension of it leaves less."""
    checked = extended = 0
    for formula in formulas(1, 300, max_variables=4, max_clauses=4, max_width=6):
        three_sat = formula.three_sat()
        if three_sat.n_variables > 14:
            continue
        n = formula.n_variables
        least_of: dict[bytes, int] = {}
        for assignment in assignments(three_sat.n_variables):
            weight = three_sat.unsatisfied_weight(assignment)
            key = assignment[:n].tobytes()
            least_of[key] = min(weight, least_of.get(key, weight))
        for assignment in assignments(n):
            before = formula.unsatisfied_weight(assignment)
            extension = three_sat.extend(assignment)
            after = three_sat.unsatisfied_weight(extension)
            least = least_of[assignment.tobytes()]
            if not before == after == least:
                raise Refuted(
                    f"{list(formula.clauses())} under {assignment.tolist()}: {before} "
                    f"before, {after} by extending, {least} at best"
                )
            extended += 1
        checked += 1
    return (
        f"{checked} formulas of up to 4 variables and 4 clauses of up to 6 literals, "
        f"a quarter of them weighted; {extended} assignments against all extensions"
    )


_MAX_POLICIES = 3000


def _evaluated(formula: str, family: Family, u: int) -> Fraction:
    """Value of a formula as a statement has it, in u, m and p: 1 − min(u/(3m), p)."""
    text = re.sub(r"(?<=[\d)])(?=[a-z(])", "*", formula.replace("−", "-"))
    exact = re.sub(r"\d+", r"F(\g<0>)", text)
    numbers = {"u": u, "m": family.total_weight, "p": family.penalty}
    return Fraction(eval(exact, {"F": Fraction, "min": min} | numbers))


def stated(parameters: Parameters, u: int) -> Fraction:
    """Theorem O as its entry states it."""
    share = parameters.top * Fraction(u, parameters.total_weight)
    if parameters.variant is Variant.STRICT:
        return Fraction(3, 20) - share / 6
    return 1 - min(share / 3, parameters.penalty)


@claim("theorem-o", "docs/reduction.md, Theorem O", EXHAUSTIVE)
def _theorem_o() -> str:
    """With φ = 0 and values in their ranges the optimum of OLIVE's program is 1 −
    min(top·u/(3m), p), in strict 3/20 − top·u/(6m), for every formula, variant and
    penalty; with weights, u/m is the least unsatisfied weight over the total."""
    compared = 0
    for variant in without_sides():
        for family in families(variant, 2, 60, max_variables=5, max_clauses=8):
            u = least_unsatisfied(family)
            by_theorem, found = stated(family.parameters, u), program_optimum(family)
            if not optimum(family.parameters, u) == found == by_theorem:
                raise Refuted(f"{family}: {by_theorem}, program {found}")
            compared += 1
    return (
        f"{compared} families of up to 5 variables and 8 clauses, p from 1/100 to 1, a "
        "quarter with weights: attained by the best member's optimal pair, and no "
        "policy does better at any vertex of what the program's constraints leave free"
    )


def _theorem_o_by_policies(variant: Variant, formula: str) -> Evidence:
    """Brute force over policies with exact linear programs, and by MILP."""
    policies = compared = 0
    for family in families(variant, 3, 26, max_variables=3, max_clauses=3):
        expected = _evaluated(formula, family, least_unsatisfied(family))
        choices = policy_choices(family.program()).values()
        if math.prod(map(len, choices)) > _MAX_POLICIES:
            continue
        found = enumerate_policies(family.program())
        if found.optimum != expected:
            raise Refuted(f"{family}: {expected}, best policy {found.optimum}")
        policies += found.policies
        compared += 1
    eight = Family(eight_clauses(), variant)
    expected = _evaluated(formula, eight, 1)
    engine = milp_value(eight, "strengthened", "value-policy")
    if engine != expected:
        raise Refuted(f"eight clauses: {expected}, HiGHS finds {engine}")
    return Evidence(
        compared > 0,
        f"{compared} families, {policies} policies, each settled by an exact linear "
        f"program or multipliers; the eight clauses by MILP: {engine}",
    )


def _register(variant: Variant, formula: str) -> None:
    @claim(
        f"theorem-o-{variant}",
        "docs/reduction.md, Theorem O",
        EXHAUSTIVE,
        statement=f"In the variant {variant} the optimum of OLIVE's program over all "
        f"(g, π) is {formula}.",
    )
    def _by_policies() -> Evidence:
        return _theorem_o_by_policies(variant, formula)


for _variant in without_sides():
    _register(_variant, _variant.declaration.optimum)


@claim("possible-optima", "docs/reduction.md, consequences of Theorem O", EXACT)
def _possible_optima() -> Evidence:
    """The optimum is 1 − p, or above it and 1 − k·top/(3W) with a whole k; in strict it
    is 3/20 − k/(60W). Two such values differ by so little that an engine's default
    relative gap of 1e-4 is wrong from m > 2500 (in gap; m > 3333 in paper)."""
    counted = 0
    for variant in without_sides():
        for m in range(1, 40):
            own = default_penalty(variant, m)
            free = variant.declaration.fixed_penalty is None
            others = [Fraction(1, 7), Fraction(2, 3)] if free else []
            for penalty in (own, *others):
                parameters = Parameters(variant, penalty, m)
                every = range(m // 2 + 1)
                by_u = {optimum(parameters, u) for u in every}
                said = {stated(parameters, u) for u in every}
                if not by_u == said == set(possible_optima(parameters)):
                    raise Refuted(f"{parameters}: {sorted(by_u)}")
                counted += 1
    first = {}
    for variant, last_right in ((Variant.GAP, 2500), (Variant.PAPER, 3333)):
        for m in (last_right, last_right + 1):
            parameters = Parameters(variant, default_penalty(variant, m), m)
            best, second = possible_optima(parameters)[:2]
            first[variant, m] = (best - second) / best < Fraction(1, 10**4)
    right = [not wrong for (_, m), wrong in first.items() if m in (2500, 3333)]
    wrong = [wrong for (_, m), wrong in first.items() if m not in (2500, 3333)]
    return Evidence(
        all(right) and all(wrong),
        f"{counted} parameter sets with m < 40, every u; steps against 1e-4 at m = "
        "2500, 2501 (gap) and 3333, 3334 (paper)",
    )


@claim("four-values", "docs/errata.md, 8 (a remark)", EXHAUSTIVE)
def _four_values() -> str:
    """In paper with p = 1/m the optimum takes only the values 1, 1−1/(3m), 1−2/(3m) and
    1−1/m, however unsatisfiable the formula."""
    seen = []
    for copies in range(7):
        rows = [[1], [-1]] * copies + [[2]]
        family = Family(Formula.from_clauses(rows, 2))
        u, m = least_unsatisfied(family), family.n_clauses
        found = program_optimum(family)
        if u != copies or found != 1 - Fraction(min(u, 3), 3 * m):
            raise Refuted(f"m = {m}, u = {u}: {found}")
        seen.append(f"u={u}: {found}")
    return f"copies of x, ¬x beside a satisfied clause, programs solved: {seen}"


@claim(
    "range-remark",
    "paper, proof of thm:olive_nphard_f_simple; docs/reduction.md, "
    "consequences of Theorem O",
    EXHAUSTIVE,
)
def _range_remark() -> str:
    """Letting values range over [−1, 1], as the paper's proof does, changes nothing in
    paper; in the other variants the eight clauses get optimum 1."""
    compared = 0
    for family in families(Variant.PAPER, 4, 24, max_variables=2, max_clauses=2):
        wide = OliveProgram(family.mdp(), family.distributions(), lower=-1)
        expected = optimum(family.parameters, least_unsatisfied(family))
        found = enumerate_policies(wide).optimum
        if found != expected:
            raise Refuted(f"{family}: {expected} in [0,1], {found} in [−1,1]")
        compared += 1
    for variant in (Variant.NORMALIZED, Variant.GAP, Variant.ALL_LEVELS):
        family = Family(eight_clauses(), variant)
        pair = _pair_below_zero(family)
        wide = OliveProgram(family.mdp(), family.distributions(), lower=-1)
        value = wide.objective(pair)
        if not wide.is_feasible(pair) or value != 1:
            raise Refuted(f"{variant}: value {value}")
        if family.program().is_feasible(pair):
            raise Refuted(f"{variant}: feasible in [0, 1], too")
    return (
        f"paper: {compared} families, all policies; eight clauses: an exact pair of "
        "value 1 with g(x^1) = 23/22 top and g(x^0) = −top/22 in the other variants"
    )


def _pair_below_zero(family: Family) -> Pair:
    """Make the pair for the eight clauses whose every x_i^1 is worth 23/22 top.

    Seven clauses have a positive literal and an action that leads to x_i^1
    thrice; the last can lead there twice. They then average exactly top.
    """
    mdp, layout = family.mdp(), family.layout
    table, indices = list(mdp.reward_table), mdp.reward_index.copy()
    table += [-family.top / 22, family.top * 23 / 22]
    first, n = layout.first_literal_action, family.n_variables
    indices[first : first + 2 * n : 2] = len(table) - 2
    indices[first + 1 : first + 2 * n : 2] = len(table) - 1
    return mdp.with_rewards(indices, table).optimal_values()


@claim(
    "polynomially-small-error",
    "paper, remark 1 after thm:olive_nphard_g_simple",
    EXHAUSTIVE,
)
def _polynomially_small_error() -> Evidence:
    """Approximating the optimum within a polynomially small error is as hard:
    satisfiable formulas have optimum 1, others at most 1 − min(top/(3m), p), in paper 1
    − 1/(3m); in strict 3/20, others at most 3/20 − 1/(60m)."""
    counts = {True: 0, False: 0}
    for variant in without_sides():
        for family in families(variant, 5, 80, max_variables=4, max_clauses=8):
            satisfiable = least_unsatisfied(family) == 0
            found = program_optimum(family)
            lightest = 1 if family.weights is None else int(family.weights.min())
            best = stated(family.parameters, 0)
            gap = best - stated(family.parameters, lightest)
            right = found is not None and (
                found == best if satisfiable else found <= best - gap
            )
            if not right:
                raise Refuted(f"{family}: {found}, {satisfiable=}")
            counts[satisfiable] += 1
    family = Family(contradiction())
    exact = program_optimum(family)
    return Evidence(
        counts[False] > 0 and exact == 1 - Fraction(1, 6),
        f"{counts[True]} satisfiable families, {counts[False]} others, their programs "
        f"bounded on both sides; attained by x, ¬x: {exact}",
    )


@claim("vertex-lemma", "docs/reduction.md, consequences of Theorem O", DRAWN)
def _vertex_lemma() -> Evidence:
    """With φ = 0, literal values 0 and top are enough: under every policy that admits
    values at all, some such values are as good as any. With φ > 0 they are not."""
    rng = np.random.default_rng(6)
    policies = empty = 0
    for variant in without_sides():
        for family in families(variant, 6, 16, max_variables=3, max_clauses=3):
            mdp = family.mdp()
            members = [family.mdp(y) for y in assignments(family.n_variables)]
            for _ in range(3):
                policy = rng.integers(0, mdp.action_counts)
                pair = policy_optimum(family.program(), policy)
                best = max(m.evaluate(policy).value(mdp.start) for m in members)
                # Below 0 there is no value for s0, whatever the literals are.
                if (pair.value(mdp.start) if pair else None) != (
                    best if best >= 0 else None
                ):
                    raise Refuted(f"{family}, {policy.tolist()}: {best}")
                policies, empty = policies + 1, empty + (pair is None)
    free, vertex = _with_tolerance(Fraction(1, 50))
    return Evidence(
        free > vertex,
        f"{policies} random policies ({empty} without feasible values): the exact "
        "linear program against the best of all members; φ = 1/50 on x, ¬x in paper: "
        f"{float(free):.6f} against {vertex:.6f} at the best vertex",
    )


def _with_tolerance(tolerance: Fraction) -> tuple[Fraction, float]:
    """Optimum of x, ¬x with a tolerance, free and with literals 0 and top.

    The free one is attained exactly, the other the engine's word.
    """
    family = Family(contradiction())
    built = build(family, "faithful", tolerance=tolerance)
    free = built.pair(solve_milp(built.model).values or ()).value(family.start)
    vertices = []
    for true in (0, 1):
        fixed = build(family, "faithful", tolerance=tolerance).model
        names = [v.name for v in fixed.variables]
        fixed.add_row([names.index("g(x1^0)")], [1], "==", family.top * (1 - true))
        fixed.add_row([names.index("g(x1^1)")], [1], "==", family.top * true)
        vertices.append(float(solve_milp(fixed).objective or 0))
    return free, max(vertices)


@claim("clause-cut", "docs/reduction.md, consequences of Theorem O", EXHAUSTIVE)
def _clause_cut() -> str:
    """No action of C_j is worth more than top·min(1, (2 + the truth of its distinct
    literals)/3), for fractional literal values too; for 0/1 values the best one is
    worth that."""
    literals = (1, -1, 2, -2, 3, -3)
    checked = 0
    for clause in itertools.product(literals, repeat=3):
        family = _one_clause(clause)
        mdp, actions = family.mdp(), family.mdp().actions(family.clause_state(0))
        moves = [mdp.successors(a) for a in actions]
        unit = math.lcm(*(p.denominator for move in moves for _, p in move))
        counted = [[(s, int(p * unit)) for s, p in move] for move in moves]
        used = sorted({abs(x) for x in clause})
        for thirds in itertools.product(range(4), repeat=len(used)):
            of_state: dict[int, int] = {}
            of_literal: dict[int, int] = {}
            for i, v in zip(used, thirds, strict=True):
                of_state[family.literal_state(i - 1, 0)] = 3 - v
                of_state[family.literal_state(i - 1, 1)] = v
                of_literal |= {i: v, -i: 3 - v}
            # Both in whole numbers, of top/(9 unit) each.
            cut = unit * min(9, 6 + sum(of_literal[x] for x in set(clause)))
            best = 3 * max(sum(n * of_state[s] for s, n in move) for move in counted)
            if best > cut or ({0, 3}.issuperset(thirds) and best != cut):
                raise Refuted(
                    f"{clause}, literal values {thirds} thirds: "
                    f"{Fraction(best, 9 * unit)} top, cut {Fraction(cut, 9 * unit)} top"
                )
            checked += 1
    return f"all 216 clauses on 3 variables, literal values in thirds: {checked}"


def _one_clause(clause: tuple[int, ...]) -> Family:
    formula = Formula.from_clauses([clause], 3)
    form = ThreeSat(
        3,
        np.array([clause], dtype=np.int32),
        None,
        np.zeros(1, dtype=np.int64),
        formula,
    )
    return Family(form, Variant.NORMALIZED)


@claim("formulations-agree", "docs/reduction.md, consequences of Theorem O", DRAWN)
def _formulations_agree() -> str:
    """The formulations faithful, strengthened and projected have the same optimum, in
    both forms."""
    solved = 0
    for variant in without_sides():
        for family in families(variant, 7, 6, max_variables=3, max_clauses=2):
            expected = optimum(family.parameters, least_unsatisfied(family))
            for formulation, form in itertools.product(FORMULATIONS, FORMS):
                found = milp_value(family, formulation, form)
                if found != expected:
                    raise Refuted(
                        f"{family}, {formulation} {form}: {found}, not {expected}"
                    )
                solved += 1
    return (
        f"{solved} models solved by HiGHS, every solution turned into an exactly "
        "feasible pair whose value is that of Theorem O"
    )
