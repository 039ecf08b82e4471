"""Within k and no copy: what an index makes of evidence, over every back end."""

from typing import ClassVar, get_args

import pytest

from scrapy_simhash.confirmation import UNCONFIRMED, Confirmation, site_number
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import Action
from scrapy_simhash.index.manifest import Manifest
from tests.samples import name_bytes

from .backends import PLAN, SCHEME, K, seen

SITE = site_number("a.example")


def evidence(differing=0, *, title=""):
    """Of texts whose sketches differ in so many of 128 bins."""
    sketch = bytes([2] * differing + [1] * (128 - differing))
    return Evidence(sketch, SITE, name_bytes(title))


@pytest.fixture
def index(backend):
    with backend.open(confirmation=Confirmation()) as opened:
        yield opened


def lines(index):
    return [
        (line.key, line.representative, line.distance, line.similarity, line.confirmed, line.action)
        for line in index.near_duplicates()
    ]


def test_a_page_that_resembles_is_a_copy_and_says_how_much(index):
    index.confirm(index.observe("a", 0, evidence()))
    copy = index.observe("b", 1, evidence(26))
    assert seen(copy) == ("near-duplicate", "a", 1)
    assert copy.similarity == pytest.approx(102 / 128, abs=0.01)
    assert copy.similar_to is None
    assert lines(index) == [("b", "a", 1, round(copy.similarity, 2), True, "")]


def test_a_page_that_does_not_is_new_similar_and_stored(index):
    index.confirm(index.observe("a", 0, evidence()))
    page = index.observe("b", 1, evidence(100))
    assert seen(page) == ("new", None, 1)
    assert page.similar_to == "a"
    assert page.similarity < 0.3
    index.confirm(page)
    assert index.entry("b").evidence == evidence(100)
    assert lines(index) == [("b", "a", 1, round(page.similarity, 2), False, "")]
    # It is a representative: a copy of it is found, though the other one is as near.
    assert seen(index.observe("c", 1, evidence(101)))[:2] == ("near-duplicate", "b")


def test_a_changed_page_that_is_similar_has_the_distance_to_what_it_is_similar_to(index):
    index.confirm(index.observe("a", 0, evidence()))
    index.confirm(index.observe("b", 0xFF00, evidence(64)))
    page = index.observe("b", 1, evidence(100))
    assert (page.kind, page.similar_to, page.distance) == ("changed", "a", 1)


def test_a_similar_page_that_failed_leaves_no_line(index):
    index.confirm(index.observe("a", 0, evidence()))
    index.discard(index.observe("b", 1, evidence(100)))
    assert lines(index) == []
    # As of a copy that was dropped: it stays a copy.
    index.discard(index.observe("c", 1, evidence()))
    assert [line[0] for line in lines(index)] == ["c"]


def test_the_nearest_confirmed_wins_over_a_nearer_one_that_is_not(index):
    index.confirm(index.observe("near", 1, evidence(128)))
    index.confirm(index.observe("copy", 7, evidence()))
    assert seen(index.observe("page", 0, evidence())) == ("near-duplicate", "copy", 3)


@pytest.mark.parametrize("pending", [True, False])
def test_pending_pages_are_compared_by_the_same_rule(index, pending):
    first = index.observe("a", 0, evidence())
    if not pending:
        index.confirm(first)
    assert index.observe("b", 0, evidence(128)).kind == "new"
    assert index.observe("c", 0, evidence()).representative == "a"
    assert index.observe("d", 0, evidence(128)).representative == "b"


class TestThePageItself:
    FINGERPRINTS: ClassVar = {"a": 0x00FF, "b": 0x0FF0, "c": 0xFF00}

    def test_another_text_within_k_is_changed(self, index):
        index.confirm(index.observe("a", 0, evidence()))
        page = index.observe("a", 1, evidence(100))
        assert seen(page) == ("changed", None, 1)
        index.confirm(page)
        assert index.entry("a").evidence == evidence(100)

    @pytest.mark.parametrize("incremental", [True, False])
    def test_since_an_earlier_crawl_only_a_typing_error_leaves_it_unchanged(
        self, backend, incremental
    ):
        first = evidence(title="Shoe")._replace(content=bytes(16))
        changed = first._replace(content=b"\1" * 16)
        renamed = evidence(title="Shoe (sold out)")._replace(content=bytes(16))
        with backend.open(confirmation=Confirmation()) as index:
            for key, fingerprint in self.FINGERPRINTS.items():
                index.confirm(index.observe(key, fingerprint, first))
            # Within one crawl, the same page may come with other texts around its content.
            assert index.observe("a", self.FINGERPRINTS["a"], changed).kind == "unchanged"
        options = {"incremental": incremental, "confirmation": Confirmation()}
        for kinds in (["unchanged", "changed", "changed"], ["unchanged"] * 3):
            with backend.open(**options) as index:
                for key, shown, kind in zip("abc", (first, changed, renamed), kinds, strict=True):
                    page = index.observe(key, self.FINGERPRINTS[key], shown)
                    assert page.kind == kind
                    index.confirm(page)

    @pytest.mark.parametrize("incremental", [True, False])
    def test_met_again_it_gets_a_sketch(self, backend, incremental):
        with backend.open() as index:
            index.confirm(index.observe("a", 0))
        with backend.open(incremental=incremental) as index:
            index.confirm(index.observe("a", 0, evidence()))
        with backend.open() as index:
            assert index.entry("a").evidence == evidence()


def test_only_copies_yield_to_a_page_of_a_later_crawl(backend):
    with backend.open(confirmation=Confirmation()) as index:
        index.confirm(index.observe("copy", 0, evidence()))
        index.confirm(index.observe("similar", 1, evidence(128)))
    with backend.open(confirmation=Confirmation()) as index:
        page = index.observe("page", 0, evidence())
        # Pages of earlier crawls count for nothing, as if the index were empty.
        assert (*seen(page), page.similar_to) == ("new", None, None, None)
        index.confirm(page)
        assert index.entry("copy") is None
        assert index.entry("similar") is not None


@pytest.mark.parametrize("resembles", [True, False])
def test_a_copy_takes_the_place_of_its_representative(index, resembles):
    index.confirm(index.observe("old", 0, evidence()))
    page = index.observe("new", 0, evidence())
    index.supersede(page)
    if not resembles:  # it was crawled again
        index.confirm(index.observe("old", 0, evidence(128)))
    index.confirm(page)
    assert index.entry("new").evidence == evidence()
    assert (index.entry("old") is None) == resembles
    assert (("old", "new", 0, 1.0, True, "") in lines(index)) == resembles


def test_a_page_that_is_stored_again_in_the_same_call_is_not_replaced(backend):
    with backend.open(confirmation=Confirmation()) as index:
        index.confirm(index.observe("old", 0, evidence()))
    with backend.open(confirmation=Confirmation(), incremental=True) as index:
        successor = index.observe("new", 0, evidence())
        index.supersede(successor)
        index.confirm(successor, index.observe("old", 0, evidence()))
        assert {key for key in ("old", "new") if index.entry(key) is not None} == {"old", "new"}


@pytest.mark.parametrize("action", get_args(Action))
def test_the_log_says_what_was_done(backend, action):
    with backend.open(confirmation=Confirmation()) as index:
        first = index.observe("a", 0, evidence())
        copy = index.observe("b", 1, evidence())
        similar = index.observe("c", 2, evidence(128))
        for one in (first, copy, similar):
            index.acted(one, action)
    with backend.open() as index:
        assert [(line[0], line[4], line[5]) for line in lines(index)] == [
            ("b", True, action),
            ("c", False, action),
        ]


@pytest.mark.parametrize("others", [0, 2])
def test_the_line_of_a_discarded_page_does_not_come_back(index, others):
    index.observe("a", 0, evidence())
    similar = index.observe("c", 2, evidence(128))
    for number in range(others):
        index.observe(f"b{number}", 1, evidence())
    index.discard(similar)
    index.acted(similar, "passed")
    assert [line[0] for line in lines(index)] == [f"b{number}" for number in range(others)]


def test_a_query_gives_the_confirmed_first(index):
    index.confirm(index.observe("similar", 0, evidence(128)))
    index.confirm(index.observe("far", 3, evidence()))
    index.observe("near", 0x70, evidence(50))
    found = index.query(0, evidence())
    assert [(one.key, one.distance, one.confirmed) for one in found] == [
        ("far", 2, True),
        ("near", 3, True),
        ("similar", 0, False),
    ]
    assert [one.key for one in index.query(0)] == ["similar", "far", "near"]
    assert {one.similarity for one in index.query(0)} == {None}


@pytest.mark.parametrize("asked", [None, UNCONFIRMED, Confirmation(0.9, same_name=False)])
def test_who_opens_it_may_ask_for_another_confirmation(kind, tmp_path, asked):
    url = f"{kind}:{tmp_path / 'index'}"
    made = Confirmation(0.7, same_name=True)
    open_index(url, SCHEME, max_distance=K, plan=PLAN, confirmation=made).close()
    assert Manifest.read(tmp_path / "index").confirmation == made
    with open_index(url, confirmation=asked) as index:
        assert index.confirmation == (made if asked is None else asked)
        with open_index(url) as other:
            assert other.confirmation == made
