"""Which indexes of a project `calibrate` compares with the settings that it proposes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from scrapy.settings import Settings

from scrapy_simhash.commands.needed_rebuilds import needed_rebuilds, project_indexes
from scrapy_simhash.index import index_url, open_index
from scrapy_simhash.scheme import Scheme


def test_indexes_of_items_are_left_out(tmp_path):
    for name in ("shared", "shared-items", "spiders/news", "spider-items/news"):
        with open_index(index_url(tmp_path / name)):
            pass
    found = project_indexes(Settings({"SIMHASH_DIR": str(tmp_path)}))
    assert [index.directory for index in found] == [tmp_path / "shared", tmp_path / "spiders/news"]


def test_no_rebuild_changes_the_extraction(tmp_path):
    wide = Scheme.preset("wide")
    schemes = {"a": replace(wide, select=("main",)), "b": replace(wide, bits=128), "c": wide}
    for name, scheme in schemes.items():
        with open_index(index_url(tmp_path / "spiders" / name), scheme, max_distance=20):
            pass
    indexes = project_indexes(Settings({"SIMHASH_DIR": str(tmp_path)}))
    preset = SimpleNamespace(scheme=wide, name="wide")
    best = SimpleNamespace(preset=preset, choice=SimpleNamespace(max_distance=20))
    extracted_otherwise, of_other_bits = needed_rebuilds(best, indexes)
    assert extracted_otherwise.command is None
    assert "it has another extractor or other selectors" in extracted_otherwise.why
    assert of_other_bits.command.endswith("b --preset wide --max-distance 20")
