"""The demo site follows its own rules, is served as built, and scores a crawl correctly."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from example.demosite import DemoServer, build_site
from example.demosite.check import broken_rules

PROJECT = Path(__file__).parents[2] / "example_project"


@pytest.fixture(scope="module")
def site():
    return build_site(8001, 8002)


# Rules


def test_no_rule_is_broken_and_the_manifest_is_up_to_date(site):
    assert broken_rules(site) == []


# Server


def get(url, method="GET"):
    with urlopen(Request(url, method=method), timeout=5) as response:
        return response.status, response.headers["Content-Type"], response.read().decode()


def test_every_page_is_served_as_built():
    with DemoServer() as server:
        for page in server.site.pages.values():
            url = server.site.url(page)
            assert get(url) == (200, "text/html; charset=utf-8", page.html)
            assert server.site.page_at(url) is page
        assert server.fetched() == [server.site.url(p) for p in server.site.pages.values()]
        server.forget()
        assert get(server.mirror_url, "HEAD") == (200, "text/html; charset=utf-8", "")
        assert get(server.url + "robots.txt")[1] == "text/plain; charset=utf-8"
        assert "could not find" in get(server.url + "news/2001/gone.html")[2]
        for missing in (server.url + "static/logo.svg", server.mirror_url + "news/gone.html"):
            with pytest.raises(HTTPError, match="404") as caught:
                get(missing)
            caught.value.close()
        assert server.fetched() == [server.url + "news/2001/gone.html"]


# Crawl


@pytest.mark.thorough
def test_a_crawl_without_the_plugin_reaches_every_page(tmp_path):
    items = tmp_path / "items.jsonl"
    settings = (
        "ADDONS={}",
        "DOWNLOAD_DELAY=0",
        "CONCURRENT_REQUESTS_PER_DOMAIN=8",
        "DEPTH_LIMIT=6",
        "LOG_LEVEL=ERROR",
    )
    with DemoServer() as server:
        command = [sys.executable, "-m", "scrapy", "crawl", "site"]
        command += ["-a", f"url={server.start_urls}"]
        for setting in settings:
            command += ["-s", setting]
        subprocess.run([*command, "-O", items], cwd=PROJECT, check=True, timeout=60)
        wanted = {server.site.url(page) for page in server.site.pages.values()}
        fetched = server.fetched()
    seen = [json.loads(line)["url"] for line in items.read_text(encoding="utf-8").splitlines()]
    assert set(fetched) == set(seen) == wanted
    assert len(fetched) == len(wanted)
