"""OLIVE's program over a family: its formulations, optimum and witness."""
