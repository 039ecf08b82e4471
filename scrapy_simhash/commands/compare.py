"""``compare``: how far two pages are from each other, and how much they resemble each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands.output import escaped, percent, show
from scrapy_simhash.commands.page_source import PAGE, add_page_arguments, load_pages
from scrapy_simhash.commands.parsers import add_command
from scrapy_simhash.commands.scheme_options import (
    add_scheme_options,
    detector,
    schemes_and_distances,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy_simhash.commands.page_source import LoadedPage
    from scrapy_simhash.commands.scheme_options import Chosen
    from scrapy_simhash.detector import PageFingerprint

_DESCRIPTION = """\
Compares two pages as a crawl would: the distance of their fingerprints, whether they are
near-duplicates at k, and how much their main texts resemble each other.

  {program} compare https://example.com/article https://example.com/article?print=1
  {program} compare --preset all a.html b.html
  {program} compare --preset wide --max-distance 40 --json a.html -

Resemblance is the share of the two texts' runs of 5 words (8 characters, if they are mostly
Chinese, Japanese or Korean) that both have, from 0 to 1; no fingerprint takes part in it. A crawl
should find pairs of 0.8 and more, and should not find pairs below 0.2.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``compare``."""
    parser = add_command(
        subparsers, "compare", _DESCRIPTION, "whether two pages are near-duplicates"
    )
    parser.add_argument("a", metavar="A", help=f"a page: {PAGE}")
    parser.add_argument("b", metavar="B", help="another one")
    add_page_arguments(parser, None)
    parser.add_argument("--json", action="store_true", help="show the result as JSON")
    add_scheme_options(parser, several=True)


class _Compared(NamedTuple):
    chosen: Chosen
    pages: tuple[PageFingerprint, PageFingerprint]
    distance: int | None
    resemblance: float | None

    @property
    def verdict(self) -> str:
        """In a few words."""
        for name, page in zip("AB", self.pages, strict=True):
            if page.skipped is not None:
                return f"{name} is skipped: {page.skipped}"
        if self.distance is None or self.distance > self.chosen.max_distance:
            return "different"
        weak = ", weak" if any(page.weak for page in self.pages) else ""
        return f"near-duplicates{weak}"


def run(options: argparse.Namespace) -> int:
    """Compare and show."""
    chosen = schemes_and_distances(options)
    pages = load_pages([options.a, options.b], options)
    compared = _compare(pages, chosen, options)
    if options.json:
        show(json.dumps(_as_json(pages, compared), indent=2))
    else:
        _show(pages, compared)
    return 0


def _compare(
    pages: Sequence[LoadedPage], presets: Sequence[Chosen], options: argparse.Namespace
) -> list[_Compared]:
    from scrapy_simhash.fingerprint import hamming_distance
    from scrapy_simhash.resemblance import resemblance

    known: dict[tuple[str, str], float] = {}
    compared = []
    for chosen in presets:
        made = detector(options, chosen.scheme, keep_text=True)
        one, other = (page.fingerprint(made) for page in pages)
        distance = None
        if one.fingerprint is not None and other.fingerprint is not None:
            distance = hamming_distance(one.fingerprint, other.fingerprint)
        alike = None
        if one.text and other.text:
            texts = one.text, other.text
            if texts not in known:  # presets have most texts in common
                known[texts] = resemblance(*texts)
            alike = known[texts]
        compared.append(_Compared(chosen, (one, other), distance, alike))
    return compared


def _as_json(pages: Sequence[LoadedPage], compared: Sequence[_Compared]) -> dict[str, Any]:
    from scrapy_simhash.fingerprint import to_hex

    return {
        "a": {"page": pages[0].name, "url": pages[0].url},
        "b": {"page": pages[1].name, "url": pages[1].url},
        "presets": [
            {
                "preset": one.chosen.preset,
                "scheme": one.chosen.scheme.id,
                "bits": one.chosen.scheme.bits,
                "max_distance": one.chosen.max_distance,
                "distance": one.distance,
                "equal_bits_share": _equal_bits_share(one),
                "near_duplicate": one.distance is not None
                and one.distance <= one.chosen.max_distance,
                "weak": any(page.weak for page in one.pages),
                "resemblance": one.resemblance,
                **{
                    name: {
                        "fingerprint": None
                        if page.fingerprint is None
                        else to_hex(page.fingerprint, one.chosen.scheme.bits),
                        "way": page.way,
                        "tokens": page.tokens,
                        "weak": page.weak,
                        "skipped": page.skipped,
                        "error": page.error,
                    }
                    for name, page in zip("ab", one.pages, strict=True)
                },
            }
            for one in compared
        ],
    }


def _equal_bits_share(one: _Compared) -> float | None:
    return None if one.distance is None else 1 - one.distance / one.chosen.scheme.bits


def _show(pages: Sequence[LoadedPage], compared: Sequence[_Compared]) -> None:
    for name, page in zip("AB", pages, strict=True):
        moved = f" ({page.url})" if page.url not in (None, page.name) else ""
        show(f"{name}  {escaped(page.name + moved)}")
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
        weak = ", weak" if page.weak else ""
        error = f" ({page.error})" if page.error else ""
        skipped = f", skipped: {page.skipped}{error}" if page.skipped else weak
        show(f"{name}            {page.tokens:,} tokens{escaped(way + skipped)}")
    if one.distance is not None:
        equal = percent(1 - one.distance / chosen.scheme.bits)
        show(f"distance     {one.distance} of {chosen.scheme.bits} bits: {equal} are equal")
    if one.resemblance is not None:
        show(f"resemblance  {one.resemblance:.3f}")
    show(f"verdict      {one.verdict} (k = {chosen.max_distance})")


def _show_table(compared: Sequence[_Compared]) -> None:
    show()
    show(
        f"{'preset':<16}{'bits':>5}{'k':>5}{'distance':>10}{'equal bits':>12}{'resemblance':>13}"
        "  verdict"
    )
    for one in compared:
        chosen = one.chosen
        share = _equal_bits_share(one)
        distance = "" if one.distance is None else str(one.distance)
        alike = "" if one.resemblance is None else f"{one.resemblance:.3f}"
        show(
            f"{chosen.preset:<16}{chosen.scheme.bits:>5}{chosen.max_distance:>5}{distance:>10}"
            f"{'' if share is None else percent(share):>12}{alike:>13}  {escaped(one.verdict)}"
        )
