"""``rules``: the rules of URLs that crawls have learned, with their evidence."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands._options import add_index_command, index_location
from scrapy_simhash.commands._output import (
    counted,
    is_standard,
    note,
    show,
    show_bytes,
    show_json,
    writable,
    write_file,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from scrapy_simhash.index import ObservingIndex
    from scrapy_simhash.index.redis.index import RedisIndex
    from scrapy_simhash.url_rules.listing import KnownRule
    from scrapy_simhash.url_rules.rewriting import Rule
    from scrapy_simhash.url_rules.rows import Rules

_DESCRIPTION = """\
Lists the rules of URLs that crawls have learned with SIMHASH_URL_RULES: what they do, the pages for
and against them, the lower bound of their precision, and the requests that they spared or would
have spared. Removed rules are not learned again, unless --forget deletes them all.

  {program} rules
  {program} rules --site example.com --all
  {program} rules --remove 1f3a77c2
  {program} rules --export rules.json
  {program} rules --import rules.json

--export and --import exchange rules with duplicate-url-discarder.
"""


def add_parser(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add ``rules``."""
    parser = add_index_command(
        subparsers, "rules", _DESCRIPTION, "list, remove and exchange the rules of URLs"
    )
    parser.add_argument("--site", metavar="NAME", help="only rules of this registered domain")
    parser.add_argument(
        "--all", action="store_true", help="list rules that hold nowhere, and removed ones, too"
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--remove", metavar="ID", nargs="+", help="remove rules for good")
    action.add_argument(
        "--forget", action="store_true", help="delete all rules, which may be learned again"
    )
    action.add_argument("--export", metavar="FILE", help="write the rules; - is standard output")
    action.add_argument("--import", metavar="FILE", dest="taken", help="add the rules of a file")


def run(options: argparse.Namespace) -> int:
    """Carry out the command, and return the exit code."""
    from scrapy_simhash.maintenance.sources import opened_index

    where = index_location(options)
    taken = None if options.taken is None else _read(options.taken)
    with opened_index(where) as index:
        known = _known(index, options.site)
        if options.remove:
            return _remove(index, known, options.remove)
        if options.forget:
            for site in {one.site for one in known}:
                index.change_side_row("url-rules", site, lambda _: None)
            show(f"{counted(len(known), 'rule')} deleted")
            return 0
        if taken is not None:
            return _import(index, *taken)
    holding = [one for one in known if one.holds]
    if options.export:
        return _export(options.export, holding)
    listed = known if options.all else holding
    if options.json:
        show_json({"index": str(where), "rules": [_plain(one) for one in listed]})
    else:
        _list(listed, len(known) - len(listed))
    return 0


def _known(index: ObservingIndex | RedisIndex, site: str | None) -> list[KnownRule]:
    from scrapy_simhash.errors import IndexCorrupt
    from scrapy_simhash.url_rules.listing import known_rules

    try:
        known = known_rules(index.side_rows("url-rules"))
    except ValueError as error:
        raise IndexCorrupt(
            index.location, f"{error}: `scrapy simhash repair` drops them"
        ) from error
    return [one for one in known if site in (None, one.site)]


def _list(listed: Iterable[KnownRule], left_out: int) -> None:
    for one in listed:
        total = one.record.total
        show(f"{one.id}  {one.site or 'every site'}: {one.words}")
        if one.record.origin != "learned":
            show(f"          {one.record.origin}")
        show(
            f"          {counted(total.pages, 'page')} for it, {total.against:,} against; "
            f"precision at least {one.lower_bound:.2f}; holds on "
            f"{one.holds_on} of {counted(len(one.record.patterns), 'path pattern')}; "
            f"{counted(total.spared, 'request')} spared"
        )
    if left_out:
        show(f"{counted(left_out, 'rule')} without enough evidence, or removed: --all lists them")


def _plain(one: KnownRule) -> dict[str, Any]:
    total = one.record.total
    return {
        "id": one.id,
        "site": one.site,
        "rule": one.words,
        "steps": one.rule,
        "origin": one.record.origin,
        "pages": total.pages,
        "against": total.against,
        "lower_bound": round(one.lower_bound, 4),
        "spared": total.spared,
        "patterns": {
            pattern: {
                "pages": own.pages,
                "against": own.against,
                "spared": own.spared,
                "applies": one.record.applies(pattern),
            }
            for pattern, own in one.record.patterns.items()
        },
    }


def _remove(index: ObservingIndex | RedisIndex, known: list[KnownRule], ids: list[str]) -> int:
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.url_rules.evidence import RuleRecord

    by_id = {one.id: one for one in known}
    unknown = [name for name in ids if name not in by_id]
    if unknown:
        raise SimhashError(
            f"no rule has the id {unknown[0]}: `scrapy simhash rules --all` lists them; nothing "
            "was removed"
        )
    for name in ids:
        one = by_id[name]
        removed = {one.rule: RuleRecord("removed")}
        index.change_side_row("url-rules", one.site, partial(_put, removed))
    show(f"{counted(len(ids), 'rule')} removed")
    return 0


def _import(
    index: ObservingIndex | RedisIndex, rules: list[tuple[str, Rule]], left_out: int
) -> int:
    from scrapy_simhash.url_rules.evidence import RuleRecord

    by_site: dict[str, Rules] = {}
    for site, rule in rules:
        by_site.setdefault(site, {})[rule] = RuleRecord("imported")
    for site, new in by_site.items():
        index.change_side_row("url-rules", site, partial(_put, new, keep=True))
    show(
        f"{counted(len(rules), 'rule')} imported; {left_out:,} left out, which remove no "
        "parameters or are for a part of a site"
    )
    return 0


def _put(new: Rules, row: bytes | None, *, keep: bool = False) -> bytes:
    """Return a stored form with new rules.

    :param keep: keep what is known of a rule.
    """
    from scrapy_simhash.url_rules.rows import decode_rules, encode_rules

    known = decode_rules(row)
    return encode_rules(new | known if keep else known | new)


def _read(file: str) -> tuple[list[tuple[str, Rule]], int]:
    from scrapy_simhash.errors import SimhashError
    from scrapy_simhash.url_rules.exchange import from_discarder

    try:
        return from_discarder(json.loads(Path(file).read_bytes()))
    except (ValueError, RecursionError) as error:
        raise SimhashError(f"{file} cannot be imported: {error}; nothing was changed") from error


def _export(file: str, holding: Iterable[KnownRule]) -> int:
    from scrapy_simhash.url_rules.exchange import to_discarder

    plain = [to_discarder(*one) for one in holding]
    written = [rule for rule in plain if rule is not None]
    text = json.dumps(written, ensure_ascii=True, sort_keys=True, indent=2) + "\n"
    if is_standard(file):
        show_bytes(text.encode())
    else:
        write_file(writable(file), text)
    note(
        f"{counted(len(written), 'rule')} exported; {len(plain) - len(written):,} left out, which "
        "duplicate-url-discarder cannot express"
    )
    return 0
