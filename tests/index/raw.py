"""Changes to the rows of a closed index that go around this package."""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from scrapy_simhash.index import records

from .backends import opened_database

DEADLINE_S = 60


def change_rows(directory, puts=None, deletes=()):
    """Put and delete rows."""
    with opened_database(directory) as database:
        database.write(list((puts or {}).items()), list(deletes))


def crashed(index, directory):
    """A copy of an open index as it would be if its process were killed now."""
    # Nothing of it is in memory but what the system has, so its files are as they would be found,
    # unless the database wrote or deleted some while they were copied.
    latest = time.monotonic() + DEADLINE_S
    while True:
        before = _files(index.location)
        with suppress(shutil.Error):
            shutil.copytree(index.location, directory)
            if before is not None and _files(index.location) == before:
                return directory
        assert time.monotonic() < latest, "its files change all the time"
        shutil.rmtree(directory)


def _files(directory):
    """Size and time of each file; None if one goes meanwhile."""
    try:
        found = {str(path): path.stat() for path in Path(directory).rglob("*")}
    except FileNotFoundError:
        return None
    return {name: (status.st_size, status.st_mtime_ns) for name, status in found.items()}


def state_of(rows):
    return records.decode_state(rows[records.STATE_KEY])


def largest(directory, pattern):
    """The largest file of the database by that name."""
    found = [path for path in directory.glob(f"*db/{pattern}") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_size)
