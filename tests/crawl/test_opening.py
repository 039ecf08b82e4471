"""open_fitting: an index that does not fit is used, or set aside."""

import json
from dataclasses import replace

import pytest

from scrapy_simhash import Scheme, open_index
from scrapy_simhash import index as indexes
from scrapy_simhash.crawl.opening import SET_ASIDE, open_fitting
from scrapy_simhash.errors import IndexMismatch, SchemeError
from scrapy_simhash.index import scheme_name

SCHEME = Scheme.preset("classic")
OTHER = replace(SCHEME, remove=(".ad",))
OPTIONS = {"kind": None, "sync": "no", "max_distance": 3, "plan": None, "crawl_start": None}


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "spiders" / "shop"


@pytest.fixture
def opened(directory, warnings):
    """Return a function that opens the index as a crawl does, and adds a page."""

    def opened(scheme=SCHEME, **options):
        def warn(message, *values):
            warnings.append(message % values)

        index, location = open_fitting(directory, scheme, warn, **OPTIONS | options)
        assert location == directory
        index.confirm(index.observe("page", 1))
        return index

    return opened


@pytest.fixture
def aside(tmp_path):
    """Return a function that returns the names of the indexes that were set aside."""
    folder = tmp_path / "spiders" / SET_ASIDE / "shop"
    return lambda: {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_indexes_of_other_schemes_are_set_aside(opened, warnings, directory, aside):
    opened(crawl_start=7).close()
    with opened(OTHER, crawl_start=7) as index:
        assert (index.scheme, len(index)) == (OTHER, 1)
        assert index.crawl_start < 7
    assert aside() == {scheme_name(SCHEME.id)}
    [warning] = warnings
    assert f"{SET_ASIDE}/shop" in warning
    with open_index(directory.parent / SET_ASIDE / "shop" / scheme_name(SCHEME.id)) as index:
        assert (index.scheme, len(index)) == (SCHEME, 1)


def test_damaged_indexes_are_set_aside_one_beside_the_other(opened, warnings, directory, aside):
    for _ in range(2):
        opened().close()
        (directory / "manifest.json").write_text("{")
    opened().close()
    assert aside() == {"damaged", "damaged-2"}
    assert all("count as new" in warning for warning in warnings)


def test_an_index_of_another_format_is_set_aside(opened, directory, aside):
    opened().close()
    manifest = directory / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format_version": 1}))
    with opened() as index:
        assert len(index) == 1
    assert aside() == {"older-format"}


def test_an_index_that_is_in_use_stays_where_it_is(opened, warnings, aside):
    with opened() as index, pytest.raises(IndexMismatch, match="scheme"):
        opened(OTHER)
    assert (index.scheme, aside(), warnings) == (SCHEME, set(), [])


def test_for_a_scheme_that_cannot_be_read_no_index_is_set_aside(opened, warnings, tmp_path, aside):
    opened().close()
    with pytest.raises(SchemeError, match="cannot be read"):
        opened(replace(SCHEME, weighting="tf-idf", idf=str(tmp_path / "missing.idf")))
    assert (aside(), warnings) == (set(), [])
    with opened() as index:
        assert len(index) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [({}, {"max_distance": 9}), ({"kind": "rocksdb"}, {"kind": "leveldb"})],
)
def test_an_index_with_other_tables_or_in_another_database_is_used_as_it_is(
    opened, warnings, aside, first, second
):
    opened(**first).close()
    with opened(**second) as index:
        assert (len(index), index.max_distance) == (1, 3)
    said = [warning for warning in warnings if "distance that the index was made for" in warning]
    assert (len(warnings), len(said)) == ((1, 1) if "max_distance" in second else (0, 0))
    assert aside() == set()


def test_an_index_whose_driver_is_missing_is_set_aside(opened, warnings, aside, monkeypatch):
    opened(kind="rocksdb").close()
    kinds = indexes.database_kind

    def missing(name):
        if name == "rocksdb":
            raise SchemeError("an index in rocksdb needs the package rocksdict")
        return kinds(name)

    monkeypatch.setattr(indexes, "database_kind", missing)
    with opened(kind="leveldb") as index:
        assert len(index) == 1
    assert "needs the package rocksdict" in warnings[0]
    assert len(aside()) == 1
