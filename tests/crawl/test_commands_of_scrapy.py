"""`scrapy shell`, `fetch`, `parse` and `check` never touch the index of the spider's crawls."""

import pytest

from tests.crawl.harness import scrapy
from tests.crawl.pages import page
from tests.crawl.test_switching_on import MANUAL, write_project

SPIDER = '''
import scrapy


class PagesSpider(scrapy.Spider):
    name = "pages"

    async def start(self):
        yield scrapy.Request("URL")

    def parse(self, response):
        """
        @url URL
        @returns items 1 1
        """
        yield {"url": response.url}
'''
ADDON = 'ADDONS = {"scrapy_simhash.Addon": 500}\n'
BY_HAND = "".join(f"{name} = {value!r}\n" for name, value in MANUAL.items())
COMMANDS = {
    "shell": ["shell", "--spider", "pages", "-c", "(response.status, len(response.text))", "URL"],
    "fetch": ["fetch", "--spider", "pages", "URL"],
    "parse": ["parse", "--spider", "pages", "--pipelines", "URL"],
    "check": ["check"],
}


@pytest.mark.parametrize("how", [BY_HAND, pytest.param(ADDON, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "names", [["shell"], pytest.param(["parse", "fetch", "check"], marks=pytest.mark.thorough)]
)
def test_they_make_no_index(site, tmp_path, how, names):
    url = site.put("/mill", page("mill"))
    settings = (
        'SPIDER_MODULES = ["shop"]\nSIMHASH_ENABLED = True\nSIMHASH_ITEM_FIELDS = ["url"]\n'
        "TELNETCONSOLE_ENABLED = False\nROBOTSTXT_OBEY = False\nSIMHASH_WORKERS = 0\n"
    )
    project = write_project(tmp_path, settings + how, SPIDER.replace("URL", url))
    for name in names:
        command = [url if part == "URL" else part for part in COMMANDS[name]]
        said = scrapy(*command, cwd=project)
        assert "simhash:" not in said, name
        assert not (project / ".scrapy").exists(), name
        assert name != "shell" or "(200," in said
    assert "'simhash/new': 1" in scrapy("crawl", "pages", cwd=project)
    assert (project / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").is_file()
