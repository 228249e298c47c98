"""Runs of the baselines, for their tests."""

from olivine.algorithms.baselines import backup, fqi, practical_parameters, psdp
from olivine.algorithms.baselines.backwards import LevelFit
from olivine.algorithms.baselines.rmax import Batch


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


class Recorder:
    def __init__(self) -> None:
        self.fits, self.batches = [], []

    def __call__(self, event) -> None:
        match event:
            case LevelFit():
                self.fits.append(event)
            case Batch():
                self.batches.append(event)
