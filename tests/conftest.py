"""Settings of every test: Hypothesis without deadlines, its profile; quiet pipes."""

from hypothesis import settings
from olivine.cli import common

settings.register_profile("olivine", deadline=None, print_blob=True)
settings.load_profile("olivine")

# A line that a run goes on would come and go with the load of the machine.
common.FIRST_BEAT = 1e6
