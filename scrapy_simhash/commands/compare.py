"""``compare``: measure the distance of two pages, and tell if they are near-duplicates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._options import (
    add_scheme_options,
    settings_of_presets,
)
from scrapy_simhash.commands._output import (
    show,
    show_json,
    shown_fingerprint,
)
from scrapy_simhash.commands._pages import PAGE_METAVAR, add_reading_options, load_pages
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.reasons import explain, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.commands._pages import LoadedPage
    from scrapy_simhash.commands._settings import SchemeSettings

_DESCRIPTION = """\
Shows for two pages the distance of their fingerprints, the similarity that a crawl estimates from
their sketches, the exact resemblance of their main texts, and whether they are near-duplicates for
a crawl. Short texts, which a crawl skips, are compared, too, unless --min-tokens is given.

  {program} compare https://example.com/article 'https://example.com/article?print=1'
  {program} compare --preset all a.html b.html
  {program} compare --preset wide --max-distance 40 --min-resemblance 0.7 --json a.html -

Resemblance is the share of the runs of 5 words that both texts have, from 0 to 1. A crawl should
find pairs with 0.8 or more, and should not find pairs below 0.2. Similarity estimates the same
share for runs of 3 tokens.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help=f"a page: {PAGE_METAVAR}")
    parser.add_argument("b", metavar="B", help="another page")
    add_reading_options(parser, json=False)
    add_scheme_options(parser, several=True, confirmation=True)


def _run(options: argparse.Namespace) -> None:
    presets = settings_of_presets(options)
    pages = load_pages([options.a, options.b], options)
    comparisons = _compare(pages, presets, options)
    if options.json:
        named = {
            letter: {"page": page.name, "url": page.url}
            for letter, page in zip("ab", pages, strict=True)
        }
        show_json({**named, "presets": comparisons})
        return
    for letter, page in zip("AB", pages, strict=True):
        show(f"{letter}  {escaped(page.shown_name)}")
    show()
    if len(comparisons) > 1:
        _show_table(comparisons)
    else:
        _show_one(comparisons[0])


def _compare(
    pages: Sequence[LoadedPage], presets: Sequence[SchemeSettings], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the comparison by each preset as values for JSON."""
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.fingerprint import hamming_distance
    from scrapy_simhash.resemblance import resemblance

    cached_resemblance = cache(resemblance)  # most presets extract the same texts
    comparisons = []
    for settings in presets:
        bits, confirmation = settings.scheme.bits, settings.confirmation
        # A crawl skips short texts, but a user who names two texts wants them compared.
        detector = Detector(
            settings.scheme,
            min_tokens=options.min_tokens or 1,
            keep_text=True,
            distinct=settings.distinct,
        )
        a, b = (page.fingerprint(detector) for page in pages)
        distance = None
        if a.fingerprint is not None and b.fingerprint is not None:
            distance = hamming_distance(a.fingerprint, b.fingerprint)
        similarity, against = confirmation.compare(a.evidence, b.evidence)
        reason = None
        if distance is not None:
            against = "distance" if distance > settings.max_distance else against
            reason = explain(
                against,
                distance=distance,
                similarity=similarity,
                max_distance=settings.max_distance,
                confirmation=confirmation,
                names=(a.evidence.label.decode(), b.evidence.label.decode()),
            )
        comparison = {
            "preset": settings.preset,
            "scheme": settings.scheme.id,
            "bits": bits,
            "max_distance": settings.max_distance,
            "min_resemblance": confirmation.min_resemblance,
            "same_title": confirmation.same_name,
            "distance": distance,
            "similarity": similarity,
            "against": against,
            "reason": reason,
            "near_duplicate": distance is not None and not against,
            "resemblance": cached_resemblance(a.text, b.text) if a.text and b.text else None,
        }
        for letter, page in (("a", a), ("b", b)):
            comparison[letter] = {
                "fingerprint": shown_fingerprint(page.fingerprint, bits),
                "way": page.way,
                "tokens": page.tokens,
                "skipped": page.skipped,
                "error": page.error,
            }
        comparisons.append(comparison)
    return comparisons


def _verdict(comparison: dict[str, Any]) -> str:
    for letter in "ab":
        if skipped := comparison[letter]["skipped"]:
            return f"{letter.upper()} is skipped: {skipped}"
    if comparison["near_duplicate"]:
        return "near-duplicates"
    return "different" if comparison["against"] == "distance" else "similar, not copies"


def _show_one(comparison: dict[str, Any]) -> None:
    show(f"preset       {comparison['preset']}: {comparison['scheme']}")
    for letter in "ab":
        page = comparison[letter]
        way = f" by {page['way']}" if page["way"] else ""
        error = f" ({page['error']})" if page["error"] else ""
        skipped = f", skipped: {page['skipped']}{error}" if page["skipped"] else ""
        show(f"{letter.upper()}            {page['tokens']:,} tokens{escaped(way + skipped)}")
    if comparison["distance"] is not None:
        show(f"distance     {comparison['distance']} of {comparison['bits']} bits")
    if comparison["similarity"] is not None:
        show(f"similarity   {percent(comparison['similarity'])}, estimated")
    if comparison["resemblance"] is not None:
        show(f"resemblance  {comparison['resemblance']:.3f}, exact")
    show(f"verdict      {_verdict(comparison)} (k = {comparison['max_distance']})")
    if comparison["reason"]:
        show(f"because      {escaped(comparison['reason'])}")


def _show_table(comparisons: Sequence[dict[str, Any]]) -> None:
    row = "{:<16}{:>5}{:>5}{:>10}{:>12}{:>13}  {}"
    show(row.format("preset", "bits", "k", "distance", "similarity", "resemblance", "verdict"))
    for comparison in comparisons:
        distance, similarity = comparison["distance"], comparison["similarity"]
        exact = comparison["resemblance"]
        cells = (
            comparison["preset"],
            comparison["bits"],
            comparison["max_distance"],
            "" if distance is None else distance,
            "" if similarity is None else percent(similarity),
            "" if exact is None else f"{exact:.3f}",
            escaped(_verdict(comparison)),
        )
        show(row.format(*cells))


COMMAND = Command(
    "compare", "tell whether two pages are near-duplicates", _DESCRIPTION, _run, _add_arguments
)
