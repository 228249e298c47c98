"""Runs of many formulas, algorithms and seeds: units, rows, sums and figures."""
