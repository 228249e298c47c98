"""Engines: SAT, MaxSAT, LP, MILP and proof checking. This floor knows no MDP."""
