"""The door: the command line and its reports."""

__version__ = "0.1.0"
