"""MDPs, function classes, oracles, and the algorithms that run on them."""
