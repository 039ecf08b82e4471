"""An object that is yielded again while it is in the pipelines."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.http import Response

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.crawl.contents import Contents
from scrapy_simhash.crawl.settlement import PageState, Settlement
from scrapy_simhash.index.rules import Rules
from scrapy_simhash.policy import PASS


@pytest.mark.parametrize("fails", [False, True])
def test_an_item_that_may_have_failed_is_not_stored(fails):
    stored = {}
    contents = Contents(Rules(3, Confirmation()))
    settlement = Settlement(
        lambda *_: None, stored.__setitem__, lambda page, _: stored.update(page=page), contents
    )
    response, item = Response("http://x.test/"), {}
    page = settlement.begin(response, PageState("key", None, PASS, Request(response.url)))
    for observation in ("first", "second"):
        settlement.item_yielded(page, item)
        settlement.item_observed(settlement.item_arrived(item), observation)
    settlement.item_settled(response, item, kept=not fails, failed=fails)  # the first one
    settlement.item_settled(response, item, kept=True, failed=False)
    settlement.output_ended(page)
    assert stored == {"first": not fails, "second": not fails, "page": page}
