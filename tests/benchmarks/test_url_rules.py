"""The benchmark of rules of URLs: that its sites are what they say, and one small crawl."""

from __future__ import annotations

import importlib
import sys
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SITES = [
    *("forum", "shop", "news", "wiki", "calendar", "mirror", "matters", "sessions", "questions"),
    *("blog", "paging", "days", "months", "filters", "languages", "rarely", "halves", "relative"),
    *("search", "albums"),
]


@pytest.fixture(scope="module")
def lib():
    """Its modules, imported as when it runs as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        return SimpleNamespace(
            script=importlib.import_module("url_rules"),
            sites=importlib.import_module("url_rules_lib.sites").SITES,
            html=importlib.import_module("url_rules_lib.site").html,
        )


@pytest.mark.parametrize("name", SITES)
def test_a_site_shows_each_content_under_several_urls(lib, name):
    site = lib.sites[name]()
    waiting, seen, contents = deque([site.start]), {site.start}, {}
    for _ in range(800):
        if not waiting:
            break
        url = waiting.popleft()
        content, links = site.show(url)
        assert content == site.show(url)[0]
        # Empty months are alike, though each has its name.
        empty = content.startswith(lib.script.EMPTY)
        contents.setdefault("empty" if empty else content, []).append(url)
        for link in links:
            if link not in seen:
                seen.add(link)
                waiting.append(link)
    assert len(contents) >= 50
    assert max(map(len, contents.values())) > 1
    some = [*contents][:50]
    assert len({lib.html(content, []) for content in some}) == 50


def test_no_site_is_forgotten(lib):
    assert [*lib.sites] == SITES


def test_shares_are_those_of_the_requests(lib):
    asked = [["u0", "a"], ["u1", "b"], ["u2", "a"], ["u3", "empty month of 1"], ["u4", "c"]]
    without = lib.script.Result(asked, [], {})
    assert (without.avoidable(0), without.avoidable(3), len(without.contents)) == (2, 1, 3)
    result = lib.script.Result(asked[:3], [[2, "u3"], [3, "u4"]], {})
    assert result.spared_share(without, 0) == 0.5
    assert result.spared_share(without, 2) == pytest.approx(2 / 3)


@pytest.mark.thorough
def test_a_crawl_spares_and_loses_nothing(lib):
    without, result = (lib.script.crawl("forum", name, 5000, "depth") for name in ("off", "apply"))
    assert result.contents == without.contents
    assert result.spared_share(without, lib.script.WARM_UP) >= 0.6
