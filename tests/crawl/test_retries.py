"""Retries: which copies are requested again, and when."""

from dataclasses import replace

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl import retries
from scrapy_simhash.crawl.retries import META_KEY, DroppedCopy, Retries
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index import Observation
from scrapy_simhash.index.base import Earlier
from scrapy_simhash.index.rules import Rules

MAX_DISTANCE = 3
RULES = Rules(MAX_DISTANCE, Confirmation())
BAN, STORY = 0, 0xFFFF  # fingerprints that are far apart


class World:
    """The answers of the index by key of a copy, and the requests that were scheduled."""

    def __init__(self, **options):
        self.says = {}
        self.scheduled = []
        self.looked_at = []
        self.retries = Retries(self._observe, self.scheduled.append, RULES, **options)

    def _observe(self, copies, then):
        keys = [copy.seen.key for copy in copies]
        self.looked_at += keys
        then([self.says.get(key, observation("new", key)) for key in keys])

    def hold(self, representative, *keys):
        return [self.hold_copy(representative, dropped(key)) for key in keys]

    def hold_copy(self, representative, copy):
        if self.retries.full:
            return False
        self.retries.hold(representative, copy)
        return True

    def near(self, *keys, **earlier):
        """Let copies be copies of a stored page."""
        for key in keys:
            found = observation("near-duplicate", key, representative="page")
            self.says[key] = replace(found, earlier=Earlier(**earlier))

    def asked(self):
        """Return the keys of the pages that were requested since the last call."""
        keys = [request.url.rpartition("/")[2] for request in self.scheduled]
        self.came = {**getattr(self, "came", {}), **dict(zip(keys, self.scheduled, strict=True))}
        self.scheduled.clear()
        return keys

    def arrives(self, key, evidence=NO_EVIDENCE):
        token = self.came[key].meta[META_KEY]
        self.retries.arrived(token, observation("new", key, evidence=evidence))

    def comes_again(self, fingerprint=STORY):
        page = None if fingerprint is None else observation("changed", "page", fingerprint)
        self.retries.came_again("page", page, "page")

    def confirmed(self, fingerprint=STORY, **state):
        self.retries.confirmed(observation("changed", "page", fingerprint), **state)

    def discarded(self, key, fingerprint=STORY):
        self.retries.discarded(observation("new", key, fingerprint))


def observation(kind, key, fingerprint=BAN, representative=None, evidence=NO_EVIDENCE):
    return Observation(kind, key, fingerprint, representative, None, 0, evidence=evidence)


def dropped(key, fingerprint=BAN, evidence=NO_EVIDENCE):
    seen = observation("near-duplicate", key, fingerprint, "page", evidence)
    return DroppedCopy(seen, Request(f"http://x.test/{key}"))


@pytest.fixture
def world():
    return World()


def test_a_crawl_without_items_tries_some_copies_of_each_url_pattern_at_its_end(world):
    for number in range(40):
        key = f"{number % 2}-{number}"  # all of one pattern
        world.retries.leave("page", dropped(key), answered=False)
    other = replace(dropped("other"), request=Request("http://x.test/folder/other"))
    world.retries.leave("other page", other, answered=False)
    asked = []
    while world.retries.idle():
        for key in world.asked():
            asked.append(key)
            world.near(key, gave_items=False)
            world.arrives(key)
    assert (len(asked), asked.count("other")) == (11, 1)


def test_a_copy_whose_callback_is_to_run_after_all_is_not_downloaded_again(world):
    response, copy = Response("http://x.test/a", body=b"page"), dropped("a")
    world.retries.responses.keep(copy, response)
    world.retries.leave("page", copy, answered=False)
    world.near("a", gave_items=False)
    world.retries.begin_giving()
    [request] = world.scheduled
    assert world.retries.answer_to(request) is response
    assert world.retries.answer_to(request) is None


def test_if_a_page_gives_no_items_in_a_crawl_that_gives_some_its_copy_is_requested(world):
    world.retries.begin_giving()
    world.hold("page", "a")
    world.near("a", gave_items=False)
    world.confirmed(BAN, gave_items=False)
    assert world.asked() == ["a"]


@pytest.mark.parametrize("settled", ["confirmed", "discarded"])
def test_a_copy_runs_that_may_give_more_than_its_page_and_than_it_gave(settled):
    keys = [f"{number}" for number in range(6)]
    copies = [dropped(key) for key in keys]
    copies[2].gave, copies[4].gave = ("items", "requests"), ("requests",)

    def may_give(key, request, response):
        assert key == "page"
        return [] if response and response.url == copies[1].request.url else ["items"]

    world = World(may_give=may_give)
    for copy in copies:
        world.hold_copy("page", copy)
        if copy is not copies[3]:  # its response was forgotten
            world.retries.responses.keep(copy, Response(copy.request.url))
    world.near(*keys, gave_items=True)
    if settled == "confirmed":
        world.confirmed(BAN, gave_items=True)
    else:  # but another page like it was confirmed
        world.discarded("page")
    requests = [*world.scheduled]
    assert world.asked() == ["0", "3", "4", "5"]
    assert [world.retries.answer_to(request) is None for request in requests] == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("may_give", "gave", "asked"),
    [
        ([], [], False),
        (["all"], ["items", "requests"], True),
        (["requests"], [], True),
        (["requests"], ["requests"], False),
    ],
)
def test_a_copy_is_asked_for_what_it_has_not_given(may_give, gave, asked):
    world, copy = World(may_give=lambda *_: may_give), dropped("a")
    copy.gave = gave
    world.hold_copy("page", copy)
    world.confirmed(BAN)
    assert world.asked() == ["a"] * asked


def test_the_last_responses_are_kept_up_to_a_size(world, monkeypatch):
    monkeypatch.setattr(retries, "_MAX_RESPONSE_BYTES", 8)
    copies = [dropped(key) for key in "abc"]
    for copy in copies:
        world.retries.responses.keep(copy, Response(copy.request.url, body=b"page"))
    assert list(world.retries.responses) == copies[1:]
    assert [world.retries.responses.take(copy) is None for copy in copies] == [True, False, False]
    world.retries.responses.keep(copies[0], Response(copies[0].request.url, body=b"12345678"))
    assert list(world.retries.responses) == copies[:1]


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("settled", ["confirmed", "discarded"])
def test_if_a_page_comes_with_other_content_the_copies_of_the_old_one_are_requested(
    world, answered, settled
):
    for key in "ab":
        world.retries.leave("page", dropped(key), answered=answered)
    world.retries.leave("page", dropped("c", STORY), answered=answered)
    world.comes_again()
    assert world.asked() == [], "the index still has the former content"
    if settled == "confirmed":
        world.confirmed()
    else:
        world.discarded("page")
    assert world.asked() == ["a", "b"]
    for asked in (["c"], []):
        world.comes_again(None)
        assert world.asked() == asked


@pytest.mark.parametrize("end", [Retries.idle, Retries.close])
def test_a_page_that_came_for_another_one_leaves_the_copies_of_neither(world, end):
    for key in ("page", "other"):
        world.retries.leave(key, dropped(f"copy-of-{key}"), answered=True)
        world.retries.came_again(key, observation("changed", "page", STORY), "page")
    end(world.retries)
    assert sorted(world.asked()) == ["copy-of-other", "copy-of-page"]


@pytest.mark.parametrize("first", ["confirmed", "idle"])
def test_copies_that_are_not_remembered_yet_when_their_page_comes_with_other_content(world, first):
    """An index on the network takes its time to confirm the page, or to answer for the copies."""
    answers = []
    world.retries._observe = lambda copies, then: answers.append(then)
    world.near("a", gave_items=True)
    world.hold("page", "a")
    if first == "idle":
        assert world.retries.idle()
    world.comes_again()
    for then in answers:
        then([world.says["a"]])
    if first == "confirmed":
        world.confirmed(BAN)
    assert world.asked() == []
    world.confirmed()
    assert world.asked() == ["a"]


def test_the_oldest_answered_copies_are_forgotten():
    world = World(max_left=2)
    keys = ("one", "two", "three")
    for key in keys:
        world.retries.leave(key, dropped(f"copy-of-{key}"), answered=True)
    for key in keys:
        world.retries.came_again(key, None, key)
    assert world.asked() == ["copy-of-two", "copy-of-three"]


@pytest.mark.parametrize(("pausing", "gives"), [(True, False), (False, False), (True, True)])
def test_a_crawl_that_pauses_leaves_unanswered_copies_to_the_scheduler(world, pausing, gives):
    world.retries.leave("page", dropped("a"), answered=False)
    world.retries.gives_items = gives
    world.retries.close(pausing=pausing)
    assert world.asked() == (["a"] if pausing and not gives else [])


def test_what_other_content_is_the_rules_of_the_index_say(world):
    # Within k bits by chance, as for pages of one template.
    of_story, of_news = (Evidence(sketch=bytes([number] * 128)) for number in (1, 2))
    world.retries.hold("page", dropped("a", evidence=of_story))
    world.retries.hold("page", dropped("b", evidence=of_news))
    world.retries.confirmed(observation("new", "page", evidence=of_news))
    world.discarded("page")
    assert world.asked() == ["a"]
    # The page has other content now: the copies that wait are requested at once.
    for key in "cde":
        world.retries.hold("one", dropped(key, evidence=of_story))
    world.discarded("one")
    assert world.asked() == ["c"]
    world.arrives("c", of_news)
    assert world.asked() == ["d", "e"]


def test_what_is_asked_for_is_the_same_request_past_the_filter(world):
    def callback(response): ...
    def errback(failure): ...

    request = Request(
        "http://x.test/a#part",
        callback,
        method="PUT",
        body=b"body",
        headers={"Accept-Language": "mi"},
        cookies={"name": "value"},
        meta={"depth": 2, "mine": ["kept"]},
        cb_kwargs={"page": 7},
        errback=errback,
        priority=3,
        flags=["mine"],
    )
    world.retries.hold("page", DroppedCopy(dropped("a").seen, request))
    world.discarded("page")
    [again] = world.scheduled
    for name in {*request.attributes} - {"dont_filter", "meta"}:
        assert getattr(again, name) == getattr(request, name), name
    assert (request.dont_filter, again.dont_filter) == (False, True)
    token = again.meta.pop(META_KEY)
    assert (token != "", again.meta) == (True, {"depth": 2, "mine": ["kept"]})
    assert META_KEY not in request.meta


def test_several_items_of_a_page_ask_for_it_once():
    world = World(max_held=3)
    request = Request("http://x.test/a")
    for key in ("item 1", "item 2", "item 3"):
        copy = DroppedCopy(dropped(key).seen, request)
        assert world.hold_copy("item 0", copy)
    world.discarded("item 0")
    assert world.asked() == ["a"]
    # And they make room at once.
    assert world.hold("other", "b", "c", "d") == [True, True, False]


def test_copies_of_a_former_content_are_downloaded_anew_when_the_new_one_is_settled(world):
    copy = dropped("a")
    world.retries.responses.keep(copy, Response("http://x.test/a", body=b"ban page"))
    world.retries.leave("page", copy, answered=False)
    world.comes_again()
    world.retries.begin_giving()  # by an item of the new content
    assert world.asked() == []
    world.comes_again(BAN)  # once more, later
    world.confirmed()
    [request] = world.scheduled
    assert world.retries.answer_to(request) is None
    assert world.asked() == ["a"]
