"""Independent routes to the optimum, and what they prove."""
