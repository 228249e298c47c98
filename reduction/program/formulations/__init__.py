"""Formulations of OLIVE's program over a family, one a file."""
