from __future__ import annotations

import importlib
import inspect
from importlib import metadata

import pytest

import scrapy_simhash
from scrapy_simhash.errors import SimhashError
from tests.samples import ENGLISH

NAMES = [
    "Addon",
    "Detector",
    "EmptyText",
    "NearDuplicateItem",
    "NearDuplicatePage",
    "Scheme",
    "SimhashError",
    "Verdict",
    "cluster",
    "hamming_distance",
    "open_index",
]


def test_the_public_names():
    assert scrapy_simhash.__all__ == NAMES
    assert set(NAMES) <= set(dir(scrapy_simhash))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_bound_to_its_object(name):
    value = getattr(scrapy_simhash, name)
    assert value.__name__ == name
    home = importlib.import_module(value.__module__)
    assert getattr(home, name) is value
    assert value.__module__.startswith("scrapy_simhash.")
    assert inspect.getdoc(value)


def test_a_star_import_imports_all_names():
    names = {}
    exec("from scrapy_simhash import *", names)
    assert set(names) - {"__builtins__"} == set(NAMES)


def test_unknown_names_raise_attribute_error():
    with pytest.raises(AttributeError, match="'scrapy_simhash' has no attribute 'Simhash'"):
        scrapy_simhash.Simhash  # noqa: B018 - the access is the test


def test_the_version_is_that_of_the_distribution():
    assert scrapy_simhash.__version__ == metadata.version("scrapy-simhash")


def test_exceptions_of_crawls_are_subclasses_of_scrapys():
    from scrapy.exceptions import DropItem, IgnoreRequest

    assert issubclass(scrapy_simhash.NearDuplicatePage, IgnoreRequest)
    assert issubclass(scrapy_simhash.NearDuplicateItem, DropItem)
    assert issubclass(scrapy_simhash.EmptyText, SimhashError)


def test_a_scheme_has_the_documented_attributes():
    scheme = scrapy_simhash.Scheme.preset("classic")
    assert scheme.bits == 64
    assert 0 <= scheme.fingerprint("some text") < 2**64
    assert scheme.fingerprint_tokens(["some", "text"]) == scheme.fingerprint("some text")
    assert scheme.fingerprint_features({"some": 1, "text": 1.0}) == scheme.fingerprint("some text")
    assert scrapy_simhash.hamming_distance(0b1011, 0b0001) == 2
    with pytest.raises(scrapy_simhash.EmptyText):
        scheme.fingerprint("…")
    with pytest.raises(ValueError, match="no preset"):
        scrapy_simhash.Scheme.preset("none")
    assert scrapy_simhash.Scheme.from_dict(scheme.to_dict()) == scheme


def test_the_public_names_work_together():
    scheme = scrapy_simhash.Scheme.preset("classic")
    fingerprint = scheme.fingerprint(ENGLISH)
    edited = scheme.fingerprint(ENGLISH + " The end.")
    distance = scrapy_simhash.hamming_distance(fingerprint, edited)
    with scrapy_simhash.open_index("memory:", scheme, max_distance=distance) as index:
        seen = index.observe("https://a.example/1", fingerprint)
        assert seen.kind == "new"
        again = index.observe("https://a.example/2", edited)
        assert (again.kind, again.representative) == ("near-duplicate", "https://a.example/1")
        assert [match.distance for match in index.query(edited)] == [distance]
    with scrapy_simhash.open_index("memory:", scheme, max_distance=distance - 1) as index:
        index.observe("https://a.example/1", fingerprint)
        assert index.observe("https://a.example/2", edited).kind == "new"
