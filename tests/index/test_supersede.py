"""A near-duplicate that takes the place of its representative, over every back end; and what else
is said of near-duplicates: whether they are provisional, and whether they are weak.
"""

from contextlib import ExitStack

import pytest

from scrapy_simhash.errors import StorageError
from scrapy_simhash.index.store import Store

from .backends import FAR, DatabaseBackend, K, checked_entries, flip, found, seen

A, B, C, D = FAR
NEAR = flip(A, 0)


def log_of(index):
    return [(line.key, line.representative, line.distance) for line in index.near_duplicates()]


def superseding(index, key="page", fingerprint=NEAR):
    """A near-duplicate that is to take the place of its representative."""
    observation = index.observe(key, fingerprint)
    assert observation.kind == "near-duplicate"
    index.supersede(observation)
    return observation


@pytest.fixture
def stored(index):
    """An index that holds one page."""
    index.confirm(index.observe("old", A))
    return index


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
def test_a_page_that_fails_leaves_the_representative_where_it_is(stored, by):
    page = superseding(stored)
    stored.discard(page if by == "observation" else "page")
    stored.confirm(page)
    assert found(stored.query(A)) == [("old", A, 0)]
    assert log_of(stored) == [("page", "old", 1)]


def test_a_representative_with_other_content_by_now_stays(stored):
    page = superseding(stored)
    stored.confirm(stored.observe("old", B))
    stored.confirm(page)
    assert found(stored.query(B)) == [("old", B, 0)]
    assert found(stored.query(A)) == [("page", NEAR, 1)]
    assert log_of(stored) == [("page", "old", 1)]


@pytest.mark.parametrize("confirmed", [True, False])
def test_a_representative_that_was_not_settled_yet_stays_if_it_goes_well(index, confirmed):
    old = index.observe("old", A)
    page = superseding(index)
    index.confirm(page)
    assert found(index.query(A)) == [("old", A, 0), ("page", NEAR, 1)]
    (index.confirm if confirmed else index.discard)(old)
    assert [match.key for match in index.query(A)] == ["old", "page"][not confirmed :]


@pytest.mark.parametrize("in_flight", [False, True])
@pytest.mark.parametrize("handles", [1, 2])
def test_entries_of_earlier_crawls_stay_where_they_are(backend, handles, in_flight):
    with backend.open(max_distance=0) as index:
        for key, fingerprint in (("page", flip(A, 8)), ("unmet", flip(A, 9)), ("old", NEAR)):
            index.confirm(index.observe(key, fingerprint))
    with ExitStack() as stack:
        index, *_ = [stack.enter_context(backend.open()) for _ in range(handles)]
        # Its own entry and the one that this crawl did not meet are beyond k of the first page.
        index.confirm(index.observe("old", flip(A, 0, 1, 2)))
        page = superseding(index, "page", A)
        number = index.entry("page").number
        if in_flight:
            index.observe("old", B)
        index.confirm(page)
        expected = [("page", A, 0), ("unmet", flip(A, 9), 1), ("old", flip(A, 0, 1, 2), 3)]
        assert found(index.query(A)) == expected[: 2 + in_flight]
        # As an unchanged page it has its number and the content of this crawl.
        assert index.entry("page")[:4] == (number, "page", A, page.sequence)


def test_a_write_that_fails_changes_nothing(stored, monkeypatch):
    page = superseding(stored)
    before = log_of(stored)

    def fail(*_, **__):
        raise StorageError("/index", "the disk is full")

    with monkeypatch.context() as patch:
        store = stored._store
        target = (store, "write") if isinstance(store, Store) else (store.server, "run")
        patch.setattr(*target, fail)
        with pytest.raises(StorageError, match="full"):
            stored.confirm(page)
    assert found(stored.query(A)) == [("old", A, 0), ("page", NEAR, 1)]
    assert log_of(stored) == before
    stored.confirm(page)
    assert found(stored.query(A)) == [("page", NEAR, 1)]


class TestProvisional:
    def test_while_nothing_within_k_is_stored(self, index):
        first = index.observe("first", A)
        assert not first.provisional
        assert index.observe("copy", NEAR).provisional
        assert index.observe("copy", flip(A, *range(K))).provisional
        index.confirm(first)
        assert not index.observe("copy", NEAR).provisional
        assert not index.observe("another", flip(A, *range(K))).provisional

    def test_pages_of_earlier_crawls_stand_for_none_until_they_are_met(self, backend):
        with backend.open() as index:
            index.confirm(index.observe("old", A))
        with backend.open() as index:
            met = index.observe("old", A)
            assert index.observe("copy", NEAR).provisional
            index.confirm(met)
            assert not index.observe("copy", NEAR).provisional
        with backend.open(incremental=True) as index:
            assert not index.observe("copy", NEAR).provisional
