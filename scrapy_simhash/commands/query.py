"""``query``: find the pages of an index within k of a page, and predict its verdict."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands._options import (
    add_index_command,
    index_location,
    require_distance_below,
    whole_number,
)
from scrapy_simhash.commands._output import (
    note,
    percent,
    reason_against_match,
    show,
    show_json,
    shown_fingerprint,
)
from scrapy_simhash.commands._pages import add_page_arguments, load_page
from scrapy_simhash.documents.escaping import escaped
from scrapy_simhash.parameters import MAX_BITS

if TYPE_CHECKING:
    import argparse

    from scrapy_simhash.confirmation import Confirmation
    from scrapy_simhash.detector import PageFingerprint
    from scrapy_simhash.index import Match
    from scrapy_simhash.index.plan import TablePlan
    from scrapy_simhash.maintenance.explain import Prediction
    from scrapy_simhash.policy import Action

_DESCRIPTION = """\
Fetches or reads a page, and looks up its main text in an index. Shows the representatives within k
bits, the reasons why some are no copies of the page, and what a crawl with the project's settings
and the k of the index would do with the page if it had seen all pages of the index. Writes nothing.

  {program} query https://example.com/article?print=1
  {program} query --spider news page.html
  curl -s https://example.com/ | {program} query --key https://example.com/ -

Pages are fetched with the project's settings, and fingerprinted by the scheme of the index.

Instead of a page, you can give its fingerprint in hexadecimal digits. The certainty of its bits is
then unknown, so fewer pages may be found; the answer tells how many at most. Similarity and names
are not compared.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``query``."""
    parser = add_index_command(
        subparsers, "query", _DESCRIPTION, "find the pages of an index within k of a page"
    )
    add_page_arguments(parser)
    parser.add_argument(
        "--key",
        metavar="KEY",
        help="the page's identity, such as its URL, to tell unchanged from new (default: its URL "
        "after redirects)",
    )
    parser.add_argument(
        "--max-distance",
        metavar="K",
        type=whole_number(0, MAX_BITS - 1),
        help="k instead of that of the index; the tables may miss pages beyond the latter",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=whole_number(0),
        default=20,
        help="number of matches to show (default: %(default)s)",
    )


class _Answer(NamedTuple):
    """The answer. Skipped pages have no `prediction`; `bare` is set if a fingerprint was given."""

    name: str
    page: PageFingerprint
    bits: int
    max_distance: int
    confirmation: Confirmation
    prediction: Prediction | None
    action: str
    bare: _Bare | None = None


class _Bare(NamedTuple):
    """The reach of a lookup by a bare fingerprint, without the certainty of its bits.

    :param all_to: every page within this distance is found.
    :param recall: share of the pages at distance k that is found, if all bits are equally likely
        to differ.
    """

    all_to: int
    recall: float


def run(options: argparse.Namespace) -> int:
    """Show the answer, and return the exit code."""
    answer = _answer(options)
    if options.json:
        show_json(_as_json(answer, options.top))
    else:
        _show(answer, options.top)
    return 0


def _answer(options: argparse.Namespace) -> _Answer:
    from scrapy_simhash.commands._settings import crawl_rules, page_scope, scheme_settings
    from scrapy_simhash.detector import Detector, PageFingerprint, evidence_of
    from scrapy_simhash.maintenance.explain import predict
    from scrapy_simhash.maintenance.sources import manifest_of, opened_index
    from scrapy_simhash.verdict import Verdict

    where = index_location(options)
    manifest = manifest_of(where)
    bits = manifest.scheme.bits
    require_distance_below(bits, options.max_distance or 0, options)
    policy, confirmation = crawl_rules(options.settings, manifest.confirmation)
    fingerprint = _bare_fingerprint(options.page, bits)
    if fingerprint is None:
        loaded = load_page(options.page, options)
        min_tokens = scheme_settings(options.settings).min_tokens
        page = loaded.fingerprint(Detector(manifest.scheme, min_tokens=min_tokens))
        name, key = loaded.name, options.key or loaded.url
    else:
        page = PageFingerprint(fingerprint=fingerprint)
        name, key = options.page, options.key
    if page.fingerprint is None:
        return _Answer(name, page, bits, manifest.max_distance, confirmation, None, "keep")
    with opened_index(where, max_distance=options.max_distance, confirmation=confirmation) as index:
        in_scope = page_scope(options.settings)(key or name)
        evidence = evidence_of(key or "", page)
        prediction = predict(index, key, page.fingerprint, evidence, in_scope=in_scope)
        verdict = Verdict(kind=prediction.kind, key=key or name, bits=bits)
        action = _action_words(policy.decide(verdict)[0], is_seen=policy.seen(verdict))
        max_distance = index.max_distance
        bare = None if fingerprint is None else _reach(index.plan, max_distance)
    return _Answer(name, page, bits, max_distance, confirmation, prediction, action, bare)


def _bare_fingerprint(text: str, bits: int) -> int | None:
    """Return the fingerprint whose digits are the text; None for other texts and for files."""
    if not re.fullmatch(f"[0-9a-fA-F]{{{bits // 4}}}", text) or Path(text).exists():
        return None
    return int(text, 16)


def _reach(plan: TablePlan, max_distance: int) -> _Bare:
    if not plan.probes:
        return _Bare(plan.guaranteed_distance, plan.expected_recall(max_distance))
    from scrapy_simhash.index.probing import expected_recall_bare

    # Probes find prefixes with at most one different bit. If fewer than two bits per table differ,
    # some table has such a prefix.
    return _Bare(2 * plan.blocks - 1, expected_recall_bare(plan, max_distance))


def _as_json(answer: _Answer, top: int) -> dict[str, Any]:
    page, prediction = answer.page, answer.prediction
    matches = () if prediction is None else prediction.matches
    return {
        "page": answer.name,
        "kind": "skipped" if prediction is None else prediction.kind,
        "skipped": page.skipped,
        "fingerprint": shown_fingerprint(page.fingerprint, answer.bits),
        "max_distance": answer.max_distance,
        "min_resemblance": answer.confirmation.min_resemblance,
        "same_title": answer.confirmation.same_name,
        "finds": None if answer.bare is None else answer.bare._asdict(),
        "tokens": page.tokens,
        "way": page.way,
        **{
            name: getattr(prediction, name, None)  # None for a page that is skipped
            for name in ("representative", "distance", "similarity", "similar_to")
        },
        "action": answer.action,
        "matches": [
            {
                "key": match.key,
                "distance": match.distance,
                "similarity": match.similarity,
                "confirmed": match.confirmed,
                "unconfirmed_because": reason_against_match(answer.confirmation, match) or None,
            }
            for match in matches[:top]
        ],
        "match_count": len(matches),
        "copy_count": sum(match.confirmed for match in matches),
    }


def _show(answer: _Answer, top: int) -> None:
    page, prediction = answer.page, answer.prediction
    way = f" by {page.way}" if page.way else ""
    if answer.bare is None:
        show(f"page         {escaped(answer.name)}: {page.tokens:,} tokens{way}")
    if prediction is None or page.fingerprint is None:
        error = f" ({escaped(page.error)})" if page.error else ""
        show(f"verdict      skipped: {page.skipped}{error}")
        show("a crawl      would keep it")
        return
    show(f"fingerprint  {shown_fingerprint(page.fingerprint, answer.bits)}")
    if answer.bare is not None and answer.bare.recall < 1:
        show(
            f"finds        all to distance {answer.bare.all_to}, and at most "
            f"{percent(answer.bare.recall)} at distance {answer.max_distance}: give the page "
            "itself to find more"
        )
    of_what = f" of {escaped(prediction.representative)}" if prediction.representative else ""
    if prediction.similar_to is not None:
        of_what = f", similar to {escaped(prediction.similar_to)}"
    distance = "" if prediction.distance is None else f", at distance {prediction.distance}"
    similarity = (
        "" if prediction.similarity is None else f", similarity {percent(prediction.similarity)}"
    )
    show(
        f"verdict      {prediction.kind}{of_what}{distance}{similarity} (k = {answer.max_distance})"
    )
    show(f"a crawl      would {answer.action} it")
    if prediction.matches and top:
        copies = sum(match.confirmed for match in prediction.matches)
        show(f"matches      {len(prediction.matches):,} within k, {copies:,} of them copies")
        for match in prediction.matches[:top]:
            _show_match(answer.confirmation, match)
        if len(prediction.matches) > top:
            note(f"{len(prediction.matches) - top:,} more matches: --top shows them")


def _show_match(confirmation: Confirmation, match: Match) -> None:
    similarity = "" if match.similarity is None else f", similarity {percent(match.similarity):>5}"
    reason = reason_against_match(confirmation, match)
    no_copy = f" (not a copy: {reason})" if reason else ""
    show(f"  distance {match.distance:>3}{similarity}  {escaped(match.key)}{no_copy}")


def _action_words(action: Action, *, is_seen: bool) -> str:
    if not is_seen:
        return "keep"
    if action.items:
        return "tag" if action.follow else "tag, without following its links,"
    return "drop, following its links," if action.follow else "drop"
