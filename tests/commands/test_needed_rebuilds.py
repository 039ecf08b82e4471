"""Which indexes of a project `calibrate` compares with the settings that it proposes."""

from __future__ import annotations

from scrapy.settings import Settings

from scrapy_simhash.commands.needed_rebuilds import project_indexes
from scrapy_simhash.index import index_url, open_index


def test_indexes_of_items_are_left_out(tmp_path):
    for name in ("shared", "shared-items", "spiders/news", "spider-items/news"):
        with open_index(index_url(tmp_path / name)):
            pass
    found = project_indexes(Settings({"SIMHASH_DIR": str(tmp_path)}))
    assert [index.directory for index in found] == [tmp_path / "shared", tmp_path / "spiders/news"]
