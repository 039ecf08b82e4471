"""Pages that are observed and confirmed together: all is as if they came one by one."""

import random
from functools import partial

import pytest

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index import PageToObserve

from .backends import BITS, FAR, MemoryBackend, flip, seen
from .redis_servers import RedisBackend, needs_redis

A, B, C, D = FAR


def pages_of(*pages):
    return [PageToObserve(*page) for page in pages]


def same_site(one, other):
    return int(one[-1]) % 2 == int(other[-1]) % 2


def random_batches(rng, sites):
    """Batches of pages: new ones, near ones, and some with a key that was there before."""
    centres = [rng.getrandbits(BITS) for _ in range(6)]
    for _ in range(4):
        batch = []
        for _ in range(rng.randrange(9)):
            fingerprint = rng.choice(centres)
            for bit in rng.sample(range(BITS), rng.randrange(5)):
                fingerprint ^= 1 << bit
            key = f"page {rng.randrange(25)}"
            scope = None if sites == 1 else partial(same_site, key)
            batch.append(PageToObserve(key, fingerprint, in_scope=scope))
        yield batch


def content(index, keys):
    entries = [index.entry(key) for key in sorted(keys)]
    log = [(line.key, line.representative, line.distance) for line in index.near_duplicates()]
    return len(index), [entry and entry.fingerprint for entry in entries], log


@pytest.mark.parametrize("sites", [1, 2])
@pytest.mark.parametrize("seed", range(10))
def test_all_is_as_if_pages_came_one_by_one(backend, seed, sites):
    """In several crawls, of which some are incremental; some pages fail, and some copies take the
    place of their representatives.
    """
    rng, in_memory, keys = random.Random(seed), MemoryBackend(), set()
    for _ in range(3):
        options = {"incremental": rng.random() < 0.5}
        with backend.open(**options) as index, in_memory.open(**options) as oracle:
            for batch in random_batches(rng, sites):
                keys.update(page.key for page in batch)
                together = index.observe_all(batch)
                in_turn = [
                    oracle.observe(page.key, page.fingerprint, in_scope=page.in_scope)
                    for page in batch
                ]
                for one, expected in zip(together, in_turn, strict=True):
                    assert seen(one) == seen(expected)
                    assert one.provisional == expected.provisional
                    assert one.similar_to == expected.similar_to
                sequences = [one.sequence for one in together]
                assert sequences == sorted(set(sequences))
                for one, expected in zip(together, in_turn, strict=True):
                    if one.representative is not None and rng.random() < 0.3:
                        index.supersede(one)
                        oracle.supersede(expected)
                good, failed = set(), []
                for number, pair in enumerate(zip(together, in_turn, strict=True)):
                    if rng.random() < 0.7:
                        good.add(number)
                        oracle.confirm(pair[1])
                    else:
                        failed.append(pair)
                index.confirm_all([one for number, one in enumerate(together) if number in good])
                for one, expected in failed:
                    index.discard(one)
                    oracle.discard(expected)
            assert content(index, keys) == content(oracle, keys)


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
        index.confirm_all(observed)
        assert len(index) == 4
