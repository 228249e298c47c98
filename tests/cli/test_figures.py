"""Each figure at the width of a phone: nothing is cut, and type is large enough."""

import sys
from argparse import Namespace
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from olivine.algorithms.learning import registry
from olivine.cli.experiments import barrier as barriers
from olivine.cli.experiments.summaries import Curve, Phase
from olivine.cli.figures import barrier, contrast, files, sweep
from olivine.cli.figures.files import WIDTH
from olivine.reduction.contrast import HARD, SERIES, Measurement, Plan, fits

from benchmarks import olive_honest, ties, trajectories
from tests.support.depth import spread
from tests.support.drawn import drawn
from tests.support.recorded import recorded
from tests.support.refusals import refused

FILE = Path("f.svg")


def draw_backup() -> None:
    run = {"parameters": "practical", "optimal": True, "trajectories": 10**9}
    row = {"n": 50, "failures": 3, "runs": 10, "interval": [0.1, 0.6]}
    record = {
        "barrier": "backup", "epsilon": "1/4", "ratio": "2", "ties": "against",
        "runs": 100, "chains": [{"H": h, "rows": [row]} for h in (1, 2)],
        "growth": [{"H": h, "bellman": "9", "valor": [run, run]} for h in (3, 48)],
    }  # fmt: skip
    barrier.save_figure(FILE, record)


def draw_average() -> None:
    barrier.save_figure(FILE, {"barrier": "average"} | barriers.average(seed=0))


def draw_square_loss() -> None:
    found = barriers.square_loss(seed=0, samples=[4], runs=2)
    barrier.save_figure(FILE, {"barrier": "square-loss"} | found)


def draw_contrast() -> None:
    plan = Plan(100)
    found = [
        Measurement(
            name, n, 4 * n, 0, min(1e-3 * 2**n, 10), n**2, n > 13 and name in HARD, ""
        )
        for name in SERIES
        for n in plan.sizes
        if n < 60 or name not in HARD
    ]
    contrast.save_figure(Path(), plan, found, fits(found))


def draw_comparison() -> None:
    record = {
        "epsilon": 0.3, "seeds": 50, "runs": 50, "successes": 50, "failures": 0,
        "timeouts": 0, "refused": None, "left": None,
    }  # fmt: skip
    records = [
        record
        | {"algorithm": name, "env": env, "params": p, "trajectories": 10 ** (3 * k)}
        for env, p in (("lock", "practical"), ("diabolical-lock", "theorem"))
        for k, name in enumerate(registry.names())
    ]
    records[0] |= {"params": "theorem", "successes": 20, "failures": 30}
    records[1] |= {"runs": 0, "refused": "not today", "trajectories": None}
    records[2] |= {"runs": 0, "left": "late", "timeouts": 3, "trajectories": None}
    records[3] |= {"successes": 0, "failures": 50}
    del records[4]
    sweep.save_comparison(FILE, records)


def draw_phases() -> None:
    one, ways = Fraction(1), {"milp, strengthened": 1.0, "maxsat, known": 9.0}
    phases = [
        Phase(
            "paper",
            n,
            m * n,
            20,
            9 - m,
            m,
            (one - Fraction(m, 99), one),
            {},
            {},
            ways if n == 20 else {"milp, strengthened": 1.0},
        )
        for n in (20, 50)
        for m in (2, 4, 8)
    ]
    sweep.save_phases(FILE, phases)


def draw_variants() -> None:
    ways = {"sat": 2.0}
    phases = [
        Phase(variant, 5, 5 * m, few, 1, few - 1 - m, (Fraction(m, 9),), {}, {}, ways)
        for variant in ("paper", "gap")
        for m, few in ((1, 3), (2, 8))
    ]
    sweep.save_phases(FILE, phases)


def draw_curves() -> None:
    x, y = (10, 10**6), (0.0, 0.5)
    end = (10**6, 0.5, True)
    curves = [
        Curve(
            name, "diabolical-lock", x, y, y, y, (end, end), 2, 1.0, None, 1, "",
            exact=False, params="practical", error=0.004,
        )
        for name in registry.names()
    ]  # fmt: skip
    sweep.save_curves(FILE, curves)


def draw_ties() -> None:
    lines = [
        ties.Line(*way, [(2, 10, 0.05, False), (50, 900, 1.0, True)])
        for way in ties.SERIES
    ]
    ties.draw(lines, 1, FILE)


def draw_honest() -> None:
    found = [
        Namespace(variant=variant, tiebreak=name, n=n, slowest=n**2)
        for variant in olive_honest.VARIANTS
        for name in olive_honest.TIEBREAKS
        for n in (3, 6)
    ]
    olive_honest.draw(found, Namespace(time_limit=20), FILE)


def draw_trajectories() -> None:
    trajectories.draw(FILE)


DRAWN = [
    draw_average, draw_comparison, draw_contrast, draw_phases, draw_backup, draw_curves,
    draw_honest, draw_square_loss, draw_ties, draw_trajectories, draw_variants,
]  # fmt: skip


@pytest.mark.parametrize("draw", spread(DRAWN, 4), ids=lambda draw: draw.__name__)
def test_a_figure_is_legible_on_a_phone(draw, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    kept = []

    def keep(figure, *_, **__) -> None:
        figure.draw_without_rendering()
        kept.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    draw()
    figure = kept[0]
    assert figure.get_size_inches()[0] == WIDTH
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert 0 <= box.x0 < box.x1 <= width
    assert 0 <= box.y0 < box.y1 <= height
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 8


@pytest.mark.parametrize("draw", DRAWN, ids=lambda draw: draw.__name__)
def test_a_figure_is_as_recorded(draw, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    kept = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: kept.append(figure))
    draw()
    recorded("figures", draw.__name__, {"figures": [drawn(f) for f in kept]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"), (99.96, "100"), (100, "100"), (1234.5, "1,234"),
        (999_999, "999,999"), (1e6, "1e06"), (23e9, "2.3e10"),
    ],
)  # fmt: skip
def test_limits_in_a_legend(value, text) -> None:
    assert barrier._number(value) == text


def test_nothing_is_drawn_of_nothing() -> None:
    refused("f.svg: no formula is verified yet", sweep.save_phases, FILE, [])
    refused("f.svg: no run has a curve", sweep.save_curves, FILE, [])


def test_matplotlib_is_imported_in_its_own_folder(monkeypatch, tmp_path) -> None:
    """A matplotlibrc of the folder does not count."""
    monkeypatch.chdir(tmp_path)
    places = []
    monkeypatch.delitem(sys.modules, "matplotlib")
    monkeypatch.setattr(files, "import_module", lambda _: places.append(Path.cwd()))
    files.import_matplotlib()
    assert [place.name for place in places] == ["mpl-data"]
    assert Path.cwd() == tmp_path
    for found in None, Namespace(origin=None):
        monkeypatch.setattr(files, "find_spec", lambda _, f=found: f)
        refused("not installed", files.import_matplotlib, error=ModuleNotFoundError)
