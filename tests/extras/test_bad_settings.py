"""Wrong settings of slices stop a crawl before it starts, as those of the core do."""

import pytest

from scrapy_simhash.slices import slices
from tests.crawl.harness import Crawl, run
from tests.crawl.pages import page

# Setting → bad values, and the allowed ones in the message.
BAD = {
    "SIMHASH_URL_RULES": (["yes", True, 1, ["learn"]], "'learn', 'apply'"),
    "SIMHASH_ERROR_PAGES": (["delete", True], "'drop', 'tag'"),
    "SIMHASH_PASSAGES": ([3, "a\0b"], "path"),
    "SIMHASH_PASSAGES_TAGS": ([{"share": "share"}, {"known_share": 1}, "known_share"], "sources"),
}
ON = {"SIMHASH_PASSAGES": True, "SIMHASH_URL_RULES": "learn", "SIMHASH_ERROR_PAGES": "tag"}
ITEMS_ONLY = {"SIMHASH_PAGES": False, "SIMHASH_ITEM_FIELDS": ["text"]}
CASES = [(name, value, {}) for name, (values, _) in BAD.items() for value in values] + [
    ("SIMHASH_URL_RULES", "learn", ITEMS_ONLY | {"SIMHASH_ERROR_PAGES": False}),
    ("SIMHASH_ERROR_PAGES", "tag", ITEMS_ONLY | {"SIMHASH_URL_RULES": False}),
]


@pytest.fixture(scope="module")
def results(site, module_path):
    url = site.put("/mill", page("mill"))
    crawls = [
        Crawl([url], {**ON, name: value, **around}, name="bad") for name, value, around in CASES
    ]
    return run(module_path, *crawls)


def test_every_setting_is_tried():
    assert set(BAD) == {one.name for slice_ in slices() for one in slice_.settings}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_bad_value_stops_the_crawl_at_its_start(results, number):
    result, (name, value, around) = results[number], CASES[number]
    assert result.error is not None, (name, value)
    assert result.error["type"] == "SettingsError"
    message = result.error["message"]
    assert message.startswith(f"{name} = {value!r}: ")
    assert ("SIMHASH_PAGES" if around else BAD[name][1]) in message
    assert "downloader/request_count" not in result.stats
