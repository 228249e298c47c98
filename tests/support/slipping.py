"""A simulator that opens to a code, and may slip."""

import olivine


class SlippingLock:
    """Opens to a code; while `slips`, the last action of every fifth episode fails."""

    code = (1, 0, 1)

    def __init__(self):
        self.slips, self.plays = False, 0

    def reset(self):
        self.plays, self.level, self.open = self.plays + 1, 0, True
        return 1

    def step(self, action):
        slipped = self.slips and self.level == 2 and self.plays % 5 == 0
        self.open = self.open and not slipped and action == self.code[self.level]
        self.level += 1
        return int(self.open), float(self.open and self.level == 3)


def slipping(**more):
    lock = SlippingLock()
    more = {"deterministic": "everything", "state": "observation", **more}
    more = {"n_actions": 2, "horizon": 3, "codes": 2, **more}
    return lock, olivine.from_simulator(lock.reset, lock.step, **more)
