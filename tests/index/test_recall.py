"""What the tables of a real index find of the copies that a linear scan confirms on real pages."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pytest

from scrapy_simhash import Detector
from scrapy_simhash.evidence import Evidence
from scrapy_simhash.index import open_index
from scrapy_simhash.index.base import Entry
from scrapy_simhash.scheme import DEFAULT_PRESET, preset
from tests.real_pages import read_page, sets_with_pages

WIDE = preset(DEFAULT_PRESET)
FILLER = 50_000
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


def confirmed(pages):
    """{key: keys of its copies}, by comparing all with all."""
    packed = rows([page.fingerprint for page in pages])
    found = {}
    for page, row in zip(pages, packed, strict=True):
        distances = np.bitwise_count(packed ^ row).sum(axis=1)
        near = [pages[at] for at in np.flatnonzero(distances <= WIDE.max_distance)]
        near = [other for other in near if other.key != page.key]
        confirmation, evidence = WIDE.confirmation, page.evidence
        copies = {one.key for one in near if confirmation.compare(evidence, one.evidence).is_copy}
        if copies:
            found[page.key] = copies
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
@pytest.mark.parametrize("filler", [0, FILLER], ids=["alone", "among pages of one language"])
def test_the_default_tables_find_what_a_linear_scan_confirms(page_sets, tmp_path, filler):
    pages = [page for pages in page_sets for page in pages]
    wanted = {}
    for of_set in page_sets:
        wanted |= confirmed(of_set)
    keys = [(page.key, other) for page in pages for other in wanted.get(page.key, ())]
    assert len(keys) >= MIN_PAIRS
    with open_index(f"leveldb:{tmp_path}", WIDE.scheme, max_distance=WIDE.max_distance) as index:
        for number, fingerprint in enumerate(of_one_language(pages, filler)):
            write(index, Page(f"filler {number}", fingerprint, Evidence()))
        for page in pages:
            write(index, page)
    # Opened again, so that all is in the database.
    with open_index(f"leveldb:{tmp_path}", WIDE.scheme, max_distance=WIDE.max_distance) as index:
        assert index.plan.probes
        found = {
            page.key: {match.key for match in index.query(page.fingerprint, page.evidence)}
            for page in pages
            if page.key in wanted
        }
    hits = sum(other in found[key] for key, other in keys)
    assert hits >= MIN_RECALL * len(keys), f"{hits} of {len(keys)} ordered pairs"


def write(index, page):
    """Store a page whatever it is a copy of."""
    store = index._shared.store
    sequence = store.next_sequence
    evidence = page.evidence._replace(certainty=b"")
    entry = Entry(sequence, page.key, page.fingerprint, sequence, 0, 0, evidence=evidence)
    store.write(entry, None, (), sequence + 1)
