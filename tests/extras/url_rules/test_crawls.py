"""SIMHASH_URL_RULES: requests that rules spare, and those that they must not."""

import random

import pytest

from scrapy_simhash.extras.url_rules.evidence import decode_rules
from scrapy_simhash.index import open_index
from scrapy_simhash.index.history import PREFIX
from tests.crawl.harness import Crawl, crawled, run

WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "st", "lk")]
TOPICS = range(32)
ON = {"SIMHASH_URL_RULES": "apply"}
FAILING = "/topic?t=30&sid=c"


def text_of(number):
    chosen = random.Random(number)
    return " ".join(chosen.choice(WORDS) for _ in range(120))


def topic(site, number, sid):
    title = f"Topic {WORDS[number]}"
    body = (
        f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text_of(number)}</p>"
    )
    return site.put(f"/topic?t={number}&sid={sid}", body)


@pytest.fixture(scope="module")
def crawls(site, module_path, every_index):
    """Learn from twenty topics under two URLs each, then ask for others under three."""
    site.hits.clear()
    learned = [topic(site, number, sid) for number in range(20) for sid in "ab"]
    # A failed page is asked for under its other URL.
    tried = [topic(site, number, sid) for number in range(20, 32) for sid in "cde"]
    again = topic(site, 25, "f")
    special = [
        {"url": again, "dont_filter": True},
        {"url": topic(site, 25, "g"), "meta": {"dont_simhash": True}},
        {"url": topic(site, 25, "h"), "method": "POST"},
        {"url": topic(site, 25, "i"), "meta": {"simhash_key": "own"}},
        {"url": topic(site, 25, "j"), "errback": True},
    ]
    requests = [*learned, *tried, *special]
    return run(
        module_path,
        Crawl(requests, ON, arguments={"failing": [FAILING]}),
        Crawl(tried[:12], {"SIMHASH_URL_RULES": "learn"}),
    )


def test_requests_are_spared_and_every_topic_is_seen(crawls, site):
    first = crawls[0]
    assert first.stat("url_rules/spared") >= 12
    paths = [event["path"] for event in first.events]
    for number in TOPICS:
        assert any(path.startswith(f"/topic?t={number}&") for path in paths)
    assert first.stat("url_rules/contradicted") == 0
    assert first.stat("url_rules/rules") >= 1


def test_a_page_that_failed_is_asked_for_under_its_other_url(crawls):
    assert "/topic?t=30&sid=d" in crawls[0].seen()


def test_some_requests_are_never_spared(crawls, site):
    assert [site.hit(f"/topic?t=25&sid={sid}") for sid in "fghi"] == 4 * [1]
    assert crawls[0].stat("skipped/dont_simhash") == 1


def test_rules_are_kept_and_learn_spares_nothing(crawls):
    second = crawls[1]
    assert second.stat("url_rules/would_spare") >= 4
    assert second.stat("url_rules/spared") == 0
    assert second.stat("checked") == 12


def test_a_damaged_row_is_counted_and_written_anew(site, tmp_path, monkeypatch):
    monkeypatch.delenv("CRAWL_WITH_REDIS", raising=False)
    directory = tmp_path / "simhash" / "spiders" / "pages"
    first, second = topic(site, 1, "a"), topic(site, 1, "b")
    run(tmp_path, Crawl([first, second]))
    with open_index(directory) as index:
        index.change_note("127.0.0.1", lambda _: b"{damaged")
    result = crawled(tmp_path, [topic(site, n, sid) for n in (1, 2, 3) for sid in "ab"], ON)
    assert result.stat("errors/url_rules") == 1
    assert result.stat("checked") == 6
    with open_index(directory) as index:
        [(name, row)] = (note for note in index.notes() if not note[0].startswith(PREFIX))
    assert name == "127.0.0.1"
    assert decode_rules(row)
