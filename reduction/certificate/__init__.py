"""Certificates of the optimum, and their independent checker."""
