"""Recall against the share of a text that was edited."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from quality_lib import edits, output
from quality_lib.corpus import Document
from quality_lib.results import DROPPED, HEADER, TABLES, Finder, Result, plan_for
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
        for finder in own_finders(own, one.name):
            for (size, kind, share), members in groups.items():
                found = sum(
                    is_found(one.scheme, finder, pages[made[n].original], pages[n]) for n in members
                )
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
    return [finder for finder in finders if finder.name == name and finder.pairs != DROPPED]


def is_found(scheme: Scheme, finder: Finder, one: Served, other: Served) -> bool:
    """Whether two texts are reported as a pair."""
    if one.fingerprint is None or other.fingerprint is None or finder.k is None:
        return False
    if hamming_distance(one.fingerprint, other.fingerprint) > finder.k:
        return False
    plan = plan_for(scheme.bits, finder.k) if finder.by == TABLES else None
    if plan is None:
        return True
    pairs = zip(plan.prefixes(one.fingerprint), plan.prefixes(other.fingerprint), strict=True)
    return any(a == b for a, b in pairs)


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
