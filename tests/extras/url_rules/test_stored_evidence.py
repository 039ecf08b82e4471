"""Evidence of rules in every store: kept for the next crawler, and added up between crawlers."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.extras.url_rules.rows import decode_rules
from tests.extras.url_rules.test_requests import Crawl
from tests.index.redis_servers import RedisBackend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.extras.url_rules.evidence import RuleEvidence

RULE = (("drop", "sid"),)


@pytest.fixture
def crawlers(backend) -> Iterator[tuple[Crawl, Crawl]]:
    """Return two crawlers with a handle each of one index."""
    with ExitStack() as handles:
        opened = [handles.enter_context(backend.open()) for _ in range(2)]
        one, other = (
            Crawl(index, in_threads=isinstance(backend, RedisBackend)) for index in opened
        )
        yield one, other


def learn(crawl: Crawl, topics: range) -> None:
    for number in topics:
        path = f"/topic?t={number}&sid="
        crawl.done(crawl.request(path + "a"))
        crawl.done(crawl.request(path + "b"), path + "a")


def stored(crawl: Crawl) -> RuleEvidence:
    ((site, row),) = crawl.index.side_rows("notes")
    assert site == "example.com"
    return decode_rules(row)[RULE].total


def known(crawl: Crawl) -> RuleEvidence:
    return crawl.rules._rules.site("example.com").rules[RULE].total


def test_evidence_is_there_for_the_next_crawler(backend):
    in_threads = isinstance(backend, RedisBackend)
    with backend.open() as index:
        crawl = Crawl(index, mode="learn", in_threads=in_threads)
        learn(crawl, range(40))
        # A contradiction: this topic differs by its session.
        crawl.done(crawl.request("/topic?t=99&sid=a"))
        crawl.done(crawl.request("/topic?t=99&sid=b"))
        before = known(crawl)
        assert (before.pages, before.against) == (38, 1)  # the first two only suggest the rule
        crawl.rules.save()
    with backend.open() as index:
        assert known(Crawl(index, in_threads=in_threads)) == stored(Crawl(index)) == before


def test_crawlers_that_share_an_index_add_up_what_they_find(crawlers):
    one, other = crawlers
    for number in range(6):
        learn(one, range(100 + number, 101 + number))
        learn(other, range(200 + number, 201 + number))
    one.rules.save()
    other.rules.save()
    assert stored(one).pages == 2 * 4
    # One of them hears of the other's pages when it saves the next time.
    learn(one, range(107, 108))
    one.rules.save()
    assert known(one).pages == stored(other).pages == 9


def test_a_rule_that_is_deleted_stays_deleted(crawlers):
    one, other = crawlers
    learn(one, range(8))
    one.rules.save()
    other.index.change_side_row("notes", "example.com", lambda _: None)
    learn(one, range(8, 9))
    one.rules.save()
    assert RULE not in decode_rules(dict(other.index.side_rows("notes")).get("example.com"))
