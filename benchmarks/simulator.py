"""What `from_simulator` costs beside the same calls by hand: at most 1.3 times.

FrozenLake is played too where Gymnasium is installed.

    python -m benchmarks simulator
"""

import importlib.util

import numpy as np
from olivine import from_gymnasium, from_simulator

from benchmarks.figures import Figure, in_turns


class Lock:
    """A combination lock whose observations are noisy features or codes."""

    def __init__(self, horizon, dimension):
        self.horizon, self.dimension = horizon, dimension
        self.secret = np.random.default_rng(0).integers(4, size=horizon).tolist()

    def seen(self):
        if not self.dimension:
            return 2 * self.alive + int(self.rng.random() < 0.5)
        x = self.rng.standard_normal(self.dimension)
        x[0] += self.alive
        return x

    def reset(self, seed):
        self.rng, self.level, self.alive = np.random.default_rng(seed), 0, True
        return self.seen()

    def step(self, action):
        self.alive = self.alive and action == self.secret[self.level]
        self.level += 1
        return self.seen(), float(self.alive and self.level == self.horizon)


def by_hand(lock, actions, rng):
    """Whole episodes of given actions: first observation and return of each."""
    seen, returns = [], []
    for row in actions.tolist():
        seen.append(lock.reset(int(rng.integers(2**31))))
        total = 0.0
        for action in row:
            _, reward = lock.step(action)
            total += reward
        returns.append(total)
    return np.array(seen), np.array(returns)


def compare(name, player, n, repeats, **space):
    """Play n episodes of ten steps with four actions both ways."""
    env = from_simulator(player.reset, player.step, 4, 10, **space)
    rng = np.random.default_rng(0)
    actions = rng.integers(4, size=(n, 10))
    turns = in_turns(
        lambda: env.draw(["uniform"] * 10, n, rng, level=1),
        lambda: by_hand(player, actions, rng),
        repeats,
    )
    note = f"{n} episodes of 10, by hand {turns.second:.2f} s"
    return Figure(f"simulator / by hand, {name}", turns.ratio, "ratio", 1.3, note)


def figures(full):
    """Measure; more episodes and runs when full."""
    n, repeats = (5000, 5) if full else (2000, 3)
    yield compare("codes", Lock(10, 0), n, repeats, codes=4)
    yield compare("13 features", Lock(10, 13), n, repeats, dimension=13)
    if importlib.util.find_spec("gymnasium"):
        lake = from_gymnasium("FrozenLake-v1", 10, deterministic="nothing").simulator
        yield compare("FrozenLake", lake, n, repeats, codes=17)
