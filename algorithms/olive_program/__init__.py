"""OLIVE's optimisation problem, who solves it, and OLIVE with exact expectations.

The reduction needs these; learning from data is in `olivine.algorithms.olive`.
"""
