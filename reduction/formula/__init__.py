"""Formulas: reading, writing, the 3-SAT form."""
