"""Settings of every test: Hypothesis without deadlines, and its profile."""

from hypothesis import settings

settings.register_profile("olivine", deadline=None, print_blob=True)
settings.load_profile("olivine")
