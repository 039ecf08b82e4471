"""What an index says of the pages that a page is a copy of: were their callbacks called with the same
arguments, did they give items, are they farther from the start? Over every back end.
"""

import pytest

from scrapy_simhash.evidence import UNLIKE_ANY, Evidence
from scrapy_simhash.index.base import Earlier

from .backends import FAR, flip

A = FAR[0]
ONE, TWO = Evidence(request=b"1" * 8), Evidence(request=b"2" * 8)


def store(index, key, evidence, distance=0, **how):
    observation = index.observe(key, flip(A, *range(distance)), evidence)
    if observation.representative is not None:
        index.accept(observation)
    index.confirm(observation, **how)


def test_a_copy_of_a_page_that_gave_none(index):
    store(index, "old", ONE, gave_items=False)
    assert index.observe("copy", A, ONE).earlier == Earlier(gave_items=False)
    assert not index.entry("old").gave_items
    # Seen again under its key, the page gives items.
    index.confirm(index.observe("old", A, ONE))
    seen = index.observe("old", A, ONE)
    if seen.kind == "unchanged" and index.entry("old").gave_items:
        assert seen.earlier == Earlier()


@pytest.mark.parametrize(
    ("stored", "asked", "same"),
    [
        (ONE, ONE, True),
        (ONE, TWO, False),
        (ONE, Evidence(), True),
        (Evidence(), TWO, True),
        (Evidence(request=UNLIKE_ANY), Evidence(request=UNLIKE_ANY), False),
    ],
)
def test_arguments(index, stored, asked, same):
    store(index, "old", stored)
    assert index.observe("copy", A, asked).earlier.same_request is same


def test_the_representative_is_the_nearest_with_the_same_arguments(index):
    store(index, "one", ONE)
    store(index, "two", TWO, distance=2)
    for evidence, representative in ((ONE, "one"), (TWO, "two")):
        seen = index.observe("copy", A, evidence)
        assert (seen.representative, seen.earlier) == (representative, Earlier())
        assert not seen.provisional
    other = index.observe("copy", A, Evidence(request=b"3" * 8))
    assert (other.representative, other.earlier.same_request) == ("one", False)


def test_a_page_that_gave_items_is_preferred_to_a_nearer_one_that_gave_none(index):
    store(index, "none", ONE, gave_items=False)
    store(index, "some", ONE, distance=2)
    seen = index.observe("copy", A, ONE)
    assert (seen.representative, seen.earlier) == ("some", Earlier())


def test_a_pending_page_may_still_give_items(index):
    store(index, "none", ONE, gave_items=False)
    waiting = index.observe("waiting", A, ONE)
    index.supersede(waiting)
    seen = index.observe("copy", A, ONE)
    assert (seen.representative, seen.provisional, seen.earlier) == ("waiting", True, Earlier())
    index.discard(waiting)
    seen = index.observe("copy", A, ONE)
    assert (seen.representative, seen.provisional) == ("none", False)
    assert seen.earlier == Earlier(gave_items=False)


@pytest.mark.parametrize(("depth", "nearer"), [(1, True), (2, False), (3, False)])
def test_a_page_nearer_to_the_start(index, depth, nearer):
    store(index, "old", ONE._replace(depth=2))
    assert index.observe("copy", A, ONE._replace(depth=depth)).earlier.nearer is nearer


def test_a_page_of_a_later_crawl_replaces_only_entries_with_its_arguments(backend):
    with backend.open() as index:
        store(index, "one", ONE)
        store(index, "two", TWO)
    with backend.open() as index:
        store(index, "new", ONE)
        assert {match.key for match in index.query(A)} == {"new", "two"}


def test_an_incremental_crawl_knows_what_earlier_crawls_got(backend):
    with backend.open() as index:
        store(index, "old", ONE, gave_items=False)
    with backend.open(incremental=True) as index:
        for key, kind in (("copy", "near-duplicate"), ("old", "unchanged")):
            seen = index.observe(key, A, ONE)
            assert (seen.kind, seen.earlier) == (kind, Earlier(gave_items=False))
            assert not index.observe(key, A, TWO).earlier.same_request


def test_an_accepted_page_is_stored_only_when_it_is_confirmed(index):
    store(index, "old", ONE)
    page = index.observe("copy", A, TWO)
    index.accept(page)
    index.discard(page)
    assert index.entry("copy") is None
    store(index, "copy", TWO)
    assert (len(index), index.entry("copy").evidence) == (2, TWO)


@pytest.mark.parametrize("incremental", [False, True])
def test_an_accepted_page_replaces_its_copies_of_earlier_crawls(backend, incremental):
    with backend.open() as index:
        # "near" and "far" are within k of the page, and not of each other; "other" has other
        # arguments.
        store(index, "near", ONE)
        store(index, "other", TWO)
        k = index.max_distance
    with backend.open(incremental=incremental) as index:
        store(index, "far", ONE, distance=k + 1)
        page = index.observe("page", flip(A, 0), ONE)
        index.accept(page)
        index.confirm(page)
        stored = {key for key in ("near", "other", "far", "page") if index.entry(key)}
        assert stored == {"other", "far", "page", *(["near"] if incremental else [])}
