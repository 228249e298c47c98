"""Any process one step at a time: what Gymnasium and a person at a prompt need."""

from typing import Any, Protocol

import numpy as np

from ..mdp.tabular import TabularMDP
from .finite import OverModel
from .finite_model import pick
from .latent import Emission, LatentEnvironment
from .protocol import Environment
from .simulator import SimulatorEnvironment
from .simulator_calls import SEEDS


class Stepper(Protocol):
    """A process that is played one action at a time."""

    def begin(self, rng: np.random.Generator) -> Any:
        """Begin an episode: x_1, a code of its level or features (d,)."""

    def step(self, action: int) -> tuple[Any, float]:
        """Take an action: the next observation, None where it ended, and a reward."""


class ModelStepper:
    """Steps through the hidden model of a built-in environment."""

    def __init__(self, environment: OverModel) -> None:
        self._model = environment._model
        self._emission: Emission | None = None
        if isinstance(environment, LatentEnvironment):
            self._emission = environment._emission

    def begin(self, rng: np.random.Generator) -> Any:
        """Draw the first hidden state and what it emits."""
        self._rng, self._level = rng, 1
        self._state = pick(self._model.start[None], rng)
        return self._emit()

    def _emit(self) -> Any:
        level = self._model.level(self._level)
        if self._emission is not None:
            self._code = self._state
            return self._emission(self._level, self._state, self._rng)[0]
        self._code = pick(level.emissions[self._state], self._rng)
        return int(self._code[0])

    def step(self, action: int) -> tuple[Any, float]:
        """Draw reward and next state."""
        level = self._model.level(self._level)
        units = level.draw_units(self._code, np.array([action]), self._rng)
        reward = int(units[0]) / self._model.unit
        self._level += 1
        if self._level > self._model.horizon:
            return None, reward
        self._state = pick(level.transitions[self._state, action], self._rng)
        return self._emit(), reward


class MdpStepper:
    """Steps through a tabular MDP, layered or not; observations are its states."""

    def __init__(self, mdp: TabularMDP) -> None:
        self.mdp = mdp.padded()

    def begin(self, rng: np.random.Generator) -> int:
        """Begin at the start."""
        self._rng, self._state = rng, self.mdp.start
        return self._state

    def step(self, action: int) -> tuple[int | None, float]:
        """Draw the next state."""
        mdp = self.mdp
        chosen = int(mdp.action_offset[self._state]) + action
        reward = float(mdp.reward(chosen))
        ahead = slice(*mdp.transition_offset[chosen : chosen + 2].tolist())
        targets = mdp.transition_target[ahead]
        if not len(targets):
            return None, reward
        weights = mdp.transition_numerator[ahead]
        self._state = int(targets[pick(weights[None], self._rng)[0]])
        return self._state, reward


class SimulatorStepper:
    """Steps through a simulator, whose returns are checked."""

    def __init__(self, environment: SimulatorEnvironment) -> None:
        self._simulator = environment.simulator

    def begin(self, rng: np.random.Generator) -> Any:
        """Reset, with a seed where it takes one."""
        sim, self._level = self._simulator, 1
        x = sim.reset(int(rng.integers(SEEDS))) if sim.takes_seed else sim.reset()
        return sim.observation(1, x, "reset")

    def step(self, action: int) -> tuple[Any, float]:
        """Step."""
        sim, call = self._simulator, f"step({action}) at level {self._level}"
        x, reward = sim.unpack(sim.step(action), self._level, call)
        paid = float(sim.reward(reward, call))
        self._level += 1
        if self._level > sim.horizon:
            return None, paid
        return sim.observation(self._level, x, call), paid


def stepper(process: Environment | TabularMDP) -> Stepper:
    """Make a stepper; ValueError for an environment that can only be sampled."""
    if isinstance(process, TabularMDP):
        return MdpStepper(process)
    if isinstance(process, SimulatorEnvironment):
        return SimulatorStepper(process)
    if isinstance(process, OverModel):
        return ModelStepper(process)
    raise ValueError(
        f"process: {type(process).__name__} cannot be played step by step; it is "
        "neither a built-in environment, nor of from_simulator, nor a TabularMDP"
    )
