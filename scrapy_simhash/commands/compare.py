"""``compare``: measure the distance of two pages, and tell if they are near-duplicates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

from scrapy_simhash.commands._command import Command
from scrapy_simhash.commands._output import reason_of, show_result, shown_fingerprint
from scrapy_simhash.commands._pages import PAGE_METAVAR, load_pages
from scrapy_simhash.commands._settings import COPY_OPTIONS, FINGERPRINT_OPTIONS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.crawl.settings import SettingsReader


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.fingerprint import hamming_distance
    from scrapy_simhash.resemblance import resemblance

    read: SettingsReader = options.settings
    preset = read.preset
    scheme, k, confirmation = preset.scheme, preset.max_distance, preset.confirmation
    loaded = load_pages([options.a, options.b], options)
    # A crawl skips short texts, but a user who names two texts wants them compared.
    min_tokens = read("SIMHASH_MIN_TOKENS") if options.SIMHASH_MIN_TOKENS else 1
    distinct = read.distinct_selectors
    detector = Detector(scheme, min_tokens=min_tokens, keep_text=True, distinct=distinct)
    a, b = (page.fingerprinted(detector)[1] for page in loaded)
    distance = reason = None
    similarity, against = confirmation.compare(a.evidence, b.evidence)
    if a.fingerprint is not None and b.fingerprint is not None:
        distance = hamming_distance(a.fingerprint, b.fingerprint)
        against = "distance" if distance > k else against
        found = SimpleNamespace(against=against, distance=distance, similarity=similarity)
        names = a.evidence.label.decode(), b.evidence.label.decode()
        reason = reason_of(found, preset, names)
    comparison = {
        letter: {
            "page": one.name,
            "url": one.url,
            "fingerprint": shown_fingerprint(page.fingerprint, scheme.bits),
            "way": page.way,
            "tokens": page.tokens,
            "skipped": page.skipped,
            "error": page.error,
        }
        for letter, one, page in zip("ab", loaded, (a, b), strict=True)
    } | {
        "preset": read("SIMHASH_PRESET")[0],
        "scheme": scheme.id,
        "bits": scheme.bits,
        "max_distance": k,
        "min_resemblance": confirmation.min_resemblance,
        "same_title": confirmation.same_name,
        "distance": distance,
        "similarity": similarity,
        "against": against,
        "reason": reason,
        "near_duplicate": distance is not None and not against,
        "resemblance": resemblance(a.text, b.text) if a.text and b.text else None,
    }
    show_result(options, comparison)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help=f"a page: {PAGE_METAVAR}")
    parser.add_argument("b", metavar="B", help="another page")


COMMAND = Command(
    "compare",
    "tell whether two pages are near-duplicates",
    """\
Shows for two pages the distance of their fingerprints, the similarity that a crawl estimates from
their sketches, the exact resemblance of their main texts, and whether they are near-duplicates for
a crawl. Short texts, which a crawl skips, are compared, too, unless --min-tokens is given.

  %(prog)s https://example.com/article 'https://example.com/article?print=1'
  %(prog)s --preset classic --json a.html -

Resemblance is the share of the runs of 5 words that both texts have, from 0 to 1. A crawl should
find pairs with 0.8 or more, and should not find pairs below 0.2. Similarity estimates the same
share for runs of 3 tokens.
""",
    _run,
    _arguments,
    settings=(*FINGERPRINT_OPTIONS, *COPY_OPTIONS, "max-bytes"),
)
