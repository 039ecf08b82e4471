"""Page objects of scrapy-poet and items of zyte-common-items, with and without a download."""

import attrs
import pytest

from tests.crawl.harness import ADDONS, IN_ORDER, Crawl, crawled, run
from tests.crawl.pages import ARTICLES, put_articles
from tests.crawl.spiders import PagesSpider

pytestmark = pytest.mark.thorough
pytest.importorskip("scrapy_poet", reason="`make test-ecosystem` installs scrapy-poet")
pytest.importorskip("zyte_common_items", reason="`make test-ecosystem` installs it")

from scrapy import Request  # noqa: E402 - read by scrapy-poet
from scrapy_poet import DummyResponse, PageObjectInputProvider  # noqa: E402
from web_poet import WebPage, field  # noqa: E402
from zyte_common_items import Article  # noqa: E402

SETTINGS = {"ADDONS": {**ADDONS, "scrapy_poet.Addon": 300}}
FIELDS = {"SIMHASH_ITEM_FIELDS": ["headline", "articleBody"]}


@attrs.define(kw_only=True)
class TaggedArticle(Article):
    simhash_kind: str | None = None
    simhash_representative: str | None = None
    simhash_distance: int | None = None
    simhash_fingerprint: str | None = None


class ArticlePage(WebPage[TaggedArticle]):
    @field
    def url(self):
        return str(self.response.url)

    @field
    def headline(self):
        return self.css("title::text").get()

    @field
    def articleBody(self):  # noqa: N802 - the field's name
        return "\n".join(self.css("p::text").getall())


class PageObjectSpider(PagesSpider):
    async def parse(self, response, page: ArticlePage):
        self.note(response)
        yield await page.to_item()


@attrs.define
class Story:
    """What a service extracts itself, so that Scrapy downloads nothing."""

    headline: str
    text: str


class StoryProvider(PageObjectInputProvider):
    provided_classes = {Story}  # noqa: RUF012 - scrapy-poet's own form

    def __call__(self, to_provide, request: Request):
        name, _, copy = request.url.rpartition("/")[2].partition("-")
        headline, text = ARTICLES[name]
        return [Story(headline, text.replace("the", "this", 1) if copy else text)]


class DummyResponseSpider(PagesSpider):
    def parse(self, response: DummyResponse, story: Story):
        self.note(response, kind=type(response).__name__)
        yield Article(url=response.url, headline=story.headline, articleBody=story.text)


@pytest.fixture(scope="module")
def urls(site):
    return put_articles(site, "/mill mill", "/mill-copy mill 1", "/bees bees")


def test_a_page_object_is_not_built_for_a_dropped_page(urls, tmp_path):
    spider = "tests.ecosystem.test_items.PageObjectSpider"
    # From `start()`: what middlewares add to requests of `engine.crawl` counts as the spider's own.
    how = {"spider": spider, "arguments": {"at_once": True}}
    settings = SETTINGS | IN_ORDER
    dropped, tagged = run(
        tmp_path,
        Crawl(urls, settings, name="dropped", **how),
        Crawl(urls, settings | {"SIMHASH_ACTION": "tag"}, name="tagged", **how),
    )
    assert dropped.seen() == ["/mill", "/bees"], dropped.log
    assert [item["url"] for item in dropped.items] == [urls[0], urls[2]]
    assert [item["simhash_kind"] for item in tagged.items] == ["new", "near-duplicate", "new"]
    assert tagged.items[1]["simhash_representative"] == urls[0]
    assert (dropped.item_errors, tagged.item_errors) == ([], [])


def test_items_without_a_download_are_compared_by_their_fields(tmp_path):
    requests = [f"https://nowhere.example/{name}" for name in ("mill", "mill-copy", "bees")]
    provider = "tests.ecosystem.test_items.StoryProvider"
    settings = SETTINGS | FIELDS | {"SCRAPY_POET_PROVIDERS": {provider: 500}}
    result = crawled(
        tmp_path, requests, settings, spider="tests.ecosystem.test_items.DummyResponseSpider"
    )
    assert [event["kind"] for event in result.events] == ["DummyResponse"] * 3, result.log
    assert [item["url"] for item in result.items] == [requests[0], requests[2]]
    assert [item["exception"] for item in result.dropped] == ["NearDuplicateItem"]
    assert result.stat("skipped/empty") == 3
    assert result.item_errors == []
    assert not [name for name in result.simhash_stats() if name.startswith("errors/")]
