"""OLIVE, the algorithm of Jiang et al. 2017: its parts.

Optimism led iterative value-function elimination explores with a policy that
promises most among all that still satisfy the average Bellman equations seen so
far. It needs polynomially many samples wherever the Bellman rank is small, and
solves a program each round. Such programs are NP-hard already for tabular classes,
and OLIVE meets hard ones if its ties are broken against it: that is what this
project is about.

=========================  ====================================================
`run`                      `olive_exact`: exact expectations on tabular MDPs;
                           `olive_sampled`: data sets, with
                           `parameters.theorem_parameters`
`optimisers`               `Milp`, `BranchAndBound`: tabular classes, in both forms,
                           (g, π) and Q
`finite_pairs`             `FinitePairs`: finite classes, from
                           `pairs_of_class` of a `FiniteQClass`,
                           `pairs_of_q_functions` of tables
`environment_adapter`      `LayeredEnvironment`: any environment of the project,
                           features included
`tiebreak`                 which maximiser and which level: `SolverTiebreak`,
                           `RandomTiebreak`, `ScriptedTiebreak`
=========================  ====================================================

Source: Jiang, Krishnamurthy, Agarwal, Langford, Schapire, "Contextual Decision
Processes with Low Bellman Rank are PAC-Learnable", ICML 2017; the algorithm's
statement and constants are recalled, as no public implementation exists.
"""
