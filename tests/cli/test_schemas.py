"""Every line of machine output is of its schema in cli/schemas.json, and only that."""

import copy
import json
import re
from importlib.resources import files
from itertools import chain

import pytest
from jsonschema import Draft202012Validator
from olivine.cli.main import VERBS

from tests.support.commands import ROOT, olivine

SCHEMAS = json.loads((files("olivine") / "cli" / "schemas.json").read_text("utf-8"))
DEFS = SCHEMAS["$defs"]
F, SAT = (str(ROOT / f"tests/cases/cadical/{name}.cnf") for name in ("full3", "sat1"))
BAD = str(ROOT / "tests/cases/odd/garbage.cnf")
RUN = ["--algorithms", "psdp,olive", "--env", "tabular", "--seeds", "1", "--jobs", "1"]

# In turn, since some read what an earlier one wrote; the schemas of the lines.
CALLS = {
    "verify F --certificate D/c.json --proofs D/proofs": "verify",
    f"verify D/hard.wcnf {SAT} {BAD} --route witness": "verify verify error",
    "verify F --time-limit 1e-9 --route maxsat": "verify",
    "verify F --route treewidth": "verify",
    f"solve {SAT}": "solve",
    "solve F --time-limit 1e-9": "solve",
    "solve D/hard.wcnf": "solve",
    f"solve {BAD}": "error",
    f"report {SAT} -o D/r.html": "report",
    "check D/c.json F": "check",
    f"check D/c.json {SAT}": "check",
    f"check D/none.json {SAT}": "error",
    f"generate F {BAD} -o D/many --solve --start --format json --format lp": (
        "generate error"
    ),
    "generate F -o D/two --variant normalized --two-actions --format json": "generate",
    "generate F -o D/late --time-limit 1e-9": "unknown",
    "extract D/many/full3.cnf D/many/full3.cnf/start.sol": "extract",
    "extract D/many/full3.cnf D/none.sol": "error",
    "draw F -o D/x.svg": "draw",
    f"multi F {SAT} {BAD}": "multi multi error",
    "trace F": "trace",
    f"trace {SAT} --ties random --gamma 1/100": "trace",
    "trace F --variant strict --levels lowest": "trace",
    "claims theorem-o": "claims",
    "barrier square-loss --samples 100": "barrier",
    "barrier average --contexts 2": "barrier",
    "barrier backup --horizon 2 --runs 3": "barrier",
    "barrier average --contexts 3": "error",
    "learn psdp --env tabular --check-assumptions": "learn",
    "learn olive --env tabular": "learn",
    "learn psdp --env lock-gaussian --classes finite --params practical": "learn",
    "learn psdp --env none": "error",
    "learn psdp --env tabular --time-limit 1e-9": "unknown",
    f"compare {' '.join(RUN)}": "compare compare",
    f"curves {' '.join(RUN)}": "learning-row learning-row",
    "sweep D/formulas.toml -o D/formulas.jsonl --jobs 1": "sweep-formulas",
    "sweep D/learning.toml -o D/learning.jsonl --jobs 1": "sweep-learning",
}
WRITTEN = {  # by the calls
    "c.json": "certificate",
    "many/full3.cnf/graph.json": "node-link",
    "two/graph.json": "node-link",
    "many/manifest.jsonl": "generate error",
    "formulas.jsonl": "sweep-header formula-row",
    "learning.jsonl": "sweep-header learning-row",
}
NO_RECORD = {"contrast"}  # in a test of its own
OPEN = {"parameters", "settings", "sweep"}  # their content is not described


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": DEFS})


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> list[tuple[str, dict]]:
    """All records, each with the name of its schema."""
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "hard.wcnf").write_text("h 1 0\n3 -1 2 0\n1 -2 0\n")
    (folder / "formulas.toml").write_text(f'kind = "formulas"\nfiles = ["{F}"]\n')
    learning = 'algorithms = ["psdp"]\nenvironments = ["tabular"]\nseeds = 1\n'
    (folder / "learning.toml").write_text('kind = "learning"\n' + learning)
    found = []
    for call, names in CALLS.items():
        words = [str(folder) + w[1:] if w[:2] == "D/" else w for w in call.split()]
        done = olivine(*(F if word == "F" else word for word in words), "--json")
        found += zip(names.split(), done.records, strict=True)
    for name, names in WRITTEN.items():
        text = (folder / name).read_text()
        texts = text.splitlines() if name.endswith(".jsonl") else [text]
        found += zip(names.split(), map(json.loads, texts), strict=True)
    return found


def cut(value: object) -> object:
    """A copy with the first entry of each list only."""
    if isinstance(value, dict):
        return {key: cut(entry) for key, entry in value.items()}
    return [cut(entry) for entry in value[:1]] if isinstance(value, list) else value


def leaves(value: object, path: tuple = ()):
    """Paths to numbers, texts and lists, but for what is in OPEN."""
    if not isinstance(value, dict):
        yield path
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        yield from chain(*(leaves(v, (*path, k)) for k, v in pairs if k not in OPEN))


def mutants(record: dict, required: list[str]):
    """Lack each required key, have one more, and a value of no schema everywhere."""
    short = cut(record)
    for key in required:
        yield f"without {key}", {k: v for k, v in short.items() if k != key}
    yield "with one more", short | {"undeclared": 0}
    for path in leaves(short):
        changed = at = copy.deepcopy(short)
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = [[None]]
        yield f"another {path}", changed


def required_of(name: str, record: dict) -> list[str]:
    """Keys without which a record is not of the form of its schema that it has."""
    forms = DEFS[name].get("anyOf", [DEFS[name]])
    form = next(f for f in forms if set(f.get("required", ())) <= set(record))
    base = form.get("$ref", "").rpartition("/")[2]
    return [*form.get("required", ()), *(DEFS[base]["required"] if base else ())]


def test_every_verb_is_called_and_every_schema_has_a_record(records):
    assert SCHEMAS["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(SCHEMAS)
    assert {call.split()[0] for call in CALLS} == {*VERBS} - NO_RECORD
    # Of those that are no part of another one.
    parts = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(DEFS)))
    assert {name for name, _ in records} == DEFS.keys() - parts - NO_RECORD


def test_every_line_is_of_its_schema(records):
    wrong = [
        f"{name}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
        for name, record in records
        for error in validator(name).iter_errors(record)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_mutant_is_of_the_schema(records):
    """One record of each schema and set of keys is changed in every way."""
    passed, forms = [], {(n, frozenset(r)): (n, r) for n, r in records}
    for name, record in forms.values():
        valid = validator(name).is_valid
        tried = mutants(record, required_of(name, record))
        passed += [f"{name} {what}" for what, mutant in tried if valid(mutant)]
    assert not passed, "\n".join(passed)


def test_the_columns_of_the_manifest_are_the_keys_of_its_rows():
    page = (ROOT / "docs/tutorials/operations-research.md").read_text("utf-8")
    table = page.partition("| column | content |\n")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[1:]]
    keys = [set(DEFS["generate"]["properties"])]
    keys += [set(DEFS[n]["anyOf"][0]["required"]) for n in ("error", "unknown")]
    assert set(re.findall("`([^`]+)`", "".join(cells))) == set.union(*keys)


@pytest.mark.long
def test_the_record_of_contrast_is_of_its_schema(tmp_path):
    done = olivine("contrast", "--max-n", 3, "--instances", 1, "-o", tmp_path, "--json")
    validator("contrast").validate(done.record)
    tried = mutants(done.record, ["directory", "fits", "measurements"])
    assert [m for m, mutant in tried if validator("contrast").is_valid(mutant)] == []
