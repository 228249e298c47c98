"""Each algorithm on small environments: all that a run reports is as recorded."""

from tests.support.commands import olivine
from tests.support.depth import with_rows
from tests.support.recorded import recorded

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


SEEDS = (0, 1)


def key_of(algorithm, params, classes, settings, env, seed) -> str:
    given = [*settings, *SMALL[env].split()]
    return " ".join([algorithm, params, classes, *given, env, str(seed)])


KEYS = [key_of(*case, seed) for case in CASES for seed in SEEDS]


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
