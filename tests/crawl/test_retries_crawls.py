"""Retries in other modes and with other crawls; `generated_failing` has those of one crawl."""

import pytest

from scrapy_simhash import open_index
from tests.crawl.harness import IN_ORDER, Crawl, crawled, run
from tests.crawl.pages import page, put_articles
from tests.crawl.retry_spiders import HELD_AT_MOST, ScriptedSpider, until

COPIES = 3
SETTINGS = IN_ORDER | {"SIMHASH_WORKERS": 0}
INCREMENTAL = {"SIMHASH_INCREMENTAL": True}

# What has happened in this process, in any of its crawls.
HAPPENED = set()


class FirstOfTwoSpider(ScriptedSpider):
    """Fails in its callback when the other crawl of the process is idle."""

    async def parse(self, response, **kwargs):
        self.note(response)
        HAPPENED.add("begun")
        await until(lambda: "idle" in HAPPENED, "the other crawl is idle")
        async for output in self.outcome(response, self.next_step(), {"path": "/two"}):
            yield output


class SecondOfTwoSpider(ScriptedSpider):
    """Starts when the callback of the other crawl of the process has started."""

    async def start(self):
        await until(lambda: "begun" in HAPPENED, "the other crawl has begun")
        async for output in super().start():
            yield output

    def go_on(self):
        HAPPENED.add("idle")
        super().go_on()


class TakingOne:
    """A spider middleware on the engine's side of ours that takes no more than a page's first
    output."""

    async def process_spider_output(self, response, result):
        async for output in result:
            yield output
            break


def put(site, name, count=COPIES, **how):
    """Put an original and copies of it: /name, /name/1, /name/2…"""
    paths = [f"/{name}", *(f"/{name}/{number}" for number in range(1, count + 1))]
    return [site.put(path, page("mill", copy=at or None, **how)) for at, path in enumerate(paths)]


def kept(result):
    return [item["path"] for item in result.items if "path" in item]


def crawl(name, original, copies=(), script=(), *, spider=ScriptedSpider, **settings):
    """Return a crawl by a script."""
    return Crawl(
        [original],
        SETTINGS | settings,
        spider=f"{spider.__module__}.{spider.__name__}",
        name=name,
        arguments={"copies": list(copies), "script": list(script)},
    )


# Where links are followed, and where too many copies wait


def test_where_links_are_followed_a_copy_gives_the_item_that_the_page_has_not_given(site, tmp_path):
    put_articles(site, "/linked/1 tram", "/linked/2 bees")
    # With two links, the pages would lead on.
    original, *copies = put(site, "follow", links=["/linked/1", "/linked/2", "/linked/1"])
    [result] = run(tmp_path, crawl("follow", original, copies, ["raise"], SIMHASH_FOLLOW=True))
    tried = ["/follow", "/follow/1", "/follow/2", "/follow/3"]
    pages = [event for event in result.events if "linked" not in event["path"]]
    # The others are requested again for theirs, because their page fails.
    assert [event["path"] for event in pages[: len(tried)]] == tried
    assert kept(result)[0] == "/follow/1"
    assert result.stat("dropped_items") >= COPIES - 1
    assert 1 <= result.stat("rescheduled") < COPIES


def test_copies_beyond_the_limit_are_not_held_but_kept(site, tmp_path):
    original, *copies = put(site, "many", 5)
    setup = f"{ScriptedSpider.__module__}.hold_few_copies"
    [result] = run(tmp_path, crawl("many", original, copies, ["raise"]), setup=setup)
    # The held copies were dropped, and one of them was requested again.
    assert result.stat("kept/held_too_many") == 5 - HELD_AT_MOST
    assert result.stat("dropped") == HELD_AT_MOST - 1
    assert kept(result) == ["/many/3", "/many/4", "/many/5", "/many/1"]
    events = [result.event(f"/many/{number}") for number in (3, 4, 5)]
    assert {event["verdict"]["kind"] for event in events} == {"near-duplicate"}


def test_incremental_crawls_give_second_chances_too(site, tmp_path):
    original, *copies = put(site, "one")
    first = crawl("one", original, copies, ["raise"] * 2, **INCREMENTAL)
    again = Crawl([original, *copies], SETTINGS | INCREMENTAL, name="one")
    kept_one, kept_none = run(tmp_path, first, again)
    assert (kept(kept_one), kept_one.stat("rescheduled")) == (["/one/2"], 2)
    assert (kept_none.seen(), kept(kept_none)) == (["/one/2"], [])


def test_content_whose_copies_were_dropped_before_a_kill_passes_the_next_crawl(site, tmp_path):
    original, *copies = put(site, "killed")
    with pytest.raises(AssertionError):  # the process did not end well
        run(tmp_path, crawl("killed", original, copies, ["kill"], **INCREMENTAL))
    with open_index(tmp_path / "simhash" / "spiders" / "killed") as index:
        assert len(list(index.near_duplicates())) == COPIES
    after = crawled(tmp_path, copies, SETTINGS | INCREMENTAL, name="killed")
    assert (after.seen(), after.stat("dropped")) == (["/killed/1"], COPIES - 1)


@pytest.mark.parametrize(("script", "expected"), [(["raise"], ["/two/1"]), (["keep"], [])])
def test_a_copy_waits_for_the_page_of_another_crawl(site, tmp_path, script, expected):
    original, copy = put(site, "two", 1)
    shared = {"SIMHASH_SHARED": True}
    both = [
        crawl("a", original, script=script, spider=FirstOfTwoSpider, **shared),
        crawl("b", copy, spider=SecondOfTwoSpider, **shared),
    ]
    first, second = run(tmp_path, both)
    assert (first.finish_reason, second.finish_reason) == ("finished", "finished")
    assert kept(second) == expected
    assert second.stat("near_duplicate") == 1 - len(expected)
    assert second.stat("rescheduled") == len(expected)
    assert first.stat("index/size") <= second.stat("index/size") == 1


def test_a_page_whose_output_somebody_stops_reading_is_no_reason_to_drop_its_copies(site, tmp_path):
    # The only output that is read is a link; the item comes after it.
    original, *copies = put(site, "read")
    settings = {"SPIDER_MIDDLEWARES": {f"{__name__}.TakingOne": 10}}
    script = ["link to itself, keep"]
    [result] = run(tmp_path, crawl("read", original, copies, script, **settings))
    assert kept(result)[:1] == ["/read/1"]
