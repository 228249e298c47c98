"""Every entry of the ledger is checked once, and holds."""

import re
from fractions import Fraction
from types import SimpleNamespace

import pytest
from olivine import make
from olivine.algorithms.learning.problem import MonitorReport
from olivine.claims import load, registered, samples

from tests.support.asked import Asked, is_noticed, to_be_noticed
from tests.support.commands import ROOT
from tests.support.depth import with_rows
from tests.support.recorded import recorded, row

ENTRIES = load()
SLOW = {
    "theorem-r": "reduction/run/test_forced.py",
    "two-actions": "reduction/program/test_two_actions.py",
}
"""Claims whose check is long, and the quick tests of the same statement."""
BY_ENGINES = "olive-nphard-g-simple", "olive-nphard-f-simple"
"""Claims of which an engine's solutions are part, whichever they are."""


pytestmark = pytest.mark.usefixtures("fewer_runs")


@pytest.fixture(scope="module")
def found():
    """Evidence of the entries checked so far."""
    return {}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            entry, id=entry.id, marks=pytest.mark.long if entry.id in SLOW else ()
        )
        for entry in ENTRIES
    ],
)
def test_it_holds(entry, found, monkeypatch):
    asked = Asked(monkeypatch)
    evidence = found[entry.id] = entry.check()
    assert evidence.holds, evidence.text
    assert re.search(r"\d", evidence.text)
    corrected = "holds as corrected" if entry.erratum else "holds"
    assert entry.verdict(evidence) == corrected
    if entry.id.endswith("-is-polynomial"):
        assert "seed" in evidence.text
    if entry.id not in SLOW:
        row = {
            "evidence": evidence.text,
            "asked": asked.summary(entry.id in BY_ENGINES),
        }
        recorded("claims", entry.id, row)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_answer_that_is_a_little_off_refutes_it(entry):
    """Each answer "NAME FIELD NUMBER OF THE CALL" of its row, altered by itself."""
    answers = row("noticed", entry.id, lambda: to_be_noticed(entry))["answers"]
    found = [answer for answer in answers if is_noticed(entry, answer)]
    recorded("noticed", entry.id, {"answers": found})


def test_noise_in_strict_holds_on_the_first_formula(monkeypatch):
    """With one alone."""
    monkeypatch.setattr(samples, "INSTANCES", 1)
    (entry,) = (e for e in ENTRIES if e.id == "strict-noise")
    evidence = entry.check()
    assert evidence.holds
    assert evidence.text.startswith("1 formulas: all runs and estimates in 2 cases")
    assert evidence.text.endswith("φ = 1/160")


def test_entries_are_in_order_numbered_and_have_quick_tests():
    subjects = [entry.subject for entry in ENTRIES]
    assert subjects == sorted(subjects)
    assert len(ENTRIES) == len(registered())
    for entry in ENTRIES:
        number = re.fullmatch(r"erratum-(\d+)", entry.id)
        if number:
            assert entry.erratum == number[1]
    assert {entry.id for entry in ENTRIES} >= set(SLOW)
    assert all((ROOT / "tests" / file).is_file() for file in SLOW.values())


@with_rows("name", "lemma-1", "vertex-lemma", "erratum-5", "theorem-o-paper", keep=2)
def test_it_is_deterministic(name, found):
    (entry,) = (e for e in ENTRIES if e.id == name)
    assert entry.check() == (found.get(name) or entry.check())


def test_a_share_is_what_so_many_runs_show():
    found = [samples.lower_bound(n, n) for n in (1, 10, 14, 36, 58, 59)]
    assert found == [0.05, 0.741, 0.807, 0.92, 0.949, 0.95]
    assert samples.lower_bound(0, 5) == 0
    assert samples.lower_bound(9, 10) < samples.lower_bound(10, 10)
    assert "36 of 36 runs good" in samples.share(36, 36, "good")
    assert "0.920" in samples.share(36, 36, "good")


def test_deviations_are_those_of_hoeffding_and_bernstein():
    """√(ln/2n), √(2v ln/n) + r ln/3n: a half and 3/2 at ln = 2, n = 4, v = 1, r = 3."""
    half = Fraction(1, 2)
    assert [samples.hoeffding(2, 4, of) for of in (1, half)] == [0.5, 1]
    assert [samples.bernstein(2, 4, of, 1, 3) for of in (1, half)] == [1.5, 3]


def report(holds, checks=1, scope="event", margin=None):
    return MonitorReport(holds, margin, checks, scope, "" if holds else "broken")


class Result:
    def __init__(self, **monitors):
        self.monitors = monitors


def test_what_held_is_judged_inside_the_event_only():
    inside = Result(event=report(True, scope="premise"), lemma=report(True))
    outside = Result(event=report(False, scope="premise"), lemma=report(False))
    assert samples.held([inside, outside], "lemma").holds
    assert (
        "1 checks in 1 of 2 runs (the others left"
        in samples.held([inside, outside], "lemma").text
    )
    assert not samples.held([outside], "lemma").holds
    broken = Result(event=report(True, scope="premise"), lemma=report(False))
    assert samples.held([inside, broken], "lemma").text == "lemma: broken"
    unchecked = Result(event=report(True, scope="premise"), lemma=report(True, 0))
    assert "never checked" in samples.held([unchecked], "lemma").text
    unknown = Result(event=report(True, scope="premise"), lemma=report(None))
    assert not samples.held([inside, unknown], "lemma").holds


def test_a_run_without_a_policy_loses_all_there_is():
    made = SimpleNamespace(environment=make("tabular", 0))
    best = made.environment.truth.optimal_value
    assert samples.loss(made, SimpleNamespace(policies=None)) == best > 0


def test_runs_are_made_once_for_each_number_of_seeds(monkeypatch):
    made = []

    @samples.made_once
    def make(name):
        made.append(name)
        return len(samples.seeds(3))

    assert [make("a"), make("a"), make("b")] == [1, 1, 1]
    monkeypatch.setattr(samples, "MOST", 5)
    assert [make("a"), make("a")] == [3, 3]
    assert made == ["a", "b", "a"]
    monkeypatch.setattr(samples, "INSTANCES", 5)
    assert make("a") == 3
    assert made == ["a", "b", "a", "a"]


def test_some_cases_are_spread_evenly(monkeypatch):
    monkeypatch.setattr(samples, "INSTANCES", 2)
    assert samples.some(range(10)) == [0, 9]
    assert samples.some(range(10), least=4) == [0, 3, 6, 9]
    assert samples.some("abc", least=3) == "abc"
    assert [samples.instances(1), samples.instances(9), samples.instances(9, 4)] == [
        1,
        2,
        4,
    ]
    monkeypatch.setattr(samples, "INSTANCES", 1)
    assert samples.some("abc") == ["a"]
