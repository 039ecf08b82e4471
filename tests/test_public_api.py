import importlib
import inspect
import pickle
from importlib import metadata

import pytest

import scrapy_simhash
from scrapy_simhash import errors

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


CLASSES = dict(inspect.getmembers(errors, inspect.isclass))
ARGUMENTS = {
    errors.SettingsError: ("SIMHASH_ACTION", ["x"], "drop or tag"),
    errors.ExtractionError: ("readability", "why"),
}


def made(kind):
    of_an_index = ("/some/directory", "why", "do this")
    default = of_an_index if issubclass(kind, errors.StorageError) else ("why",)
    return kind(*ARGUMENTS.get(kind, default))


@pytest.mark.parametrize("kind", CLASSES.values())
def test_errors_can_be_pickled_and_their_messages_contain_their_attributes(kind):
    error = made(kind)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)
    assert all(str(value) in str(error) for value in vars(error).values())
