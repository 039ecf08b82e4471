"""Power losses: what was not synced is gone, as if the logs ended at their last synced byte.

A writer says after each synced write how long the logs are; then it is killed, and its logs are
cut there, or somewhere behind it.
"""

import json
import os
import random

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.maintenance.check import check

from .backends import DATABASE_KINDS
from .child import database_class
from .expected import Expected, content
from .processes import children

pytestmark = pytest.mark.thorough

ROUNDS = 10


def logs(directory, kind):
    """Names and sizes of the database's logs, oldest first."""
    return {log.name: log.stat().st_size for log in sorted((directory / kind).glob("*.log"))}


def lose_power(directory, kind, synced, rng):
    """Of each log keep what was synced; of what was not, whatever the system had written."""
    lengths = logs(directory, kind)
    # It writes older bytes first, unless told otherwise.
    unsynced = sum(length - synced.get(name, 0) for name, length in lengths.items())
    kept = rng.choice([0, 0, rng.randint(0, unsynced)])
    for name, length in lengths.items():
        behind = min(kept, length - synced.get(name, 0))
        kept -= behind
        os.truncate(directory / kind / name, synced.get(name, 0) + behind)
    config = directory / kind / "rocksdict-config.json"
    if config.exists():
        os.truncate(config, 0)  # rewritten at each opening, and never synced


class Writer:
    def __init__(self, said, on_disk):
        self.done, self.synced_pages, self.synced = [], 0, dict(on_disk)
        for line in said:
            what, _, rest = line.partition(" ")
            if what == "did":
                self.done.append(rest)
            elif what in {"synced", "before"}:
                self.synced |= json.loads(rest.removeprefix("synced "))
                # With the write of the page that was at work, or just before it.
                self.synced_pages = len(self.done) + (what == "synced")
        self.closed = said[-1:] == ["closed"]


@pytest.mark.parametrize("sync", ["always", "everysec", "no"])
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_after_a_power_loss_an_index_holds_what_was_confirmed_up_to_the_last_sync(
    tmp_path, kind, sync
):
    directory = tmp_path / "index"
    rng = random.Random(f"{kind} {sync}")
    expected = Expected()
    lost = 0
    with children() as other:
        for run in range(1, ROUNDS + 1):
            on_disk, closes = logs(directory, kind), run % 3 == 0
            process = other.begin(
                "write",
                kind=kind,
                directory=str(directory),
                run=run,
                sync=sync,
                stop=7 * run if closes else 10**9,
                say_synced=True,
            )
            said = []
            if not closes:
                said = [process.line() for _ in range(rng.randrange(1, 300))]
                process.kill()
            said += process.rest()
            writer = Writer(said, on_disk)
            assert process.was_killed != writer.closed == closes
            lose_power(directory, kind, writer.synced, rng)
            lost += recovered(expected, run, writer, directory, kind=kind, sync=sync)
    assert bool(lost) == (sync != "always")


def recovered(expected, run, writer, directory, *, kind, sync):
    """Check an index after a power loss; returns how many of the pages said to be done it lost."""
    done = len(writer.done)
    # Of the page that it was at, nothing or all was written.
    everysec = done if writer.closed else min(writer.synced_pages, done)
    promised = {"always": done, "everysec": everysec, "no": 0}[sync]
    # A write is synced once in 20 or so, and some pages write nothing.
    assert sync == "no" or done - promised < 80
    kept = expected.after(run, writer.done, content(directory), at_least=promised)
    with open_index(f"{kind}:{directory}") as index:
        assert len(index) == len(expected.content()[0])
    assert check(directory).problems == []
    return max(done - kept, 0)


def test_the_manifest_is_on_the_disk_before_the_database_is_made(tmp_path, kind, monkeypatch):
    """Else a power loss could leave the rows without what says how to read them."""
    directory = tmp_path / "index"
    events = []
    fsync, class_ = os.fsync, database_class(kind)
    original = class_.__init__

    def note_fsync(descriptor):
        fsync(descriptor)
        events.append(os.fstat(descriptor))

    def note_database(database, *arguments):
        events.append("database")
        original(database, *arguments)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(class_, "__init__", note_database)
    open_index(f"{kind}:{directory}").close()
    before = events[: events.index("database")]
    for path in (directory / "manifest.json", directory):
        assert any(os.path.samestat(status, path.stat()) for status in before), path
