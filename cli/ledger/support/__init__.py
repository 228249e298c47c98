"""Instances and runs that only claims and their tests need."""
