"""Each algorithm on small environments: all that a run reports is as recorded."""

import json
from fractions import Fraction
from hashlib import sha256

import numpy as np
from olivine import learn, make

from tests.support.commands import olivine
from tests.support.depth import with_rows
from tests.support.recorded import fields, recorded

SMALL = {
    "tabular": "states=2 actions=2 horizon=2",
    "random-finite": "states=2 actions=2 horizon=3",
    "lock": "horizon=3",
    "lock-gaussian": "horizon=2",
    "diabolical-lock": "horizon=3 actions=3",
    "grid": "",
    "threesat": "",
}
RUNS = """
valor theorem tabular | tabular grid
valor theorem linear resolution=0.5 | lock
valor practical tabular | random-finite
valor practical tabular clip=true repeat_paths=true | random-finite
valor practical finite size=16 | tabular
valor practical linear | lock lock-gaussian
valor frugal tabular | random-finite
valor frugal linear | lock lock-gaussian diabolical-lock
valor frugal finite size=16 n_first=20 | tabular
valor-constrained theorem tabular | tabular
valor-constrained practical finite size=8 | random-finite
valor-constrained practical linear | lock
valor-constrained frugal tabular | tabular
two-sample theorem tabular | tabular
two-sample practical tabular | random-finite
two-sample practical finite complete=policy-value size=32 | tabular
global-policy theorem tabular | tabular
global-policy practical tabular | random-finite
global-policy practical finite size=8 | random-finite lock
lsvee theorem finite | tabular
lsvee practical finite size=16 | random-finite lock lock-gaussian
olive theorem finite size=16 | tabular
olive practical finite size=16 tiebreak=random | random-finite lock-gaussian threesat
olive practical tabular max_rounds=4 n_train=200 n_est=200 n_eval=200 | random-finite
psdp practical tabular | tabular random-finite grid threesat
psdp practical linear | lock lock-gaussian
psdp theorem finite complete=policy size=64 | tabular
fqi practical tabular | tabular random-finite threesat
fqi practical linear | lock lock-gaussian
fqi theorem tabular | random-finite
backup practical tabular | random-finite
backup practical tabular per_action=true | random-finite
backup practical finite complete=policy-value size=64 | tabular
rmax practical - | tabular random-finite lock
rmax theorem - | random-finite
"""
CASES = [
    (algorithm, params, classes, settings, env)
    for line in RUNS.strip().splitlines()
    for what, _, environments in [line.partition(" | ")]
    for algorithm, params, classes, *settings in [what.split()]
    for env in environments.split()
]


OF_EVENTS = [
    (algorithm, params, classes, settings, env)
    for algorithm, params, classes, settings, env in CASES
    if env in ("tabular", "random-finite", "lock")
    if classes != "linear" and (algorithm, classes) != ("olive", "tabular")
]
SEEDS = (0, 1)


def key_of(algorithm, params, classes, settings, env, seed) -> str:
    given = [*settings, *SMALL[env].split()]
    return " ".join([algorithm, params, classes, *given, env, str(seed)])


KEYS = [key_of(*case, seed) for case in CASES for seed in SEEDS]
KEYS += [f"{key_of(*case, 0)} events" for case in OF_EVENTS]


@with_rows("algorithm, params, classes, settings, env", *CASES)
def test_runs(algorithm, params, classes, settings, env) -> None:
    given = [*settings, *SMALL[env].split()]
    options = [x for setting in given for x in ("--set", setting)]
    options += ["--params", params]
    options += [] if classes == "-" else ["--classes", classes]
    for seed in SEEDS:
        done = olivine(
            "learn", algorithm, "--env", env, *options, "--seed", seed, "--json"
        )
        key = key_of(algorithm, params, classes, settings, env, seed)
        recorded("learning", key, {"status": done.status} | {"record": done.record})


def values(texts) -> dict:
    """Values of NAME=VALUE."""
    return {
        k: json.loads(v) if v[0] in "0123456789tf" else v
        for k, _, v in (text.partition("=") for text in texts)
    }


def told(value):
    """What a part of an event tells: numbers, also of arrays; names of the rest."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype.kind in "biu" else value.shape
    plain = value is None or isinstance(value, bool | int | str | Fraction)
    return str(value) if plain else type(value).__name__


@with_rows("algorithm, params, classes, settings, env", *OF_EVENTS)
def test_events(algorithm, params, classes, settings, env) -> None:
    """Number of events of each kind and a digest; where engines choose, they differ."""
    found = {}

    def observe(event) -> None:
        count = found.setdefault(type(event).__name__, [0, sha256()])
        count[0] += 1
        count[1].update(json.dumps(fields(event, told)).encode())

    world = make(env, 0, **values(SMALL[env].split()))
    own = None if classes == "-" else classes
    given = {"parameters": params} | values(settings)
    learn(algorithm, world, own, seed=0, observers=[observe], **given)
    told_of = {k: f"{n} {h.hexdigest()[:8]}" for k, (n, h) in found.items()}
    key = key_of(algorithm, params, classes, settings, env, 0)
    recorded("learning", f"{key} events", {"events": told_of})
