"""Recall against the share of a text that was edited."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from quality_lib import edits, output
from quality_lib.corpus import Document
from quality_lib.results import (
    HEADER,
    Close,
    Finder,
    Result,
    close,
    is_reported,
    plan_for,
)
from quality_lib.scoring import wilson
from quality_lib.served import Served, serve
from scrapy_simhash.fingerprint import hamming_distance

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from quality_lib.corpus import PageSet
    from quality_lib.edits import Variant
    from quality_lib.measuring import Entry
    from scrapy_simhash.scheme import Scheme

# What was edited: size of the texts, kind of edit, share.
Edit = tuple[str, str, float]


def measure(
    page_sets: Sequence[PageSet],
    schemes: Sequence[Entry],
    own: Sequence[Result],
    arguments: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Edit texts, and count which of them are still found, by each scheme at its own distance."""
    made = edits.variants(page_sets, arguments.edits, arguments.seed)
    rows = serve(
        [Document(str(n), "", 0, None, variant.text) for n, variant in enumerate(made)],
        [one.scheme for one in schemes],
        [],
        pages=False,
        min_tokens=arguments.min_tokens,
        processes=arguments.processes,
    )
    groups: defaultdict[Edit, list[int]] = defaultdict(list)
    for number, variant in enumerate(made):
        groups[variant.size, variant.kind, variant.share].append(number)
    report = []
    for number, one in enumerate(schemes):
        pages = [row.schemes[number] for row in rows]
        finders = own_finders(own, one.name)
        found_pairs = with_originals(one.scheme, finders, made, pages)
        for finder in finders:
            chosen = found_pairs.pairs[is_reported(finder, found_pairs, pages, one.confirmation)]
            reported = {int(n) for _, n in chosen}
            for (size, kind, share), members in groups.items():
                found = sum(n in reported for n in members)
                row = {"size": size, "kind": kind, "share": share, **finder._asdict()}
                row |= {"found": found, "texts": len(members)}
                report.append({**row, "recall_95": wilson(found, len(members))})
    return [*resemblances(made, groups), *report]


def resemblances(made: Sequence[Variant], groups: dict[Edit, list[int]]) -> list[dict[str, Any]]:
    """How much the edited texts resemble their originals, on average."""
    return [
        {
            "size": size,
            "kind": kind,
            "share": share,
            "texts": len(members),
            "mean_resemblance": sum(made[n].resemblance for n in members) / len(members),
            "must_be_found": sum(made[n].resemblance >= 0.8 for n in members),
        }
        for (size, kind, share), members in groups.items()
    ]


def own_finders(own: Sequence[Result], name: str) -> list[Finder]:
    """A scheme at its own distance, both ways."""
    finders = (result.finder for result in own if not result.missing)
    return [finder for finder in finders if finder.name == name]


def with_originals(
    scheme: Scheme, finders: Sequence[Finder], made: Sequence[Variant], pages: Sequence[Served]
) -> Close:
    """Return the pairs of a text and its original of which both have a fingerprint."""
    fingerprints = [page.fingerprint for page in pages]
    pairs, apart = [], []
    for number, variant in enumerate(made):
        first, second = fingerprints[variant.original], fingerprints[number]
        if first is not None and second is not None:
            pairs.append((variant.original, number))
            apart.append(hamming_distance(first, second))
    plans = {f.k: plan for f in finders if f.k and (plan := plan_for(scheme.bits, f.k))}
    numbers = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return close(pages, numbers, np.array(apart, dtype=np.int16), plans)


def table(report: Sequence[dict[str, Any]], size: str) -> str:
    """A line for each kind and finder, a column for each share."""
    lines: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in report:
        if row["size"] != size or not row["kind"]:
            continue
        if "name" in row:
            key = (row["kind"], row["name"], str(row["k"]), row["by"])
            lines[key].append(output.proportion(row["found"], row["texts"], 2))
        else:
            lines[row["kind"], "mean resemblance", "", ""].append(f"{row['mean_resemblance']:.3f}")
    order = list(edits.KINDS)
    rows = [[*k, *cells] for k, cells in sorted(lines.items(), key=lambda i: order.index(i[0][0]))]
    return output.table(
        ["edit", *HEADER[:3], *(f"{share:.0%}" for share in edits.SHARES)], rows, left=4
    )
