"""The reduction's entries in the ledger of claims.

Importing this package registers them; see `algorithms.claims`. Every check is
deterministic (its seeds are in it) and takes a few seconds at most.
"""

from importlib import import_module

# In the order of the ledger.
for _name in (
    "formula",
    "optimum",
    "formulation",
    "hardness",
    "multi",
    "run",
    "efficiency",
    "tolerance",
    "erratum",
):
    import_module(f"{__name__}.{_name}_claims")
