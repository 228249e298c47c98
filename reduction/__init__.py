"""From 3-SAT to OLIVE's program and back."""
