import importlib
import inspect
from importlib import metadata

import pytest

import scrapy_simhash

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


def test_the_version_is_that_of_the_distribution():
    assert scrapy_simhash.__version__ == metadata.version("scrapy-simhash")


def test_exceptions_of_crawls_are_subclasses_of_scrapys():
    from scrapy.exceptions import DropItem, IgnoreRequest

    assert issubclass(scrapy_simhash.NearDuplicatePage, IgnoreRequest)
    assert issubclass(scrapy_simhash.NearDuplicateItem, DropItem)
