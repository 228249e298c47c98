"""What the letters in the ledger's statements stand for, so that they read alone."""

from __future__ import annotations

NOTATION: tuple[tuple[str, str], ...] = (
    (
        "Learning",
        "At most M hidden states s a level, K actions a, H levels h; x is an "
        "observation, r a reward, p a path of actions and p∘a the path with one "
        "more. V^π is the expected return of π; V*, Q*, g*, π* are the optimal "
        "ones; π̂ is the policy returned. G and Π are the classes of value "
        "functions and of policies.",
    ),
    (
        "Accuracy",
        "ε is the loss and δ the probability of failure allowed; ε_sub and ε_feas "
        "are what oracles may be off in their objective and their constraints. p_ul "
        "is the probability that a policy meets a state not learned, T_max a bound "
        "on the calls of dfslearn at a level. n_exp and n_eval are the numbers of "
        "trajectories that are explored and that evaluate a policy, in an iteration "
        "of MetaAlg.",
    ),
    (
        "VALOR",
        "A learned state has a data set D, a value V and values V_a of what "
        "follows; n_test and n_train are the sizes of data sets, ε_stat their "
        "accuracy, φ_h = (H+1-h)(6ε_stat + 2ε_sub + ε_feas) and φ_{H+1} = 0. Event "
        "E: all data sets are as accurate as meant.",
    ),
    (
        "Two-sample algorithm",
        "τ, τ_V and τ_L are the accuracies of a data set's averages of values g(x), "
        "of policy values K 1{a = π(x)}(r + g(x')) and of squared losses K 1{a = "
        "π(x)}(g(x) - r - g'(x'))². Event E: all data sets have them. Learned sets "
        "fit the policies; val sets, which are apart from each other by the "
        "identity test, the values.",
    ),
    (
        "Global policy algorithm",
        "τ_val and τ_pol are the accuracies of averages of values and returns, and "
        "of policy values; φ_h is what the policy may lose at learned paths of "
        "level h.",
    ),
    (
        "LSVEE",
        "N is the number of Q-functions, n_1 and n_2 stand for n_eval and n_exp, "
        "and φ = ε/(320 H² √K).",
    ),
    (
        "OLIVE",
        "It keeps pairs (g, π) whose average Bellman errors are at most the "
        "tolerance φ at all levels and distributions chosen so far; ζ bounds the "
        "norms in Jiang et al.'s factorisation of these errors.",
    ),
    (
        "The reduction",
        "A formula in 3-SAT form has n variables x_i and m clauses C_j of total "
        "weight W (m without weights), and u is the least weight that an assignment "
        "leaves unsatisfied. The MDPs of its family, the members, differ in what "
        "the states of literals pay: top or 0, by an assignment. Top is 1 in the "
        "variant paper and 1 − p in the others, p the penalty for trying a clause: "
        "1/m by default in paper, min(1/m, 1/2) in normalized and all-levels, 1/4 "
        "in gap. φ is the tolerance of OLIVE's program.",
    ),
    (
        "Barriers",
        "The start leads into chain a or b, with states x_{h,a} and x_{h,b}, h = "
        "1..H; g_bad is above g* by Δ_h at x_{h,b}, n is the number of samples of a "
        "state. Average constraints: the start has m contexts, a leads to s_1, b to "
        "s_2.",
    ),
)
"""Where letters are used, and what they stand for."""
