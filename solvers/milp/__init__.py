"""Mixed-integer programs: engines by PuLP, their answers confirmed."""
