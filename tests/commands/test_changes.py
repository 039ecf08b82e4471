"""``export --changes-since``: what it writes for people and programs, and what it does not accept."""

import json
import random
from dataclasses import replace

import pytest

from scrapy_simhash.index import open_index
from scrapy_simhash.index.history import Crawl

DAY = 86_400
KEY = "https://a.example/\x1b[31m\udcff\u202e\n"


@pytest.fixture
def index(folder):
    """An index that two crawls of a day each have used; the second misses a page."""
    where = folder / "index"
    for day, key in enumerate((KEY, "https://a.example/"), 1):
        now_s = day * DAY
        with open_index(where, incremental=True) as opened:
            opened.rules = replace(opened.rules, clock=lambda now_s=now_s: now_s)
            history = Crawl(opened.crawl_start, now_s, ended_s=now_s, finished=True)
            observation = opened.observe(key, random.Random(day).getrandbits(256))
            opened.confirm(observation)
            history.judged("a.example")
            history.end = opened.next_sequence
            opened.end_crawl(*history.note())
    return where


def changes(run, index, since):
    return run("index", "export", "--index", index, f"--changes-since={since}", "-")


def test_one_json_document_a_line(run, index):
    ran = changes(run, index, "1970-01-03")
    assert (ran.code, ran.err) == (0, "")
    assert not any(c in ran.out for c in "\x1b\u202e")
    new, gone = map(json.loads, ran.out.splitlines())
    day_2, day_3 = "1970-01-02T00:00:00+00:00", "1970-01-03T00:00:00+00:00"
    assert new == {
        "key": "https://a.example/",
        "change": "new",
        "at": day_3,
        "first_seen": day_3,
        "last_seen": day_3,
        "copy_of": "",
    }
    assert gone == {
        "key": KEY,
        "change": "gone",
        "at": day_3,
        "first_seen": day_2,
        "last_seen": day_2,
        "copy_of": "",
    }
    assert changes(run, index, "1d").out == ""
    # An age and a date, with and without an offset, as of `remove`.
    for when in ("9999w", "1970-01-03T01:00+01:00", "1970-01-02T00:00:01"):
        assert len(changes(run, index, when).out.splitlines()) == 2


def test_what_is_no_time(run, index):
    ran = changes(run, index, "yesterday")
    assert (ran.code, ran.out) == (2, "")
    assert "neither an age" in ran.err
