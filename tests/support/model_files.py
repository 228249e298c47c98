"""Readers of DRN and PRISM files that share no code with the writers.

They read what the formats' own definitions say of the part that is written and
refuse everything else. A model is a list of states, each a list of choices
(action, reward, {successor: probability}).
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Choice = tuple[str, Fraction, dict[int, Fraction]]
WORD = r"[A-Za-z_][A-Za-z0-9_]*"
NUMBER = r"-?[0-9]+(?:\.0)?(?:/[0-9]+(?:\.0)?)?"


@dataclass
class Model:
    states: list[list[Choice]]
    start: int
    end: int

    def __post_init__(self):
        for choices in self.states:
            for _, _, successors in choices:
                assert sum(successors.values()) == 1
                assert all(0 <= t < len(self.states) for t in successors)
        ((_, reward, successors),) = self.states[self.end]
        assert reward == 0
        assert successors == {self.end: 1}

    def optimal_value(self) -> Fraction:
        """Greatest expected reward until `end`."""

        @cache
        def value(state: int) -> Fraction:
            if state == self.end:
                return Fraction(0)
            return max(
                reward + sum(p * value(t) for t, p in successors.items())
                for _, reward, successors in self.states[state]
            )

        return value(self.start)


def number(text: str) -> Fraction:
    assert re.fullmatch(NUMBER, text), text
    numerator, _, denominator = text.partition("/")
    return Fraction(numerator) / Fraction(denominator or 1)


def read_drn(text: str) -> Model:
    """The DRN format of Storm."""
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    header, model = lines[: lines.index("@model")], lines[lines.index("@model") + 1 :]
    assert header[:6] == [
        "@type: MDP",
        "@parameters",
        "",
        "@reward_models",
        "reward",
        "@nr_states",
    ]
    assert header[7] == "@nr_choices"
    states: list[list[Choice]] = []
    labels: dict[str, list[int]] = {}
    for line in model:
        if found := re.fullmatch(r"state (\d+)((?: \w+)*)", line):
            assert int(found[1]) == len(states)
            for label in found[2].split():
                labels.setdefault(label, []).append(len(states))
            states.append([])
        elif found := re.fullmatch(rf"\taction (\w+) \[({NUMBER})\]", line):
            states[-1].append((found[1], number(found[2]), {}))
        else:
            found = re.fullmatch(rf"\t\t(\d+) : ({NUMBER})", line)
            assert found, line
            successors = states[-1][-1][2]
            assert int(found[1]) not in successors
            successors[int(found[1])] = number(found[2])
    assert int(header[6]) == len(states)
    assert int(header[8]) == sum(map(len, states))
    assert set(labels) == {"init", "end"}
    return Model(states, *labels["init"], *labels["end"])


def read_prism(text: str) -> Model:
    """The part of PRISM's language with one module and one variable."""
    lines = [line.strip() for line in text.splitlines() if line]
    assert lines.pop(0) == "mdp"
    names: dict[str, int] = {}
    while found := re.fullmatch(rf"const int ({WORD}) = (\d+);", lines[0]):
        assert found[1] not in names
        names[found[1]] = int(found[2])
        del lines[0]
    assert lines.pop(0) == "module family"
    found = re.fullmatch(rf"s : \[0\.\.(\d+)\] init ({WORD});", lines.pop(0))
    assert found
    states: list[list[Choice]] = [[] for _ in range(int(found[1]) + 1)]
    start = names[found[2]]
    rewards_from = lines.index("endmodule")
    rewards: dict[tuple[int, str], Fraction] = {}
    assert lines[rewards_from + 1] == 'rewards "reward"'
    for line in lines[rewards_from + 2 : -2]:
        entry = re.fullmatch(rf"\[({WORD})\] s=({WORD}) : ({NUMBER});", line)
        assert entry, line
        key = names[entry[2]], entry[1]
        assert key not in rewards
        rewards[key] = number(entry[3])
    assert lines[-2] == "endrewards"
    label = re.fullmatch(rf'label "end" = s=({WORD});', lines[-1])
    assert label
    for line in lines[:rewards_from]:
        command = re.fullmatch(rf"\[({WORD})?\] s=({WORD}) -> (.*);", line)
        assert command, line
        successors: dict[int, Fraction] = {}
        for part in command[3].split(" + "):
            update = re.fullmatch(rf"({NUMBER}) : \(s'=({WORD})\)", part)
            assert update, part
            assert names[update[2]] not in successors
            successors[names[update[2]]] = number(update[1])
        state, action = names[command[2]], command[1] or ""
        assert action not in [name for name, *_ in states[state]]
        reward = rewards.pop((state, action), Fraction(0))
        states[state].append((action, reward, successors))
    assert not rewards
    return Model(states, start, names[label[1]])
