"""The contract of `Index` within one crawl, over every back end."""

from itertools import combinations, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_simhash.errors import SchemeError
from scrapy_simhash.index import NearDuplicate

from .backends import BITS, FAR, K, flip, found, seen

A, B, C, D = FAR


@pytest.mark.parametrize("confirmed", [True, False])
def test_exactly_the_pages_within_k_are_found(index, confirmed):
    index.observe("a", B)
    if confirmed:
        index.confirm("a")
    for distance in range(K + 2):
        for bits in combinations(range(BITS), distance):
            expected = [("a", B, distance)] if distance <= K else []
            assert found(index.query(flip(B, *bits))) == expected


@pytest.mark.parametrize("confirm", [(), ("far", "near"), ("near",), ("near", "far")])
def test_the_nearest_representative_wins(index, confirm):
    index.observe("far", flip(A, 0, 1))
    index.observe("near", flip(A, 10, 11))
    for key in confirm:
        index.confirm(key)
    assert seen(index.observe("page", flip(A, 10))) == ("near-duplicate", "near", 1)
    assert found(index.query(flip(A, 10))) == [
        ("near", flip(A, 10, 11), 1),
        ("far", flip(A, 0, 1), 3),
    ]


def test_near_duplicates_are_logged_and_not_stored(index):
    index.confirm(index.observe("a", A))
    observations = [
        index.observe("b", flip(A, 1)),
        index.observe("c", flip(A, 1, 2)),
        index.observe("b", flip(A, 1)),
    ]
    for observation in observations:
        index.confirm(observation)
    assert len(index) == 1
    assert found(index.query(A)) == [("a", A, 0)]
    logged = list(index.near_duplicates(this_crawl=True))
    assert logged == list(index.near_duplicates())
    assert all(
        isinstance(line, NearDuplicate) and line.seen_at_s > 1_600_000_000 for line in logged
    )
    assert [
        (line.key, line.representative, line.distance, line.fingerprint, line.sequence)
        for line in logged
    ] == [(o.key, "a", o.distance, o.fingerprint, o.sequence) for o in observations]


def test_settling_what_is_not_pending_does_nothing(index):
    index.confirm("never seen")
    index.discard("never seen")
    stored = index.observe("a", A)
    index.confirm(stored)
    index.discard(stored)
    index.discard("a")
    near_duplicate = index.observe("b", A)
    discarded = index.observe("c", D)
    index.discard(discarded)
    for observation in (stored, near_duplicate, discarded):
        index.confirm(observation)
    assert len(index) == 1
    assert found(index.query(A)) == [("a", A, 0)]
    assert index.query(D) == []


def test_a_second_look_at_a_copy_leaves_no_line_in_the_log(index):
    index.confirm(index.observe("a", A))
    looks = [index.observe("copy", flip(A, 0)) for _ in range(2)]
    index.acted(looks[0], "dropped")
    index.acted(looks[1], None)
    index.acted(looks[1], None)
    assert [(line.sequence, line.action) for line in index.near_duplicates()] == [
        (looks[0].sequence, "dropped")
    ]


def test_unchanged_pages_keep_the_stored_fingerprint_so_that_they_do_not_drift(index):
    index.confirm(index.observe("a", A))
    for bits in ((0,), (0, 1), (0, 1, 2)):
        again = index.observe("a", flip(A, *bits))
        assert seen(again) == ("unchanged", None, len(bits))
        index.confirm(again)
        assert found(index.query(A)) == [("a", A, 0)]
    assert seen(index.observe("a", flip(A, 0, 1, 2, 3))) == ("changed", None, 4)


def test_of_two_pending_texts_of_a_page_that_are_alike_the_first_stays(index):
    looks = [index.observe("a", A), index.observe("a", flip(A, 0))]
    assert [seen(look) for look in looks] == [("new", None, None), ("unchanged", None, 1)]
    for look in looks:
        index.confirm(look)
    assert found(index.query(A)) == [("a", A, 0)]


@pytest.mark.parametrize("settle", ["confirm", "discard"])
def test_a_changed_page_is_replaced_at_confirm_and_not_before(index, settle):
    index.confirm(index.observe("a", A))
    changed = index.observe("a", B)
    assert seen(changed) == ("changed", None, 8)
    assert found(index.query(A)) == [("a", A, 0)]
    assert found(index.query(B)) == [("a", B, 0)]
    assert seen(index.observe("old copy", A)) == ("near-duplicate", "a", 0)
    assert seen(index.observe("new copy", B)) == ("near-duplicate", "a", 0)
    getattr(index, settle)(changed)
    stays, goes = (B, A) if settle == "confirm" else (A, B)
    assert found(index.query(stays)) == [("a", stays, 0)]
    assert index.query(goes) == []
    assert len(index) == 1
    assert index.observe("copy of what is gone", goes).kind == "new"


ORDERS = [
    order for outcomes in ("cc", "cd", "dc", "dd") for order in permutations(enumerate(outcomes))
]


@pytest.mark.parametrize(
    "order", ORDERS, ids=lambda order: "".join(f"{n}{how}" for n, how in order)
)
@pytest.mark.parametrize(
    ("prior", "first", "second"),
    [
        (None, A, A),
        (None, A, flip(A, 0, 1)),
        (None, A, B),
        (D, A, B),
        (D, A, flip(A, 0, 1)),
        (A, B, C),
        (A, B, A),
        (A, B, flip(B, 2)),
    ],
)
def test_two_observations_of_a_key_in_flight_do_not_disturb_each_other(
    index, order, prior, first, second
):
    if prior is not None:
        index.confirm(index.observe("a", prior))
    observations = [index.observe("a", first), index.observe("a", second)]
    for number, how in order:
        (index.confirm if how == "c" else index.discard)(observations[number])
    # What was confirmed last in the order of observation is what the page is now.
    kept = [observations[number].fingerprint for number, how in sorted(order) if how == "c"]
    current = kept[-1] if kept else prior
    assert len(index) == (current is not None)
    stored = {match.fingerprint for fp in (A, B, C, D) for match in index.query(fp)}
    if current is None:
        assert stored == set()
    else:
        (fingerprint,) = stored
        assert (fingerprint ^ current).bit_count() <= K
        assert index.observe("a", current).kind == "unchanged"


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=settings().max_examples // 4,  # a pass over all back ends takes its time
)
@given(key=st.text(st.characters(exclude_categories=()), min_size=1))
def test_keys_are_any_unicode_with_lone_surrogates(backend, key):
    with backend.open() as index:
        index.confirm(index.observe(key, A))
        copy = index.observe(key + "'", A)
        assert (copy.key, copy.representative) == (key + "'", key)
    with backend.open(incremental=True) as index:
        assert [line.key for line in index.near_duplicates()][-1] == key + "'"
        assert [match.key for match in index.query(A)] == [key]
        assert index.observe(key, A).kind == "unchanged"


def test_keys_may_be_very_long(backend):
    keys = ["ü" * 50_000 + tail for tail in ("a", "b")]
    with backend.open() as index:
        index.confirm(index.observe(keys[0], A))
        index.confirm(index.observe(keys[1], B))
        assert index.observe(keys[1], flip(A, 0)).representative == keys[0]
    with backend.open() as index:
        assert [index.observe(key, fp).kind for key, fp in zip(keys, (A, B), strict=True)] == [
            "unchanged"
        ] * 2
        assert next(index.near_duplicates()).representative == keys[0]


@pytest.mark.parametrize("key", ["", None, 7, b"bytes"])
def test_what_is_not_a_key_is_refused(index, key):
    with pytest.raises(SchemeError, match="key"):
        index.observe(key, A)
    assert index.query(A) == []


@pytest.mark.parametrize("fingerprint", [-1, 1 << BITS, 1 << 64, "0", 1.0, None])
def test_fingerprints_of_another_width_are_refused(index, fingerprint):
    for ask in (lambda: index.observe("a", fingerprint), lambda: index.query(fingerprint)):
        with pytest.raises(SchemeError, match=f"{BITS} bits"):
            ask()
    index.confirm("a")
    assert len(index) == 0
