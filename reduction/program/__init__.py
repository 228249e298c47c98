"""OLIVE's program over a family: its formulations, optimum and witness."""

from typing import Literal

Formulation = Literal["faithful", "strengthened", "projected"]
FORMULATIONS: tuple[Formulation, ...] = ("faithful", "strengthened", "projected")
