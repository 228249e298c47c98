"""Exact numbers and weighted data: what every algorithm counts with."""
