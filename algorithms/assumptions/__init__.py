"""The paper's assumptions on the classes: checked, and classes that satisfy them."""

from algorithms.assumptions.closure import complete_classes

__all__ = ["complete_classes"]
