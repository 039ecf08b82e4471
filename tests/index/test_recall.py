"""What tables and probes find of the copies that a linear scan confirms on real pages."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest

from scrapy_simhash import Detector
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import choose_plan, open_index
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.probing import Prober
from scrapy_simhash.scheme import DEFAULT_PRESET, preset
from tests.index.probing_model import finds
from tests.real_pages import read_page, sets_with_pages

WIDE = preset(DEFAULT_PRESET)
FILLER = 20_000
ORDERS = 20
MIN_RECALL = 0.995
MIN_PAIRS = 2000


class Page(NamedTuple):
    key: str
    fingerprint: int
    evidence: Evidence


@pytest.fixture(scope="module")
def page_sets(shared):
    """The pages of each set; those of one set count as one site."""
    detector = Detector(WIDE.scheme)
    return [
        [page for page in pages_of(folder, detector, site) if page.fingerprint is not None]
        for site, folder in enumerate(sets_with_pages(shared), 1)
    ]


def pages_of(folder, detector, site):
    for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if "file" in document:
            content = read_page(folder / document["file"])
            page = detector.fingerprint_page(content.decode("utf-8", "replace"))
            key = f"{folder.name}/{document['id']}"
            yield Page(key, page.fingerprint, page.evidence._replace(site=site))


@pytest.fixture(scope="module")
def wanted(page_sets):
    """[(page, its copies)] within each set, found by comparing all pages with all."""
    found = []
    for pages in page_sets:
        packed = rows([page.fingerprint for page in pages])
        for page, row in zip(pages, packed, strict=True):
            distances = np.bitwise_count(packed ^ row).sum(axis=1)
            near = [pages[at] for at in np.flatnonzero(distances <= WIDE.max_distance)]
            compare = WIDE.confirmation.compare
            copies = [one for one in near if compare(page.evidence, one.evidence).is_copy]
            found.append((page, [copy for copy in copies if copy.key != page.key]))
    return found


def rows(fingerprints):
    packed = b"".join(one.to_bytes(WIDE.scheme.bits // 8, "big") for one in fingerprints)
    return np.frombuffer(packed, np.uint8).reshape(len(fingerprints), -1)


def of_one_language(pages, count):
    """Fingerprints whose bits are set as often as those of these pages."""
    often = np.unpackbits(rows([page.fingerprint for page in pages]), axis=1).mean(axis=0)
    random = np.random.default_rng(1)
    for _ in range(count // 1000):
        for row in np.packbits(random.random((1000, len(often))) < often, axis=1):
            yield int.from_bytes(row.tobytes(), "big")


@pytest.mark.thorough
def test_the_default_tables_find_what_their_probes_ask_for(page_sets, wanted, tmp_path):
    pages = [page for pages in page_sets for page in pages]
    with open_index(f"leveldb:{tmp_path}", WIDE.scheme, max_distance=WIDE.max_distance) as index:
        for number, fingerprint in enumerate(of_one_language(pages, FILLER)):
            write(index, Page(f"filler {number}", fingerprint, Evidence()))
        for page in pages:
            write(index, page)
    # Opened again, so that all is in the database.
    with open_index(f"leveldb:{tmp_path}", WIDE.scheme, max_distance=WIDE.max_distance) as index:
        prober = Prober(index.plan)
        for page, copies in wanted:
            is_found = prober.found_by(page.fingerprint, page.evidence.certainty)
            asked_for = {copy.key for copy in copies if is_found(copy.fingerprint)}
            matches = {match.key for match in index.query(page.fingerprint, page.evidence)}
            assert matches & {copy.key for copy in copies} == asked_for


@pytest.mark.thorough
def test_the_default_probes_find_what_a_linear_scan_confirms(wanted):
    """Pages of one family are found or missed together. So the bits are put in several orders,
    because one order says more about these families than about the probes.
    """
    pairs = [(page, copy) for page, copies in wanted for copy in copies]
    assert len(pairs) >= MIN_PAIRS
    plan = choose_plan(WIDE.scheme.bits, WIDE.max_distance)
    differs = np.unpackbits(
        rows([page.fingerprint for page, _ in pairs])
        ^ rows([copy.fingerprint for _, copy in pairs]),
        axis=1,
    )
    certainties = np.frombuffer(b"".join(page.evidence.certainty for page, _ in pairs), np.uint8)
    random, shape = np.random.default_rng(1), (len(pairs), plan.blocks, plan.prefix_bits)
    recall = []
    for _ in range(ORDERS):
        bits = random.permutation(plan.bits)[: plan.blocks * plan.prefix_bits]
        in_tables = certainties.reshape(len(pairs), -1)[:, bits].reshape(shape)
        recall.append(finds(plan, in_tables, differs[:, bits].reshape(shape) > 0).mean())
    assert np.mean(recall) >= MIN_RECALL


def write(index, page):
    """Store a page whatever it is a copy of."""
    store = index._store
    sequence = store.next_sequence
    evidence = page.evidence._replace(certainty=b"")
    entry = Entry(sequence, page.key, page.fingerprint, sequence, 0, 0, evidence=evidence)
    store.write(entry, None, ())
