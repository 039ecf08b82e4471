"""All pairs as they are written down in numpy at first: one table after the other, as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scrapy_simhash.index.plan import Block, TablePlan

if TYPE_CHECKING:
    from collections.abc import Sequence


def by_argsort(words: np.ndarray, plan: TablePlan, max_distance: int) -> np.ndarray:
    """Positions of the pairs, by rows, each pair once."""
    found = [np.empty((2, 0), dtype=np.intp)]
    for table, width in zip(plan.tables, plan.prefix_widths_bits, strict=True):
        permuted = permute(words, order_of(table, plan.bits), plan.bits)
        order = np.argsort(permuted)
        for first, second in neighbours(permuted[order], width, plan.bits, max_distance):
            found.append(np.stack([order[first], order[second]]))
    return once(np.concatenate(found, axis=1), len(words))


def by_sort(words: np.ndarray, plan: TablePlan, max_distance: int) -> np.ndarray:
    """The same: fingerprints alone are sorted, and looked up in the end."""
    values = values_by_sort(words, plan, max_distance)
    order = np.argsort(words)
    in_order = words[order]
    return once(order[np.searchsorted(in_order, values)], len(words))


def values_by_sort(words: np.ndarray, plan: TablePlan, max_distance: int) -> np.ndarray:
    """The fingerprints of the pairs, not where they stand; once for each table that finds them."""
    found = [np.empty((2, 0), dtype=np.uint64)]
    for table, width in zip(plan.tables, plan.prefix_widths_bits, strict=True):
        order = order_of(table, plan.bits)
        permuted = np.sort(permute(words, order, plan.bits))
        for first, second in neighbours(permuted, width, plan.bits, max_distance):
            pair = np.stack([permuted[first], permuted[second]])
            found.append(permute(pair, inverse(order), plan.bits))
    return np.concatenate(found, axis=1)


def once(pairs: np.ndarray, count: int) -> np.ndarray:
    """Each pair once, the earlier position first."""
    first, second = np.sort(pairs, axis=0)
    return np.stack(np.divmod(np.unique(first * count + second), count))


def neighbours(
    in_order: np.ndarray, width: int, bits: int, max_distance: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Places of pairs within runs of equal prefixes."""
    prefix = in_order >> np.uint64(bits - width)
    found = []
    step = 1
    while True:
        same = prefix[step:] == prefix[:-step]
        if not same.any():
            return found
        near = np.bitwise_count(in_order[step:] ^ in_order[:-step]) <= max_distance
        first = np.flatnonzero(same & near)
        found.append((first, first + step))
        step += 1


def order_of(table: Sequence[Block], bits: int) -> list[Block]:
    """The blocks of a table's prefix, and then the rest of the bits."""
    rest = []
    top = bits
    for block in sorted(table, reverse=True):
        above = block.shift + block.width
        if above < top:
            rest.append(Block(above, top - above))
        top = block.shift
    if top:
        rest.append(Block(0, top))
    return [*table, *rest]


def permute(words: np.ndarray, order: Sequence[Block], bits: int) -> np.ndarray:
    """Words with their bits in this order, the most significant first."""
    permuted = np.zeros_like(words)
    place = bits
    for shift, width in order:
        place -= width
        mask = np.uint64((1 << width) - 1)
        permuted |= ((words >> np.uint64(shift)) & mask) << np.uint64(place)
    return permuted


def inverse(order: Sequence[Block]) -> list[Block]:
    """The order that undoes this one."""
    place = sum(width for _, width in order)
    placed = []
    for shift, width in order:
        place -= width
        placed.append((shift, Block(place, width)))
    return [block for _, block in sorted(placed, reverse=True)]
