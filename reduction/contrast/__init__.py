"""OLIVE's program against the oracles as the formula grows."""
