"""`UrlRules`: learns rules from the pages of a crawl, and finds requests that are not needed.

A table contains each handled page under its *form*, which is its URL as the rules of the site
rewrite it, and under what each rule makes of the form. If the table has another page under such a
URL, the rule makes the URLs of both pages equal. The same content is evidence for the rule, other
content is evidence against it. Every page is compared in this way, so the share of contradictions
is that of the whole site.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.extras.url_rules.differences import rules_between
from scrapy_simhash.extras.url_rules.rewriting import Rule, rewrite, touched_by, values_in
from scrapy_simhash.extras.url_rules.site import MIN_PAGES_BETWEEN_REVISIONS, Site
from scrapy_simhash.extras.url_rules.url_parts import UrlParts, url_parts
from scrapy_simhash.sites import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from scrapy_simhash.extras.url_rules.evidence import Rules


MAX_SITES = 10_000
EXPLORE = 0.05
_MAX_CONTENTS = 1_000
SLOTS = 1 << 19
_KEY_MASK = (1 << 64) - 1
_CONTENT_MASK = (1 << 32) - 1
_VARIANT_MASK = (1 << 31) - 1


class Equal(NamedTuple):
    """A URL that rules make equal to the URL of a handled page.

    :param site: name of the site.
    :param form: the URL that the rules make of both.
    :param rules: all rules that rewrite this URL, and at most one that rewrites the other.
    :param explore: request the URL nevertheless, to test the rules.
    :param untested: identifiers of values of the rules' parameters that no request has tested yet.
        One request tests them; others with the same identifier can wait.
    """

    site: str
    form: UrlParts
    rules: tuple[Rule, ...]
    explore: bool
    untested: tuple[Hashable, ...]


class Seen(NamedTuple):
    """The page that was found last under a rewritten URL.

    :param content: 32 bits of the hash of the content.
    :param variant: 31 bits of the hash of the parts of its URL that the rule may change.
    :param counted: the page was counted for the rule.
    """

    content: int
    variant: int
    counted: bool


class SeenTable:
    """Pages by the hash of a key, such as a rule with a rewritten URL.

    A new entry replaces any other entry in its slot. A page that is forgotten in this way is
    downloaded once more; none is lost.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._slots = slots
        self._keys = array("Q", bytes(8 * slots))
        self._values = array("Q", bytes(8 * slots))

    def get(self, key: object) -> Seen | None:
        """Return the page that was put under a key last; None if it was forgotten."""
        number = hash(key) & _KEY_MASK
        slot = number % self._slots
        if self._keys[slot] != number:
            return None
        value = self._values[slot]
        return Seen(value >> 32, value >> 1 & _VARIANT_MASK, bool(value & 1))

    def put(self, key: object, seen: Seen) -> None:
        """Put a page under a key."""
        number = hash(key) & _KEY_MASK
        slot = number % self._slots
        self._keys[slot] = number
        self._values[slot] = seen.content << 32 | seen.variant << 1 | seen.counted


class UrlRules:
    """The rules of all sites of a crawl.

    :param load: returns the stored rules of a site.
    :param explore: lower limit of the share of equal URLs that are requested nevertheless. The
        share is 2 in n + 2 if that is more, where n is the lowest `streak` of the rules.
    :param slots: number of entries in the table of pages; each takes 16 bytes.
    """

    def __init__(
        self,
        load: Callable[[str], Rules] = lambda _site: {},
        *,
        explore: float = EXPLORE,
        slots: int = SLOTS,
        random: Random | None = None,
    ) -> None:
        self._load = load
        self._explore = explore
        self._random = random or Random()  # noqa: S311 - a sample
        self._seen = SeenTable(slots)
        self.sites: LocalCache[str, Site] = LocalCache(MAX_SITES)
        """The sites that are in memory, by name."""
        # Content → the URL under which it was found last.
        self._contents: LocalCache[int, UrlParts] = LocalCache(_MAX_CONTENTS)

    def site_of(self, url: str) -> str | None:
        """Return the name of a URL's site; None if no rules can be learned for it."""
        parts = url_parts(url)
        return None if parts is None else _site_of(parts.origin)

    def site(self, name: str) -> Site:
        """Return the rules of a site, loaded on first use. At most 10,000 sites are in memory."""
        site = self.sites.get(name)
        if site is None:
            site = self.sites[name] = Site(self._load(name))
        return site

    def equal(self, url: str) -> Equal | None:
        """Return how rules make a URL equal to the URL of a handled page; None if they do not."""
        parts = url_parts(url)
        if parts is None:
            return None
        site = self._site(parts)
        form, rules = site.form_of(parts)
        if not rules or self._seen.get(self._key(None, form)) is None:
            # A further rule may rewrite the URL of a handled page to this form.
            applying = site.rules_on(form)
            seen = (rule for rule in applying if self._seen.get(self._key(rule, form)) is not None)
            further = next(seen, None)
            if further is None:
                return None
            if further not in rules:
                rules.append(further)
        pattern = site.patterns.of(form)
        on_pattern = [site.rules[rule].patterns.get(pattern) for rule in rules]
        streak = min(0 if evidence is None else evidence.streak for evidence in on_pattern)
        chance = max(self._explore, 2 / (2 + streak))
        untested = tuple(
            (form.origin, pattern, rule, values)
            for rule in rules
            if any(values := values_in(rule, parts))
            and not site.is_confirmed(rule, form, hash(values))
        )
        explore = self._random.random() < chance
        return Equal(_site_of(parts.origin), form, tuple(rules), explore, untested)

    def rewritten(self, url: str) -> UrlParts | None:
        """Return the form of a URL; None if it has no `url_parts`, or no rule may apply."""
        parts = url_parts(url)
        if parts is None:
            return None
        site = self._site(parts)
        if not any(record.may_apply for record in site.rules.values()):
            return None
        return site.form_of(parts)[0]

    def holds(self, equal: Equal) -> bool:
        """Return True if all rules that made a URL equal still apply."""
        site = self.site(equal.site)
        pattern = site.patterns.of(equal.form)
        return all(rule in site.rules and site.rules[rule].applies(pattern) for rule in equal.rules)

    def spared(self, equal: Equal) -> None:
        """Count a request that rules spared, or would have spared."""
        site = self.site(equal.site)
        for rule in equal.rules:
            if rule in site.rules:
                site.rules[rule].spare(site.patterns.of(equal.form))
                site.unsaved += 1

    def handled(self, url: str, content: str, original: str | None = None) -> int:
        """Learn from a handled page; return how many rules it contradicts that changed its URL.

        :param content: identifies the content, such as the key of the page's representative.
        :param original: URL of the representative, if the page is a near-duplicate.
        """
        parts = url_parts(url)
        if parts is None:
            return 0
        site = self._site(parts)
        base, used = site.form_of(parts)
        content_id = hash(content) & _CONTENT_MASK
        contradicted = 0
        for rule in [*site.rules]:
            differs = self._compare(site, rule, parts, rewrite(rule, base), content_id)
            contradicted += differs and rule in used
        self._seen.put(self._key(None, base), Seen(content_id, 0, counted=False))
        first = None if original is None else url_parts(original)
        for other in dict.fromkeys((first, self._contents.get(content_id))):  # often the same URL
            if other is not None:
                self._suspect(site, base, other)
        self._contents[content_id] = parts
        self._contents.move_to_end(content_id)
        site.pages_to_revision -= 1
        if site.pages_to_revision <= 0 and not site.is_revised:
            self._revise(site)
        return contradicted

    def _compare(
        self, site: Site, rule: Rule, parts: UrlParts, form: UrlParts, content_id: int
    ) -> bool:
        """Compare a page with the last page that a rule makes equal; return True if they differ.

        :param form: the URL that the rule makes of the page's form.
        """
        key, variant = self._key(rule, form), _variant_of(rule, parts)
        other = self._seen.get(key)
        if other is None:
            if rewrite(rule, parts) is parts:
                return False
            # Take the last page with this form, which the rule did not change.
            other = self._seen.get(self._key(None, form))
        same = counted = False
        if other is not None:
            same = other.content == content_id
            counted = same and other.counted
            if other.variant != variant:
                site.count(rule, form, same=same, is_new_page=same and not counted)
                if same:
                    site.confirm(rule, form, hash(values_in(rule, parts)))
                counted = same
        self._seen.put(key, Seen(content_id, variant, counted))
        return other is not None and other.variant != variant and not same

    def _revise(self, site: Site) -> None:
        """Put the last contents of a site in the table under the URLs that its rules make now."""
        contents = [item for item in self._contents.items() if self._site(item[1]) is site]
        site.is_revised = True
        # On average, look at two pages for each new page.
        site.pages_to_revision = max(MIN_PAGES_BETWEEN_REVISIONS, len(contents) // 2)
        for content_id, parts in contents:
            base, _ = site.form_of(parts)
            keys = [(self._key(None, base), 0)]
            for rule in site.rules:
                if rewrite(rule, parts) is not parts:
                    key = self._key(rule, rewrite(rule, base))
                    keys.append((key, _variant_of(rule, parts)))
            for key, variant in keys:
                if self._seen.get(key) is None:
                    self._seen.put(key, Seen(content_id, variant, counted=False))

    def _suspect(self, site: Site, base: UrlParts, other: UrlParts) -> None:
        """Suggest the rules that make a form equal to the form of another URL with its content."""
        other_site = self._site(other)
        form, _ = other_site.form_of(other)
        for rule in rules_between(base, form) if form != base else ():
            # A rule between two sites belongs to the site whose URLs it rewrites.
            rewritten = rewrite(rule, base)
            (site if rewritten is not base else other_site).suspect(rule, rewritten)

    def _key(self, rule: Rule | None, form: UrlParts) -> tuple[Rule | None, UrlParts, int]:
        """Return the key in the table of a form or, with a rule, of what it makes of a form."""
        return rule, form, self._site(form).generation

    def _site(self, parts: UrlParts) -> Site:
        return self.site(_site_of(parts.origin))


def _variant_of(rule: Rule, parts: UrlParts) -> int:
    """Return `Seen.variant`: URLs with equal variants are no evidence for the rule."""
    return hash(touched_by(rule, parts)) & _VARIANT_MASK


@lru_cache(maxsize=4096)
def _site_of(origin: str) -> str:
    """Return the name of the site of an origin: the registered domain."""
    return registered_domain(urlsplit(origin).hostname or "")
