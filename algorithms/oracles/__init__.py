"""Optimisation oracles over function classes, and what counts and checks them.

==================  ==========================================================
module              holds
==================  ==========================================================
csc                 cost-sensitive classification on policies
least_squares       regression on value functions
lp                  linear programs on value functions; `ValueProgram`
multi               classification on several data sets at once; mixtures
discrepancy         the two-sample test: sup_g |E_D[g] - E_D'[g]|
plain, ellipsoid    the tabular oracles as their proof has them, counted
ledger              who called what; the guard for algorithms
testing             property tests for oracles, yours too (docs/oracles.md);
                    `multi_testing` likewise
==================  ==========================================================
"""
