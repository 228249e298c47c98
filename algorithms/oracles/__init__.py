"""Optimisation oracles over function classes, and what counts and checks them.

=================  ===========================================================
`csc`              cost-sensitive classification on policies; `csc_hard`
`least_squares`    regression on value functions
`lp`               linear programs on value functions; `ValueProgram`; the
                   two-sample test, sup_g |E_D[g] - E_D'[g]|
`multi`            classification on several data sets at once; mixtures
`ellipsoid`        linear programs over tables as their proof has them
`ledger`           who called what; the guard for algorithms
`testing`          property tests for oracles, yours too (docs/oracles.md);
                   `multi_testing` likewise
=================  ===========================================================
"""
