from __future__ import annotations

import inspect
import pickle

import pytest

from scrapy_simhash import errors

PARENTS = {
    "SimhashError": (Exception,),
    "SchemeError": (errors.SimhashError, ValueError),
    "SettingsError": (errors.SimhashError, ValueError),
    "PlanError": (errors.SimhashError, ValueError),
    "ExtractionError": (errors.SimhashError,),
    "EmptyText": (errors.SimhashError,),
    "UnsupportedText": (errors.SimhashError, ValueError),
    "WorkerError": (errors.SimhashError,),
    "StorageError": (errors.SimhashError,),
    "IndexLocked": (errors.StorageError,),
    "IndexForeign": (errors.StorageError,),
    "IndexMismatch": (errors.StorageError,),
    "IndexCorrupt": (errors.StorageError,),
    "IndexMissing": (errors.StorageError,),
    "IndexUnreachable": (errors.StorageError,),
    "IndexClosed": (errors.StorageError,),
}
MADE = [
    errors.SimhashError("why"),
    errors.SchemeError("why"),
    errors.PlanError("why"),
    errors.EmptyText("why"),
    errors.UnsupportedText("why"),
    errors.WorkerError("why"),
    errors.SettingsError("SIMHASH_ACTION", ["x"], "drop or tag"),
    errors.ExtractionError("readability", "why"),
    *(
        getattr(errors, name)("/some/directory", "why")
        for name, parents in PARENTS.items()
        if name == "StorageError" or errors.StorageError in parents
    ),
]


def test_the_classes_and_their_bases():
    classes = dict(inspect.getmembers(errors, inspect.isclass))
    assert {name: kind.__bases__ for name, kind in classes.items()} == PARENTS


def test_the_docstring_draws_the_tree():
    lines = errors.__doc__.split("::\n\n")[1].splitlines()
    drawn = {}
    above = []
    for line in filter(str.strip, lines):
        name = line.strip(" │├└─").split()[0]
        depth = line.index(name) // 4 - 1
        above[depth:] = [name]
        drawn[name] = above[depth - 1] if depth else "Exception"
        assert ("(ValueError)" in line) == (ValueError in PARENTS[name])
    assert drawn == {name: parents[0].__name__ for name, parents in PARENTS.items()}


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_errors_can_be_pickled_with_their_attributes(error):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(error, protocol))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
        assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    "error", [error for error in MADE if vars(error)], ids=lambda error: type(error).__name__
)
def test_the_message_contains_the_attributes(error):
    assert vars(error)
    for value in vars(error).values():
        assert str(value) in str(error)
