"""Runs of the baselines, for their tests."""

from olivine.algorithms.baselines import backup, fqi, practical_parameters, psdp
from olivine.algorithms.baselines.observing import BaselineObserver


def run(name, env, values, policies, parameters, rng, observers=()):
    """Any of the three that make one pass."""
    if name == "psdp":
        return psdp(env, policies, parameters, rng, observers=observers)
    if name == "fqi":
        return fqi(env, values, parameters, rng, observers=observers)
    return backup(env, values, policies, parameters, rng, observers=observers)


def practical(name, env, **chosen):
    return practical_parameters(
        name, 0.3, 0.1, M=env.max_states, K=env.n_actions, H=env.horizon, **chosen
    )


class Recorder(BaselineObserver):
    def __init__(self) -> None:
        self.fits, self.batches = [], []

    def fitted(self, fit) -> None:
        self.fits.append(fit)

    def played(self, batch) -> None:
        self.batches.append(batch)
