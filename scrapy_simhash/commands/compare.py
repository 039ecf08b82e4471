"""``compare``: measure the distance of two pages, and tell if they are near-duplicates."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands._options import add_command, add_scheme_options, schemes_and_distances
from scrapy_simhash.commands._output import (
    percent,
    reasons_against_copy,
    show,
    show_json,
    shown_fingerprint,
)
from scrapy_simhash.commands._pages import PAGE_METAVAR, add_reading_options, load_pages
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.commands._pages import LoadedPage
    from scrapy_simhash.commands._settings import SchemeSettings
    from scrapy_simhash.detector import PageFingerprint

_DESCRIPTION = """\
Shows for two pages the distance of their fingerprints, the similarity that a crawl estimates from
their sketches, the exact resemblance of their main texts, and whether they are near-duplicates for
a crawl. Short texts, which a crawl skips, are compared, too, unless --min-tokens is given.

  {program} compare https://example.com/article https://example.com/article?print=1
  {program} compare --preset all a.html b.html
  {program} compare --preset wide --max-distance 40 --min-resemblance 0.7 --json a.html -

Resemblance is the share of their runs of 5 words that both texts have, from 0 to 1. In texts that
are mostly Chinese, Japanese or Korean, the runs have 8 characters. A crawl should find pairs of 0.8
and more, and should not find pairs below 0.2. Similarity estimates the same for runs of 3 tokens.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compare``."""
    parser = add_command(
        subparsers, "compare", _DESCRIPTION, "tell whether two pages are near-duplicates"
    )
    parser.add_argument("a", metavar="A", help=f"a page: {PAGE_METAVAR}")
    parser.add_argument("b", metavar="B", help="another page")
    add_reading_options(parser, json=False)
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    add_scheme_options(parser, several=True, confirmation=True)


class _Comparison(NamedTuple):
    """The comparison of two pages by one preset.

    :param settings: the settings with this preset.
    :param distance: distance of the fingerprints; None if a page is skipped.
    :param similarity: estimated resemblance; None if a page is skipped.
    :param reasons_against: reasons why the pages are no copies, apart from the distance.
    :param resemblance: exact resemblance; None if a page has no text.
    """

    settings: SchemeSettings
    pages: tuple[PageFingerprint, PageFingerprint]
    distance: int | None
    similarity: float | None
    reasons_against: Sequence[str]
    resemblance: float | None

    @property
    def is_near(self) -> bool:
        """Return True if the pages are within k bits of each other."""
        return self.distance is not None and self.distance <= self.settings.max_distance

    @property
    def verdict(self) -> str:
        """Return the verdict in a few words."""
        for name, page in zip("AB", self.pages, strict=True):
            if page.skipped is not None:
                return f"{name} is skipped: {page.skipped}"
        if not self.is_near:
            return "different"
        if self.reasons_against:
            return f"similar, not copies: {', '.join(self.reasons_against)}"
        return "near-duplicates"


def run(options: argparse.Namespace) -> int:
    """Show the comparison, and return the exit code."""
    presets = schemes_and_distances(options)
    pages = load_pages([options.a, options.b], options)
    comparisons = _compare(pages, presets, options)
    if options.json:
        show_json(_as_json(pages, comparisons))
    else:
        _show(pages, comparisons)
    return 0


def _compare(
    pages: Sequence[LoadedPage], presets: Sequence[SchemeSettings], options: argparse.Namespace
) -> list[_Comparison]:
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.fingerprint import hamming_distance
    from scrapy_simhash.resemblance import resemblance

    cached_resemblance = cache(resemblance)  # most presets extract the same texts
    comparisons = []
    for settings in presets:
        # A crawl skips short texts, but a user who names two texts wants them compared.
        detector = Detector(settings.scheme, min_tokens=options.min_tokens or 1, keep_text=True)
        a, b = (page.fingerprint(detector) for page in pages)
        distance = None
        if a.fingerprint is not None and b.fingerprint is not None:
            distance = hamming_distance(a.fingerprint, b.fingerprint)
        exact = cached_resemblance(a.text, b.text) if a.text and b.text else None
        [(similarity, _)] = settings.confirmation.similarities(a.evidence, [b.evidence])
        reasons = reasons_against_copy(settings.confirmation, a.evidence, b.evidence)
        comparisons.append(_Comparison(settings, (a, b), distance, similarity, reasons, exact))
    return comparisons


def _as_json(pages: Sequence[LoadedPage], comparisons: Sequence[_Comparison]) -> dict[str, Any]:
    return {
        "a": {"page": pages[0].name, "url": pages[0].url},
        "b": {"page": pages[1].name, "url": pages[1].url},
        "presets": [_comparison_as_json(comparison) for comparison in comparisons],
    }


def _comparison_as_json(comparison: _Comparison) -> dict[str, Any]:
    settings, is_confirmed = comparison.settings, not comparison.reasons_against
    return {
        "preset": settings.preset,
        "scheme": settings.scheme.id,
        "bits": settings.scheme.bits,
        "max_distance": settings.max_distance,
        "min_resemblance": settings.confirmation.min_resemblance,
        "same_title": settings.confirmation.same_name,
        "distance": comparison.distance,
        "similarity": comparison.similarity,
        "confirmed": None if comparison.distance is None else is_confirmed,
        "unconfirmed_because": list(comparison.reasons_against),
        "near_duplicate": comparison.is_near and is_confirmed,
        "resemblance": comparison.resemblance,
        **{
            name: {
                "fingerprint": shown_fingerprint(page.fingerprint, settings.scheme.bits),
                "way": page.way,
                "tokens": page.tokens,
                "skipped": page.skipped,
                "error": page.error,
            }
            for name, page in zip("ab", comparison.pages, strict=True)
        },
    }


def _show(pages: Sequence[LoadedPage], comparisons: Sequence[_Comparison]) -> None:
    for name, page in zip("AB", pages, strict=True):
        show(f"{name}  {escaped(page.shown_name)}")
    if len(comparisons) > 1:
        _show_table(comparisons)
    else:
        _show_one(comparisons[0])


def _show_one(comparison: _Comparison) -> None:
    settings = comparison.settings
    show()
    show(f"preset       {settings.preset}: {settings.scheme.id}")
    for name, page in zip("AB", comparison.pages, strict=True):
        way = f" by {page.way}" if page.way else ""
        error = f" ({page.error})" if page.error else ""
        skipped = f", skipped: {page.skipped}{error}" if page.skipped else ""
        show(f"{name}            {page.tokens:,} tokens{escaped(way + skipped)}")
    if comparison.distance is not None:
        show(f"distance     {comparison.distance} of {settings.scheme.bits} bits")
    if comparison.similarity is not None:
        show(f"similarity   {percent(comparison.similarity)}, estimated")
    if comparison.resemblance is not None:
        show(f"resemblance  {comparison.resemblance:.3f}, exact")
    show(f"verdict      {comparison.verdict} (k = {settings.max_distance})")


def _show_table(comparisons: Sequence[_Comparison]) -> None:
    show()
    show(
        f"{'preset':<16}{'bits':>5}{'k':>5}{'distance':>10}{'similarity':>12}{'resemblance':>13}"
        "  verdict"
    )
    for comparison in comparisons:
        settings = comparison.settings
        distance = "" if comparison.distance is None else str(comparison.distance)
        similarity = "" if comparison.similarity is None else percent(comparison.similarity)
        exact = "" if comparison.resemblance is None else f"{comparison.resemblance:.3f}"
        show(
            f"{settings.preset:<16}{settings.scheme.bits:>5}{settings.max_distance:>5}{distance:>10}"
            f"{similarity:>12}{exact:>13}  {escaped(comparison.verdict)}"
        )
