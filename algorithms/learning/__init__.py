"""What the learning algorithms share: parameters, events, monitors, the run.

An algorithm is a package beside this one, with four files and one declaration:
``parameters`` (a class as in `parameters`), ``algorithm`` (takes environment, classes,
parameters and generator, and tells observers events), ``review`` (its claims) and
``__init__``, whose ``ALGORITHMS`` declare it (`tasks.declare`). `registry.MODULES`
names the package.
"""
