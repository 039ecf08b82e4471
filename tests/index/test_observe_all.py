"""Pages that are observed and confirmed together: all is as a linear scan says one by one."""

import random
from functools import partial

import pytest

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index import PageToObserve

from .backends import BITS, FAR, K, flip, found, seen
from .oracle import Oracle
from .redis_servers import RedisBackend, needs_redis

A, B, C, D = FAR
# Few, so that a page is often met again while it is pending.
KEYS = 5


def pages_of(*pages):
    return [PageToObserve(*page) for page in pages]


def same_site(one, other):
    return int(one[-1]) % 2 == int(other[-1]) % 2


def random_batches(rng, centres, sites, met):
    """Batches of pages: new ones, near ones, some with a key that was there before, and some that are
    met again as they were.
    """
    for _ in range(4):
        batch = []
        for _ in range(rng.randrange(9)):
            fingerprint = flip(rng.choice(centres), *rng.sample(range(BITS), rng.randrange(5)))
            key = f"page {rng.randrange(KEYS)}"
            if met and rng.random() < 0.3:
                key, fingerprint = rng.choice(met)
            met.append((key, fingerprint))
            scope = None if sites == 1 else partial(same_site, key)
            batch.append(PageToObserve(key, fingerprint, in_scope=scope))
        yield batch


def settle(rng, index, oracle, pages):
    """Confirm some pages in any order, together, one by one or all of a key, and discard others. Return
    those that stay pending.
    """
    rng.shuffle(pages)
    if pages and rng.random() < 0.3:
        key = pages[0][0].key
        index.confirm(key)
        for number in sorted(number for one, number in pages if one.key == key):
            oracle.confirm(number)
        pages = [one for one in pages if one[0].key != key]
    good = rng.randrange(len(pages) + 1)
    done = rng.randint(good, len(pages))
    if rng.random() < 0.5:
        index.confirm(*[one for one, _ in pages[:good]])
    for one, number in pages[:good]:
        index.confirm(one)
        oracle.confirm(number)
    for one, number in pages[:done]:  # also those that are stored: no effect
        index.discard(one)
        oracle.discard(number)
    index.confirm(*[one for one, _ in pages[:done]])
    return pages[done:]


@pytest.mark.parametrize("sites", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_all_is_as_a_linear_scan_says_one_by_one(backend, seed, sites):
    """In several crawls, of which some are incremental, and some go on with the one before; some pages
    fail, and some copies take the place of their representatives.
    """
    rng, oracle, began, met = random.Random(seed), Oracle(K, sites), None, []
    centres = [rng.getrandbits(BITS) for _ in range(6)]
    for _ in range(4):
        goes_on, incremental = began is not None and rng.random() < 0.3, rng.random() < 0.5
        start = began if goes_on else None
        with backend.open(incremental=incremental, crawl_start=start) as index:
            began, pages = index.crawl_start, []
            oracle.open(incremental=incremental, goes_on=goes_on)
            for batch in random_batches(rng, centres, sites, met):
                observed = index.observe_all(batch)
                expected = [oracle.observe(page.key, page.fingerprint) for page in batch]
                said = [(*seen(one), one.provisional) for one in observed]
                assert said == [
                    (*wanted, one.provisional if is_provisional is None else is_provisional)
                    for one, (*wanted, is_provisional) in zip(observed, expected, strict=True)
                ]
                sequences = [one.sequence for one in observed]
                assert sequences == sorted(set(sequences))
                new = range(oracle.clock - len(batch) + 1, oracle.clock + 1)
                pages += zip(observed, new, strict=True)
                for one, number in pages[-len(batch) :] if batch else ():
                    # In Redis, of a page and its successor that are confirmed together the successor
                    # stays, whichever comes first.
                    together = one.provisional and isinstance(backend, RedisBackend)
                    if one.representative is not None and not together and rng.random() < 0.3:
                        index.supersede(one)
                        oracle.supersede(number, one)
                pages = settle(rng, index, oracle, pages)
                assert_is(index, oracle, centres)


def assert_is(index, oracle, centres):
    """Entries, log and answers of an index are those of the oracle."""
    entries = {key: index.entry(key) for key in [f"page {number}" for number in range(KEYS)]}
    assert {key: entry.fingerprint for key, entry in entries.items() if entry} == {
        key: row.fingerprint for key, row in oracle.stored.items()
    }
    assert len(index) == len(oracle.stored)
    lines = list(index.near_duplicates())
    log = [(line.key, line.representative, line.distance, line.fingerprint) for line in lines]
    assert log == oracle.log
    assert [found(index.query(one)) for one in centres] == [oracle.query(one) for one in centres]


@pytest.mark.parametrize("wrong", [("", C), ("c", 1 << BITS), ("c", -1)])
def test_if_one_page_is_wrong_none_is_observed(index, wrong):
    with pytest.raises(SchemeError):
        index.observe_all(pages_of(("a", A), wrong, ("b", B)))
    assert index.query(A) == index.query(B) == []


def test_if_an_error_comes_in_between_no_page_stays_pending(index):
    index.confirm(index.observe("a", A))

    def failing(key):
        raise RuntimeError(key)

    with pytest.raises(RuntimeError, match=r"^a$"):
        index.observe_all(
            [*pages_of(("b", B), ("c", C)), PageToObserve("copy", flip(A, 0), in_scope=failing)]
        )
    assert index.query(B) == index.query(C) == []
    assert list(index.near_duplicates()) == []
    assert index.observe("other", B).kind == "new"


@needs_redis
def test_more_pages_than_one_script_takes(redis_server, monkeypatch):
    from scrapy_simhash.index.redis import store

    monkeypatch.setattr(store, "PAGES_AT_ONCE", 2)
    with RedisBackend(redis_server).open() as index:
        pages = pages_of(("a", A), ("b", B), ("c", C), ("copy", flip(A, 2)), ("d", D))
        observed = index.observe_all(pages)
        assert [one.kind for one in observed] == ["new"] * 3 + ["near-duplicate", "new"]
        index.confirm(*observed)
        assert len(index) == 4
