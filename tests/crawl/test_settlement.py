"""Which pages and items are stored when they are done."""

import time

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.settlement import Contents, PageState, Settlement
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.policy import PASS


class Settled:
    """A settlement with one page, and what it confirmed (True) or discarded (False)."""

    def __init__(self, **state):
        self.stored = {}
        self.settlement = Settlement(
            self.stored.__setitem__,
            lambda _, confirmed: self.stored.update(page=confirmed),
            Contents(Rules(3, Confirmation())),
        )
        self.response = Response("http://x.test/")
        page = PageState("key", None, PASS, Request(self.response.url), **state)
        self.page = self.settlement.begin(self.response, page)


@pytest.mark.parametrize("fails", [False, True])
def test_of_one_object_that_was_yielded_twice_none_is_stored_if_one_failed(fails):
    settled, item = Settled(handled=True), {}
    settlement = settled.settlement
    for observation in ("first", "second"):
        settlement.item_yielded(settled.page, item)
        settlement.item_observed(settlement.item_arrived(item), observation)
    settlement.output_ended(settled.page)
    assert settled.stored == {}
    for failed in (fails, False):
        settlement.item_settled(settled.response, item, kept=not failed, failed=failed)
    assert settled.stored == {"first": not fails, "second": not fails, "page": not fails}


def test_many_items_that_no_signal_named_slow_no_page_down():
    settled = Settled(handled=True)
    settlement, count = settled.settlement, 3000
    others = [{} for _ in range(count)]
    for number, other in enumerate(others):  # items of `start()`
        settlement.item_observed(settlement.item_arrived(other), number)
    started = time.process_time()
    for number in range(count):
        response = Response(f"http://x.test/{number}")
        page = PageState(response.url, None, PASS, Request(response.url))
        settlement.output_ended(settlement.begin(response, page))
    assert time.process_time() - started < 0.5
    assert len(settlement._items) == count
    settlement.close()
    assert all(settled.stored[number] for number in range(count))
