"""`--against` compares a batch with a stored set, and does not change the set."""

import gzip
import shutil

import pytest

from scrapy_simhash.dedupe.judging import Judge
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index

from .dying import die
from .samples import json_lines, read_lines, records, run, text

OCTOBER = records(150, seed=1)
MONDAY = [
    *({**record, "url": f"{record['url']}?monday"} for record in records(75, seed=2)),
    *({"url": f"https://monday.org/{n}", "text": OCTOBER[n]["text"]} for n in range(0, 150, 3)),
    *OCTOBER[:40],
    {"url": OCTOBER[50]["url"], "text": text(1)},
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "known.jsonl").write_bytes(json_lines(OCTOBER))
    (tmp_path / "in.jsonl").write_bytes(json_lines(MONDAY))
    return tmp_path


@pytest.fixture
def index(tmp_path):
    (tmp_path / "october").mkdir()
    (tmp_path / "october" / "in.jsonl").write_bytes(json_lines(OCTOBER))
    run(tmp_path / "october", "in.jsonl", index=tmp_path / "index")
    return tmp_path / "index"


def content(directory):
    with open_index(directory) as opened:
        lines = list(opened.near_duplicates())
        entries = [opened.entry(record["url"]) for record in (*OCTOBER, *MONDAY)]
        return len(opened), entries, lines


def urls(path):
    return [record["url"] for record in read_lines(path)]


def test_ctrl_c_before_the_first_verdict_keeps_what_was_indexed(folder, monkeypatch):
    add_all, against = Judge.add_all, [folder / "known.jsonl"]

    def interrupted(judge, fingerprinted):
        if judge._known is not None:
            raise KeyboardInterrupt
        add_all(judge, fingerprinted)

    with monkeypatch.context() as patched:
        patched.setattr(Judge, "add_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(folder, "in.jsonl", against=against)
    assert (folder / "state" / "known").exists()
    assert not (folder / "state" / "known.dedupe").exists()
    assert run(folder, "in.jsonl", against=against).known == 90


def test_what_is_new_is_what_a_run_over_both_keeps(folder):
    run(folder, "known.jsonl", "in.jsonl", out="both")
    verdicts = read_lines(folder / "verdicts")
    october, monday = verdicts[: len(OCTOBER)], verdicts[len(OCTOBER) :]
    expected = [verdict["key"] for verdict in monday if not verdict["dropped"]]
    (folder / "verdicts").unlink()
    summary = run(folder, "in.jsonl", against=[folder / "known.jsonl"])
    assert urls(folder / "out") == expected
    assert summary.kept == len(expected)
    assert summary.known == 90
    kept = [verdict["key"] for verdict in october[:40] if not verdict["dropped"]]
    assert summary.kinds["unchanged"] == len(kept)
    left = {path.name for path in folder.iterdir()}
    assert left == {"both", "in.jsonl", "known.jsonl", "out", "verdicts"}


def test_an_index_gives_the_same_verdicts_and_stays_as_it_is(folder, index):
    run(folder, "in.jsonl", against=[folder / "known.jsonl"])
    expected = (folder / "out").read_bytes(), (folder / "verdicts").read_bytes()
    before = content(index)
    run(folder, "in.jsonl", against=[index], overwrite=True)
    assert ((folder / "out").read_bytes(), (folder / "verdicts").read_bytes()) == expected
    assert content(index) == before


def test_a_set_that_is_damaged_is_said_to_be(folder):
    packed = gzip.compress(json_lines(OCTOBER))
    (folder / "torn.jsonl.gz").write_bytes(packed[:-9])
    summary = run(folder, "in.jsonl", against=[folder / "torn.jsonl.gz"])
    assert [name for name in summary.damaged if name.endswith("torn.jsonl.gz")]


def test_mistakes(folder, index):
    with pytest.raises(SimhashError, match="--preset"):
        run(folder, "in.jsonl", against=[index], preset="classic")
    with pytest.raises(SimhashError, match="merge"):
        run(folder, "in.jsonl", against=[index, folder / "known.jsonl"])
    with pytest.raises(FileNotFoundError):
        run(folder, "in.jsonl", against=[folder / "nothing.jsonl"])
    (folder / "empty.jsonl").touch()
    with pytest.raises(SimhashError, match=r"there is no record in .*empty\.jsonl"):
        run(folder, "in.jsonl", against=[folder / "empty.jsonl"])
    assert not (folder / "state").exists()
    with pytest.raises(SimhashError, match="which is read, are the same"):
        run(folder, "in.jsonl", against=[folder / "known.jsonl"], out="known.jsonl", overwrite=True)
    with pytest.raises(SimhashError, match="which is read, are the same"):
        run(folder, "in.jsonl", against=[index], index=index)
    assert read_lines(folder / "known.jsonl") == OCTOBER
    assert not (folder / "out").exists()
    run(folder, "in.jsonl", against=[index])  # nothing is in the way


MORE_KILLS = {"begin": [2], "journal": [1, 2, 4], "observe": [125, 200], "close": [1, 2]}
MORE_KILLS |= {"remove": [1, 2], "replace": [2, 3], "rmtree": [1]}


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("confirm", 75),  # in the set
        ("confirm", 140),  # in the batch
        *(
            pytest.param(step, count, marks=pytest.mark.thorough)
            for step, counts in MORE_KILLS.items()
            for count in counts
        ),
    ],
)
def test_a_run_that_is_killed_goes_on(folder, step, count):
    run(folder, "in.jsonl", index=folder / "index", against=[folder / "known.jsonl"])
    expected = (folder / "out").read_bytes(), (folder / "verdicts").read_bytes()
    entries = content(folder / "index")[1]
    for name in ("out", "verdicts"):
        (folder / name).unlink()
    shutil.rmtree(folder / "index")
    die(folder, step, count)
    if (folder / "state" / "spec.json").exists():  # else it was done, but for its state
        run(folder, "in.jsonl", index=folder / "index", against=[folder / "known.jsonl"])
        assert not (folder / "state").exists()
    assert ((folder / "out").read_bytes(), (folder / "verdicts").read_bytes()) == expected
    found = content(folder / "index")[1]
    assert [entry and entry.fingerprint for entry in found] == [
        entry and entry.fingerprint for entry in entries
    ]
