"""``compare``: measure the distance of two pages, and tell if one is a copy of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands._options import (
    add_command,
    add_scheme_options,
    schemes_and_distances,
)
from scrapy_simhash.commands._output import (
    percent,
    show,
    show_json,
    shown_fingerprint,
    unconfirmed_because,
)
from scrapy_simhash.commands._pages import PAGE, add_reading_options, load_pages
from scrapy_simhash.documents.escaping import escaped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.commands._pages import LoadedPage
    from scrapy_simhash.commands._settings import SchemeSettings
    from scrapy_simhash.detector import PageFingerprint

_DESCRIPTION = """\
Compares two pages as a crawl would. Shows the distance of their fingerprints, the similarity that
a crawl estimates from their sketches, and whether similarity and titles confirm a copy. Also shows
the exact resemblance of their main texts.

  {program} compare https://example.com/article https://example.com/article?print=1
  {program} compare --preset all a.html b.html
  {program} compare --preset wide --max-distance 40 --min-resemblance 0.7 --json a.html -

Resemblance is the share of the runs of 5 words that both texts have, from 0 to 1. In texts that
are mostly Chinese, Japanese or Korean, the runs have 8 characters. A crawl should find pairs of 0.8
and more, and should not find pairs below 0.2. Similarity is an estimate from runs of 3 tokens.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compare``."""
    parser = add_command(
        subparsers, "compare", _DESCRIPTION, "tell whether two pages are near-duplicates"
    )
    parser.add_argument("a", metavar="A", help=f"a page: {PAGE}")
    parser.add_argument("b", metavar="B", help="another page")
    add_reading_options(parser, json=False)
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    add_scheme_options(parser, several=True, confirmation=True)


class _Compared(NamedTuple):
    """The comparison of two pages by one preset.

    :param similarity: estimated resemblance.
    :param unconfirmed_because: reasons against a copy, apart from the distance.
    :param resemblance: exact resemblance.
    """

    chosen: SchemeSettings
    pages: tuple[PageFingerprint, PageFingerprint]
    distance: int | None
    similarity: float | None
    unconfirmed_because: Sequence[str]
    resemblance: float | None

    @property
    def near(self) -> bool:
        """Return True if the pages are within k bits of each other."""
        return self.distance is not None and self.distance <= self.chosen.max_distance

    @property
    def verdict(self) -> str:
        """Return the verdict in a few words."""
        for name, page in zip("AB", self.pages, strict=True):
            if page.skipped is not None:
                return f"{name} is skipped: {page.skipped}"
        if not self.near:
            return "different"
        if self.unconfirmed_because:
            return f"similar, not copies: {', '.join(self.unconfirmed_because)}"
        return "near-duplicates"


def run(options: argparse.Namespace) -> int:
    """Show the comparison, and return the exit code."""
    chosen = schemes_and_distances(options)
    pages = load_pages([options.a, options.b], options)
    compared = _compare(pages, chosen, options)
    if options.json:
        show_json(_as_json(pages, compared))
    else:
        _show(pages, compared)
    return 0


def _compare(
    pages: Sequence[LoadedPage], presets: Sequence[SchemeSettings], options: argparse.Namespace
) -> list[_Compared]:
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.fingerprint import hamming_distance
    from scrapy_simhash.resemblance import resemblance

    known: dict[tuple[str, str], float] = {}
    compared = []
    for chosen in presets:
        # A crawl skips short texts, but a user who names two texts wants them compared.
        made = Detector(chosen.scheme, min_tokens=options.min_tokens or 1, keep_text=True)
        one, other = (page.fingerprint(made) for page in pages)
        distance = None
        if one.fingerprint is not None and other.fingerprint is not None:
            distance = hamming_distance(one.fingerprint, other.fingerprint)
        alike = None
        if one.text and other.text:
            texts = one.text, other.text
            if texts not in known:  # most presets extract the same texts
                known[texts] = resemblance(*texts)
            alike = known[texts]
        [(similarity, _)] = chosen.confirmation.similarities(one.evidence, [other.evidence])
        because = unconfirmed_because(chosen.confirmation, one.evidence, other.evidence)
        compared.append(_Compared(chosen, (one, other), distance, similarity, because, alike))
    return compared


def _as_json(pages: Sequence[LoadedPage], compared: Sequence[_Compared]) -> dict[str, Any]:
    return {
        "a": {"page": pages[0].name, "url": pages[0].url},
        "b": {"page": pages[1].name, "url": pages[1].url},
        "presets": [
            {
                "preset": one.chosen.preset,
                "scheme": one.chosen.scheme.id,
                "bits": one.chosen.scheme.bits,
                "max_distance": one.chosen.max_distance,
                "min_resemblance": one.chosen.confirmation.min_resemblance,
                "same_title": one.chosen.confirmation.same_name,
                "distance": one.distance,
                "similarity": one.similarity,
                "confirmed": not one.unconfirmed_because,
                "unconfirmed_because": list(one.unconfirmed_because),
                "near_duplicate": one.near and not one.unconfirmed_because,
                "resemblance": one.resemblance,
                **{
                    name: {
                        "fingerprint": shown_fingerprint(page.fingerprint, one.chosen.scheme.bits),
                        "way": page.way,
                        "tokens": page.tokens,
                        "skipped": page.skipped,
                        "error": page.error,
                    }
                    for name, page in zip("ab", one.pages, strict=True)
                },
            }
            for one in compared
        ],
    }


def _show(pages: Sequence[LoadedPage], compared: Sequence[_Compared]) -> None:
    for name, page in zip("AB", pages, strict=True):
        show(f"{name}  {escaped(page.shown_name)}")
    if len(compared) > 1:
        _show_table(compared)
    else:
        _show_one(compared[0])


def _show_one(one: _Compared) -> None:
    chosen = one.chosen
    show()
    show(f"preset       {chosen.preset}: {chosen.scheme.id}")
    for name, page in zip("AB", one.pages, strict=True):
        way = f" by {page.way}" if page.way else ""
        error = f" ({page.error})" if page.error else ""
        skipped = f", skipped: {page.skipped}{error}" if page.skipped else ""
        show(f"{name}            {page.tokens:,} tokens{escaped(way + skipped)}")
    if one.distance is not None:
        show(f"distance     {one.distance} of {chosen.scheme.bits} bits")
    if one.similarity is not None:
        show(f"similarity   {percent(one.similarity)}, estimated")
    if one.resemblance is not None:
        show(f"resemblance  {one.resemblance:.3f}, exact")
    show(f"verdict      {one.verdict} (k = {chosen.max_distance})")


def _show_table(compared: Sequence[_Compared]) -> None:
    show()
    show(
        f"{'preset':<16}{'bits':>5}{'k':>5}{'distance':>10}{'similarity':>12}{'resemblance':>13}"
        "  verdict"
    )
    for one in compared:
        chosen = one.chosen
        distance = "" if one.distance is None else str(one.distance)
        similarity = "" if one.similarity is None else percent(one.similarity)
        alike = "" if one.resemblance is None else f"{one.resemblance:.3f}"
        show(
            f"{chosen.preset:<16}{chosen.scheme.bits:>5}{chosen.max_distance:>5}{distance:>10}"
            f"{similarity:>12}{alike:>13}  {escaped(one.verdict)}"
        )
