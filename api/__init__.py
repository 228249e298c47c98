"""A formal-complexity toolkit around one result about OLIVE."""

__version__ = "0.1.0"
