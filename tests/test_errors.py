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


def test_the_docstring_draws_the_tree():
    lines = errors.__doc__.split("::\n\n")[1].splitlines()
    drawn = {}
    above = []
    for line in filter(str.strip, lines):
        name = line.strip(" │├└─").split()[0]
        depth = line.index(name) // 4 - 1
        above[depth:] = [name]
        parent = CLASSES[above[depth - 1]] if depth else Exception
        drawn[name] = (parent, ValueError) if "(ValueError)" in line else (parent,)
    assert drawn == {name: kind.__bases__ for name, kind in CLASSES.items()}


@pytest.mark.parametrize("kind", CLASSES.values())
def test_errors_can_be_pickled_and_their_messages_contain_their_attributes(kind):
    error = made(kind)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)
    assert all(str(value) in str(error) for value in vars(error).values())
