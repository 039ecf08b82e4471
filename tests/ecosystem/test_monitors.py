"""Spidermon checks the plugin's stats as documented, and AutoThrottle sees dropped pages."""

import re

import pytest

from tests.crawl.harness import Crawl, crawled, run
from tests.crawl.pages import put_articles
from tests.documentation_pages import DOCS

pytestmark = pytest.mark.thorough


@pytest.fixture
def monitors():
    pytest.importorskip("spidermon", reason="`make test-ecosystem` installs it")
    text = (DOCS / "usage" / "monitors.md").read_text(encoding="utf-8")
    settings = {}
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], settings)
    return {name: value for name, value in settings.items() if name != "__builtins__"}


def outcomes(result):
    """Return the first word of each check of Spidermon → OK, FAIL or ERROR."""
    found = (re.search(r"simhash/(\w+) .*\.\.\. (\w+)", line) for line in result.log.splitlines())
    return {match[1]: match[2] for match in found if match}


def test_the_documented_checks(site, tmp_path, monitors):
    urls = put_articles(site, *(f"/{number} mill {number}" for number in range(4)))
    distinct = put_articles(site, "/own/bees bees", "/own/paper paper", "/own/tram tram")
    broken = [site.put(f"/broken/{number}", "<html><body></body></html>") for number in range(3)]
    # A crawl of a hundred pages would take long.
    assert "< 100" in str(monitors)
    [monitor] = monitors["SPIDERMON_SPIDER_CLOSE_EXPRESSION_MONITORS"]
    for test in monitor["tests"]:
        test["expression"] = test["expression"].replace("< 100", "< 3")
    small = monitors | {"SIMHASH_CLUSTER_LIMIT": 2}
    away = {"SIMHASH_INDEX": "redis", "SIMHASH_REDIS_URL": "redis://127.0.0.1:1/0"}
    good, copies, without_text, unreachable = run(
        tmp_path,
        Crawl(distinct, monitors, name="good"),
        Crawl(urls, small, name="copies"),
        Crawl(broken, monitors, name="broken"),
        Crawl(distinct, monitors | away, name="away"),
    )
    assert outcomes(good) == dict.fromkeys(("at", "most", "few", "no", "the"), "OK"), good.log
    assert outcomes(copies) == outcomes(good) | {"at": "FAIL", "no": "FAIL"}
    assert outcomes(without_text) == outcomes(good) | {"most": "FAIL"}
    assert outcomes(unreachable) == outcomes(good) | {"the": "FAIL"}


def test_autothrottle(site, tmp_path):
    urls = put_articles(site, "/mill mill", "/copy mill 1", "/bees bees")
    settings = {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_DEBUG": True,
        "AUTOTHROTTLE_START_DELAY": 0,
        "AUTOTHROTTLE_MAX_DELAY": 0.01,
    }
    result = crawled(tmp_path, urls, settings)
    assert result.seen() == ["/mill", "/bees"]
    # Dropped pages count, too: the site had to answer them.
    assert len(result.lines("slot: ", "latency")) == len(urls)
