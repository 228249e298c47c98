"""What the learning algorithms share: parameters, events, monitors, the run.

An algorithm is a package beside this one (CONTRIBUTING.md), named in
`registry.MODULES`.
"""
