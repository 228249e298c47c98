"""What `from_simulator` costs beside the same calls by hand: at most 1.3 times.

Run from the project's folder: ``python -m benchmarks.simulator``. CPU time of one
core, least of several runs; `--gymnasium` plays FrozenLake, too.
"""

import argparse

import numpy as np
from olivine import from_simulator

from benchmarks.environments import best


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


def compare(name, player, n, horizon, k, repeats, **space):
    env = from_simulator(player.reset, player.step, k, horizon, **space)
    rng = np.random.default_rng(0)
    actions = rng.integers(k, size=(n, horizon))
    hand = best(lambda: by_hand(player, actions, rng), repeats)
    rules = ["uniform"] * horizon
    ours = best(lambda: env.roll_through(rules, 1, n, rng), repeats)
    print(f"{name:<22} {n} episodes of {horizon}: by hand {hand:.3f} s, "
          f"from_simulator {ours:.3f} s, ratio {ours / hand:.2f}")  # fmt: skip
    return ours / hand


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--episodes", type=int, default=5000)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--gymnasium", action="store_true")
    given = options.parse_args()
    n, repeats = given.episodes, given.repeats
    worst = max(
        compare("codes", Lock(10, 0), n, 10, 4, repeats, codes=4),
        compare("13 features", Lock(10, 13), n, 10, 4, repeats, dimension=13),
    )
    if given.gymnasium:
        from olivine import from_gymnasium

        lake = from_gymnasium("FrozenLake-v1", 10, deterministic="nothing").simulator
        found = compare("FrozenLake", lake, n, 10, 4, repeats, codes=17)
        worst = max(worst, found)
    print(f"largest ratio {worst:.2f}, allowed 1.3")


if __name__ == "__main__":
    main()
