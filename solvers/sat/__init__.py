"""SAT, MaxSAT and proofs."""
