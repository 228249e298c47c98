"""Any process one step at a time, and as a Gymnasium environment (extra ``rl``)."""

from collections.abc import Sequence
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

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


_Place = tuple[int, int]  # Column and row

MOST_DRAWN = 500  # Most states of a picture

_FAINT, _STRONG = "#9aa3ad", "#c2410c"


class ProcessEnv(gymnasium.Env[Any, Any]):
    """A process of this package, played by Gymnasium.

    Codes of a level follow those of the level before, and one after all says that the
    episode ended. Features are a box without bounds, and 0 at the end.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 2,
    }

    def __init__(
        self, process: Environment | TabularMDP, render_mode: str | None = None
    ) -> None:
        modes = self.metadata["render_modes"]
        if render_mode not in (None, *modes):
            raise ValueError(
                f"render_mode: {render_mode!r} is none of {', '.join(modes)}"
            )
        self.process, self._stepper = process, stepper(process)
        self.render_mode = render_mode
        self._level, self._gained = 0, 0.0
        self._here: Any = None
        self._last: int | None = None
        self.observation_space: Any
        if isinstance(process, TabularMDP):
            self.action_space = spaces.Discrete(int(process.action_counts.max()))
            self._offsets = np.array([0, process.n_states])
        else:
            self.action_space = spaces.Discrete(process.n_actions)
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
        self._level, self._gained, self._last = 1, 0.0, None
        self._here = self._stepper.begin(self.np_random)
        return self._seen(self._here), {"level": 1}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action; the episode ends with the process, it is never cut."""
        if not self._level:
            raise RuntimeError("step: call reset first")
        if not self.action_space.contains(action):
            raise ValueError(f"action: {action!r} is not in {self.action_space}")
        x, reward = self._stepper.step(int(action))
        self._here, self._last, self._gained = x, int(action), self._gained + reward
        if x is None:
            self._level = 0
            return self._end, reward, True, False, {}
        self._level += 1
        return self._seen(x), reward, False, False, {"level": self._level}

    def render(self) -> Any:
        """Show where the episode is: a line, or a picture of the level (uint8)."""
        if self.render_mode is None:
            modes = " or ".join(map(repr, self.metadata["render_modes"]))
            raise ValueError(f"render: give render_mode={modes} when it is made")
        return self._line() if self.render_mode == "ansi" else self._picture()

    def _line(self) -> str:
        gained = f"return so far {self._gained:g}"
        taken = "" if self._last is None else f"after action {self._last}, "
        if self._here is None:
            return f"{'ended ' + taken if taken else 'not begun, '}{gained}"
        return f"level {self._level}: {self._name()}, {taken}{gained}"

    def _name(self) -> str:
        if isinstance(self._stepper, MdpStepper):
            return str(self._stepper.mdp.state_names[self._here])
        return f"observation {np.array2string(np.asarray(self._here), precision=3)}"

    def _picture(self) -> Any:
        if isinstance(self._stepper, MdpStepper):
            return picture_of_mdp(self._stepper.mdp, self._here)
        if isinstance(self.observation_space, spaces.Box):
            raise ValueError(
                "render: observations are features, of which there is no picture; take "
                "render_mode='ansi'"
            )
        columns = [
            [str(x) for x in range(size)] for size in np.diff(self._offsets).tolist()
        ]
        marked = None if self._here is None else (self._level - 1, self._here)
        return picture(columns, [], marked)

    def _seen(self, x: Any) -> Any:
        if isinstance(self.observation_space, spaces.Box):
            return x
        single = isinstance(self._stepper, MdpStepper)
        return int(x if single else self._offsets[self._level - 1] + x)


def picture_of_mdp(mdp: TabularMDP, state: int | None) -> NDArray[np.uint8]:
    """Draw the states of an MDP by level, their moves, and the current state."""
    levels = mdp.state_level.tolist()
    columns: list[list[str]] = [[] for _ in range(max(levels))]
    places = []
    for name, level in zip(mdp.state_names, levels, strict=True):
        places.append((level - 1, len(columns[level - 1])))
        columns[level - 1].append(name)
    moves = {
        (places[s], places[target])
        for s in range(mdp.n_states)
        for action in mdp.actions(s)
        for target, _ in mdp.successors(action)
    }
    return picture(columns, sorted(moves), None if state is None else places[state])


def picture(
    columns: Sequence[Sequence[str]],
    moves: Sequence[tuple[_Place, _Place]],
    marked: _Place | None,
) -> NDArray[np.uint8]:
    """Draw names in columns, lines between their places, and one place marked."""
    if sum(map(len, columns)) > MOST_DRAWN:
        raise ValueError(
            f"render: {sum(map(len, columns))} states, and a picture is of at most "
            f"{MOST_DRAWN}; take render_mode='ansi'"
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tallest = max(map(len, columns))
    figure = Figure(figsize=(1.6 * len(columns) + 0.6, 0.45 * tallest + 0.8), dpi=100)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()

    def at(place: _Place) -> tuple[float, float]:
        column, row = place
        return column, (len(columns[column]) - 1) / 2 - row

    for one, two in moves:
        (x, y), (u, v) = at(one), at(two)
        axes.plot([x, u], [y, v], color=_FAINT, linewidth=0.6, zorder=1)
    for column, names in enumerate(columns):
        for row, name in enumerate(names):
            here = (column, row) == marked
            style = {"boxstyle": "round", "linewidth": 0.8, "edgecolor": _FAINT}
            style |= {"facecolor": _STRONG if here else "white"}
            colour = "white" if here else "black"
            axes.text(*at((column, row)), name, ha="center", va="center", fontsize=8,
                      color=colour, bbox=style, zorder=2)  # fmt: skip
    axes.set_xlim(-0.6, len(columns) - 0.4)
    axes.set_ylim(-tallest / 2 - 0.4, tallest / 2 + 0.4)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[:, :, :3]
