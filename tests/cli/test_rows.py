"""The file of a sweep's rows: gone on with wherever it is cut, refused, never lost."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from olivine.cli.experiments.rows import FORMAT, open_rows

from tests.support.depth import with_rows

SAYS = {"kind": "formulas", "seed": 0, "variants": ["paper"]}
KEYS = [f"unit {k} «ε»" for k in range(4)]
ROWS = [{"key": key, "exit": 0, "text": "a\nb"} for key in KEYS]


def fill(path, rows=ROWS, says=SAYS):
    """Append what is missing; the keys that were there, and the remark."""
    with open_rows(path, says, KEYS) as file:
        before, remark = list(file.rows), file.remark
        for row in rows:
            if row["key"] not in file.rows:
                file.append(row)
    return before, remark


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    fill(path)
    return path.read_bytes()


def test_rows_stand_one_a_line_below_what_they_are_of(whole):
    header, *rows = map(json.loads, whole.splitlines())
    assert header["olivine-sweep"] == FORMAT
    assert header["sweep"] == SAYS
    assert [{k: row[k] for k in ROWS[0]} for row in rows] == ROWS
    assert whole.endswith(b"\n")


@settings(deadline=None)
@given(st.data())
def test_a_file_cut_anywhere_is_gone_on_with(whole, tmp_path_factory, data):
    ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
    near = st.sampled_from([e + d for e in ends for d in (-2, -1, 0, 1)])
    cut = min(len(whole), data.draw(st.integers(0, len(whole)) | near))
    path = tmp_path_factory.mktemp("cut") / "rows.jsonl"
    path.write_bytes(whole[:cut])
    before, remark = fill(path)
    complete = whole[:cut].count(b"\n")
    assert before == KEYS[: max(0, complete - 1)]
    assert (f"line {complete + 1} was cut off" in remark) == (cut not in (0, *ends))
    assert path.read_bytes() == whole


def edited(whole, number, change):
    parts = whole.splitlines(keepends=True)
    parts[number] = change(parts[number])
    return b"".join(parts)


def header_with(**changed):
    def change(line):
        return json.dumps(json.loads(line) | changed).encode() + b"\n"

    return change


@with_rows(
    "change, words",
    (lambda w: edited(w, 0, header_with(version="0.0.1")), "olivine 0.0.1"),
    (lambda w: edited(w, 0, header_with(**{"olivine-sweep": 7})), "in format 7"),
    (
        lambda w: edited(w, 0, header_with(sweep=SAYS | {"seed": 1, "new": 2})),
        "another sweep, which differs in seed, new",
    ),
    (lambda w: edited(w, 0, header_with(sweep=None)), ":1: damaged"),
    (lambda w: edited(w, 2, lambda line: line[:9] + b"\n"), ":3: damaged"),
    (lambda w: edited(w, 2, lambda line: b"[1]\n"), ":3: damaged: no JSON object"),
    (lambda w: edited(w, 2, lambda line: b'{"key": "x"}\n'), ":3: 'x' is no unit"),
    (lambda w: edited(w, 1, lambda line: line.replace(b"0", b"2", 2)), ":2: 'unit 2"),
    (
        lambda w: edited(w, 1, lambda line: line.replace(b": 0,", b": 7,")),
        ":2: damaged: it is not as it was written",
    ),
    (
        lambda w: edited(w, 1, lambda line: line.replace(b'"a', b'null, "x": "a')),
        ":2: damaged: it is not as it was written",
    ),
    (
        lambda w: edited(w, 3, lambda line: line.partition(b", ")[0] + b"}\n"),
        ":4: damaged: it is not as it was written",
    ),
    (lambda w: edited(w, 0, header_with(more=1)), ":1: damaged: not a header"),
    (
        lambda w: edited(w, 2, lambda line: b"[" * 10**5 + b"\n"),
        ":3: damaged: maximum recursion",
    ),
    (lambda w: edited(w, 3, lambda line: b'{"key": [1]}\n'), ":4: [1] is no unit"),
    (lambda w: edited(w, 3, lambda line: b'{"a": NaN}\n'), "NaN is no number"),
    (lambda w: w + w.splitlines(keepends=True)[1], ":6: a second row"),
    (lambda w: b"p cnf 1 1\n1 0\n", ":1: damaged"),
    (lambda w: b'{"a": 1}\n', "not the rows of a sweep"),
    (lambda w: b"a letter to a friend", "not the rows of a sweep"),
    (lambda w: b"\xff\xfe\n", ":1: damaged"),
)
def test_what_cannot_be_gone_on_with_is_refused_and_stays(
    whole, tmp_path, change, words
):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(change(whole))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"rows\.jsonl") as caught:
        fill(path)
    assert words in str(caught.value)
    assert path.read_bytes() == before


def test_two_sweeps_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    with open_rows(path, SAYS, KEYS) as file:
        file.append(ROWS[0])
        with pytest.raises(ValueError, match="another sweep is writing"):
            fill(path)
    assert fill(path)[0] == KEYS[:1]


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_part(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    from olivine.cli.experiments import rows

    write, calls = rows.os.write, []

    def full(descriptor, data):
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(descriptor, bytes(data)[:5])

    with open_rows(path, SAYS, KEYS) as file:
        file.append(ROWS[0])
        monkeypatch.setattr(rows.os, "write", full)
        with pytest.raises(OSError, match="No space"):
            file.append(ROWS[1])
        monkeypatch.undo()
    assert [row["key"] for row in lines(path)[1:]] == KEYS[:1]
    assert fill(path) == (KEYS[:1], "")
