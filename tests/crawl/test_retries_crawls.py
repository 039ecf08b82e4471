"""Crawls whose originals fail while their copies are dropped: exactly one of them is kept."""

import pytest

from tests.crawl.harness import IN_ORDER, Crawl, crawled, run, run_named
from tests.crawl.pages import ARTICLES, page
from tests.crawl.retry_spiders import COMPONENTS, HELD_AT_MOST, ScriptedSpider
from tests.crawl.site import HTML, Answer, HangUp, html

COPIES = 3


def crawl(original, copies, script=(), *, settings=None, **arguments):
    return Crawl(
        [original],
        COMPONENTS | IN_ORDER | {"SIMHASH_WORKERS": 0} | (settings or {}),
        spider=f"{ScriptedSpider.__module__}.ScriptedSpider",
        arguments={"copies": copies, "script": script, **arguments},
    )


def put(site, name, count=COPIES, **how):
    """Put an original and copies of it: /name, /name/1, /name/2…"""
    return [
        site.put(
            f"/{name}/{number}" if number else f"/{name}", page("mill", copy=number or None, **how)
        )
        for number in range(count + 1)
    ]


def kept(result):
    return [item["path"] for item in result.items if "path" in item]


# Originals that fail

FAILURES = {
    "callback": ["raise"],
    "pipeline": ["spoil"],
    "middleware": ["break"],
    "everything": ["spoil", "raise", "break"],
    "all": ["raise"] * 4,
}


@pytest.fixture(scope="module")
def failures(site, module_path):
    crawls = {}
    for name, script in FAILURES.items():
        original, *copies = put(site, name)
        crawls[name] = crawl(original, copies, script)
    return run_named(module_path / "failures", crawls)


@pytest.mark.parametrize("name", FAILURES)
def test_copies_of_a_page_that_failed_are_asked_for_until_one_is_kept(failures, name):
    result = failures[name]
    failed = len(FAILURES[name])
    assert result.finish_reason == "finished"
    tried = [f"/{name}", *(f"/{name}/{number}" for number in range(1, COPIES + 1))]
    assert result.seen() == tried[: failed + 1]
    assert kept(result) == tried[failed : failed + 1]
    assert result.stat("discarded") == failed
    assert result.stat("rescheduled") == min(failed, COPIES)
    # Each page counts once, as what it was in the end.
    assert result.stat("dropped") == COPIES - min(failed, COPIES)
    assert result.stat("checked") == COPIES + 1
    assert result.stat("index/size") == (failed <= COPIES)


# Copies whose second request is answered in another way

FEW = "<html><body><p>Too few words are here.</p></body></html>"
# What comes → the answer, the paths that callbacks see, those of the items, and stats.
NEXT = (["", "/2"], ["/2"], {"rescheduled": 2})
NO_CONTENT = (["", "/1", "/2"], None, {"rescheduled": 2, "discarded": 1, "index/size": 1})
FATES = {
    "gone": (Answer(b"gone", 404, HTML), *NEXT),
    "hang-up": (Answer(b"", barrier=HangUp()), *NEXT),
    "moved-to-itself": (Answer(b"", 302, {"Location": "/moved-to-itself/1"}), *NEXT),
    **{f"refused-{what}": (None, *NEXT) for what in ("request", "response", "page")},
    # It passes, and the next one has its chance.
    "no-html": (Answer(page("mill").encode(), headers={"Content-Type": "text/plain"}), *NO_CONTENT),
    "few-words": (html(FEW), *NO_CONTENT),
    # Other content sets the others free.
    "moved-away": (
        *(Answer(b"", 302, {"Location": "/elsewhere"}), None, ["/elsewhere", "/2"]),
        {"rescheduled": 3, "near_duplicate": COPIES - 2},
    ),
    # The page that failed stands for the others.
    "moved-back": (
        *(Answer(b"", 302, {"Location": "/moved-back"}), ["", ""], [""], {"rescheduled": 1}),
    ),
}


@pytest.fixture(scope="module")
def fates(site, module_path):
    site.put("/elsewhere", page("tram"))
    crawls = {}
    for name, (answer, *_) in FATES.items():
        original, *copies = put(site, name)
        if answer is not None:
            copies[0] = site.put_turns(f"/{name}/1", html(page("mill", copy=1)), answer)
        settings = {"REDIRECT_MAX_TIMES": 3}
        crawls[name] = crawl(original, copies, ["raise"], settings=settings)
    return run_named(module_path / "fates", crawls)


@pytest.mark.parametrize("name", FATES)
def test_a_copy_that_comes_back_otherwise_gives_the_next_its_chance(fates, name):
    result, (_, seen, items, stats) = fates[name], FATES[name]
    assert result.finish_reason == "finished"
    for expected, found in ((seen, result.seen()), (items, kept(result))):
        if expected is not None:
            assert found == [
                path if path == "/elsewhere" else f"/{name}{path}" for path in expected
            ]
    assert {stat: result.stat(stat) for stat in stats} == stats
    if name.startswith("refused"):
        assert result.stats[f"refused/{name.partition('-')[2]}"] == 1


# Ban pages


def test_a_ban_page_that_stays_one_is_not_asked_for_without_end(site, tmp_path):
    passing = site.put_turns("/stays/0", html(page("mill")), html(page("clock")))
    staying = [site.put(f"/stays/{place}", page("mill")) for place in (1, 2)]
    result = crawled(
        tmp_path,
        [passing, *staying, site.put("/stays/last", page("paper"))],
        IN_ORDER | {"CLOSESPIDER_PAGECOUNT": 100},
        spider=f"{ScriptedSpider.__module__}.AskingLastSpider",
        arguments={"ban": ARTICLES["mill"][0]},
    )
    assert result.finish_reason == "finished"
    assert {item["title"] for item in result.items} == {ARTICLES["clock"][0], ARTICLES["paper"][0]}


# Held copies


def test_copies_beyond_the_limit_are_not_held_but_kept(site, tmp_path):
    original, *copies = put(site, "many", 5)
    requests = crawl(original, copies, ["raise"])
    setup = f"{ScriptedSpider.__module__}.hold_few_copies"
    [result] = run(tmp_path, requests, setup=setup)
    # The held copies were dropped, and one of them was requested again.
    assert result.stat("kept/held_too_many") == 5 - HELD_AT_MOST
    assert result.stat("dropped") == HELD_AT_MOST - 1
    assert kept(result)[: 5 - HELD_AT_MOST] == ["/many/3", "/many/4", "/many/5"]
    assert kept(result)[5 - HELD_AT_MOST :] == ["/many/1"]
    events = [result.event(f"/many/{number}") for number in (3, 4, 5)]
    assert {event["verdict"]["kind"] for event in events} == {"near-duplicate"}
