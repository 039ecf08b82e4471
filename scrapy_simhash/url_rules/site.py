"""The rules of one site: which are known, and which apply to a URL."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from scrapy_simhash.url_rules.evidence import RuleRecord
from scrapy_simhash.url_rules.path_patterns import PathPatterns
from scrapy_simhash.url_rules.rewriting import Rule, in_order, rewrite, wider
from scrapy_simhash.url_rules.rows import Rules, combined, copied

if TYPE_CHECKING:
    from scrapy_simhash.url_rules.url_parts import UrlParts

MAX_RULES = 32
# Differences that one page has shown; a second page makes a rule of them.
_MAX_SUSPECTS = 100
_MIN_PAGES_BETWEEN_REVISIONS = 20
# A revision looks at hundreds of pages; for each new one, it may look at so many.
_REVISED_PER_PAGE = 2
# If so many values of a parameter make no difference, none does.
MANY_VALUES = 16


class Site:
    """The rules of one site.

    :param rules: as they are stored.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules: Rules = _in_order(rules or {})
        self.patterns = PathPatterns()
        for record in self.rules.values():
            for pattern in record.patterns:
                self.patterns.remember(pattern)
        self.generation = 0
        """Grows when a rule ends: entries of `SeenTable` from before are not valid any more."""
        self.unsaved = 0
        """Number of comparisons since the rules were stored."""
        self._stored = copied(self.rules)
        self._is_revised = True
        self._pages = 0
        self._next_revision = _MIN_PAGES_BETWEEN_REVISIONS
        self._suspects: OrderedDict[Rule, UrlParts] = OrderedDict()
        # Hashes of removed values that made no difference, by rule and path pattern.
        self._confirmed: dict[tuple[Rule, str], set[int]] = {}

    def suspect(self, rule: Rule, form: UrlParts) -> None:
        """Add a rule once two pages have asked for it.

        :param form: what it makes of the page's URLs.
        """
        if rule in self.rules or not self._is_needed(rule, form):
            return
        if self._suspects.setdefault(rule, form) == form:
            if len(self._suspects) > _MAX_SUSPECTS:
                self._suspects.popitem(last=False)
            return
        if len(self.rules) >= MAX_RULES:
            least = min(self.rules, key=lambda known: _worth(self.rules[known]))
            if _worth(self.rules[least]):
                return
            del self.rules[least]
        del self._suspects[rule]
        self.rules[rule] = RuleRecord()
        self.rules = _in_order(self.rules)
        self._is_revised = False

    def _is_needed(self, rule: Rule, form: UrlParts) -> bool:
        """Return False for a rule that names values if the one for any value may do as well."""
        wide = wider(rule)
        if wide == rule:
            return True
        record = self.rules.get(wide)
        return (
            record is not None
            and record.total.against > 0
            and not record.applies(self.patterns.of(form))
        )

    def form_of(self, parts: UrlParts) -> tuple[UrlParts, list[Rule]]:
        """Return a URL as the rules that apply rewrite it, and the rules that changed it."""
        rules = [rule for rule, record in self.rules.items() if record.may_apply]
        while True:
            form, used = parts, []
            for rule in rules:
                rewritten = rewrite(rule, form)
                if rewritten is not form:
                    form = rewritten
                    used.append(rule)
            if not used:
                return parts, used
            pattern = self.patterns.of(form)
            refused = [rule for rule in used if not self.rules[rule].applies(pattern)]
            if not refused:
                return form, used
            # Without them, other rules may change the URL, and its pattern.
            rules = [rule for rule in rules if rule not in refused]

    def rules_on(self, form: UrlParts) -> list[Rule]:
        """Return the rules that apply to the path pattern of a rewritten URL."""
        known = [(rule, record) for rule, record in self.rules.items() if record.may_apply]
        pattern = self.patterns.of(form) if known else ""
        return [rule for rule, record in known if record.applies(pattern)]

    def count(self, rule: Rule, form: UrlParts, *, same: bool, is_new_page: bool) -> None:
        """Count a comparison of two URLs that a rule rewrites to `form`."""
        record, pattern = self.rules[rule], self.patterns.of(form)
        applied = record.applies(pattern)
        record.count(pattern, same=same, is_new_page=is_new_page)
        self.unsaved += 1
        if applied != record.applies(pattern):
            self.generation += applied
            self._is_revised = False

    def confirm(self, rule: Rule, form: UrlParts, values: int) -> None:
        """Remember that values of parameters made no difference.

        :param values: hash of the values that the rule removed.
        """
        known = self._confirmed.setdefault((rule, self.patterns.of(form)), set())
        if len(known) < MANY_VALUES:
            known.add(values)

    def is_confirmed(self, rule: Rule, form: UrlParts, values: int) -> bool:
        """Return True if values of parameters made no difference so far, or many others did not."""
        known = self._confirmed.get((rule, self.patterns.of(form)), ())
        return len(known) >= MANY_VALUES or values in known

    def is_revision_due(self) -> bool:
        """Count a page. Return True once, some pages after the rules have changed."""
        self._pages += 1
        due = not self._is_revised and self._pages >= self._next_revision
        if due:
            self._is_revised, self._pages = True, 0
        return due

    def revised(self, pages: int) -> None:
        """Note how many pages a revision looked at. After many, the next one comes later."""
        self._next_revision = max(_MIN_PAGES_BETWEEN_REVISIONS, pages // _REVISED_PER_PAGE)

    def to_store(self) -> tuple[Rules, Rules]:
        """Return (rules as they are now, rules as they were stored last), for `rows.combined`."""
        self.unsaved = 0
        return copied(self.rules), self._stored

    def stored(self, rules: Rules, sent: Rules) -> None:
        """Take over what is stored now, with what other crawlers have found.

        :param sent: the rules that `to_store` returned.
        """
        known = combined(self.rules, sent, rules)
        # Several crawlers may have found more than one can keep.
        best = sorted(known, key=lambda rule: -_worth(known[rule]))[:MAX_RULES]
        self.rules = _in_order({rule: known[rule] for rule in best})
        self._stored = rules


def _in_order(rules: Rules) -> Rules:
    return {rule: rules[rule] for rule in sorted(rules, key=in_order)}


def _worth(record: RuleRecord) -> int:
    """Return the value of a rule's evidence; 0 if another rule may replace it."""
    if record.origin != "learned":
        return 1 << 32
    useless = record.total.against >= record.total.pages
    return 0 if useless else 1 + record.total.pages
