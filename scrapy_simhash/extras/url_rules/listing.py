"""List the stored rules with their evidence."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.extras.url_rules.rewriting import Rule, describe
from scrapy_simhash.extras.url_rules.rows import decode_rules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.extras.url_rules.evidence import RuleRecord


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
    def words(self) -> str:
        """Return the rule in words, such as "without sid"."""
        return describe(self.rule)

    @property
    def holds_on(self) -> int:
        """Return the number of path patterns with evidence to which the rule applies."""
        return sum(self.record.applies(pattern) for pattern in self.record.patterns)

    @property
    def holds(self) -> bool:
        """Return True if the rule applies to a path pattern with evidence."""
        return self.holds_on > 0


def known_rules(rows: Iterable[tuple[str, bytes]]) -> list[KnownRule]:
    """Return the rules of stored rows; the rule that spared the most requests comes first.

    :param rows: (site, row), as `scrapy_simhash.extras.url_rules.rows` encodes it.
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
