"""The signals, and the extension of the reference that listens to one."""

import re

from scrapy_simhash import signals
from scrapy_simhash.policy import DROP
from scrapy_simhash.verdict import Verdict
from tests.crawl.harness import crawled
from tests.crawl.pages import put_articles
from tests.documentation_pages import DOCS

REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
[EXAMPLE] = re.findall(
    r"```python\n(from scrapy_simhash import signals.*?)```", REFERENCE, re.DOTALL
)
exec(EXAMPLE)


class Witness:
    """Counts all signals, and judges the page /tram itself."""

    def __init__(self, crawler):
        self.count = crawler.stats.inc_value
        for name in ("page_judged", "item_judged", "page_settled", "crawl_settled"):
            handler = getattr(self, name)
            crawler.signals.connect(handler, signal=getattr(signals, name))
        crawler.signals.connect(self.page_fingerprinted, signal=signals.page_fingerprinted)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def page_fingerprinted(self, request, response, page):
        self.count(f"fingerprinted/{page.fingerprint is not None}")
        if request.url.endswith("/tram"):
            return Verdict(kind="error-page", key=response.url, bits=64, reason="mine"), DROP
        return None

    def page_judged(self, page, response):
        self.count(f"judged/{page.verdict.kind}/{page.dropped}/{bool(page.text)}")

    def item_judged(self, item, page, ordinal, text):
        self.count(f"item/{ordinal}/{text is None}/{page.verdict.kind}")

    def page_settled(self, page, confirmed):
        self.count(f"settled/{page.verdict.kind}/{confirmed}")

    def crawl_settled(self):
        self.count("crawl_settled")


def test_every_signal_is_sent_and_a_handler_can_judge_a_page(site, tmp_path):
    urls = put_articles(site, "/mill mill", "/copy mill 1", "/tram tram")
    result = crawled(
        tmp_path,
        urls,
        {
            "EXTENSIONS": {f"{__name__}.Witness": 500, f"{__name__}.Outcomes": 501},
            "SIMHASH_KEEP_TEXT": True,
            "CONCURRENT_REQUESTS": 1,
        },
    )
    counted = {name: count for name, count in result.stats.items() if "simhash" not in name}
    expected = {
        "fingerprinted/True": 3,
        "judged/new/False/True": 1,
        "judged/near-duplicate/True/True": 1,
        "judged/error-page/True/False": 1,
        "item/0/True/new": 1,
        "settled/new/True": 1,
        "settled/near-duplicate/True": 1,
        "settled/error-page/True": 1,
        "crawl_settled": 1,
        "outcomes/new/gave_items=True": 1,
        "outcomes/near-duplicate/gave_items=False": 1,
        "outcomes/error-page/gave_items=False": 1,
    }
    assert {name: counted.get(name) for name in expected} == expected
    assert result.stat("error_page") == 1
    assert "/tram" not in result.seen()


def test_every_signal_is_documented():
    public = {name for name, value in vars(signals).items() if type(value) is object}
    section = REFERENCE[REFERENCE.index("## Signals") : REFERENCE.index("## Extras")]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == public
