"""Child processes with limits, and what they leave behind."""
