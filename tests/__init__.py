"""Tests of the four floors, and what they share in `tests.support`."""
