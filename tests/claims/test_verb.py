import re

import pytest
from olivine import claims as ledger
from olivine.claims import STATEMENTS, Claim, Evidence

from tests.support.commands import olivine

KEYS = {"id", "source", "statement", "method", "verdict", "evidence", "seconds"}
KEYS |= {"statements", "subject"}


def test_the_ledger_lists_its_entries_for_programs_and_people():
    done = olivine("claims", "--json", status=0)
    assert done.err == ""
    assert len(done.records) == len({r["id"] for r in done.records}) >= 3
    for record in done.records:
        assert set(record) - {"erratum", "proved_in_coq"} == KEYS
        assert record["verdict"] is record["evidence"] is record["seconds"] is None
        assert record["statement"]
        assert record["source"]
    ids = [record["id"] for record in olivine("claims", "--json").records]
    done = olivine("claims", status=0)
    for identifier in ids:
        assert identifier in done.out
    said = " ".join(done.out.split())
    assert "u is the least weight that an assignment leaves unsatisfied" in said
    assert "Notation" in done.out.splitlines()
    assert "Notation" not in olivine("claims", ids[0]).out.splitlines()


def test_the_order_is_that_of_the_modules(monkeypatch) -> None:
    """Whichever was imported first: here, the registry turned round."""
    ids = [record["id"] for record in olivine("claims", "--json").records]
    entries = ledger.registered()
    turned = [e for e in entries if e.id.startswith("valor-")]
    turned += [e for e in entries if e not in turned]
    monkeypatch.setattr(ledger, "_REGISTRY", {e.id: e for e in turned})
    again = [record["id"] for record in olivine("claims", "--json").records]
    assert again == ids
    assert [e.id for e in turned] != ids


def broken() -> Evidence:
    raise RuntimeError("the check breaks")


@pytest.fixture
def entries(monkeypatch):
    def entry(name, check, erratum=""):
        text = "a source", "a statement [x](y)"
        return Claim(name, *text, "exact", check, erratum, "setting")

    made = [
        entry("true", lambda: Evidence(True, "seen")),
        entry("corrected", lambda: Evidence(True, "seen"), "7"),
        entry("false", lambda: Evidence(False, "a counterexample")),
        entry("nobody", None),
        entry("broken", broken),
    ]
    monkeypatch.setattr(ledger, "_REGISTRY", {e.id: e for e in made})


def test_verdicts(entries) -> None:
    done = olivine("claims", "--run", "--json", status=1)
    verdicts = {record["id"]: record["verdict"] for record in done.records}
    assert verdicts == {
        "true": "holds",
        "corrected": "holds as corrected",
        "false": "refuted",
        "nobody": "open",
        "broken": None,
    }
    by_id = {record["id"]: record for record in done.records}
    assert by_id["corrected"]["erratum"] == "7"
    assert by_id["false"]["evidence"] == "a counterexample"
    assert "RuntimeError" in by_id["broken"]["evidence"]
    assert "claim false: refuted" in done.err


def test_some_entries_in_order_and_for_people(entries):
    done = olivine("claims", "true", "nobody", "--run", "--json", status=0)
    assert [record["id"] for record in done.records] == ["nobody", "true"]
    done = olivine("claims", "true", "false", "--run", status=1, out="a statement [x]")
    assert "refuted" in done.out
    done = olivine("claims", "--brief", "--run", "true", "corrected", status=0)
    assert done.out.splitlines()[1].split() == ["corrected", "holds", "as", "corrected"]


def test_page(entries, tmp_path) -> None:
    page = tmp_path / "claims.md"
    olivine("claims", "--run", "--json", "--page", str(page), status=1)
    text = page.read_text()
    counts = "check failed 1, holds 1, holds as corrected 1, open 1, refuted 1"
    assert f"| all | 5 | {counts} |" in text
    own = tmp_path / "claims" / "setting.md"
    verdict = "- Verdict: holds as corrected ([erratum](../errata.md) 7)"
    assert verdict in own.read_text()
    assert r"a statement [x\](y)" in own.read_text()
    olivine("claims", "--run", "--json", "--page", str(page), status=1)
    assert page.read_text() == text


def test_page_of_some_entries(entries, tmp_path) -> None:
    page = tmp_path / "some.md"
    olivine("claims", "false", "true", "--run", "--json", "--page", page, status=1)
    assert re.findall("^#.*", page.read_text(), re.M) == ["# Claims", "## true",
                                                          "## false"]  # fmt: skip
    assert "- Verdict: refuted\n- Evidence: a counterexample\n" in page.read_text()
    assert list(tmp_path.iterdir()) == [page]


def test_page_asks_for_verdicts_and_a_place(entries, tmp_path) -> None:
    page = tmp_path / "claims.md"
    olivine("claims", "--page", str(page), status=2)
    done = olivine("claims", "--run", "--page", str(tmp_path / "none" / "claims.md"))
    assert done.status == 2
    assert "No such file" in done.err
    assert done.out == ""
    assert list(tmp_path.iterdir()) == []


def test_statements_name_entries_of_the_ledger() -> None:
    known = {record["id"] for record in olivine("claims", "--json").records}
    named = {claim for statement in STATEMENTS for claim in statement.claims}
    assert named <= known
    assert all(statement.claims for statement in STATEMENTS)
    numbers = [statement.number for statement in STATEMENTS]
    assert len(numbers) == len(set(numbers)) == 47
