"""``query``: whether an index has the content of a page, and what a crawl would do with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands.index_options import index_directory
from scrapy_simhash.commands.output import escaped, note, show
from scrapy_simhash.commands.page_source import add_page_arguments, load_page
from scrapy_simhash.commands.parsers import add_index_command, whole
from scrapy_simhash.parameters import MAX_BITS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index.explain import Foreseen
    from scrapy_simhash.policy import Action

_DESCRIPTION = """\
Fetches or reads a page, takes its main text, and asks an index for pages that are like it; says
what a crawl with the project's settings would do with it, if it had met all that the index holds.
Nothing is written to the index.

  {program} query https://example.com/article?print=1
  {program} query --spider news page.html
  curl -s https://example.com/ | {program} query --key https://example.com/ -

Pages are fetched with the project's settings. The scheme is that of the index.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``query``."""
    parser = add_index_command(
        subparsers, "query", _DESCRIPTION, "which pages of an index are like a page"
    )
    add_page_arguments(parser)
    parser.add_argument(
        "--key",
        metavar="KEY",
        help="the page's identity, such as its URL, to tell unchanged from new (default: the URL "
        "that it is fetched from)",
    )
    parser.add_argument(
        "--max-distance",
        metavar="K",
        type=whole(0, MAX_BITS - 1),
        help="another k than that of the index; beyond it, tables may miss pages",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=whole(0),
        default=20,
        help="matches that are shown (default: %(default)s)",
    )


class _Answer(NamedTuple):
    name: str
    page: PageFingerprint
    bits: int
    max_distance: int
    foreseen: Foreseen | None
    action: str


def run(options: argparse.Namespace) -> int:
    """Query."""
    answer = _ask(options)
    if options.json:
        show(json.dumps(_as_json(answer, options.top), indent=2))
    else:
        _show(answer, options.top)
    return 0


def _ask(options: argparse.Namespace) -> _Answer:
    from scrapy_simhash.commands.project import crawl_policy, page_scope, scheme_settings
    from scrapy_simhash.detector import Detector
    from scrapy_simhash.index import index_url, open_index
    from scrapy_simhash.index.explain import foresee
    from scrapy_simhash.index.offline import read_manifest
    from scrapy_simhash.verdict import Verdict

    directory = index_directory(options)
    made = read_manifest(directory)
    if options.max_distance is not None and options.max_distance >= made.scheme.bits:
        options.wrong_usage(f"--max-distance: less than {made.scheme.bits}, the bits of the index")
    policy = crawl_policy(options.settings)
    loaded = load_page(options.page, options)
    detector = Detector(made.scheme, min_tokens=scheme_settings(options.settings).min_tokens)
    page = loaded.fingerprint(detector)
    key = options.key or loaded.url
    if page.fingerprint is None:
        return _Answer(loaded.name, page, made.scheme.bits, made.max_distance, None, "keep")
    with open_index(index_url(directory), max_distance=options.max_distance) as index:
        among = page_scope(options.settings)(key or loaded.name)
        foreseen = foresee(index, key, page.fingerprint, among=among)
        verdict = Verdict(
            kind=foreseen.kind, key=key or loaded.name, bits=made.scheme.bits, weak=page.weak
        )
        return _Answer(
            loaded.name,
            page,
            made.scheme.bits,
            index.max_distance,
            foreseen,
            _action(policy.decide(verdict), seen=policy.seen(verdict)),
        )


def _as_json(answer: _Answer, top: int) -> dict[str, Any]:
    from scrapy_simhash.fingerprint import to_hex

    page, foreseen = answer.page, answer.foreseen
    return {
        "page": answer.name,
        "kind": "skipped" if foreseen is None else foreseen.kind,
        "skipped": page.skipped,
        "fingerprint": None if page.fingerprint is None else to_hex(page.fingerprint, answer.bits),
        "max_distance": answer.max_distance,
        "tokens": page.tokens,
        "way": page.way,
        "weak": page.weak,
        "representative": None if foreseen is None else foreseen.representative,
        "distance": None if foreseen is None else foreseen.distance,
        "action": answer.action,
        "matches": []
        if foreseen is None
        else [{"key": match.key, "distance": match.distance} for match in foreseen.matches[:top]],
        "match_count": 0 if foreseen is None else len(foreseen.matches),
    }


def _show(answer: _Answer, top: int) -> None:
    from scrapy_simhash.fingerprint import to_hex

    page, foreseen = answer.page, answer.foreseen
    weak = ", weak" if page.weak else ""
    way = f" by {page.way}" if page.way else ""
    show(f"page         {escaped(answer.name)}: {page.tokens:,} tokens{way}{weak}")
    if foreseen is None or page.fingerprint is None:
        error = f" ({escaped(page.error)})" if page.error else ""
        show(f"verdict      skipped: {page.skipped}{error}")
        show("a crawl      would keep it")
        return
    show(f"fingerprint  {to_hex(page.fingerprint, answer.bits)}")
    of_what = f" of {escaped(foreseen.representative)}" if foreseen.representative else ""
    distance = "" if foreseen.distance is None else f", at distance {foreseen.distance}"
    show(f"verdict      {foreseen.kind}{of_what}{distance} (k = {answer.max_distance})")
    show(f"a crawl      would {answer.action} it")
    if foreseen.matches and top:
        show(f"matches      {len(foreseen.matches):,}")
        for match in foreseen.matches[:top]:
            show(f"  distance {match.distance:>3}  {escaped(match.key)}")
        if len(foreseen.matches) > top:
            note(f"{len(foreseen.matches) - top:,} more: --top shows them")


def _action(action: Action, *, seen: bool) -> str:
    if not seen:
        return "keep"
    if action.items:
        return "tag" if action.follow else "tag, without following its links,"
    return "drop, following its links," if action.follow else "drop"
