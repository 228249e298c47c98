"""Runs of OLIVE on members of a family."""
