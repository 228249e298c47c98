"""Formulations of OLIVE's program over a family, one a file, and their names."""

from typing import Literal

Formulation = Literal["faithful", "strengthened", "projected"]
FORMULATIONS: tuple[Formulation, ...] = ("faithful", "strengthened", "projected")
