"""``query``: find the pages of an index within k of a page, and predict its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._command import Command, add_top, index_location
from scrapy_simhash.commands._output import note, reason_of, show_result, shown_fingerprint
from scrapy_simhash.commands._pages import PAGE_METAVAR, load_page

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.index import Index

# (the items are kept, links are followed) → what a crawl would do with a copy
_ACTIONS = {
    (True, True): "tag",
    (True, False): "tag, without following its links,",
    (False, True): "drop, following its links,",
    (False, False): "drop",
}
_VERDICT = ("kind", "representative", "distance", "similarity", "similar_to", "reason")
_LINE = ("key", "representative", "distance", "similarity", "confirmed", "action", "seen_at_s")


def _run(options: argparse.Namespace) -> int:
    from scrapy_simhash.maintenance.sources import opened_index

    if options.stored:
        with opened_index(index_location(options)) as index:
            stored = _stored(index, options.key or options.page)
        show_result(options, stored)
        if stored["entry"] or stored["near_duplicates"] or stored["copies"]:
            return 0
        if not options.json:
            note("nothing is known about it")
        return 1
    answer = _answer(options)
    shown = answer["matches"][: options.top]
    show_result(options, answer | {"matches": shown})
    more = answer["match_count"] - len(shown)
    if more and not options.json:
        note(f"{more:,} more matches: --top shows them")
    return 0


def _stored(index: Index, key: str) -> dict[str, Any]:
    """Return what an index knows about a key, as values for JSON."""
    entry = index.entry(key)
    lines = [
        {name: getattr(line, name) for name in _LINE} | {"reason": reason_of(line, index)}
        for line in index.near_duplicates()
        if key in (line.key, line.representative)
    ]
    return {
        "key": key,
        "entry": entry and {name: getattr(entry, name) for name in ("first_seen_s", "last_seen_s")},
        "near_duplicates": [line for line in lines if line["key"] == key],
        "copies": [line for line in lines if line["key"] != key],
    }


def _answer(options: argparse.Namespace) -> dict[str, Any]:
    """Return the answer as values for JSON, with all matches."""
    from scrapy_simhash.detector import Detector, evidence_of
    from scrapy_simhash.index.base import PageToObserve
    from scrapy_simhash.maintenance.sources import manifest_of, opened_index
    from scrapy_simhash.sites import scope_filter
    from scrapy_simhash.verdict import Verdict

    where, read = index_location(options), options.settings
    manifest, preset = manifest_of(where), read.preset
    # The project's k and conditions for a copy are for fingerprints of its scheme. Without a k of
    # its own, that of the index counts, which `rebuild` may have changed.
    limits = preset if preset.scheme == manifest.scheme else manifest
    is_k_set = limits is preset and read("SIMHASH_MAX_DISTANCE") is not None
    k = (preset if options.SIMHASH_MAX_DISTANCE or is_k_set else manifest).max_distance
    limits = replace(limits, max_distance=k)
    loaded, bits = load_page(options.page, options), manifest.scheme.bits
    min_tokens = read("SIMHASH_MIN_TOKENS")
    detector = Detector(manifest.scheme, min_tokens=min_tokens, distinct=read.distinct_selectors)
    _, page = loaded.fingerprinted(detector)
    key = options.key or loaded.url or ""
    answer = {
        "page": loaded.name,
        "kind": "skipped",
        "skipped": page.skipped,
        "error": page.error,
        "fingerprint": shown_fingerprint(page.fingerprint, bits),
        "max_distance": k,
        "action": "keep",
    }
    if page.fingerprint is None:
        return answer | {"match_count": 0, "matches": []}
    evidence = evidence_of(key, page)
    confirmation = limits.confirmation
    with opened_index(where, max_distance=k, confirmation=confirmation) as index:
        in_scope = scope_filter(read("SIMHASH_SCOPE"), key or loaded.name)
        foreseen = index.foresee(PageToObserve(key, page.fingerprint, evidence, in_scope))
        found = [one for one in index.query(page.fingerprint, evidence) if one.key != key]
        stored = _stored(index, key) if key else None
    verdict = Verdict(kind=foreseen.kind, key=key or loaded.name, bits=bits)
    if read.policy.seen(verdict):
        decided, _ = read.policy.decide(verdict)
        answer["action"] = _ACTIONS[decided.items, decided.follow]
    matches = [
        {name: getattr(one, name) for name in ("key", "distance", "similarity", "confirmed")}
        | {
            "name": one.label,
            "reason": reason_of(one, limits, (evidence.label.decode(), one.label)),
        }
        for one in found
    ]
    predicted = {name: getattr(foreseen, name) for name in _VERDICT}
    return answer | predicted | {"match_count": len(found), "matches": matches, "stored": stored}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar=PAGE_METAVAR, help="a file, a URL, or standard input")
    parser.add_argument(
        "--key",
        metavar="KEY",
        help="the page's identity, such as its URL, to tell unchanged from new (default: its "
        "URL after redirects)",
    )
    parser.add_argument(
        "--stored",
        action="store_true",
        help="fetch nothing: show only what the index has stored about the page with this key",
    )
    add_top(parser, "matches", 20)


COMMAND = Command(
    "query",
    "find pages near a page, and predict its verdict",
    """\
Fetches or reads a page, and looks up its main text in an index. Shows the representatives within k
bits, the reasons why some are no copies of the page, and what a crawl with the project's settings
would do with the page if it had seen all pages of the index; and what the index has stored about
it: since when it is a representative, and which pages it was a near-duplicate of. Writes nothing.
The exit code is 1 if --stored finds nothing.

  %(prog)s 'https://example.com/article?print=1'
  %(prog)s --spider news page.html
  %(prog)s --stored https://example.com/print?article=7
  curl -s https://example.com/ | %(prog)s --key https://example.com/ -

Pages are fetched with the project's settings, and fingerprinted by the scheme of the index.
""",
    _run,
    _arguments,
    index=True,
    settings=("max-distance", "max-bytes"),
)
