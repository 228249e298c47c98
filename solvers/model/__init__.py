"""Models in exact rationals, and LP and MPS files of them."""
