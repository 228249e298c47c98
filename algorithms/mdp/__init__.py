"""Finite episodic MDPs, exact in every number, and planning in them."""
