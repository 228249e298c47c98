"""Any process as a Gymnasium environment (extra ``rl``)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ..mdp.tabular import TabularMDP
from .protocol import Environment
from .stepping import MdpStepper, stepper


class ProcessEnv(gymnasium.Env[Any, Any]):
    """A process of this package, played by Gymnasium.

    Codes of a level follow those of the level before, so that an observation tells
    its level; the code after them all says that the episode ended. Features are a box
    without bounds, and 0 at the end.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, process: Environment | TabularMDP) -> None:
        self.process, self._stepper = process, stepper(process)
        self._level = 0
        self.action_space = spaces.Discrete(_actions(process, self._stepper))
        self.observation_space: Any
        if isinstance(process, TabularMDP):
            self._offsets = np.array([0, process.n_states])
        else:
            levels = [process.space(h + 1) for h in range(process.horizon)]
            if not levels[0].is_finite:
                shape = (levels[0].dimension or 0,)
                self.observation_space = spaces.Box(
                    -np.inf, np.inf, shape, dtype=np.float64
                )
                self._end: Any = np.zeros(shape)
                return
            sizes = [level.n_codes or 0 for level in levels]
            self._offsets = np.cumsum([0, *sizes])
        self._end = int(self._offsets[-1])
        self.observation_space = spaces.Discrete(self._end + 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._level = 1
        return self._seen(self._stepper.begin(self.np_random)), {"level": 1}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; the episode ends with the process, it is never cut."""
        if not self._level:
            raise RuntimeError("step: call reset first")
        if not self.action_space.contains(action):
            raise ValueError(f"action: {action!r} is not in {self.action_space}")
        x, reward = self._stepper.step(int(action))
        if x is None:
            self._level = 0
            return self._end, reward, True, False, {}
        self._level += 1
        return self._seen(x), reward, False, False, {"level": self._level}

    def _seen(self, x: Any) -> Any:
        if isinstance(self.observation_space, spaces.Box):
            return x
        single = isinstance(self._stepper, MdpStepper)
        return int(x if single else self._offsets[self._level - 1] + x)


def _actions(process: Environment | TabularMDP, played: Any) -> int:
    if isinstance(played, MdpStepper):
        return int(played.mdp.action_counts.max())
    return int(process.n_actions)
