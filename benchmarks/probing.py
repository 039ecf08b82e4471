"""Measure which near-duplicates of page sets probed tables find, and the distances of these pairs.

Prints the quantiles of the distances of confirmed pairs, which the model of
`scrapy_simhash.index.probing` uses, and the share of the pairs that each plan finds, with either
page as the query. The pages of a set count as one site. Bits are in their order and random orders.

With --entries, the pages are stored in a LevelDB index with the tables of the default preset, and
looked up there. The index has so many other entries, whose bits are set as often as in the pages.

    python benchmarks/probing.py PAGE_SET… --entries 0 1e6
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pagesets import documents, judged_pairs

from scrapy_simhash import Detector
from scrapy_simhash.evidence import NO_EVIDENCE, Evidence
from scrapy_simhash.index import TablePlan, open_index
from scrapy_simhash.index.base import Entry
from scrapy_simhash.index.probing import Prober, typical_recall
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Preset

if TYPE_CHECKING:
    from scrapy_simhash.index.observing import ObservingIndex

# (bits of a prefix, tables, probes)
PLANS = ((16, 8, 112), (18, 10, 128), (16, 12, 128), (18, 14, 256), (20, 12, 256), (21, 12, 384))
ORDERS = 5
SAME = 0.8
CHUNK = 1000


class Page(NamedTuple):
    """A page of a set."""

    key: str
    fingerprint: int
    evidence: Evidence


class Pairs(NamedTuple):
    """The confirmed pairs, each in both orders. Arrays have a row for each ordered pair.

    :param keys: the keys of the page that is the query, and of the page to find.
    :param differs: True for each bit in which the two fingerprints differ.
    :param certainty: the certainties of the query's bits.
    :param same: True if the judged resemblance of the pair is `SAME` or more.
    """

    keys: np.ndarray
    differs: np.ndarray
    certainty: np.ndarray
    same: np.ndarray


def main() -> None:
    """Measure the page sets that the command line names, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="PAGE_SET")
    parser.add_argument("--extractor", default="segments")
    parser.add_argument(
        "--entries", nargs="+", type=lambda text: int(float(text)), default=(), metavar="N"
    )
    arguments = parser.parse_args()
    preset = PRESETS[DEFAULT_PRESET]
    detector = Detector(replace(preset.scheme, extractor=arguments.extractor))
    page_sets = [
        fingerprinted(folder, detector, site) for site, folder in enumerate(arguments.folders, 1)
    ]
    found = [
        confirmed(pages, judged_pairs(folder), preset)
        for pages, folder in zip(page_sets, arguments.folders, strict=True)
    ]
    pairs = Pairs(*map(np.concatenate, zip(*found, strict=True)))
    distances = pairs.differs.sum(axis=1)
    quantiles = np.quantile(distances, np.linspace(0, 1, 21))
    print(f"{len(distances):,} ordered pairs within {preset.max_distance} bits are confirmed")
    print("quantiles:", ", ".join(f"{one:g}" for one in quantiles))
    for entries in arguments.entries:
        pages = [page for pages in page_sets for page in pages]
        through_index(pages, pairs, replace(preset, scheme=detector.scheme), entries)
    if arguments.entries:
        return
    print(f"{'tables':<52}{'mean':>8}{'worst':>8}{'>= 0.8':>8}{'model':>8}{'bare':>8}{'worst':>8}")
    bits = preset.scheme.bits
    for width, tables, probes in PLANS:
        plan = TablePlan(bits, tables, prefix_bits=width, probes=probes)
        shares = [share(plan, pairs, order) for order in range(ORDERS)]
        hits, same, bare = (np.array(column) for column in zip(*shares, strict=True))
        model = typical_recall(plan, preset.max_distance)
        print(
            f"{plan!s:<52}{hits.mean():>8.4f}{hits.min():>8.4f}{same.min():>8.4f}{model:>8.4f}",
            end="",
        )
        print(f"{bare.mean():>8.4f}{bare.min():>8.4f}")


def fingerprinted(folder: Path, detector: Detector, site: int) -> list[Page]:
    """Return the pages of a set that have a fingerprint."""
    pages = []
    for document in documents(folder):
        if not document.path.exists():
            continue
        content = document.path.read_bytes()
        if document.path.suffix == ".gz":
            content = gzip.decompress(content)
        page = detector.fingerprint_page(content.decode("utf-8", "replace"))
        if page.fingerprint is not None:
            key = f"{folder.name}/{document.id}"
            pages.append(Page(key, page.fingerprint, page.evidence._replace(site=site)))
    return pages


def packed_rows(pages: list[Page], bits: int) -> np.ndarray:
    """Return the fingerprints of pages as rows of bytes."""
    packed = b"".join(page.fingerprint.to_bytes(bits // 8, "big") for page in pages)
    return np.frombuffer(packed, np.uint8).reshape(len(pages), bits // 8)


def confirmed(pages: list[Page], judged: dict[frozenset[str], float], preset: Preset) -> Pairs:
    """Return the pairs of a set that a linear scan finds and confirms."""
    bits = preset.scheme.bits
    packed = packed_rows(pages, bits)
    keys, differs, certainty, same = [], [], [], []
    for at, (name, _, evidence) in enumerate(pages):
        apart = np.bitwise_count(packed ^ packed[at]).sum(axis=1)
        near = [int(n) for n in np.flatnonzero(apart <= preset.max_distance) if n != at]
        for other in near:
            if preset.confirmation.compare(evidence, pages[other][2])[1]:
                differs.append(np.unpackbits(packed[at] ^ packed[other]))
                certainty.append(np.frombuffer(evidence.certainty, np.uint8))
                keys.append((name, pages[other].key))
                ids = frozenset(key.partition("/")[2] for key in keys[-1])
                same.append(judged.get(ids, 0) >= SAME)
    shape = len(differs), bits
    return Pairs(
        np.array(keys, object).reshape(len(keys), 2),
        np.array(differs, bool).reshape(shape),
        np.array(certainty, np.uint8).reshape(shape),
        np.array(same, bool),
    )


def share(plan: TablePlan, pairs: Pairs, order: int) -> tuple[float, float, float]:
    """Return the shares that a plan finds: of all pairs; of the pairs in `Pairs.same`; and of all
    pairs without certainties, when each prefix is looked up with each single bit flipped.
    """
    bits = np.random.default_rng(order).permutation(plan.bits) if order else np.arange(plan.bits)
    used = bits[: plan.blocks * plan.prefix_bits]
    shape = len(pairs.same), plan.blocks, plan.prefix_bits
    differs = pairs.differs[:, used].reshape(shape)
    found = Prober(plan).finds(pairs.certainty[:, used].reshape(shape), differs)
    bare = (differs.sum(axis=-1) <= 1).any(axis=1)
    return float(found.mean()), float(found[pairs.same].mean()), float(bare.mean())


def through_index(pages: list[Page], pairs: Pairs, preset: Preset, entries: int) -> None:
    """Print the share of the pairs that a LevelDB index finds among `entries` other entries."""
    often = np.unpackbits(packed_rows(pages, preset.scheme.bits), axis=1).mean(axis=0)
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as directory:
        url = f"leveldb:{directory}/index"
        made = {"max_distance": preset.max_distance, "expected_pages": max(entries, 1_000_000)}
        with open_index(url, preset.scheme, **made) as index:
            for start in range(0, entries, CHUNK):
                size = min(CHUNK, entries - start)
                rows = np.packbits(random.random((size, len(often))) < often, axis=1)
                for number, row in enumerate(rows, start):
                    fingerprint = int.from_bytes(row.tobytes(), "big")
                    store(index, Page(f"filler {number}", fingerprint, NO_EVIDENCE))
            for page in pages:
                store(index, page)
        by_key = {page.key: page for page in pages}
        with open_index(url, preset.scheme, **made) as index:
            found = {}
            for key in set(pairs.keys[:, 0]):
                _, fingerprint, evidence = by_key[key]
                found[key] = {match.key for match in index.query(fingerprint, evidence)}
            plan = index.plan
    hits = np.array([other in found[key] for key, other in pairs.keys])
    print(
        f"{plan} among {entries:,} entries: {hits.mean():.4f} of all, "
        f"{hits[pairs.same].mean():.4f} of resemblance >= {SAME}",
        flush=True,
    )


def store(index: ObservingIndex, page: Page) -> None:
    """Store a page, even if it is a near-duplicate."""
    tables = index._shared.store  # noqa: SLF001 - the index itself would only log a near-duplicate
    sequence = tables.next_sequence
    evidence = page.evidence._replace(certainty=b"")
    entry = Entry(sequence, page.key, page.fingerprint, sequence, 0, 0, evidence=evidence)
    tables.write(entry, None, (), sequence + 1)


if __name__ == "__main__":
    main()
