"""Writing families and programs in the formats of other tools, one a file."""
