"""Errata of the reduction.

Each entry builds what the paper prints, shows where it fails, and shows that what this
project uses instead does not. Numbers are those of the errata.
"""

import dataclasses
from fractions import Fraction

import numpy as np

from ..algorithms.mdp.planning import Distribution, Pair
from ..algorithms.mdp.tabular import TabularMDP
from ..algorithms.olive_program.optimisers import enumerate_policies
from ..algorithms.olive_program.program import OliveProgram
from ..reduction.family.family import Family, Variant
from ..reduction.formula.formula import Formula
from . import EXACT, EXHAUSTIVE, Evidence, Refuted, claim
from .samples import contradiction, families


@claim(
    "erratum-1", "paper, proof of thm:olive_nphard_f_simple, MDP structure", EXACT, "1"
)
def _reward_of_try_clause() -> Evidence:
    """[try C_j] has reward −1/m, as in the paper's constraints. With +1/m, as in its
    text, the optimum is 1 for an unsatisfiable formula too."""
    family = Family(contradiction())
    mdp, layout = family.mdp(), family.layout
    indices, table = mdp.reward_index.copy(), list(mdp.reward_table)
    table.append(Fraction(1, family.n_clauses))
    indices[layout.n_variables : layout.solve] = len(table) - 1
    printed = OliveProgram(mdp.with_rewards(indices, table), family.distributions())
    found = enumerate_policies(printed).optimum
    used = enumerate_policies(family.program()).optimum
    return Evidence(
        found == 1 and used == Fraction(5, 6),
        f"x, ¬x by all policies: {found} with +1/m, {used} with −1/m",
    )


@claim("erratum-2", "paper, sketch of thm:olive_nphard_g_simple", EXACT, "2")
def _pair_constraints() -> Evidence:
    """The pair constraints run over the n variables. Over m only, as in the sketch, a
    formula with more variables than clauses can be unsatisfiable and have optimum 1."""
    formula = Formula.from_clauses([[3], [-3]], 3)
    family = Family(formula)
    collected = list(family.distributions())
    literals = family.layout.first_literal_state
    pairs = [d for d in collected if int(d.states[0]) >= literals]
    others = [d for d in collected if int(d.states[0]) < literals]
    kept = OliveProgram(family.mdp(), others + pairs[: family.n_clauses])
    found = enumerate_policies(kept).optimum
    used = enumerate_policies(family.program()).optimum
    return Evidence(
        found == 1 and used == Fraction(5, 6) and len(pairs) == 3,
        f"x3, ¬x3 with n = 3: {found} with 2 pair constraints, {used} with all 3",
    )


@claim("erratum-3", "paper, constraints of both proofs (eqn:npconstr1)", EXACT, "3")
def _clause_of_try() -> Evidence:
    """The [try C_j] constraint is about C_j. With max_b f(C_1, b), as printed, it is
    not the Bellman equation of [try C_j]."""
    # Show a pair that the printed equation admits, and its error at s0.
    family = Family(contradiction())
    layout = family.layout
    mdp = family.mdp([True])
    policy = np.zeros(layout.n_states, dtype=np.int32)
    policy[layout.start] = layout.try_clause(1)
    policy[family.clause_state(0)] = 6  # 111: worth 1 where x1 is true; C_2 takes 001
    values = mdp.evaluate(policy).values()
    first, second = (values[family.clause_state(j)] for j in (0, 1))
    values[layout.start] = first - family.penalty  # as printed
    pair = Pair.from_fractions(values, policy)
    error = family.program().errors(pair)[0]
    values[layout.start] = second - family.penalty
    corrected = Pair.from_fractions(values, policy)
    return Evidence(
        error == first - second == Fraction(1, 3)
        and family.program().is_feasible(corrected),
        f"x, ¬x with x true and [try C2]: g(s0) = g(C1) − p has Bellman error {error}, "
        "g(s0) = g(C2) − p none",
    )


@claim(
    "erratum-28",
    "paper, proof of thm:olive_nphard_f_simple, its first paragraph",
    EXACT,
    "28",
)
def _linear_transformation() -> Evidence:
    """Values in [0, 1] do not follow 'by linearly transforming all rewards': a factor
    leaves the reward of [try C_j] negative, and a shift that makes it 0 lets a literal
    be worth less than any reward and its negation more than the highest, so that the
    optimum is 1 for an unsatisfiable formula too. In paper the rewards may stay as they
    are; normalized has rewards in [0, 1]."""
    family = Family(contradiction())
    mdp, p = family.mdp(), family.penalty
    scale = 1 + family.horizon * p  # the greatest return once each reward has p more
    table = [(r + p) / scale for r in mdp.reward_table]
    shifted = OliveProgram(
        mdp.with_rewards(mdp.reward_index, table), family.distributions()
    )
    halved = min(r / 2 for r in mdp.reward_table)
    kept = Family(family.three_sat, Variant.NORMALIZED)
    least = min(kept.mdp().reward_table)
    optima = [enumerate_policies(x).optimum for x in (shifted, family.program())]
    by_layers = enumerate_policies(kept.program()).optimum
    return Evidence(
        halved < 0
        and min(table) >= 0
        and optima == [1, Fraction(5, 6)]
        and least >= 0
        and by_layers == Fraction(11, 12),
        f"x, ¬x by all policies: optimum {optima[0]} with rewards (r + 1/m)/(1 + 3/m), "
        f"{optima[1]} with those printed, {by_layers} in normalized, whose least "
        f"reward is {least}; halving leaves a reward of {halved}",
    )


@claim(
    "erratum-4",
    "paper, proof of thm:olive_nphard_f_simple, MDP structure",
    EXHAUSTIVE,
    "4",
)
def _literals_at_two_levels() -> Evidence:
    """The literal states are reached at levels 2 and 3. If values are indexed by level,
    the optimum is 1 for every formula; so g must be indexed by state, or the literals
    be reached at one level only, as in normalized."""
    seen = unsatisfiable = 0
    for family in families(Variant.PAPER, 10, 24, max_variables=2, max_clauses=2):
        split = OliveProgram(_split_by_level(family), family.distributions())
        found = enumerate_policies(split).optimum
        if found != 1:
            raise Refuted(f"{family}: {found} with values by level")
        layered = Family(family.three_sat, Variant.NORMALIZED)
        if family.mdp().is_layered or not layered.mdp().is_layered:
            raise Refuted(f"{family}: levels of the two variants")
        used = enumerate_policies(family.program()).optimum
        seen, unsatisfiable = seen + 1, unsatisfiable + (used != 1)
    return Evidence(
        unsatisfiable > 0,
        f"{seen} families by all policies: optimum 1 with values by level; "
        f"{unsatisfiable} of them are below 1 with values by state",
    )


def _split_by_level(family: Family) -> TabularMDP:
    """Give the clause actions literal states of their own, at level 3.

    The state x_i^b of level 3 is the state of level 2, a fixed number further on.
    """
    mdp, layout = family.mdp(), family.layout
    first, n = layout.first_literal_state, layout.n_states
    copies = n - first
    targets = mdp.transition_target.copy()
    inner = int(mdp.transition_offset[layout.first_clause_action])
    targets[inner:] += np.int32(copies)  # only clause actions come after s0's
    rewards = mdp.reward_index
    return dataclasses.replace(
        mdp,
        state_level=np.append(mdp.state_level, np.full(copies, 3, dtype=np.int32)),
        action_offset=np.append(
            mdp.action_offset, mdp.action_offset[-1] + 1 + np.arange(copies)
        ),
        transition_offset=np.append(
            mdp.transition_offset, np.full(copies, mdp.n_transitions)
        ),
        transition_target=targets,
        transition_denominator=np.append(
            mdp.transition_denominator, np.ones(copies, dtype=np.int64)
        ),
        reward_index=np.append(rewards, rewards[-copies:]),
        state_names=[*mdp.state_names, *(f"{s}, 3" for s in mdp.state_names[first:])],
        action_names=[*mdp.action_names, *["[go]"] * copies],
    )


@claim("erratum-6", "paper, programs eqn:oliveprobg and eqn:oliveprobf", EXACT, "6")
def _missing_factor() -> Evidence:
    """Under a uniform action out of K, E[K·1{a = π(x)}(g(x) − r − g(x′))] is the
    average Bellman error, and without the K, as in the Q-function form, a K-th of it: φ
    there means Kφ here, and the optimum differs."""
    rng = np.random.default_rng(12)
    family = Family(contradiction())
    mdp = family.mdp().padded()
    k = int(mdp.action_counts[0])
    program = OliveProgram(mdp, family.distributions())
    pairs = 0
    for _ in range(50):
        values = [Fraction(int(v), 20) for v in rng.integers(0, 21, mdp.n_states)]
        pair = Pair.from_fractions(values, rng.integers(0, k, mdp.n_states))
        sampled = [
            _sampled_error(mdp, pair, distribution)
            for distribution in family.distributions()
        ]
        if [k * e for e in sampled] != program.errors(pair):
            raise Refuted(f"policy {pair.policy.tolist()}: {sampled}")
        pairs += 1
    phi = Fraction(1, 100)
    optima = [
        enumerate_policies(OliveProgram(mdp, family.distributions(), tolerance)).optimum
        for tolerance in (phi, k * phi)
    ]
    return Evidence(
        optima[0] != optima[1],
        f"{pairs} random pairs in the padded MDP of x, ¬x, K = {k}; φ = 1/100 gives "
        f"optimum {optima[0]} with the factor and {optima[1]} without",
    )


def _sampled_error(mdp: TabularMDP, pair: Pair, distribution: Distribution) -> Fraction:
    """E[1{a = π(x)}(g(x) − r − g(x′))] under a uniform action a, term by term."""
    total = Fraction(0)
    for state, share in distribution.probabilities().items():
        actions = mdp.actions(state)
        for local, action in enumerate(actions):
            if local != int(pair.policy[state]):
                continue
            drawn = share / len(actions)
            for target, chance in mdp.successors(action):
                total -= drawn * chance * pair.value(target)
            total += drawn * (pair.value(state) - mdp.reward(action))
    return total
