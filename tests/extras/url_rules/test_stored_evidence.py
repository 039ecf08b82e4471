"""Evidence of rules in every store: kept for the next crawler, and of all crawlers."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from scrapy_simhash.extras.url_rules.rows import decode_rules
from tests.extras.url_rules.test_requests import Crawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.extras.url_rules.evidence import RuleEvidence
    from scrapy_simhash.extras.url_rules.rows import Rules

RULE = (("drop", "sid"),)


@pytest.fixture
def crawlers(backend) -> Iterator[tuple[Crawl, Crawl]]:
    """Return two crawlers with a handle each of one index."""
    with ExitStack() as handles:
        opened = [handles.enter_context(backend.open()) for _ in range(2)]
        one, other = (Crawl(index) for index in opened)
        yield one, other


def learn(crawl: Crawl, topics: range) -> None:
    for number in topics:
        path = f"/topic?t={number}&sid="
        crawl.done(crawl.request(path + "a"))
        crawl.done(crawl.request(path + "b"), path + "a")


def rules_of(crawl: Crawl) -> Rules:
    ((site, row),) = crawl.index.notes()
    assert site == "example.com"
    return decode_rules(row)


def stored(crawl: Crawl) -> RuleEvidence:
    return rules_of(crawl)[RULE].total


def known(crawl: Crawl) -> RuleEvidence:
    return crawl.rules._rules.site("example.com").rules[RULE].total


def test_evidence_is_there_for_the_next_crawler(backend):
    with backend.open() as index:
        crawl = Crawl(index, mode="learn")
        learn(crawl, range(40))
        # A contradiction: this topic differs by its session.
        crawl.done(crawl.request("/topic?t=99&sid=a"))
        crawl.done(crawl.request("/topic?t=99&sid=b"))
        before = known(crawl)
        assert (before.pages, before.against) == (38, 1)  # the first two only suggest the rule
        crawl.rules.save()
    with backend.open() as index:
        assert known(Crawl(index)) == stored(Crawl(index)) == before


def test_crawlers_that_share_an_index_keep_the_rules_of_both(crawlers):
    one, other = crawlers
    learn(one, range(6))
    one.rules.save()
    for number in range(6):
        path = f"/story/{number}"
        other.done(other.request(path))
        other.done(other.request(f"{path}?utm=a"), path)
    other.rules.save()
    assert stored(one).pages == 4
    assert (("drop", "utm"),) in rules_of(other)
