"""The constants of each algorithm, and what is derived from them, are as recorded.

Sizes of a problem are such that a product differs from a sum, and a maximum from each
of its parts; of the fields of a practical choice all are taken by default.
"""

import dataclasses
import inspect
from fractions import Fraction

from olivine.algorithms.baselines import backwards
from olivine.algorithms.baselines.rmax import rmax_practical, rmax_theorem
from olivine.algorithms.global_policy import parameters as global_policy
from olivine.algorithms.learning.parameters import Declared, ProblemSize
from olivine.algorithms.lsvee import parameters as lsvee
from olivine.algorithms.olive import parameters as olive
from olivine.algorithms.two_sample import parameters as two_sample
from olivine.algorithms.valor import parameters as valor

from tests.support.depth import with_rows
from tests.support.recorded import recorded

SIZES = [
    (Fraction(3, 10), Fraction(1, 10), 2, 3, 4),
    (Fraction(1, 50), Fraction(1, 1000), 5, 2, 7),
    (Fraction(9, 10), Fraction(1, 2), 1, 1, 1),
    (Fraction(1, 2), Fraction(1, 5), 3, 4, 2),
]
"""ε, δ, M, K, H."""
LOGS = 5.5, 2.25
CHOICES = [
    {},
    {"n_train": 7, "slack": Fraction(1, 5)},
    {"n_exp": 3, "n_eval": 5, "max_iterations": 2},
]


def theorems():
    """Each class with constants of a theorem, under its name and version."""
    for made in (
        valor.TheoremParameters,
        two_sample.TwoSampleTheoremParameters,
        global_policy.GlobalPolicyTheoremParameters,
    ):
        for algorithm in made.algorithms:
            for version in ("theorem", "paper"):
                yield (
                    f"{algorithm} {version}",
                    lambda *sizes, m=made, a=algorithm, v=version: m(
                        *sizes, *LOGS, algorithm=a, version=v
                    ),
                )
    yield "lsvee theorem", lambda *sizes: lsvee.LsveeTheorem(*sizes, N=40)
    for algorithm in backwards.BATCH:
        yield (
            f"{algorithm} theorem",
            lambda eps, delta, m, k, h, a=algorithm: backwards.theorem_parameters(
                a, eps, delta, M=m, K=k, H=h, log_G=LOGS[0], log_Pi=LOGS[1]
            ),
        )
    yield (
        "rmax theorem",
        lambda eps, delta, m, k, h: rmax_theorem(eps, delta, X=m, K=k, H=h),
    )
    yield (
        "olive theorem",
        lambda eps, delta, m, k, h: olive.theorem_parameters(
            float(eps), float(delta), horizon=h, n_actions=k, rank=m, log_size=LOGS[0]
        ),
    )


def practical():
    """Each class of free constants, with few of them chosen."""
    for made in (
        valor.PracticalParameters,
        valor.FrugalParameters,
        two_sample.TwoSamplePracticalParameters,
        global_policy.GlobalPolicyPracticalParameters,
    ):
        for choice in CHOICES:
            known = {field.name for field in dataclasses.fields(made)}
            chosen = {k: v for k, v in choice.items() if k in known}
            yield (
                f"{made.__name__} {sorted(chosen)}",
                lambda *sizes, m=made, c=chosen: m(*sizes, **c),
            )
    for chosen in ({}, {"n_test": 30, "tolerance": Fraction(1, 7), "slack": 0}):
        yield (
            f"lsvee practical {sorted(chosen)}",
            lambda *sizes, c=chosen: lsvee.LsveePractical(*sizes, N=40, **c),
        )
    for algorithm in backwards.BATCH:
        yield (
            f"{algorithm} practical",
            lambda eps, delta, m, k, h, a=algorithm: backwards.practical_parameters(
                a, eps, delta, M=m, K=k, H=h
            ),
        )
    for choice in ("on_policy", "per_action"):
        yield (
            f"backup practical {choice}",
            lambda eps, delta, m, k, h, c=choice: backwards.practical_parameters(
                "backup", eps, delta, M=m, K=k, H=h, **{c: True}
            ),
        )
    for chosen in ({}, {"m": 3, "n": 17, "max_batches": 4}):
        yield (
            f"rmax practical {sorted(chosen)}",
            lambda eps, delta, m, k, h, c=chosen: rmax_practical(
                eps, delta, X=m, K=k, H=h, **c
            ),
        )
    for chosen in ({}, {"tolerance": Fraction(1, 9), "n_eval": 11}):
        yield (
            f"olive practical {sorted(chosen)}",
            lambda eps, delta, m, k, h, c=chosen: olive.practical_parameters(
                float(eps), horizon=h, n_actions=k, rank=m, **c
            ),
        )


def number(value):
    """Fractions as floats: some are sizes that a logarithm was rounded to."""
    if dataclasses.is_dataclass(value):
        return {
            f.name: number(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
    return float(value) if isinstance(value, Fraction) else value


def told(parameters: Declared, horizon: int) -> dict:
    """Fields, what follows from them, and what they give at each level."""
    found = {
        f.name: getattr(parameters, f.name) for f in dataclasses.fields(parameters)
    }
    for name, member in inspect.getmembers(type(parameters)):
        if isinstance(member, property):
            found[name] = getattr(parameters, name)
        elif (
            inspect.isfunction(member)
            and "level" in inspect.signature(member).parameters
        ):
            at = range(horizon + 2)
            found[name] = [attempt(getattr(parameters, name), h) for h in at]
    found["json"] = parameters.to_json()
    return {k: v if isinstance(v, list) else number(v) for k, v in found.items()}


def attempt(function, *arguments):
    """What a function gives, or why it does not."""
    try:
        return number(function(*arguments))
    except ValueError as error:
        return str(error)


CASES = [*theorems(), *practical()]


@with_rows("name, make", *CASES)
def test_constants(name, make) -> None:
    found = {
        f"{sizes}": attempt(lambda of=sizes: told(make(*of), of[-1])) for sizes in SIZES
    }
    recorded("constants", name, found)


def test_methods_of_more_than_a_level() -> None:
    """A frugal test's looks and fresh draws, OLIVE's rounds, a problem's refusals."""
    frugal = valor.FrugalParameters(*SIZES[0])
    wrong = [
        {"eps": 1},
        {"delta": 0},
        {"M": 0},
        {"K": 0},
        {"H": 1.5},
        {"log_values": -1.0},
        {"log_policies": float("inf")},
        {"version": "printed"},
    ]
    names = [field.name for field in dataclasses.fields(ProblemSize)]
    right = dict(zip(names, ("valor", *SIZES[0], 0.0, 0.0, "theorem"), strict=True))
    found = {
        "fresh": [frugal.fresh(v) for v in (0.0, 0.25, 1.0)],
        "consensus": [number(frugal.consensus(h, s)) for h in (1, 4) for s in (1, 2)],
        "rounds": olive.rounds_of_a_level(0.25, horizon=3, rank=2),
        "rounds of a norm": olive.rounds_of_a_level(
            0.25, horizon=3, rank=2, norm_bound=9.0
        ),
        "olive": [
            olive.practical_parameters(
                0.25, horizon=3, n_actions=2, rank=2, max_rounds=rounds
            ).trajectory_bound(3)
            for rounds in (None, 0, 5)
        ],
        "tabular": olive.tabular_log_size(5, 3),
        "refused": [attempt(lambda c=c: ProblemSize(**right | c).n_exp) for c in wrong],
    }
    recorded("constants", "more", found)
