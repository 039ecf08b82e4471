"""Collect the data of a report as plain values for JSON.

The data includes the fingerprints of all clustered pages, so that the report can regroup them for
a smaller k.
"""

from __future__ import annotations

import base64
import time
from collections import Counter
from heapq import nlargest
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import IndexCorrupt
from scrapy_simhash.index.database import corrupt
from scrapy_simhash.index.texts import MAX_CHARACTERS
from scrapy_simhash.maintenance.duplication import duplication
from scrapy_simhash.report.breakdown import break_down
from scrapy_simhash.report.selection import select
from scrapy_simhash.url_rules.listing import known_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_simhash.index.base import NearDuplicate
    from scrapy_simhash.index.texts import Texts
    from scrapy_simhash.maintenance.duplication import Duplication
    from scrapy_simhash.maintenance.sources import Source

MAX_PAGES = 200_000
MAX_TEXT_BYTES = 20_000_000
_MOST_FLOODS = 20
_TITLE_CHARACTERS = 200
_MOST_SIMILAR = 200
_MOST_RULES = 200
_BINS = 120
_STEPS_S = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000, 31_536_000)


def build(
    source: Source,
    texts: Texts | None,
    *,
    crawl: Mapping[str, Any] | None = None,
    cluster_limit: int = 0,
    max_pages: int = MAX_PAGES,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> dict[str, Any]:
    """Return the data of a report.

    :param texts: stored texts of the index; None if none are stored.
    :param crawl: facts about the crawl that has just ended, from
        `scrapy_simhash.crawl.crawl_report`.
    :param cluster_limit: clusters with more near-duplicates are floods; 0 means no limit.
    :param max_pages: upper limit for listed pages; beyond it, only the oldest pages of the largest
        clusters are listed.
    :param max_text_bytes: upper limit for compressed texts.
    :raises IndexCorrupt: a row cannot be decoded.
    """
    from scrapy_simhash import __version__

    doubled = duplication(source)
    # An earlier crawl may have used a larger k than the manifest now says.
    max_distance = max(source.manifest.max_distance, doubled.farthest)
    selection = select(source, doubled, max_distance, max_pages)
    pages = selection.pages
    numbers_of_pages = {page.key: number for number, page in enumerate(pages)}
    shown_texts, titles, of_text, no_room = _texts(texts, numbers_of_pages, doubled, max_text_bytes)
    tables = break_down(source, doubled)
    numbers = tables.numbered([*numbers_of_pages])
    made = source.manifest
    floods = [found for found in doubled.clusters if 0 < cluster_limit < len(found) - 1]
    return {
        "version": __version__,
        "made_at_s": int(time.time()),
        "index": {
            "directory": source.location,
            "scheme": made.scheme.id,
            "bits": made.scheme.bits,
            "max_distance": max_distance,
            "tables": str(made.plan),
            "file_bytes": source.size_bytes(),
            "representatives": doubled.representatives,
            "near_duplicates": doubled.near_duplicates,
            "clusters": len(doubled.clusters),
            "similar": len(doubled.similar),
            "log_lines": doubled.lines,
        },
        "crawl": crawl,
        "timeline": _timeline(doubled),
        "distances": [doubled.distances[distance] for distance in range(max_distance + 1)],
        "farther": sum(n for distance, n in doubled.distances.items() if distance > max_distance),
        **tables._asdict(),
        "similar": [
            {
                "key": line.key,
                "like": line.representative,
                "distance": line.distance,
                "similarity": _percent(line.similarity),
            }
            for line in nlargest(_MOST_SIMILAR, doubled.similar, key=_similarity)
        ],
        "url_rules": _url_rules(source),
        "names": {"hosts": numbers["hosts"], "patterns": numbers["patterns"]},
        "pages": {
            "key": [page.key for page in pages],
            "seen_at_s": [page.seen_at_s for page in pages],
            "representative": selection.representatives(),
            "distance": [page.distance for page in pages],
            "similarity": [_percent(page.similarity) for page in pages],
            "component": selection.components,
            "text": of_text,
            "host": numbers["of_host"],
            "pattern": numbers["of_pattern"],
        },
        "fingerprints": base64.b64encode(
            b"".join(page.fingerprint.to_bytes(made.scheme.bits // 8, "big") for page in pages)
        ).decode("ascii"),
        "texts": shown_texts,
        "titles": titles,
        "text_characters": MAX_CHARACTERS,
        "cluster_limit": cluster_limit,
        # Full sizes of clusters that are listed only in part.
        "sizes": {numbers_of_pages[key]: size for key, size in selection.sizes.items()},
        "floods": {
            "count": len(floods),
            "largest": [
                {"key": found.representative, "near_duplicates": len(found) - 1}
                for found in floods[:_MOST_FLOODS]
            ],
        },
        "left_out": {**selection.left_out._asdict(), "texts": no_room},
    }


def _url_rules(source: Source) -> dict[str, Any]:
    """Return the rules of URLs that hold, as a table."""
    try:
        holding = [one for one in known_rules(source.side_rows("url-rules")) if one.holds]
    except ValueError as error:
        raise corrupt(source.location, error) from error
    return {
        "count": len(holding),
        "most": [
            {
                "site": one.site,
                "rule": one.words,
                "pages": one.record.total.pages,
                "against": one.record.total.against,
                "lower_bound": round(one.lower_bound, 2),
                "spared": one.record.total.spared,
            }
            for one in holding[:_MOST_RULES]
        ],
    }


def _similarity(line: NearDuplicate) -> float:
    return line.similarity or 0.0


def _percent(similarity: float | None) -> int:
    """Return whole per cent, rounded down so that only 1 gives 100; -1 for None."""
    return -1 if similarity is None else int(100 * similarity + 1e-9)


def _texts(
    texts: Texts | None, places: Mapping[str, int], doubled: Duplication, max_bytes: int
) -> tuple[list[str], list[str], list[int], int]:
    """Return (texts, their titles, text number of each page or -1, number of omitted texts).

    Texts of the largest clusters come first, those of pages outside clusters last.
    """
    numbers = [-1] * len(places)
    if texts is None:
        return [], [], numbers, 0
    in_clusters = chain.from_iterable(
        (found.representative, *(line.key for line in found.near_duplicates))
        for found in doubled.clusters
    )
    shown: list[str] = []
    titles: list[str] = []
    numbers_by_value: dict[bytes, int] = {}
    no_room = size = 0
    for key in dict.fromkeys(chain(in_clusters, places)):
        value = texts.compressed(key) if key in places else None
        if value is None:
            continue
        number = numbers_by_value.get(value)
        if number is None:
            if size + len(value) > max_bytes:
                no_room += 1
                continue
            size += len(value)
            number = numbers_by_value[value] = len(shown)
            shown.append(base64.b64encode(value).decode("ascii"))
            titles.append(_title(texts, key))
        numbers[places[key]] = number
    return shown, titles, numbers, no_room


def _title(texts: Texts, key: str) -> str:
    try:
        kept = texts.get(key)
    except IndexCorrupt:  # the comparison view reports it
        return ""
    return kept.title[:_TITLE_CHARACTERS] if kept else ""


def _timeline(doubled: Duplication) -> dict[str, Any]:
    """Return the numbers of pages over time, by when they were first seen."""
    first = doubled.entry_times_s + Counter(map(doubled.first_seen_s, doubled.promoted))
    near = chain.from_iterable(found.near_duplicates for found in doubled.clusters)
    later = Counter(map(doubled.first_seen_s, near))
    moments = [*first, *later]
    if not moments:
        return {"from_s": 0, "step_s": 1, "representatives": [], "near_duplicates": []}
    from_s, to_s = min(moments), max(moments)
    fitting = (step for step in _STEPS_S if (to_s - from_s) // step < _BINS)
    step_s = next(fitting, (to_s - from_s) // _BINS + 1)
    from_s -= from_s % step_s
    bins = (to_s - from_s) // step_s + 1
    return {
        "from_s": from_s,
        "step_s": step_s,
        "representatives": _binned(first, from_s, step_s, bins),
        "near_duplicates": _binned(later, from_s, step_s, bins),
    }


def _binned(moments: Mapping[int, int], from_s: int, step_s: int, bins: int) -> list[int]:
    binned = [0] * bins
    for moment, count in moments.items():
        binned[(moment - from_s) // step_s] += count
    return binned
