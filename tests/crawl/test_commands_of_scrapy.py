"""`scrapy shell`, `fetch`, `parse` and `check` never touch the index of the spider's crawls."""

import subprocess
import sys

import pytest

from tests.crawl.harness import child_environment
from tests.crawl.pages import page
from tests.crawl.test_switching_on import MANUAL

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


@pytest.fixture
def url(site):
    site.put("/mill", page("mill"))
    return site.url("/mill")


@pytest.fixture(
    params=[
        pytest.param(ADDON, id="addon", marks=pytest.mark.thorough),
        pytest.param(BY_HAND, id="by hand"),
    ]
)
def project(request, url, tmp_path):
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "settings.py").write_text(
        'SPIDER_MODULES = ["shop"]\nSIMHASH_ENABLED = True\nSIMHASH_ITEM_FIELDS = ["url"]\n'
        "TELNETCONSOLE_ENABLED = False\nROBOTSTXT_OBEY = False\nSIMHASH_WORKERS = 0\n"
        + request.param
    )
    (package / "spider.py").write_text(SPIDER.replace("URL", url))
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = shop.settings\n")
    return tmp_path


def scrapy(project, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=project,
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "names", [["shell"], pytest.param(["parse", "fetch", "check"], marks=pytest.mark.thorough)]
)
def test_they_make_no_index(project, url, names):
    for name in names:
        command = COMMANDS[name]
        ran = scrapy(project, *[url if part == "URL" else part for part in command])
        assert ran.returncode == 0, ran.stderr
        assert "simhash:" not in ran.stderr, name
        assert not (project / ".scrapy").exists(), name
        assert name != "shell" or "(200," in ran.stdout
    crawled = scrapy(project, "crawl", "pages")
    assert "'simhash/new': 1" in crawled.stderr
    assert (project / ".scrapy" / "simhash" / "spiders" / "pages" / "manifest.json").is_file()
