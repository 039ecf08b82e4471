"""Which pages are listed as new, changed and gone, after crawls that are played."""

import json
import random
from contextlib import closing
from dataclasses import replace

import pytest

from scrapy_simhash.commands.main import main
from scrapy_simhash.index import open_index
from scrapy_simhash.index.history import Crawl, read_history
from scrapy_simhash.index.redis import RedisAddress, open_redis_index
from scrapy_simhash.maintenance.changes import changes
from scrapy_simhash.maintenance.check import check, repair
from scrapy_simhash.maintenance.merge import merge
from scrapy_simhash.maintenance.rebuild import rebuild
from scrapy_simhash.maintenance.remove import delete, expire
from scrapy_simhash.sites import site_of
from tests.index.redis_servers import needs_redis

DAY = 86_400
TEXTS = {text: random.Random(text).getrandbits(256) for text in "abcdefgh"}
A, B, C, OTHER = (
    "http://one.example/a",
    "http://one.example/b",
    "http://one.example/c",
    "http://b.org/",
)


class Played:
    def __init__(self, where, opened):
        self.where = where
        self._opened = opened

    def crawl(self, day, pages, *, end="finished", start=None, incremental=True, left_open=()):
        """Play a crawl that sees pages with their texts. Return its first sequence number.

        :param end: "killed" for no end at all.
        :param start: of the crawl that goes on.
        :param left_open: pages that cannot be judged.
        """
        now_s = day * DAY
        with self._opened(incremental=incremental, crawl_start=start) as index:
            index.rules = replace(index.rules, clock=lambda: now_s + 1)
            history = Crawl(index.crawl_start, now_s)
            for key, text in pages.items():
                observation = index.observe(key, TEXTS[text])
                history.judged(site_of(key))
                index.confirm(observation)
            for key in left_open:
                history.failed(key)
            if end != "killed":
                history.end, history.ended_s = index.store.next_sequence, now_s + 2
                history.finished = end == "finished"
                index.end_crawl(*history.note())
            return index.crawl_start

    def since(self, day):
        """Return (key, kind, day) of the changes since a day."""
        listed = changes(self.where, day * DAY)
        assert [one.at_s for one in listed] == sorted(one.at_s for one in listed)
        return {(one.key, one.kind, one.at_s // DAY) for one in listed}


@pytest.fixture(
    params=["directory", pytest.param("redis", marks=[needs_redis, pytest.mark.thorough])]
)
def played(request, tmp_path):
    if request.param == "directory":
        url = tmp_path / "index"
        yield Played(tmp_path / "index", lambda **options: open_index(url, **options))
        return
    address = RedisAddress(request.getfixturevalue("redis_server").url, "changes")
    yield Played(address, lambda **how: open_redis_index(address.url, address.name, **how))
    delete(address)


def test_new_changed_and_gone(played):
    played.crawl(1, {A: "a", B: "b", C: "c"})
    played.crawl(2, {A: "a", B: "d", OTHER: "e"})
    assert played.since(2) == {(B, "changed", 2), (OTHER, "new", 2), (C, "gone", 2)}
    assert played.since(1) == {(A, "new", 1), (B, "new", 1), (OTHER, "new", 2), (C, "gone", 2)}
    assert played.since(3) == set()
    # They keep their days while later crawls see nothing else.
    played.crawl(3, {A: "a", B: "d", OTHER: "e"})
    played.crawl(4, {A: "a", B: "d", OTHER: "e"})
    assert played.since(2) == {(OTHER, "new", 2), (B, "changed", 2), (C, "gone", 2)}
    assert played.since(3) == set()
    played.crawl(5, {A: "a", B: "d", C: "c", OTHER: "e"})
    assert played.since(2) == {(OTHER, "new", 2), (B, "changed", 2)}


def test_a_page_that_has_become_a_copy_has_changed(played):
    played.crawl(1, {A: "a", B: "b", C: "c"})
    played.crawl(2, {A: "a", B: "a", C: "c"})
    played.crawl(3, {A: "a", B: "a"})
    [b, c] = changes(played.where, 2 * DAY)
    assert (b.key, b.kind, b.at_s // DAY, b.last_seen_s // DAY) == (B, "changed", 2, 3)
    assert b.copy_of == A
    assert (c.key, c.kind, c.at_s // DAY) == (C, "gone", 3)
    played.crawl(4, {A: "a"})
    assert played.since(4) == {(B, "gone", 4)}


@pytest.mark.parametrize("end", ["shutdown", "killed"])
def test_a_crawl_that_was_stopped_makes_no_page_gone(played, end):
    played.crawl(1, {A: "a", B: "b"})
    began = played.crawl(2, {A: "c"}, end=end)
    assert played.since(2) == {(A, "changed", 2)}
    # When it goes on and ends by itself, it is one crawl.
    played.crawl(3, {C: "d"}, start=began)
    assert played.since(2) == {(A, "changed", 2), (C, "new", 3), (B, "gone", 3)}


def test_a_crawl_says_nothing_about_sites_that_it_did_not_reach(played):
    played.crawl(1, {A: "a", OTHER: "b"})
    played.crawl(2, {A: "a"})
    assert played.since(2) == set()
    played.crawl(3, {A: "a", "http://www.b.org/else": "c"})
    assert played.since(2) == {("http://www.b.org/else", "new", 3), (OTHER, "gone", 3)}


def test_pages_that_could_not_be_judged_are_not_gone(played, monkeypatch):
    played.crawl(1, {A: "a", B: "b", C: "c"})
    played.crawl(2, {A: "a"}, left_open=[B, "\udcff"])
    assert played.since(2) == {(C, "gone", 2)}
    played.crawl(3, {A: "a"})
    assert played.since(2) == {(B, "gone", 3), (C, "gone", 2)}
    # A crawl with too many of them says nothing.
    monkeypatch.setattr("scrapy_simhash.index.history.MAX_NOT_JUDGED", 2)
    played.crawl(4, {A: "a", B: "b"})
    played.crawl(5, {A: "a"}, left_open="12345")
    assert played.since(4) == set()
    played.crawl(6, {A: "a"}, left_open="12")
    assert played.since(4) == {(B, "gone", 6)}


def test_crawls_at_the_same_time_share_their_work(played):
    played.crawl(1, {A: "a", B: "b", C: "c"})
    with played._opened(incremental=True) as index, closing(index):
        index.rules = replace(index.rules, clock=lambda: 2 * DAY)
        first = Crawl(index.crawl_start, 2 * DAY, finished=True)
        index.confirm(index.observe(A, TEXTS["a"]))
        first.judged(site_of(A))
        second = played._opened(incremental=True)
        with second:
            second.rules = replace(second.rules, clock=lambda: 2 * DAY)
            other = Crawl(second.crawl_start, 2 * DAY, finished=True)
            second.confirm(second.observe(B, TEXTS["b"]))
            other.judged(site_of(B))
            for one, opened in ((first, index), (other, second)):
                one.end, one.ended_s = opened.store.next_sequence, 2 * DAY
                opened.end_crawl(*one.note())
    assert played.since(2) == {(C, "gone", 2)}


def test_pages_of_an_import_or_a_merge_have_not_changed(played, tmp_path):
    """What is known of other indexes' pages does not fit this one's crawls."""
    later = Played(tmp_path / "later", lambda **how: open_index(tmp_path / "later", **how))
    later.crawl(1, {OTHER: "e"})
    later.crawl(2, {OTHER: "e"})
    played.crawl(3, {A: "a", B: "b"})
    merge(played.where, tmp_path / "later")
    assert played.since(1) == {(OTHER, "new", 1), (A, "new", 3), (B, "new", 3)}
    played.crawl(4, {A: "a", OTHER: "e"})
    assert played.since(4) == {(B, "gone", 4)}


def test_old_crawls_are_forgotten_with_old_pages(played):
    for day in range(7):
        played.crawl(day, {A: "a" if day % 2 else "b"})
    expire(played.where, 3 * DAY)
    with played._opened() as index:
        history = read_history(index.notes())
    assert [crawl.began_s // DAY for crawl in history] == [3, 4, 5, 6]
    assert history[-1].sites == {"one.example"}


def test_history_survives_what_looks_after_an_index(tmp_path):
    played = Played(tmp_path / "index", lambda **how: open_index(tmp_path / "index", **how))
    played.crawl(1, {A: "a", B: "b", C: "c"})
    played.crawl(2, {A: "d", B: "b"})
    before = played.since(2)
    assert before == {(A, "changed", 2), (C, "gone", 2)}
    expire(tmp_path / "index", DAY)
    rebuild(tmp_path / "index")
    repair(tmp_path / "index")
    assert played.since(2) == before
    expire(tmp_path / "index", 2 * DAY)
    assert played.since(2) == {(A, "changed", 2)}


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b"null", b"\xff", b"{}", b"[" * 100_000])
def test_a_damaged_note_counts_as_a_crawl_that_was_killed(tmp_path, note):
    where = tmp_path / "index"
    played = Played(where, lambda **how: open_index(where, **how))
    played.crawl(1, {A: "a", B: "b"})
    start = played.crawl(2, {A: "a"})
    with played._opened() as index:
        [name] = (name for name, _ in index.notes() if name.startswith(f"crawl {start:013d}"))
        index.change_note(name, lambda _: note)
    assert played.since(2) == set()
    assert check(where).problems == []
    played.crawl(3, {A: "a"})
    assert played.since(2) == {(B, "gone", 3)}


def test_the_command_writes_one_json_document_a_line(tmp_path, capsys):
    played = Played(tmp_path / "index", lambda **how: open_index(tmp_path / "index", **how))
    hostile = "https://one.example/\x1b[31m\udcff\u202e\n"
    played.crawl(1, {hostile: "a"})
    played.crawl(2, {A: "b"})

    def changed(since, code=0):
        command = ["index", "export", "--index", str(played.where), f"--changes-since={since}"]
        assert main(command) == code
        return capsys.readouterr().out

    said = changed("1970-01-03")
    assert not any(c in said for c in "\x1b\u202e")
    new, gone = map(json.loads, said.splitlines())
    day_2, day_3 = "1970-01-02T00:00:01+00:00", "1970-01-03T00:00:01+00:00"
    seen = {"at": day_3, "first_seen": day_3, "last_seen": day_3, "copy_of": ""}
    assert new == {"key": A, "change": "new", **seen}
    ended = {"at": day_3.replace("01+", "02+"), "first_seen": day_2, "last_seen": day_2}
    assert gone == {**seen, **ended, "key": hostile, "change": "gone"}
    assert changed("1d") == ""
    # An age and a date, with and without an offset, as of `remove`.
    for when in ("9999w", "1970-01-03T01:00+01:00", "1970-01-02T00:00:02"):
        assert len(changed(when).splitlines()) == 2
    with pytest.raises(SystemExit, match="2"):
        changed("yesterday")
