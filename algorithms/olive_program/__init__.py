"""OLIVE's optimisation problem, who solves it, and OLIVE with exact expectations.

==================  ===========================================================
`program`           the problem over all tabular (g, π) of an MDP
`sampled_program`   the same from data sets
`model`             as a mixed-integer linear program; `pair_model`, `bulk_model`
`optimisers`        `Milp`, `BranchAndBound`; the least tolerance for a value
`enumeration`       the optimum by brute force over policies
`tiebreak`          which maximiser and which level: `SolverTiebreak`,
                    `RandomTiebreak`, `ScriptedTiebreak`; ties in OLIVE's favour
`rounds`            the rounds of OLIVE; `olive_exact`
==================  ===========================================================

The reduction needs these; learning from data is in `olivine.algorithms.olive`.
"""
