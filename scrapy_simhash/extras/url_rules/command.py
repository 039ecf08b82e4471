"""``rules``: list and remove the rules of URLs that crawls have learned."""

from __future__ import annotations

import json
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.commands._command import Command, index_location
from scrapy_simhash.commands._output import note, show_result
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extras.url_rules.evidence import RuleRecord, decode_rules, encode_rules
from scrapy_simhash.extras.url_rules.rewriting import Rule, describe
from scrapy_simhash.index.history import PREFIX

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from scrapy_simhash.index import Index


class KnownRule(NamedTuple):
    """A stored rule with its site."""

    site: str
    rule: Rule
    record: RuleRecord

    @property
    def id(self) -> str:
        """Return eight hexadecimal digits, which depend on the site and the rule alone."""
        text = json.dumps([self.site, self.rule])
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()

    @property
    def holds_on(self) -> int:
        """Return the number of path patterns with evidence to which the rule applies."""
        return sum(self.record.applies(pattern) for pattern in self.record.patterns)


def _known_rules(rows: Iterable[tuple[str, bytes]]) -> list[KnownRule]:
    """Return the rules of stored rows; the rule that spared the most requests comes first.

    :param rows: (site, row), as `scrapy_simhash.extras.url_rules.evidence` encodes it.
    :raises SimhashError: a row is damaged; the message names its site.
    """
    stored = []
    for site, row in rows:
        try:
            rules = decode_rules(row)
        except ValueError as error:
            raise SimhashError(
                f"the rules of the site {site} are damaged ({error}): `scrapy simhash rules "
                f"--forget --site {site}` deletes them"
            ) from error
        stored += [KnownRule(site, rule, record) for rule, record in rules.items()]
    return sorted(stored, key=lambda known: (-known.record.total.spared, known.site, known.rule))


def _run(options: argparse.Namespace) -> None:
    from scrapy_simhash.maintenance.sources import opened_index

    where = index_location(options)
    with opened_index(where) as index:
        notes = [note for note in index.notes() if not note[0].startswith(PREFIX)]
        rows = [note for note in notes if options.site in (None, note[0])]
        if options.forget:
            for site, _ in rows:
                index.change_note(site, lambda _: None)
            show_result(options, {"index": str(where), "forgotten": [site for site, _ in rows]})
        elif options.remove:
            _remove(index, _known_rules(rows), options.remove)
            show_result(options, {"index": str(where), "removed": options.remove})
        else:
            _show(options, str(where), _known_rules(rows))


def _show(options: argparse.Namespace, where: str, stored: list[KnownRule]) -> None:
    """List rules."""
    listed = stored if options.all else [rule for rule in stored if rule.holds_on]
    left_out = len(stored) - len(listed)
    show_result(options, {"index": where, "rules": [*map(_plain, listed)], "left_out": left_out})
    if not stored and not options.json:
        note("there are no rules yet: crawls with SIMHASH_URL_RULES = 'learn' learn them")
    elif left_out and not options.json:
        note("rules without enough evidence, or removed, are left out: --all lists them")


def _plain(known: KnownRule) -> dict[str, Any]:
    record, total = known.record, known.record.total
    return {
        "id": known.id,
        "site": known.site,
        "rule": describe(known.rule),
        "steps": known.rule,
        "origin": record.origin,
        "pages": total.pages,
        "against": total.against,
        "spared": total.spared,
        "holds_on": known.holds_on,
        "patterns": {
            pattern: {
                **{name: getattr(own, name) for name in ("pages", "against", "spared")},
                "applies": record.applies(pattern),
            }
            for pattern, own in record.patterns.items()
        },
    }


def _remove(index: Index, stored: list[KnownRule], ids: list[str]) -> None:
    by_id = {rule.id: rule for rule in stored}
    for name in ids:
        if name not in by_id:
            raise SimhashError(
                f"no rule has the id {name}: `scrapy simhash rules --all` lists the rules; "
                "nothing was removed"
            )
    for name in ids:
        site, rule, _ = by_id[name]
        index.change_note(site, partial(_with_removed, rule))


def _with_removed(rule: Rule, row: bytes | None) -> bytes:
    """Return the row of a site with a rule that is marked as removed."""
    return encode_rules(decode_rules(row) | {rule: RuleRecord("removed")})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", metavar="NAME", help="only rules of this registered domain")
    parser.add_argument(
        "--all",
        action="store_true",
        help="also list rules without enough evidence, and removed ones",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--remove",
        metavar="ID",
        nargs="+",
        help="remove rules, and do not learn them again",
    )
    group.add_argument(
        "--forget",
        action="store_true",
        help="delete all rules, or those of --site; crawls may learn them again",
    )


COMMAND = Command(
    "rules",
    "list or change the rules of URLs",
    """\
Lists the rules of URLs that crawls have learned with SIMHASH_URL_RULES: what they do, the pages for
and against them, and the requests that they spared or would have spared. Removed rules are not
learned again, unless --forget deletes all rules.

  %(prog)s
  %(prog)s --site example.com --all
  %(prog)s --remove 1f3a77c2
""",
    _run,
    _arguments,
    index=True,
)
