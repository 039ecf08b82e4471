"""What probes find of the copies that a linear scan confirms on real pages."""

import json

import numpy as np
import pytest

from scrapy_simhash import Detector
from scrapy_simhash.index import choose_plan
from scrapy_simhash.scheme import DEFAULT_PRESET, preset
from tests.index.probing_model import finds
from tests.real_pages import read_page, sets_with_pages

WIDE = preset(DEFAULT_PRESET)
ORDERS = 20
MIN_RECALL = 0.995
MIN_PAIRS = 2000


def pages_of(folder, detector, site):
    """Yield (fingerprint, evidence) of the pages of a set, which count as one site."""
    for line in (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        if "file" in document:
            content = read_page(folder / document["file"])
            page = detector.fingerprint_page(content.decode("utf-8", "replace"))
            if page.fingerprint is not None:
                yield page.fingerprint, page.evidence._replace(site=site)


def confirmed_pairs(shared):
    """Yield each page with each of its copies in its set, found by comparing all with all."""
    detector = Detector(WIDE.scheme)
    for site, folder in enumerate(sets_with_pages(shared), 1):
        pages = list(pages_of(folder, detector, site))
        packed = rows([fingerprint for fingerprint, _ in pages])
        for number, (page, row) in enumerate(zip(pages, packed, strict=True)):
            distances = np.bitwise_count(packed ^ row).sum(axis=1)
            for at in np.flatnonzero(distances <= WIDE.max_distance):
                if at != number and WIDE.confirmation.compare(page[1], pages[at][1]).is_copy:
                    yield page, pages[at]


def rows(fingerprints):
    packed = b"".join(one.to_bytes(WIDE.scheme.bits // 8, "big") for one in fingerprints)
    return np.frombuffer(packed, np.uint8).reshape(len(fingerprints), -1)


@pytest.mark.thorough
def test_the_default_probes_find_what_a_linear_scan_confirms(shared):
    """Pages of one family are found or missed together. So the bits are put in several orders,
    because one order says more about these families than about the probes.
    """
    pairs = list(confirmed_pairs(shared))
    assert len(pairs) >= MIN_PAIRS
    plan = choose_plan(WIDE.scheme.bits, WIDE.max_distance)
    differs = np.unpackbits(
        rows([page for (page, _), _ in pairs]) ^ rows([copy for _, (copy, _) in pairs]), axis=1
    )
    certainties = np.frombuffer(
        b"".join(evidence.certainty for (_, evidence), _ in pairs), np.uint8
    )
    random, shape = np.random.default_rng(1), (len(pairs), plan.blocks, plan.prefix_bits)
    recall = []
    for _ in range(ORDERS):
        bits = random.permutation(plan.bits)[: plan.blocks * plan.prefix_bits]
        in_tables = certainties.reshape(len(pairs), -1)[:, bits].reshape(shape)
        recall.append(finds(plan, in_tables, differs[:, bits].reshape(shape) > 0).mean())
    assert np.mean(recall) >= MIN_RECALL
