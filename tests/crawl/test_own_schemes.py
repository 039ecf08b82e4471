"""SIMHASH_PRESET as a dict, a TOML file or an import path, and items with weighted fields."""

import json

import pytest
from scrapy.settings import Settings

from scrapy_simhash.crawl.settings import SimhashSettings
from scrapy_simhash.scheme import Scheme
from tests.crawl.harness import crawled
from tests.crawl.pages import put_articles

OWN = Scheme(bits=64, parts=("title", "first-sentences", "longest-sentences"), top=30)
CHANGES = {"preset": "classic", "parts": list(OWN.parts), "top": 30}


def schemes(directory):
    paths = (directory / "simhash").glob("*/*/manifest.json")
    return {path.parts[-3]: json.loads(path.read_text("utf-8"))["scheme"] for path in paths}


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "own.toml"
    parts = json.dumps(CHANGES["parts"])
    path.write_text(f'preset = "classic"\nparts = {parts}\ntop = 30\n', encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.thorough), 1])
def test_workers_and_the_index_get_the_scheme(site, tmp_path, toml, workers):
    settings = {"SIMHASH_PRESET": toml, "SIMHASH_WORKERS": workers, "SIMHASH_ACTION": "tag"}
    result = crawled(
        tmp_path,
        put_articles(site, "/a ice", "/b clock", "/a-copy ice"),
        settings | {"CONCURRENT_REQUESTS": 1},
    )
    assert (result.error, result.stat("checked"), result.stat("near_duplicate")) == (None, 3, 1)
    assert result.lines("scheme " + OWN.id)
    assert Scheme(**schemes(tmp_path)["spiders"]) == OWN


def test_fields_may_have_weights(tmp_path):
    fields = {"SIMHASH_ITEM_FIELDS": {"name": 0.01, "text": 1}, "SIMHASH_DIR": str(tmp_path)}
    settings = SimhashSettings(Settings(fields), "pages")
    assert settings.item_scheme.field_weights == (("name", 0.01), ("text", 1.0))
    assert settings.item_fields == ("name", "text")
