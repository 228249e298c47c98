"""Gymnasium both ways (needs Gymnasium: the extra ``rl``)."""

import warnings

import numpy as np
import olivine
import pytest
from olivine.algorithms.environments import names
from olivine.algorithms.environments.simulator_calls import ReplayError
from olivine.reduction.environments import threesat
from olivine.reduction.family.variants import Variant

from tests.support.depth import with_rows
from tests.support.refusals import refused

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
spaces = gymnasium.spaces

LAKE = {"desc": ["SF", "FG"], "is_slippery": False}
FORMULA = [[1, 2, 3], [-1, 2, -3], [1, -2, 3]]


def rng(seed=0):
    return np.random.default_rng(seed)


def checked(env):
    """Gymnasium's own check; its advice about boxes without bounds aside."""
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*A Box observation space")
        check_env(env.unwrapped, skip_render_check=True)


def lake(horizon=3, **more):
    return olivine.from_gymnasium("FrozenLake-v1", horizon, **{**LAKE, **more})


def test_a_small_frozen_lake_is_solved_at_the_theorems_constants():
    env = lake(state="observation")
    assert olivine.check_environment(env) == ()
    result = olivine.learn("valor", env)
    assert result.succeeded
    assert result.contradictions == []
    assert env.run(result.policies, 1, rng()).mean_return == 1
    assert env.truth.optimal_value == 1


@pytest.mark.long
def test_frozen_lake_is_solved_by_every_algorithm():
    env = olivine.from_gymnasium("FrozenLake-v1", 6, is_slippery=False,
                                 state="observation")  # fmt: skip
    for name in ("valor", "two-sample", "olive", "lsvee", "rmax", "backup"):
        kind = "practical" if name != "valor" else "theorem"
        result = olivine.learn(name, env, parameters=kind)
        assert env.run(result.policies, 1, rng()).mean_return == 1, name


def test_a_slippery_lake_is_found_out_or_played_as_declared():
    with pytest.raises(ValueError, match=r"FrozenLake-v1.*on replay"):
        lake(is_slippery=True).run(
            [lambda x: np.full((len(x), 4), 0.25)] * 3, 99, rng()
        )
    drawn = lake(is_slippery=True, deterministic="nothing")
    assert len(set(drawn.draw(["uniform"] * 3, 200, rng()).observations.tolist())) > 2
    with pytest.raises(ReplayError, match=r"on replay.* the same episode_seed="):
        lake(is_slippery=True, horizon=40, state="observation")
    fixed = lake(is_slippery=True, episode_seed=5)
    assert fixed.draw((0, 1, "uniform"), 10**9, rng()).draws == 10**9


class Own(gymnasium.Env):
    """Two steps; `spoil` says what it does wrong."""

    observation_space = spaces.Dict(
        {"x": spaces.Box(0, 1, (2,)), "d": spaces.Discrete(3)}
    )
    action_space = spaces.Discrete(2, start=-1)

    def __init__(self, spoil=""):
        self.spoil = spoil

    def seen(self):
        noise = np.random.default_rng().random(2) if self.spoil == "seed" else [0, 1]
        return {"x": np.array(noise, dtype=np.float32), "d": self.t % 3}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.seen(), {}

    def step(self, action):
        assert action in (-1, 0)
        self.t += 1
        reward = {"reward": -5.0, "nan": np.nan, "vector": np.array([0.5, 0])}.get(
            self.spoil, 0.5
        )
        seen = self.seen()
        if self.spoil == "hole" and self.t == 1:
            seen["x"][1] = np.nan
        if self.spoil == "old":
            return seen, reward, self.t == 2, {}
        return seen, reward, self.t == 2, False, {}


def test_dictionaries_are_flattened_and_early_ends_stay():
    env = olivine.from_gymnasium(Own(), np.int64(4), states=np.int8(1))
    assert env.space(1).dimension == 6
    end = env.draw((0, 1, 0), 1, rng(), level=4).observations[0]
    assert end.tolist() == [0] * 5 + [1]
    assert env.run([lambda x: np.zeros(len(x), int)] * 4, 3, rng()).mean_return == 1


@with_rows(
    "spoil, more, message",
    ("seed", {}, r"cannot be replayed: after reset\(seed=\d+\) and actions"),
    ("reward", {}, r"step\(.\) after actions \[\] gave reward -5.0.* by reward="),
    ("", {"map_name": "4x4"}, "env is not an id"),
    ("", {"actions": (0, 1)}, r"actions: \(0, 1\) are not some of \[-1, 0\]"),
    ("", {"actions": ()}, "are not some of"),
    ("nan", {}, r"\[\], step\(.\) gave reward nan; expected a finite"),
    ("vector", {}, r"gave reward array.* one number; give `reward`, a function"),
    ("hole", {}, r"step\(.\) gave observation .*nan.*; expected finite"),
    ("old", {}, r"step\(.\) gave tuple of 4; expected a tuple of 5, .* wrap"),
    ("", {"after_end": 2}, r"after_end: 2 is not in \[0, 1\]"),
    ("", {"after_end": (0, 1)}, r"after_end: \(0, 1\) is not in"),
    ("", {"replays": 0}, "replays: 0 is no positive integer"),
    ("", {"replays": 10**9}, "replays: 1000000000 is not in 1"),
    ("", {"episode_seed": -1}, "episode_seed: -1 is no integer of at least 0"),
    ("", {"reward": lambda r: 1 // 0}, r"reward\(.*\) raised ZeroDivisionError"),
)
def test_what_does_not_fit_is_refused(spoil, more, message):
    refused(message, olivine.from_gymnasium, Own(spoil), 2, **more)


def test_spaces_that_do_not_fit_are_refused():
    env = Own()
    env.action_space = spaces.Box(0, 1, (1,))
    refused("only Discrete has finitely many", olivine.from_gymnasium, env, 2)
    env = Own()
    env.observation_space = spaces.Sequence(spaces.Discrete(2))
    refused("space, a Sequence, has no vector of fixed", olivine.from_gymnasium, env, 2)


@pytest.mark.parametrize("seen", [np.nan, "two", {"at": 0}, None])
def test_an_observation_outside_its_space_is_named(seen):
    env = Walk()
    env.step = lambda action: (seen, 0.1, False, False, {})
    message = r"step\(.\) gave observation .* one of the observation space, Discrete"
    refused(message, olivine.from_gymnasium, env, 3)


class Old:
    """Gym before 0.26."""

    action_space, observation_space = spaces.Discrete(2), spaces.Discrete(3)

    def reset(self):
        return 0

    def step(self, action):
        return 0, 0.0, False, {}


class OldSeeds(Old):
    def reset(self, **options):
        return 0


def test_what_does_not_fit_gymnasium_is_named_with_its_part():
    refused(r"env: object is no .* lacks action_s", olivine.from_gymnasium, object(), 3)
    refused(r"Old\.reset takes no seed, .* wrap", olivine.from_gymnasium, Old(), 3)
    with pytest.raises(ValueError, match=r"OldSeeds: reset\(seed=\d+\) gave int"):
        olivine.from_gymnasium(OldSeeds(), 3)
    env = Own()
    env.observation_space = spaces.Dict({"image": spaces.Box(0, 1, (2,)),
                                         "more": spaces.Dict({"mission": Mission()})
                                         })  # fmt: skip
    message = "part 'more.mission' of the observation space, a Mission, .*ImgObsWrapper"
    refused(message, olivine.from_gymnasium, env, 2)


class Mission(spaces.Space):
    """As MiniGrid's: it cannot say whether it flattens."""

    @property
    def is_np_flattenable(self):
        raise NotImplementedError


class Walk(gymnasium.Env):
    """One step of cost 1 to the goal by action 1; action 0 costs 1 and stays."""

    action_space, observation_space = spaces.Discrete(2), spaces.Discrete(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, -1.0, bool(action == 1), False, {}


def walk(**more):
    return olivine.from_gymnasium(Walk(), 4, state="observation", **more)


def test_rewards_are_mapped_and_ended_episodes_pay_what_zero_becomes():
    env = olivine.from_gymnasium(Own("reward"), 2, reward=lambda r: (r + 5.25) / 4)
    assert env.run([lambda x: np.zeros(len(x), int)] * 2, 3, rng()).mean_return == 1 / 8
    mapped = walk(reward=lambda r: (r + 1) / 4)
    assert mapped.truth.optimal_value == 0.75  # one step of cost 1, not four
    assert mapped.truth.path_value((1,)) == 0.75
    result = olivine.learn("rmax", mapped, parameters="practical", n=10)
    assert result.policies[0](np.array([0])).tolist() == [1]
    assert walk(reward=lambda r: (r + 2) / 4, after_end=0).truth.optimal_value == 1
    refused(r"ended early, and reward\(0.0\) gave 2.0", walk, reward=lambda r: r + 2)
    with pytest.raises(ValueError, match=r"0\.0\) raised Zero.* unless `after_end` is"):
        walk(reward=lambda r: 1 / r + 1)


@pytest.mark.parametrize("name", [*names(), "threesat"])
def test_each_process_passes_gymnasiums_check(name):

    from olivine.rl import register_envs

    register_envs()  # the import did it; again is no harm
    checked(gymnasium.make(f"olivine/{name}-v0", process_seed=1))


@pytest.mark.parametrize("variant", [v.value for v in Variant])
def test_members_of_each_variant_pass_gymnasiums_check(variant):
    env = gymnasium.make("olivine.rl:olivine/family-v0", formula=FORMULA,
                         variant=variant, member=[0, 1, 1])  # fmt: skip
    checked(env)
    assert gymnasium.make("olivine/family-v0", formula=FORMULA).action_space.n == 7


def test_there_and_back_is_the_same_process():
    env = olivine.make("tabular", 3, support=1, denominator=8)
    back = olivine.from_gymnasium(olivine.to_gymnasium(env), env.horizon)
    assert back.n_actions == env.n_actions
    here = olivine.from_gymnasium(
        olivine.to_gymnasium(env), env.horizon, state="observation"
    )
    assert here.truth.optimal_value == env.truth.optimal_value


def test_a_simulator_and_a_drawn_process_become_gymnasium_environments():
    checked(olivine.to_gymnasium(lake()))
    played = olivine.to_gymnasium(threesat(rng()))
    x, _ = played.reset(seed=1)
    again, _ = played.reset(seed=1)
    assert x == again
    over, steps = False, 0
    while not over:
        x, reward, over, cut, _ = played.step(0)
        steps += 1
        assert 0 <= reward <= 1
        assert not cut
    assert steps == 3
    refused("call reset first", played.step, 0, error=RuntimeError)
    played.reset()
    refused("action: 99 is not in", played.step, 99)


def test_what_can_only_be_sampled_is_refused():
    from tests.support.recording import recording

    with pytest.raises(ValueError, match="cannot be played step by step"):
        olivine.to_gymnasium(recording(olivine.make("tabular", 0)))


def shown(env, actions=(), seed=1):
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    return env.render()


def test_a_line_says_where_an_episode_is():
    env = gymnasium.make("olivine.rl:olivine/family-v0", formula=FORMULA,
                         member=[0, 1, 1], render_mode="ansi")  # fmt: skip
    assert shown(env) == "level 1: s0, return so far 0"
    assert shown(env, [0]).startswith("level 2: ")
    assert "after action 0, return so far" in shown(env, [0])
    assert shown(env, [0] * 3).startswith("ended after action 0, return so far")
    lock = gymnasium.make("olivine/lock-v0", horizon=2, render_mode="ansi")
    assert shown(lock, [1]).startswith("level 2: observation [")
    pays = olivine.from_simulator(lambda: 0, lambda a: (0, a / 8), 4, 2, codes=1)
    twice = olivine.to_gymnasium(pays, "ansi")
    assert shown(twice, [1, 3]) == "ended after action 3, return so far 0.5"
    plain = olivine.to_gymnasium(olivine.make("tabular", 0), "ansi")
    assert plain.render() == "not begun, return so far 0"
    assert shown(plain, [1]).startswith("level 2: observation ")


def test_a_picture_marks_the_state():
    env = gymnasium.make("olivine/family-v0", formula=FORMULA, member=[0, 1, 1],
                         render_mode="rgb_array")  # fmt: skip
    first, second = shown(env), shown(env, [0])
    assert first.dtype == np.uint8
    assert first.shape == second.shape
    assert first.shape[2] == 3
    strong = np.array([0xC2, 0x41, 0x0C])

    def centre(picture):
        rows, columns = np.nonzero((picture == strong).all(axis=2))
        assert len(rows) > 100  # a box
        return columns.mean() / picture.shape[1], rows.mean() / picture.shape[0]

    (x, _), (u, _) = centre(first), centre(second)
    assert x < 1 / 3 < u < 2 / 3  # level 1, then level 2 of three
    grid = olivine.to_gymnasium(olivine.make("tabular", 0, horizon=2), "rgb_array")
    assert centre(shown(grid, [0]))[0] > 1 / 2
    assert not (shown(grid, [0, 0]) == strong).all(axis=2).any()  # it ended


def test_a_picture_that_there_is_not_is_refused():
    for mode, message in (
        (None, "render: give render_mode='ansi' or 'rgb_array' when it is made"),
        ("rgb_array", "features, of which there is no picture; take render_mode='ans"),
    ):
        env = olivine.to_gymnasium(olivine.make("lock", 0, horizon=2), mode)
        refused(message, shown, env)
    many = olivine.from_simulator(lambda: 0, lambda a: (0, 0), 2, 2, codes=300)
    with pytest.raises(ValueError, match="600 states, and a picture is of at"):
        shown(olivine.to_gymnasium(many, "rgb_array"))
    with pytest.raises(ValueError, match="render_mode: 'human' is none of ansi, rgb_a"):
        olivine.to_gymnasium(many, "human")
