import inspect
import pickle

import pytest

from scrapy_simhash import errors

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
