"""Ctrl-C in the middle of a write: a row that was written is found when the index is opened again."""

from __future__ import annotations

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash.index.store import Store
from scrapy_simhash.maintenance.check import check

from .backends import DATABASE_KINDS

SCHEME = Scheme.preset("classic")


@pytest.mark.parametrize("kind", DATABASE_KINDS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("after", [0, 40])
def test_an_entry_that_was_written_is_found_and_counted(tmp_path, monkeypatch, kind, error, after):
    url = f"{kind}:{tmp_path / 'index'}"
    write = Store._write

    def interrupted(store, puts, deletes=(), **how):
        write(store, puts, deletes, **how)
        if any(b"half" in value for _, value in puts):
            store._is_current = False  # as it is until the database returns
            raise error

    monkeypatch.setattr(Store, "_write", interrupted)
    with open_index(url, SCHEME) as index:
        for number in range(after):
            index.confirm(index.observe(f"before {number}", number * 0x9E3779B97F4A7C15 % 2**64))
        with pytest.raises(error):
            index.confirm(index.observe("half", 0xAAAA5555AAAA5555))
        index.confirm(index.observe("later", 0x1234123412341234))
    monkeypatch.undo()
    with open_index(url, SCHEME) as index:
        assert [match.key for match in index.query(0x1234123412341234)] == ["later"]
        assert [match.key for match in index.query(0xAAAA5555AAAA5555)] == ["half"]
        assert len(index) == after + 2
    assert check(tmp_path / "index").problems == []
