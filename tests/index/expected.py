"""What an index that died holds, against what it should: the same pages in memory."""

from scrapy_simhash.index import records
from scrapy_simhash.maintenance.check import check

from .backends import MemoryBackend, check_rows, rows
from .child import PLAN, carry_out, operations

# Fingerprints by page key, and the near-duplicate log without its numbers and times.
Content = tuple[dict[str, int], list[tuple[str, str, int, int]]]


class Expected:
    """What an index holds if the pages of all writers were carried out in memory."""

    def __init__(self):
        self._backend = MemoryBackend(PLAN)

    def after(self, run, done, found, *, at_least):
        """Catch up with what a writer did until it died, and what was found of that.

        :param done: what it said of each page.
        :param at_least: so many pages must have been found, and at most those and the next one.
        :returns: how many were.
        """
        index = self._backend.open(incremental=run % 2 == 1)
        todo = operations(run)
        kinds = [carry_out(index, next(todo)) for _ in range(at_least)]
        while self.content() != found and len(kinds) <= len(done):
            kinds.append(carry_out(index, next(todo)))
        index.close()
        entries, log = self.content()
        assert found[0] == entries
        assert found[1] == log
        assert kinds[: len(done)] == done[: len(kinds)]
        return len(kinds)

    def content(self):
        rows = dict(self._backend.database.rows(b"", b"\xff"))
        return _content(rows) if rows else ({}, [])


def content(directory):
    """The same of an index on disk, after checking that its rows fit each other."""
    if not (directory / "manifest.json").exists():
        return {}, []
    report = check(directory)
    assert report.problems == [], report.problems
    stored = rows(directory)
    if not stored:
        return {}, []
    entries, log = _content(stored)
    assert (report.entries, report.near_duplicates) == (len(entries), len(log))
    return entries, log


def _content(stored):
    log = [
        records.decode_near_duplicate(int.from_bytes(row[1:], "big"), value)
        for row, value in sorted(stored.items())
        if row[:1] == b"N"
    ]
    entries = {key: entry.fingerprint for key, entry in check_rows(stored, PLAN).items()}
    return entries, [_without_numbers(line) for line in log]


def _without_numbers(line):
    return line.key, line.representative, line.distance, line.fingerprint
