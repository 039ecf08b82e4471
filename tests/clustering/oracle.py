"""What pairs and clusters are, said slowly, and fingerprints with many of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from scrapy_simhash.errors import PlanError
from scrapy_simhash.index import TablePlan


def brought_together(plan, one, other):
    """Whether two fingerprints share a prefix; with no plan, all are compared.

    :param plan: a plan, None, or a function that says it.
    """
    if callable(plan):
        return plan(one, other)
    return plan is None or any(
        all((one ^ other) >> shift & (1 << width) - 1 == 0 for shift, width in table)
        for table in plan.tables
    )


def standing(fingerprint, certainty, plan):
    """(table, prefix) of all places where a fingerprint stands in probed tables."""
    width, count = plan.prefix_bits, plan.probes // plan.blocks
    found = set()
    for table in range(plan.blocks):
        bits = range(table * width, (table + 1) * width)
        least = sorted(bits, key=lambda bit: certainty[bit])[:8]
        ranks = range(1, len(least) + 1)
        flips = [some for size in range(5) for some in combinations(ranks, size)]
        flips.sort(key=lambda some: (sum(some), len(some)))
        for some in flips[:count]:
            flipped = fingerprint
            for rank in some:
                flipped ^= 1 << plan.bits - 1 - least[rank - 1]
            found.add((table, flipped >> plan.bits - (table + 1) * width & (1 << width) - 1))
    return found


def pairs(fingerprints, max_distance, plan):
    """(first, second, distance) among the first ones of equal fingerprints."""
    firsts = {}
    for position, fingerprint in enumerate(fingerprints):
        firsts.setdefault(fingerprint, position)
    return {
        (i, j, (one ^ other).bit_count())
        for (one, i), (other, j) in combinations(firsts.items(), 2)
        if (one ^ other).bit_count() <= max_distance and brought_together(plan, one, other)
    }


def leaders(fingerprints, max_distance, plan):
    """(distance, representative) of each, one after the other."""
    representatives = []
    found = []
    for position, fingerprint in enumerate(fingerprints):
        near = [
            ((fingerprint ^ fingerprints[other]).bit_count(), other)
            for other in representatives
            if (fingerprint ^ fingerprints[other]).bit_count() <= max_distance
            and brought_together(plan, fingerprint, fingerprints[other])
        ]
        found.append(min(near, default=(0, position)))
        if not near:
            representatives.append(position)
    return found


def components(fingerprints, max_distance, plan):
    """The earliest member of the component of each."""
    earliest = list(range(len(fingerprints)))
    links = {(i, j) for i, j, _ in pairs(fingerprints, max_distance, plan)}
    links |= {(fingerprints.index(one), j) for j, one in enumerate(fingerprints)}
    changed = True
    while changed:
        changed = False
        for i, j in links:
            least = min(earliest[i], earliest[j])
            changed |= earliest[i] != earliest[j]
            earliest[i] = earliest[j] = least
    return earliest


def triples(found):
    return list(
        zip(found.first.tolist(), found.second.tolist(), found.distance.tolist(), strict=True)
    )


def as_array(fingerprints, bits):
    """Rows of bytes, the most significant first."""
    packed = b"".join(one.to_bytes(bits // 8, "big") for one in fingerprints)
    return np.frombuffer(packed, np.uint8).reshape(-1, bits // 8)


@st.composite
def crowded(draw, widths=(8, 16, 64, 72, 136, 256)):
    """(bits, fingerprints, max_distance): few centres, and what lies around them."""
    bits = draw(st.sampled_from(widths))
    centres = draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=4))
    flips = st.lists(st.integers(0, bits - 1), max_size=draw(st.sampled_from([1, 4, 12])))
    fingerprints = []
    for centre, flipped in draw(st.lists(st.tuples(st.sampled_from(centres), flips), max_size=40)):
        fingerprint = centre
        for bit in flipped:
            fingerprint ^= 1 << bit
        fingerprints.append(fingerprint)
    return bits, fingerprints, draw(st.integers(0, min(6, bits - 1)))


@st.composite
def plans(draw, bits):
    """Any tables for so many bits."""
    blocks = draw(st.integers(1, min(bits, 8)))
    chosen = draw(st.integers(1, blocks))
    try:
        return TablePlan(bits, blocks, chosen, draw(st.sampled_from([0, 0, 2])))
    except PlanError:
        return TablePlan(bits, blocks)
