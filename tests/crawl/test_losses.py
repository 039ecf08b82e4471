"""Compare what a crawl finds with the plugin and without it.

A family is a page and its copies. Each family of the crawl without the plugin must give an item
with it, too, whatever components of users do on the way.
"""

from __future__ import annotations

import random

import pytest

from tests.crawl.answers import html
from tests.crawl.harness import IN_ORDER, Crawl, run

FAMILIES = 10
COPIES = 2
COMPONENTS = "tests.crawl.components"
CALLBACKS = [
    "parse",
    pytest.param("parse_list", marks=pytest.mark.thorough),
    pytest.param("parse_coroutine", marks=pytest.mark.thorough),
    "parse_async_generator",
]


def story(number: int, copy: int = 0) -> str:
    """Return a page of 200 random words; a copy has one more word."""
    chosen = random.Random(number)
    words = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(200)]
    text = " ".join([*words, f"copy{copy}" if copy else ""])
    title = " ".join(words[:3])
    return (
        f"<html><head><title>{title}</title></head>"
        f"<body><article><h1>{title}</h1><p>{text}</p></article></body></html>"
    )


BAN = (
    "<html><head><title>Please wait</title></head><body><article><h1>Please wait</h1><p>"
    + "We check that you are a person and not a machine before you go on to the page. " * 6
    + "</p></article></body></html>"
)


pytestmark = pytest.mark.usefixtures("every_index")


@pytest.fixture(scope="module")
def urls(site):
    """Return the URLs of all pages, family by family."""
    return [
        site.put(f"/story/{number}/{copy}", story(number, copy))
        for number in range(FAMILIES)
        for copy in range(COPIES + 1)
    ]


def beside(path, crawl, **how):
    """Run a crawl with the plugin, and without it."""
    off = Crawl(
        requests=crawl.requests,
        settings=crawl.settings | {"SIMHASH_ENABLED": False},
        spider=crawl.spider,
        arguments=crawl.arguments,
        name=crawl.name,
    )
    return run(path, crawl, off, **how)


def families(result):
    """Return the families with an item from the spider."""
    return {item["url"].rsplit("/", 1)[0] for item in result.items if not item.get("added")}


@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_middleware_that_answers_for_exceptions(urls, tmp_path, callback):
    on, off = beside(
        tmp_path,
        Crawl(
            requests=[{"url": url, "callback": callback} for url in urls],
            settings={"SPIDER_MIDDLEWARES": {f"{COMPONENTS}.AnsweringMiddleware": 543}},
            arguments={"failing": [f"/story/{number}/0" for number in range(FAMILIES)]},
        ),
    )
    assert (len(off.items), len(families(off))) == (FAMILIES * COPIES, FAMILIES)
    assert (len(on.items), families(on)) == (FAMILIES, families(off))
    # No other middleware sees our exception.
    # A copy may arrive before Redis knows that its page failed: it is requested again.
    assert on.stat("dropped") == FAMILIES + on.stat("rescheduled")
    answered = {name: on.stats[name] for name in on.stats if name.startswith("answered/")}
    assert answered == {"answered/RuntimeError": FAMILIES}


@pytest.mark.parametrize(
    "order",
    [
        pytest.param(-100, marks=pytest.mark.thorough),
        pytest.param(40, marks=pytest.mark.thorough),
        543,
    ],
)
def test_items_that_a_middleware_adds(urls, tmp_path, order):
    on, off = beside(
        tmp_path,
        Crawl(
            requests=urls,
            settings={
                "SPIDER_MIDDLEWARES": {f"{COMPONENTS}.AddingMiddleware": order},
                "ITEM_PIPELINES": {f"{COMPONENTS}.SlowPipeline": 300},
                "PAGES": len(urls),
            }
            | IN_ORDER,
            arguments={"at_once": True},
        ),
    )
    assert len(families(off)) == FAMILIES
    assert families(on) == families(off)
    # Items that a middleware adds pass also for dropped pages.
    assert {item["url"] for item in on.items if item.get("added")} == set(urls)


def test_the_last_retry_of_a_ban_is_a_copy_of_a_pending_page(site, tmp_path):
    """The repeated request still knows the content that its callback refused."""
    banned = site.put_turns("/banned", html(BAN))
    slow = site.put_turns("/slow", html(BAN), html(BAN), html(story(1)))
    [crawl] = run(
        tmp_path,
        Crawl(
            requests=[{"url": banned, "meta": {"max_retry_times": 1}}],
            spider=f"{COMPONENTS}.SlowBannedSpider",
            settings=IN_ORDER,
        ),
    )
    # The last retry of /banned has refused content, so it passes while /slow is pending.
    assert crawl.stat("dropped") == 0
    assert {item["url"] for item in crawl.items} == {banned, slow}


def test_what_downloader_middlewares_add_does_not_tell_copies_apart_but_headers_do(site, tmp_path):
    urls = [site.put(f"/stamped/{number}", story(7)) for number in range(4)]
    stamping = "tests.crawl.generated_components.StampingMiddleware"
    [crawl] = run(
        tmp_path,
        Crawl(
            requests=[
                *urls[:2],
                *({"url": url, "headers": {"X-Country": "de"}} for url in urls[2:]),
            ],
            settings={"DOWNLOADER_MIDDLEWARES": {stamping: 500}} | IN_ORDER,
            arguments={"at_once": True},
        ),
    )
    assert [item["url"] for item in crawl.items] == [urls[0], urls[2]]
    assert crawl.stat("dropped") == 2
