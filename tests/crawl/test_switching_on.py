"""Two settings, or five components by hand, switch the plugin on; off, it costs nothing."""

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.settings import SimhashSettings
from tests.crawl.harness import ADDONS, Crawl, run, run_named, scrapy
from tests.crawl.pages import put_articles

MANUAL = {
    "EXTENSIONS": {"scrapy_simhash.crawl.extension.SimhashExtension": 0},
    "DOWNLOADER_MIDDLEWARES": {
        "scrapy_simhash.crawl.downloader_middleware.SimhashDownloaderMiddleware": 40
    },
    "SPIDER_MIDDLEWARES": {
        "scrapy_simhash.crawl.middleware.SimhashOutputMiddleware": -1_000_000,
        "scrapy_simhash.crawl.middleware.SimhashSpiderMiddleware": 1_000_000,
    },
    "ITEM_PIPELINES": {"scrapy_simhash.crawl.pipeline.SimhashPipeline": 50},
}
OFF = {
    "absent": {"SIMHASH_ENABLED": None},
    "false": {"SIMHASH_ENABLED": False},
    "false, as the command line says it": {"SIMHASH_ENABLED": "False"},
    "false, by hand": {"SIMHASH_ENABLED": False, "ADDONS": {}, **MANUAL},
}
SPIDER = """
import scrapy


class PagesSpider(scrapy.Spider):
    name = "pages"

    async def start(self):
        for url in self.urls.split():
            yield scrapy.Request(url)

    def parse(self, response):
        yield {"url": response.url}
"""
SETTINGS = """
SPIDER_MODULES = ["shop"]
ADDONS = {"scrapy_simhash.Addon": 500}
SIMHASH_ENABLED = True
CONCURRENT_REQUESTS = 1
TELNETCONSOLE_ENABLED = False
SIMHASH_WORKERS = 0
"""


@pytest.fixture(scope="module")
def urls(site):
    return put_articles(site, "/mill mill", "/copy mill 1")


@pytest.fixture(scope="module")
def enabled(urls, module_path):
    custom = {"SIMHASH_ENABLED": True, "SIMHASH_ACTION": "drop", "SIMHASH_PRESET": "classic"}
    custom |= {"SIMHASH_DIR": str(module_path / "custom"), "SIMHASH_MAX_DISTANCE": 5}
    off = {"ADDONS": {}, "SIMHASH_ENABLED": False, "SIMHASH_ACTION": "tag"}
    crawls = {
        "addon": Crawl(urls),
        "manual": Crawl(urls, {"ADDONS": {}, **MANUAL}),
        "as text": Crawl(urls, {"SIMHASH_ENABLED": "1"}),
        "custom settings": Crawl(urls, off, custom_settings={"ADDONS": ADDONS, **custom}),
        "custom k": Crawl(urls, custom_settings={"SIMHASH_MAX_DISTANCE": 0}),
    }
    return run_named(module_path, crawls)


@pytest.mark.parametrize("how", ["addon", "manual", "as text"])
def test_the_plugin_is_on(enabled, how):
    result = enabled[how]
    assert (result.error, result.finish_reason) == (None, "finished")
    assert result.seen() == ["/mill"]
    assert result.event("/mill")["verdict"]["kind"] == "new"
    assert result.stat("near_duplicate") == 1


def test_custom_settings_of_a_spider_win(enabled, module_path):
    assert enabled["custom settings"].error is None
    assert (module_path / "custom" / "spiders" / "custom settings").is_dir()
    assert enabled["custom settings"].lines("preset classic", "k = 5")
    assert enabled["custom k"].lines("preset wide", "k = 0")
    assert enabled["custom k"].seen() == ["/mill", "/copy"]


def test_the_plugin_off_opens_and_makes_nothing(urls, tmp_path):
    crawls = [Crawl(urls, settings) for settings in OFF.values()]
    results = run(tmp_path, *crawls)
    assert list(tmp_path.iterdir()) == []
    for result in results:
        assert (result.error, result.finish_reason) == (None, "finished")
        assert result.seen() == ["/mill", "/copy"]
        assert [event["verdict"] for event in result.events] == [None, None]
        assert result.simhash_stats() == {}
        assert not result.lines("WARNING", "imhash")


def write_project(root, settings=SETTINGS, spider=SPIDER):
    package = root / "shop"
    package.mkdir(parents=True)
    for name, content in (("__init__", ""), ("settings", settings), ("spider", spider)):
        (package / f"{name}.py").write_text(content)
    (root / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    return root


def test_in_a_project_the_index_lies_in_its_data_directory(urls, tmp_path):
    project = write_project(tmp_path / "project")
    said = scrapy("crawl", "pages", "-a", f"urls={' '.join(urls)}", cwd=project / "shop")
    assert "'simhash/near_duplicate': 1" in said
    assert (project / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").is_file()
    assert not (project / "shop" / ".scrapy").exists()


def test_without_a_scrapy_cfg_as_under_scrapyd_it_lies_in_the_working_directory(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "json")  # any module
    monkeypatch.chdir(tmp_path)
    location = SimhashSettings(Settings(), "pages").index_location("page")
    assert location == tmp_path / ".scrapy" / "simhash" / "spiders" / "pages"


def test_spider_names_may_be_anything(tmp_path):
    names = ["../out", "a/b", "a%2Fb", "..", ".hidden", "蜘蛛", "with space", "CON:1"]
    given = Settings({"SIMHASH_DIR": str(tmp_path)})
    places = {SimhashSettings(given, name).index_location("page") for name in names}
    assert {place.resolve().parent for place in places} == {tmp_path / "spiders"}
    assert len(places) == len(names)
