"""The figures that verbs write."""
