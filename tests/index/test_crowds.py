"""Crowds: thousands of pages of one template within k of each other, and copies among them."""

import random
from contextlib import contextmanager, nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_simhash.confirmation import Confirmation
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import PageToObserve, TablePlan
from scrapy_simhash.index import store as store_module
from scrapy_simhash.index.redis import store as redis_store
from scrapy_simhash.index.tables import crowds, search, tables
from tests.samples import name_bytes

from .backends import INSTALLED_KINDS, KINDS, make_backend, seen, small_tables
from .conftest import REDIS_KINDS
from .redis_servers import RedisBackend

PLAN = TablePlan(128, 6, prefix_bits=12, probes=40)
K = 20
NAMED = Confirmation(min_resemblance=0.5)
LARGE = pytest.param(1000, marks=pytest.mark.thorough)


@contextmanager
def small_crowds(*, crowd=30, scanned=60, copies=8, others=4):
    with pytest.MonkeyPatch.context() as patch:
        names = {"CROWD": crowd, "SCANNED": scanned, "COPIES": copies, "OTHERS": others}
        for module in (crowds, search, store_module, redis_store):
            for name in names.keys() & vars(module).keys():
                patch.setattr(module, name, names[name])
        yield


def page_of_template(rng, number, *, name=None, flips=6, **evidence):
    """Return (key, fingerprint, evidence) of a page near all others of the template."""
    fingerprint = (1 << 127) // 3
    for bit in rng.sample(range(128), flips):
        fingerprint ^= 1 << bit
    heading = name_bytes(name if name is not None else f"Page {number}")
    evidence = Evidence(**{"site": 1, "heading": heading, **evidence})
    return f"https://a.example/{number}", fingerprint, evidence


def store(index, pages):
    for key, fingerprint, evidence in pages:
        observed = index.observe(key, fingerprint, evidence)
        index.confirm(observed)
        yield observed


@pytest.fixture(params=[*KINDS, *REDIS_KINDS])
def backend(request, tmp_path):
    if not request.param.startswith("redis"):
        return make_backend(request.param, tmp_path, PLAN)
    name = "redis_cluster" if request.param.endswith("cluster") else "redis_server"
    return RedisBackend(request.getfixturevalue(name), PLAN)


@pytest.mark.parametrize("memory_pages", [20, LARGE])
def test_a_copy_is_found_by_its_name_in_a_crowd_and_other_pages_are_only_similar(
    backend, memory_pages, monkeypatch
):
    rng = random.Random(1)
    pages = [page_of_template(rng, number) for number in range(200)]
    monkeypatch.setattr(tables, "UNSORTED_ROWS", 10)
    with small_crowds(), small_tables(unsorted=10, memory=memory_pages):
        with backend.open(max_distance=K, confirmation=NAMED) as index:
            kinds = {observed.kind for observed in store(index, pages)}
            assert kinds == {"new"}
            for number in range(0, 200, 7):
                key, fingerprint, evidence = pages[number]
                found = index.observe(f"{key}?print", fingerprint ^ 0b11, evidence)
                assert (found.kind, found.representative) == ("near-duplicate", key)
        with backend.open(max_distance=K, confirmation=NAMED, incremental=True) as index:
            key, fingerprint, evidence = page_of_template(rng, 1000)
            observed = index.observe(key, fingerprint, evidence)
            assert observed.kind == "new"
            assert observed.similar_to in {key for key, _, _ in pages}


def test_copies_with_the_request_of_a_page_come_first(backend, monkeypatch):
    rng = random.Random(3)
    requests = [number.to_bytes(8, "big") for number in range(1, 200)]
    pages = [
        page_of_template(rng, number, name="No reviews yet", request=request)
        for number, request in enumerate(requests)
    ]
    monkeypatch.setattr(tables, "UNSORTED_ROWS", 10)
    with small_crowds(scanned=500), backend.open(max_distance=K, confirmation=NAMED) as index:
        for key, fingerprint, evidence in pages:
            observed = index.observe(key, fingerprint, evidence)
            assert not (observed.representative and observed.earlier.same_request)
            if observed.kind == "near-duplicate":
                index.accept(observed)
            index.confirm(observed)
        for key, fingerprint, evidence in pages[::17]:
            observed = index.observe(f"{key}?again", fingerprint ^ 1, evidence)
            assert observed.representative == key
            assert observed.earlier.same_request


def leave_gone_pages(index, way, pages):
    """Leave pages in the tables that are not stored any more."""
    for number, (page_key, fingerprint, evidence) in enumerate(pages):
        # Either one page, each time with another text, or pages with one text.
        key = "https://a.example/changing" if way == "changed" else page_key
        text = random.Random(number if way == "changed" else way).randbytes(128)
        observed = index.observe(key, fingerprint, evidence._replace(sketch=text))
        if way == "superseded" and number:
            assert observed.kind == "near-duplicate"
            index.supersede(observed)
        if way == "discarded":
            index.discard(observed)
        else:
            index.confirm(observed)
    if way == "changed":
        index.confirm(index.observe(key, 0))


@pytest.mark.parametrize("way", ["discarded", "changed", "superseded"])
@pytest.mark.parametrize("crowd", [30, LARGE])
def test_pages_that_are_gone_take_no_places(backend, way, crowd, monkeypatch):
    rng = random.Random(6)
    monkeypatch.setattr(tables, "UNSORTED_ROWS", 10)
    template, own = (1 << 127) // 3, rng.randbytes(128)
    farther = template
    for bit in range(4, 13):  # within the prefix of one table
        farther ^= 1 << bit
    with small_crowds(crowd=crowd, scanned=3000), small_tables(unsorted=10, memory=60):
        for _ in range(2):  # in memory, and in files
            with backend.open(max_distance=K, confirmation=NAMED, incremental=True) as index:
                gone = [page_of_template(rng, number, name="", flips=3) for number in range(120)]
                leave_gone_pages(index, way, gone)
                if index.entry("farther") is None:
                    evidence = Evidence(site=1, sketch=own)
                    index.confirm(index.observe("farther", farther, evidence))
                page = ("copy", template, Evidence(site=1, sketch=own))
                for observed in (index.observe(*page), *index.observe_all([PageToObserve(*page)])):
                    assert seen(observed) == ("near-duplicate", "farther", 9)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.data())
def test_verdicts_equal_those_of_a_scan_of_all_pages(tmp_path_factory, seed, data):
    """With crowds that are not larger than what is compared of them, the verdicts are exact."""
    rng = random.Random(seed)
    pages = [
        page_of_template(
            rng,
            data.draw(st.integers(0, 30)),
            name=data.draw(st.sampled_from(["", "Mill 1", "Mill 2", "Mill 3"])),
            flips=data.draw(st.integers(0, 9)),
            site=data.draw(st.sampled_from([0, 1, 1, 2])),
        )
        for _ in range(data.draw(st.integers(20, 60)))
    ]
    verdicts = []
    for kind in ("memory", INSTALLED_KINDS[0]):
        backend = make_backend(kind, tmp_path_factory.mktemp("crowd"), PLAN)
        with (
            small_crowds(crowd=1000, others=1000) if kind == "memory" else nullcontext(),
            small_tables(unsorted=5, memory=20),
            backend.open(max_distance=3, confirmation=NAMED) as index,
        ):
            # At this distance, the tables find all pairs.
            verdicts.append(
                [(*seen(observed), observed.similar_to is None) for observed in store(index, pages)]
            )
    assert verdicts[0] == verdicts[1]
