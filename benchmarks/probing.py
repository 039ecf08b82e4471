"""What probed tables find of the near-duplicates of page sets, and how far these are apart.

Prints the quantiles of the distances of confirmed pairs, which `scrapy_simhash.index.probing` takes
for its model, and for each plan the share of the pairs that it finds, asked in either order. The
pages of a set count as one site. The tables' bits are the first ones, and those of random orders.
"""

from __future__ import annotations

import argparse
import gzip
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pagesets import documents, judged_pairs

from scrapy_simhash import Detector
from scrapy_simhash.index import TablePlan
from scrapy_simhash.index.probing import Prober, typical_recall
from scrapy_simhash.scheme import DEFAULT_PRESET, PRESETS, Preset

PLANS = ((16, 8, 112), (18, 10, 128), (20, 10, 256), (21, 12, 320), (22, 11, 320))
ORDERS = 5
SAME = 0.8


class Pairs(NamedTuple):
    """Confirmed pairs in both orders: a row for each.

    :param differs: which bits of the second are not those of the first.
    :param certainty: of the first.
    :param same: whether their judged resemblance is `SAME` or more.
    """

    differs: np.ndarray
    certainty: np.ndarray
    same: np.ndarray


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="PAGE_SET")
    parser.add_argument("--extractor", default="segments")
    arguments = parser.parse_args()
    preset = PRESETS[DEFAULT_PRESET]
    detector = Detector(replace(preset.scheme, extractor=arguments.extractor))
    found = [confirmed(folder, detector, preset) for folder in arguments.folders]
    pairs = Pairs(*map(np.concatenate, zip(*found, strict=True)))
    distances = pairs.differs.sum(axis=1)
    quantiles = np.quantile(distances, np.linspace(0, 1, 21))
    print(f"{len(distances):,} ordered pairs within {preset.max_distance} bits are confirmed")
    print("quantiles:", ", ".join(f"{one:g}" for one in quantiles))
    print(f"{'tables':<52}{'mean':>8}{'worst':>8}{'>= 0.8':>8}{'model':>8}")
    bits = preset.scheme.bits
    for width, tables, probes in PLANS:
        plan = TablePlan(bits, tables, prefix_bits=width, probes=probes)
        shares = [share(plan, pairs, order) for order in range(ORDERS)]
        hits, same = (np.array(column) for column in zip(*shares, strict=True))
        model = typical_recall(plan, preset.max_distance)
        print(f"{plan!s:<52}{hits.mean():>8.4f}{hits.min():>8.4f}{same.min():>8.4f}{model:>8.4f}")


def confirmed(folder: Path, detector: Detector, preset: Preset) -> Pairs:
    """The pairs of a set that a linear scan confirms."""
    bits = detector.scheme.bits
    pages = []
    for document in documents(folder):
        if not document.path.exists():
            continue
        content = document.path.read_bytes()
        if document.path.suffix == ".gz":
            content = gzip.decompress(content)
        page = detector.fingerprint_page(content.decode("utf-8", "replace"))
        if page.fingerprint is not None:
            pages.append((document.id, page.fingerprint, page.evidence._replace(site=1)))
    judged = judged_pairs(folder)
    packed = np.array(
        [np.frombuffer(one.to_bytes(bits // 8, "big"), np.uint8) for _, one, _ in pages]
    ).reshape(len(pages), bits // 8)
    differs, certainty, same = [], [], []
    for at, (name, _, evidence) in enumerate(pages):
        apart = np.bitwise_count(packed ^ packed[at]).sum(axis=1)
        near = [int(n) for n in np.flatnonzero(apart <= preset.max_distance) if n != at]
        compared = preset.confirmation.similarities(evidence, [pages[n][2] for n in near])
        for other, (_, is_copy) in zip(near, compared, strict=True):
            if is_copy:
                differs.append(np.unpackbits(packed[at] ^ packed[other]))
                certainty.append(np.frombuffer(evidence.certainty, np.uint8))
                same.append(judged.get(frozenset((name, pages[other][0])), 0) >= SAME)
    shape = len(differs), bits
    return Pairs(
        np.array(differs, bool).reshape(shape),
        np.array(certainty, np.uint8).reshape(shape),
        np.array(same, bool),
    )


def share(plan: TablePlan, pairs: Pairs, order: int) -> tuple[float, float]:
    """The share of all pairs, and of those of `SAME` resemblance, that the plan finds."""
    bits = np.random.default_rng(order).permutation(plan.bits) if order else np.arange(plan.bits)
    used = bits[: plan.blocks * plan.prefix_bits]
    shape = len(pairs.same), plan.blocks, plan.prefix_bits
    found = Prober(plan).finds(
        pairs.certainty[:, used].reshape(shape), pairs.differs[:, used].reshape(shape)
    )
    return float(found.mean()), float(found[pairs.same].mean())


if __name__ == "__main__":
    main()
