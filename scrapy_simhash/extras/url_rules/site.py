"""The rules of one site, and which of them apply to a URL.

The `learner` has a table of the pages that were handled, by the forms of their URLs. If rules have
changed, it *revises* the table: it adds the last pages under their new forms.
"""

from __future__ import annotations

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.extras.url_rules.evidence import MAX_RULES, RuleRecord, Rules
from scrapy_simhash.extras.url_rules.rewriting import Rule, rewrite, sort_key, wider
from scrapy_simhash.extras.url_rules.url_parts import PathPatterns

# A suspect is a rule that one page has suggested.
_MAX_SUSPECTS = 100
MIN_PAGES_BETWEEN_REVISIONS = 20


class Site:
    """The rules of one site, at first the stored ones."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules: Rules = rules or {}
        self.sort()
        self.patterns = PathPatterns()
        for record in self.rules.values():
            for pattern in record.patterns:
                self.patterns.remember(pattern)
        self.generation = 0
        """Part of each key in the table of pages. It grows when a rule stops applying, so that no
        entries are found under forms that the rule has made."""
        self.unsaved = 0
        """Number of comparisons and spared requests since the rules were stored."""
        self.is_revised = True
        """False if rules have changed since the table of pages was revised."""
        self.pages_to_revision = MIN_PAGES_BETWEEN_REVISIONS
        """Number of pages to handle before the next revision."""
        # Rule → the first form that suggested it.
        self._suspects: LocalCache[Rule, str] = LocalCache(_MAX_SUSPECTS)

    def sort(self) -> None:
        """Sort the rules: those that replace origins first, then those with the most evidence."""
        by_rank = sorted(self.rules, key=lambda rule: (sort_key(rule), -self.rules[rule].worth))
        self.rules = {rule: self.rules[rule] for rule in by_rank}

    def suspect(self, rule: Rule, form: str) -> None:
        """Note that a page suggests a rule. The second page adds the rule to the site.

        :param form: the URL that the rule makes of the page's URLs. It identifies the page.
        """
        if rule in self.rules or not self._is_needed(rule, form):
            return
        if self._suspects.setdefault(rule, form) == form:  # the first page, or the same one again
            return
        if len(self.rules) >= MAX_RULES:
            worst = min(self.rules, key=lambda other: self.rules[other].worth)
            if self.rules[worst].worth:
                return
            del self.rules[worst]
        del self._suspects[rule]
        self.rules[rule] = RuleRecord()
        self.sort()
        self.is_revised = False

    def _is_needed(self, rule: Rule, form: str) -> bool:
        """Return True if no wider rule can do the same (`wider`: any value instead of named ones).

        A rule that names values is needed only after a page has contradicted the wider rule, and
        if the wider rule does not apply to this path pattern.
        """
        wide = wider(rule)
        record = self.rules.get(wide, RuleRecord())
        is_refuted = record.total.against > 0 and not record.applies(self.patterns.of(form))
        return wide == rule or is_refuted

    def form_of(self, plain: str) -> tuple[str, list[Rule]]:
        """Return a URL as the rules that apply rewrite it, and the rules that changed it."""
        rules = [rule for rule, record in self.rules.items() if record.may_apply]
        while True:
            form, used = plain, []
            for rule in rules:
                before, form = form, rewrite(rule, form)
                if form != before:
                    used.append(rule)
            refused = {*used}.difference(self.rules_on(form) if used else ())
            if not refused:
                return form, used
            # Without the refused rules, others may rewrite the URL to another pattern.
            rules = [rule for rule in rules if rule not in refused]

    def rules_on(self, form: str) -> list[Rule]:
        """Return the rules that apply to the path pattern of a rewritten URL."""
        candidates = [(rule, record) for rule, record in self.rules.items() if record.may_apply]
        pattern = self.patterns.of(form) if candidates else ""
        return [rule for rule, record in candidates if record.applies(pattern)]

    def count(self, rule: Rule, form: str, *, values: int | None, is_new_page: bool) -> None:
        """Count a comparison of two URLs that a rule rewrites to `form`; see `RuleRecord.count`."""
        record, pattern = self.rules[rule], self.patterns.of(form)
        applied = record.applies(pattern)
        record.count(pattern, values=values, is_new_page=is_new_page)
        self.unsaved += 1
        if applied != record.applies(pattern):
            self.is_revised = False
            self.generation += applied
