"""Directories that are recognized as indexes."""

from __future__ import annotations

import pytest

from scrapy_simhash.calibration.index_distances import is_index
from scrapy_simhash.index import index_url, open_index
from scrapy_simhash.index.kinds import default_kind_name
from scrapy_simhash.index.manifest import FILE_NAME
from scrapy_simhash.scheme import Scheme


def test_an_index(tmp_path):
    with open_index(index_url(tmp_path / "index"), Scheme.preset("classic")):
        pass
    assert is_index(tmp_path / "index")
    # An index without its database is still one, although it cannot be used.
    (tmp_path / "index" / default_kind_name()).rename(tmp_path / "elsewhere")
    assert is_index(tmp_path / "index")


@pytest.mark.parametrize("generation", ["leveldb", "rocksdb", "leveldb-3"])
def test_a_manifest_beside_a_database(tmp_path, generation):
    (tmp_path / FILE_NAME).write_text("{")
    assert not is_index(tmp_path)
    (tmp_path / generation).mkdir()
    assert is_index(tmp_path)


def test_what_is_none(tmp_path):
    (tmp_path / "leveldb").mkdir()
    assert not is_index(tmp_path)
    assert not is_index(tmp_path / "none")
    (tmp_path / "page.html").write_text("<p>")
    assert not is_index(tmp_path / "page.html")
