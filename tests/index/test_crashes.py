"""Writers that are killed at any moment: the index holds what was confirmed, and nothing else."""

import random

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.maintenance.check import check

from .backends import DATABASE_KINDS
from .expected import Expected, content
from .processes import children

# By each of three policies in two kinds of database.
KILLS = 204 // 6


def die(begin, rng, directory, **arguments):
    """Begin a writer that dies, or closes before it comes to that; returns it, and what it said."""
    how = rng.choice(["lines", "lines", "write", "write", "closing"])
    when = rng.choice(["before", "after"])
    stop, dies_at = rng.randrange(60), ""
    if arguments["run"] == 1:
        dies_at = "before 1"
    elif how == "lines":
        stop = 10**9
    elif how == "write":
        dies_at = f"{when} {rng.choice([1, 2, 3, rng.randrange(1, 60)])}"
    else:
        dies_at = f"closing {when} {rng.randrange(1, 8)}"
    writer = begin("write", directory=str(directory), stop=stop, dies_at=dies_at, **arguments)
    said = []
    if not dies_at:
        said = [writer.line() for _ in range(rng.choice([0, 1, 2, rng.randrange(3, 80)]))]
        writer.kill()
    said += writer.rest()
    assert writer.was_killed or (dies_at and said[-1] == "closed"), said
    return writer, said


@pytest.mark.parametrize(
    "sync",
    ["everysec", *(pytest.param(sync, marks=pytest.mark.thorough) for sync in ("always", "no"))],
)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
def test_an_index_holds_just_what_was_confirmed_whenever_its_writers_are_killed(
    tmp_path, kind, sync
):
    directory = tmp_path / "index"
    rng = random.Random(f"{kind} {sync}")
    expected = Expected()
    kills = run = 0
    last_said = set()
    with children() as other:
        while kills < KILLS:
            run += 1
            writer, said = die(other.begin, rng, directory, kind=kind, run=run, sync=sync)
            kills += writer.was_killed
            if writer.was_killed:
                last_said.add(said[-1].split()[0] if said else "nothing")
            done = [line.split()[1] for line in said if line.startswith("did ")]
            # Of the page that it was at, nothing or all was written.
            expected.after(run, done, content(directory), at_least=len(done))
            if run % 3 == 0:
                open_and_close(kind, directory, expected.content()[0], rng)
    assert kills == KILLS
    # It died as it opened the index, wrote to it and closed it, with records in memory.
    assert last_said >= {"nothing", "did", "closing"}


def open_and_close(kind, directory, entries, rng):
    if not entries:
        return
    with open_index(f"{kind}:{directory}") as index:
        assert len(index) == len(entries)
        for key in rng.sample(sorted(entries), min(len(entries), 30)):
            assert key in [match.key for match in index.query(entries[key])]
            assert index.observe(key, entries[key]).kind == "unchanged"
    report = check(directory)
    assert (report.entries, report.problems) == (len(entries), [])
