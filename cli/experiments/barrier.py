"""What ``olivine barrier`` finds out: JSON values, rationals as text; and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.assumptions import check_assumptions
from ...algorithms.barriers.average import AverageBarrier, run_all
from ...algorithms.barriers.backup import (
    TIES,
    VALOR_KINDS,
    BackupBarrier,
    clopper_pearson,
    failure_probability,
    run_valor,
    simulate,
)
from ...algorithms.barriers.square_loss import ALWAYS_B, SquareLossBarrier
from ...algorithms.exact.arrays import check_count
from ...algorithms.learning.registry import suggestion
from ..common.output import print_table, tell

if TYPE_CHECKING:
    from ...algorithms.barriers.backup import Simulated, Ties


CONFIDENCE = 0.95
BEYOND_DOUBT = 1 - 1e-9  # where a share of simulations contradicts the exact one
MOST_RUNS = 100_000


def check_runs(runs: int) -> None:
    """Refuse a number of runs that would take days."""
    check_count("--runs", runs)
    if runs > MOST_RUNS:
        raise ValueError(f"--runs: {runs} is not in 1..{MOST_RUNS}")


def average(*, seed: int, contexts: int = 8) -> dict[str, Any]:
    """Run the barrier of average constraints."""
    barrier = AverageBarrier(contexts)
    found = run_all(barrier, np.random.default_rng(seed))
    contradictions = []
    if found["average constraints"].value != Fraction(1, 2):
        contradictions.append("average: exploration did not stop at 1/2")
    best = barrier.environment().truth.optimal_value
    return {
        "contexts": contexts,
        "balanced_policies": barrier.n_balanced,
        "policies": 2**contexts,
        "optimal_value": str(best),
        "algorithms": {
            name: {
                "value": str(run.value),
                "promised": str(run.promised),
                "rounds": run.rounds,
                "trajectories": run.trajectories,
                "calls": run.calls,
            }
            for name, run in found.items()
        },
        "contradictions": contradictions,
    }


def square_loss(
    *,
    seed: int,
    epsilon: Fraction = Fraction(1, 16),
    samples: Sequence[int] = (100, 10**4, 10**6, 10**8),
    runs: int = 200,
) -> dict[str, Any]:
    """Compute the square-loss barrier, and sample it where floats allow."""
    barrier = SquareLossBarrier(epsilon)
    check_runs(runs)
    for n in samples:
        barrier.bad_fits_better(n)  # refuses what is out of range
    functions = {
        name: {
            "values": [str(v) for v in g],
            "square_loss": str(barrier.square_loss(g, ALWAYS_B)),
            "bias": str(barrier.bias(g)),
            "bias_float": float(barrier.bias(g)),
        }
        for name, g in barrier.functions.items()
    }
    losses = [barrier.square_loss(g, ALWAYS_B) for g in barrier.functions.values()]
    contradictions = []
    if losses != [0, epsilon, epsilon]:
        contradictions.append(f"square-loss: the losses are {losses}")
    rows, reason = _fits(barrier, samples, runs, seed, contradictions)
    return {
        "epsilon": str(epsilon),
        "optimal_value": str(barrier.value((0, 0))),
        "value": str(barrier.value(ALWAYS_B)),
        "functions": functions,
        "rows": rows,
        "not_sampled": reason,
        "contradictions": contradictions,
    }


def _fits(
    barrier: Any,
    samples: Sequence[int],
    runs: int,
    seed: int,
    contradictions: list[str],
) -> tuple[list[dict[str, Any]], str]:
    """How often the LS oracle prefers g_bad to g*; or why it was not asked."""
    reason = barrier.why_not_sampled
    if reason:
        return [], reason
    rows = []
    for n in samples:
        rng = np.random.default_rng([seed, n])
        bad = barrier.count_bad_fits(n, runs, rng)
        chance = barrier.bad_fits_better(n)
        interval = [round(v, 6) for v in clopper_pearson(bad, runs, CONFIDENCE)]
        low, high = clopper_pearson(bad, runs, BEYOND_DOUBT)
        if not low - 1e-9 <= chance <= high + 1e-9:
            contradictions.append(
                f"square-loss, n = {n}: g_bad fitted better in {bad} of {runs} data "
                f"sets, where the probability is {chance}"
            )
        facts = {"n": n, "probability": chance, "runs": runs, "bad_fits": bad}
        rows.append(facts | {"interval": interval})
    return rows, ""


# Numbers of samples by default, as multiples of the theorem's limit.
MULTIPLES = (Fraction(1, 8), Fraction(1, 2), Fraction(1), Fraction(4), Fraction(16))

LEAST_EPSILON = Fraction(1, 2**12)  # below, VALOR's theorem would take minutes
# Lengths of chains at which VALOR is run for the figure.
HORIZONS = (1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48)


def backup(
    *,
    seed: int,
    horizon: Sequence[int] = (3, 6),
    epsilon: Fraction = Fraction(1, 4),
    ratio: Fraction = Fraction(2),
    ties: str = "against",
    samples: Sequence[int] = (),
    runs: int = 40,
    figure: bool = False,
) -> dict[str, Any]:
    """Run the backup barrier at each horizon; with `figure` also `growth`."""
    if ties not in TIES:
        hint = suggestion(ties, TIES)
        raise ValueError(f"--ties: {ties!r} is none of {', '.join(TIES)}{hint}")
    check_runs(runs)
    for n in samples:
        check_count("--samples", n)
    if 0 < epsilon < LEAST_EPSILON:
        raise ValueError(
            f"epsilon: {epsilon} is not in [{LEAST_EPSILON}, 1/2]; VALOR at its "
            "theorem's constants explores a multiple of 1/epsilon paths"
        )
    barriers = [BackupBarrier(h, epsilon, ratio) for h in horizon]
    for barrier in barriers:
        barrier.check_floats()
    contradictions: list[str] = []
    chains = [
        _chain(barrier, samples, runs, ties, seed, contradictions)
        for barrier in barriers
    ]
    given = {"epsilon": str(epsilon), "ratio": str(ratio), "ties": ties, "runs": runs}
    found = given | {"chains": chains, "contradictions": contradictions}
    return found | ({"growth": growth(epsilon, ratio, seed)} if figure else {})


def _chain(
    barrier: BackupBarrier,
    samples: Sequence[int],
    runs: int,
    ties: Ties,
    seed: int,
    contradictions: list[str],
) -> dict[str, Any]:
    made = barrier.instance(ties)
    assumptions = check_assumptions(made.environment, made.values, made.policies)
    rows = []
    for n in samples or default_samples(barrier):
        rng = np.random.default_rng([seed, barrier.H, *_words(n)])
        found = simulate(barrier, n, runs, rng, ties)
        rows.append(_row(barrier, found, ties, contradictions))
    return {
        "H": barrier.H,
        "levels": barrier.H + 1,
        "first_excess": str(barrier.excess(1)),
        "last_excess": str(barrier.excess(barrier.H)),
        "sample_limit": str(barrier.sample_limit),
        "optimal_value": str(made.environment.truth.optimal_value),
        "assumptions": {name: a.holds for name, a in assumptions.items()},
        "rows": rows,
        "valor": valor_runs(barrier, seed),
    }


def default_samples(barrier: BackupBarrier) -> list[int]:
    """Numbers of samples around the limit, rising, the largest below it among them."""
    limit = barrier.sample_limit
    below = max(1, -(-limit.numerator // limit.denominator) - 1)
    wanted = {below if m == 1 else max(1, int(m * limit)) for m in MULTIPLES}
    return sorted(wanted)


def _words(n: int) -> list[int]:
    """32-bit words of a number of any size, for a seed."""
    words = []
    while n:
        n, word = divmod(n, 2**32)
        words.append(word)
    return words


def _row(
    barrier: BackupBarrier, found: Simulated, ties: Ties, contradictions: list[str]
) -> dict[str, Any]:
    exact = failure_probability(barrier, found.n, ties)
    below = found.n < barrier.sample_limit
    where = f"backup, H = {barrier.H}, n = {found.n}"
    forced = ties == "against" or not barrier.has_ties
    if below and forced and exact.at_least(Fraction(1, 4)) is False:
        contradictions.append(f"{where}: failure probability {exact.upper} below 1/4")
    low, high = found.interval(BEYOND_DOUBT)
    if exact.upper < low or exact.lower > high:
        contradictions.append(
            f"{where}: {found.failures} of {found.runs} runs failed, where the "
            f"probability is {exact.middle}"
        )
    if not {*found.losses} <= {0, barrier.epsilon}:
        contradictions.append(f"{where}: a run lost something else than epsilon")
    interval = [round(v, 6) for v in found.interval(CONFIDENCE)]
    ends = {"lower": exact.lower, "upper": exact.upper}
    return {
        "n": found.n,
        "below_limit": below,
        "probability": ends | {"exact": exact.exact is not None},
        "runs": found.runs,
        "failures": found.failures,
        "interval": interval,
        "trajectories": found.trajectories,
    }


def valor_runs(barrier: BackupBarrier, seed: int) -> list[dict[str, Any]]:
    """VALOR on the same environment and classes, with both kinds of parameters."""
    rows = []
    truth = barrier.environment().truth
    for number, kind in enumerate(VALOR_KINDS):
        rng = np.random.default_rng([seed, barrier.H, number])
        found = run_valor(barrier, rng, kind)
        value = None if found.policies is None else truth.policy_value(found.policies)
        rows.append(
            {
                "parameters": kind,
                "status": found.status,
                "value": None if value is None else str(value),
                "optimal": value == truth.optimal_value,
                "trajectories": found.trajectories,
            }
        )
    return rows


def growth(epsilon: Fraction, ratio: Fraction, seed: int) -> list[dict[str, Any]]:
    """Trajectories against H in floats; ``bellman``: n per action in 2H + 1 states."""
    rows = []
    for horizon in HORIZONS:
        barrier = BackupBarrier(horizon, epsilon, ratio)
        try:
            barrier.check_floats()
        except ValueError:  # longer chains than float64 holds
            break
        bellman = str(2 * (2 * horizon + 1) * barrier.sample_limit)
        valor = valor_runs(barrier, seed)
        rows.append({"H": horizon, "bellman": bellman, "valor": valor})
    return rows


WORDS = {True: "yes", False: "no", None: "not decided"}


def show(record: Mapping[str, Any]) -> None:
    """Print the tables of a record."""
    {
        "backup": _show_backup,
        "average": _show_average,
        "square-loss": _show_square_loss,
    }[record["barrier"]](record)
    if record["figure"]:
        tell(record["figure"])


def _show_backup(record: Mapping[str, Any]) -> None:
    saved = record["ties"] == "for" and Fraction(record["ratio"]) == 2
    header = "samples a state", "below the limit", "chance of failure", "failed"
    for chain in record["chains"]:
        limit = float(Fraction(chain["sample_limit"]))
        tell(
            f"Bellman backups, chains of H = {chain['H']} states, ε = "
            f"{record['epsilon']}, ratio {record['ratio']}, ties "
            f"{record['ties']} the algorithm; V* = {chain['optimal_value']}"
        )
        holds = ", ".join(
            f"{name} {WORDS[value]}" for name, value in chain["assumptions"].items()
        )
        tell(f"  {holds}")
        rows = map(_chain_row, chain["rows"])
        print_table((*header, "95% interval", "trajectories a run"), rows)
        tell(
            f"  limit {limit:,.6g}: below, the failure has probability at least "
            f"1/4 and loses ε = {record['epsilon']}"
            + (" (with ties against)" if saved else "")
        )
        for run in chain["valor"]:
            tell(
                f"  VALOR, {run['parameters']} parameters: {run['status']}, V^π = "
                f"{run['value']}, {run['trajectories']:.3g} trajectories"
            )


def _chain_row(row: Mapping[str, Any]) -> list[str]:
    chance = row["probability"]
    middle = (chance["lower"] + chance["upper"]) / 2
    low, high = row["interval"]
    return [
        f"{row['n']:,}",
        WORDS[row["below_limit"]],
        f"{'' if chance['exact'] else '≈ '}{middle:.4f}",
        f"{row['failures']} of {row['runs']}",
        f"{low:.3f} to {high:.3f}",
        f"{row['trajectories']:.3g}",
    ]


def _show_average(record: Mapping[str, Any]) -> None:
    tell(
        f"Average constraints, {record['contexts']} contexts: π* and "
        f"{record['balanced_policies']:,} balanced policies (of "
        f"{record['policies']:,} in all); V* = {record['optimal_value']}"
    )
    rows = []
    for name, run in record["algorithms"].items():
        drawn = run["trajectories"]
        trajectories = "exact expectations" if drawn is None else f"{drawn:,}"
        promised = f"{float(Fraction(run['promised'])):.4g}"
        rows.append((name, run["value"], promised, str(run["rounds"]), trajectories))
    print_table(("algorithm", "V^π", "promised", "rounds", "trajectories"), rows)


def _show_square_loss(record: Mapping[str, Any]) -> None:
    tell(
        f"Square loss, ε = {record['epsilon']}: the roll-out policy earns "
        f"{record['value']} of V* = {record['optimal_value']}"
    )
    rows = []
    for name, found in record["functions"].items():
        bias = f"{found['bias']} = {found['bias_float']:.4g}"
        rows.append((name, *found["values"], found["square_loss"], bias))
    print_table(("function", "g(x1)", "g(x2)", "square loss", "mean of g - g*"), rows)
    if record["not_sampled"]:
        tell(f"  not sampled: {record['not_sampled']}")
        return
    header = "returns", "chance that g_bad fits better than g*", "did", "95% interval"
    fits = []
    for row in record["rows"]:
        did, (low, high) = f"{row['bad_fits']} of {row['runs']}", row["interval"]
        chance = f"{row['probability']:.4f}"
        fits.append((f"{row['n']:,}", chance, did, f"{low:.3f} to {high:.3f}"))
    print_table(header, fits)
