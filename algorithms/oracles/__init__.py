"""Optimisation oracles over function classes: CSC, LS, LP, and what counts them."""
