"""A killed run goes on, and has the same results as a run that was not killed."""

import os

import pytest

from scrapy_simhash.dedupe.fingerprinting import Workers
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.store import Store
from scrapy_simhash.maintenance.check import check

from .dying import STEPS, die
from .samples import json_lines, read_lines, records, run, words

COUNT = 700


@pytest.fixture(scope="module")
def lines():
    values = records(COUNT)
    # Pages of one template: within the distance, but not confirmed as copies.
    form = words(7, 240)
    for number in range(20, COUNT, 30):
        own = [*form]
        own[::10] = words(number + 10_000_000, 24)
        values[number] = {**values[number], "text": " ".join(own)}
    # Some keys are repeated, with the same content and with other content.
    for number in range(0, COUNT, 40):
        values.append(values[number])
        values.append({"url": values[number]["url"], "text": values[number + 1]["text"][::-1]})
    return json_lines(values)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("whole")
    (folder / "in.jsonl").write_bytes(lines)
    run(folder, "in.jsonl", index=folder / "index")
    return left_in(folder)


def left_in(folder):
    directory = folder / "index"
    assert check(directory).problems == []
    with open_index(directory) as index:
        told = read_lines(folder / "verdicts")
        keys = sorted({verdict["cluster"] for verdict in told if verdict["kind"] == "new"})
        known = filter(None, map(index.entry, keys))
        entries = [(entry.key, entry.fingerprint, entry.evidence) for entry in known]
        size = len(index)
    assert {path.name for path in folder.iterdir()} == {"in.jsonl", "index", "out", "verdicts"}
    return (folder / "out").read_bytes(), (folder / "verdicts").read_bytes(), entries, size


def test_the_whole_is_what_it_should_be(whole):
    out, verdicts, entries, size = whole
    assert verdicts.count(b"\n") == COUNT + 2 * len(range(0, COUNT, 40))
    assert 0 < out.count(b"\n") < COUNT
    assert b"unchanged" in verdicts
    assert any("#" in key for key, _, _ in entries)  # with the key of another record
    assert size == len(entries) > 0
    assert all(len(evidence.sketch) == 128 and evidence.site for _, _, evidence in entries)
    # Similar records, too, which take the evidence to be judged the same.
    assert verdicts.count(b'"similar_to": "https') > 10


# Step → the calls before which the run is killed: an early one and a late one.
CALLS = {
    "begin": [1],
    "journal": [1, 2, 5, 6],
    "observe": [1, 300],
    "acted": [1, 3],
    "confirm": [1, 2, 130, 400],
    "close": [1],
    "output": [1, 400],
    "replace": [2, 3],
    "remove": [1],
    # Deletions before the run begins, of an earlier output, and at the end.
    "forget": [1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
}


# The cases of the quick ring.
QUICK = {("journal", 2), ("confirm", 130)}


@pytest.mark.parametrize(
    ("step", "call"),
    [
        pytest.param(step, call, marks=() if (step, call) in QUICK else pytest.mark.thorough)
        for step, calls in CALLS.items()
        for call in calls
    ],
)
def test_killed_at_a_step(tmp_path, lines, whole, step, call):
    assert {*CALLS, "rmtree"} == set(STEPS)
    (tmp_path / "in.jsonl").write_bytes(lines)
    die(tmp_path, step, call)
    if (tmp_path / "out").exists() and not any((tmp_path / "state").glob("spec.json")):
        # The run was complete, except for the last file of its state.
        with pytest.raises(SimhashError, match="exists already"):
            run(tmp_path, "in.jsonl", index=tmp_path / "index")
        assert left_in(tmp_path) == whole
        return
    run(tmp_path, "in.jsonl", index=tmp_path / "index", workers=1 + call % 2)
    assert left_in(tmp_path) == whole


def test_a_run_that_differs_does_not_go_on(tmp_path, lines, monkeypatch):
    (tmp_path / "in.jsonl").write_bytes(lines)
    die(tmp_path, "journal", 4)
    index = tmp_path / "index"
    with pytest.raises(SimhashError, match="differs in min_tokens"):
        run(tmp_path, "in.jsonl", index=index, min_tokens=31)
    with pytest.raises(SimhashError, match="differs in index"):
        run(tmp_path, "in.jsonl")
    with pytest.raises(SimhashError, match="differs in output"):
        run(tmp_path, "in.jsonl", index=index, out="other")
    (tmp_path / "in.jsonl").write_bytes(lines + b"\n")
    with pytest.raises(SimhashError, match=r"differs in inputs: .*--restart"):
        run(tmp_path, "in.jsonl", index=index)
    spec = tmp_path / "state" / "spec.json"
    spec.write_text(spec.read_text().replace('"state": ', '"scope_name": '))
    with pytest.raises(SimhashError, match=r"another release .* --restart"):
        run(tmp_path, "in.jsonl", index=index)
    summary = run(tmp_path, "in.jsonl", index=index, restart=True)
    # The entries of the index come from an earlier run, so they do not count as seen.
    assert (summary.went_on_after, summary.kinds["unchanged"] > 0) == (0, True)


def test_to_restart_would_drop_what_the_index_met_before(tmp_path, lines):
    (tmp_path / "in.jsonl").write_bytes(lines)
    die(tmp_path, "journal", 4)
    with pytest.raises(SimhashError, match="they would count as seen"):
        run(tmp_path, "in.jsonl", index=tmp_path / "index", incremental=True, restart=True)


def test_an_input_that_changes_meanwhile(tmp_path, lines, monkeypatch):
    (tmp_path / "in.jsonl").write_bytes(lines)
    judged = Workers.fingerprints

    def changing(self, jobs):
        yield from judged(self, jobs)
        (tmp_path / "in.jsonl").write_bytes(lines + lines)

    monkeypatch.setattr(Workers, "fingerprints", changing)
    with pytest.raises(
        SimhashError, match="has changed since the run began: begin again with --restart"
    ):
        run(tmp_path, "in.jsonl", workers=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["journal", pytest.param("spec", marks=pytest.mark.thorough)])
def test_a_state_that_is_damaged(tmp_path, lines, damage):
    (tmp_path / "in.jsonl").write_bytes(lines)
    die(tmp_path, "journal", 5)
    state = tmp_path / "state"
    if damage == "journal":
        # The index has more records than the rest of the journal.
        os.truncate(state / "journal", 1000)
    else:
        (state / "spec.json").write_text("{")
    with pytest.raises(SimhashError, match=r"damaged, as after a power loss, .* --restart"):
        run(tmp_path, "in.jsonl", index=tmp_path / "index")
    run(tmp_path, "in.jsonl", index=tmp_path / "index", restart=True)
    assert (tmp_path / "out").exists()


def test_the_first_batch_survives_a_power_loss(tmp_path, lines, monkeypatch):
    (tmp_path / "in.jsonl").write_bytes(lines)
    index, journal = tmp_path / "index", tmp_path / "state" / "journal"
    synced, sync, calls = {}, os.fsync, []

    def fsync(descriptor):
        sync(descriptor)
        about = os.fstat(descriptor)
        synced[about.st_ino] = about.st_size

    def write(self, *arguments, **named):
        calls.append(1)
        if len(calls) > 300:
            raise OSError("no power")
        return stored(self, *arguments, **named)

    stored = Store.write
    monkeypatch.setattr(os, "fsync", fsync)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="no power"):
        patched.setattr(Store, "write", write)
        run(tmp_path, "in.jsonl", index=index, incremental=True)
    assert (tmp_path / "state").stat().st_ino in synced
    os.truncate(journal, synced.get(journal.stat().st_ino, 0))
    with pytest.raises(SimhashError, match="damaged, as after a power loss"):
        run(tmp_path, "in.jsonl", index=index, incremental=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "torn", [b'{"key": "x"', b'{"key": "x"}\n', b"{}\n#00000000 {}\n", b"#zz\n"]
)
def test_an_incomplete_batch_is_cut_off(tmp_path, lines, whole, torn):
    (tmp_path / "in.jsonl").write_bytes(lines)
    die(tmp_path, "journal", 5)
    with (tmp_path / "state" / "journal").open("ab") as journal:
        journal.write(torn)
    run(tmp_path, "in.jsonl", index=tmp_path / "index")
    assert left_in(tmp_path) == whole


def test_two_at_once(tmp_path, lines):
    from scrapy_simhash.dedupe.state import State

    (tmp_path / "in.jsonl").write_bytes(lines)
    with State(tmp_path / "state"), pytest.raises(SimhashError, match="another process uses it"):
        run(tmp_path, "in.jsonl")
