"""A near-duplicate that takes the place of its representative, over every back end."""

import pytest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.store import Store

from .backends import FAR, DatabaseBackend, checked_entries, flip, found, seen

A, B, C, D = FAR
NEAR = flip(A, 0)


def log_of(index):
    return [(line.key, line.representative, line.distance) for line in index.near_duplicates()]


def superseding(index, key="page", fingerprint=NEAR):
    observation = index.observe(key, fingerprint)
    assert observation.kind == "near-duplicate"
    index.supersede(observation)
    return observation


def test_at_confirm_the_page_is_stored_and_its_representative_logged_as_its_copy(backend):
    with backend.open() as index:
        index.confirm(index.observe("old", A))
        page = superseding(index)
        assert len(index) == 1
        index.confirm(page)
        assert found(index.query(A)) == [("page", NEAR, 1)]
        assert len(index) == 1
        assert log_of(index) == [("page", "old", 1), ("old", "page", 1)]
        assert [line.fingerprint for line in index.near_duplicates()] == [NEAR, A]
        assert seen(index.observe("copy", A)) == ("near-duplicate", "page", 1)
        assert seen(index.observe("old", A)) == ("near-duplicate", "page", 1)
        assert seen(index.observe("page", NEAR)) == ("unchanged", None, 0)
    with backend.open(incremental=True) as index:
        assert found(index.query(A)) == [("page", NEAR, 1)]
        assert index.observe("old", A).representative == "page"
        assert log_of(index)[1] == ("old", "page", 1)
    if isinstance(backend, DatabaseBackend):
        assert set(checked_entries(backend.directory, backend.plan)) == {"page"}


@pytest.mark.parametrize("by", ["key", "observation"])
def test_a_page_that_fails_leaves_the_representative_where_it_is(index, by):
    index.confirm(index.observe("old", A))
    page = superseding(index)
    index.discard(page if by == "observation" else "page")
    index.confirm(page)
    assert found(index.query(A)) == [("old", A, 0)]
    assert log_of(index) == [("page", "old", 1)]


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_representative_that_was_not_settled_yet_stays_if_it_goes_well(index, confirmed):
    old = index.observe("old", A)
    page = superseding(index)
    index.confirm(page)
    assert found(index.query(A)) == [("old", A, 0), ("page", NEAR, 1)]
    (index.confirm if confirmed else index.discard)(old)
    assert [match.key for match in index.query(A)] == ["old", "page"][not confirmed :]


def test_a_write_that_fails_changes_nothing(index, monkeypatch):
    index.confirm(index.observe("old", A))
    page = superseding(index)
    before = log_of(index)

    def fail(*_, **__):
        raise StorageError("/index", "the disk is full")

    with monkeypatch.context() as patch:
        store = index._store
        target = (store, "write") if isinstance(store, Store) else (store.server, "run")
        patch.setattr(*target, fail)
        with pytest.raises(StorageError, match="full"):
            index.confirm(page)
    assert found(index.query(A)) == [("old", A, 0), ("page", NEAR, 1)]
    assert log_of(index) == before
    index.confirm(page)
    assert found(index.query(A)) == [("page", NEAR, 1)]
