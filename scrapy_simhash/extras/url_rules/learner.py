"""`UrlRules`: learns rules from the pages of a crawl, and finds requests that are not needed.

A table contains each handled page under its *form*, which is its URL as the rules of the site
rewrite it, and under what each rule makes of the form. If the table has another page under such a
URL, the rule makes the URLs of both pages equal. The same content is evidence for the rule, other
content is evidence against it. Every page is compared in this way, so the share of contradictions
is that of the whole site.
"""

from __future__ import annotations

from array import array
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.extras.url_rules.differences import rules_between
from scrapy_simhash.extras.url_rules.rewriting import Rule, rewrite, touched_by, values_in
from scrapy_simhash.extras.url_rules.site import MIN_PAGES_BETWEEN_REVISIONS, Site
from scrapy_simhash.extras.url_rules.url_parts import plain_url
from scrapy_simhash.sites import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from scrapy_simhash.extras.url_rules.evidence import Rules


MAX_SITES = 10_000
EXPLORE = 0.05
_MAX_CONTENTS = 1_000
# Each slot takes 16 bytes.
SLOTS = 1 << 19
_KEY_MASK = (1 << 64) - 1
_CONTENT_MASK = (1 << 32) - 1
_VARIANT_MASK = (1 << 31) - 1


class Equal(NamedTuple):
    """A URL that rules make equal to the URL of a handled page.

    :param pattern: path pattern of the URL that the rules make of both.
    :param rules: all rules that rewrite this URL, and at most one that rewrites the other.
    :param explore: request the URL nevertheless, to test the rules.
    :param untested: identifiers of values of the rules' parameters that no request has tested yet.
        One request tests them; others with the same identifier can wait.
    """

    site: Site
    pattern: str
    rules: tuple[Rule, ...]
    explore: bool
    untested: tuple[Hashable, ...]

    def holds(self) -> bool:
        """Return True if all of the rules still apply."""
        records = [self.site.rules.get(rule) for rule in self.rules]
        return all(record is not None and record.applies(self.pattern) for record in records)

    def spare(self) -> None:
        """Count a request for the URL that the rules spared, or would have spared."""
        for record in (self.site.rules[rule] for rule in self.rules):
            record.total.spared += 1
            record.on(self.pattern).spared += 1
        self.site.unsaved += 1


class Seen(NamedTuple):
    """The page that was found last under a rewritten URL.

    :param content: 32 bits of the hash of the content.
    :param variant: 31 bits of the hash of the parts of its URL that the rule may change.
    :param counted: the page was counted for the rule.
    """

    content: int
    variant: int
    counted: bool = False


class SeenTable:
    """Pages by the hash of a key, such as a rule with a rewritten URL.

    A new entry replaces any other entry in its slot. A page that is forgotten in this way is
    downloaded once more; none is lost.
    """

    def __init__(self) -> None:
        self._keys = array("Q", bytes(8 * SLOTS))
        self._values = array("Q", bytes(8 * SLOTS))

    def get(self, key: object) -> Seen | None:
        """Return the page that was put under a key last; None if it was forgotten."""
        number = hash(key) & _KEY_MASK
        slot = number % SLOTS
        if self._keys[slot] != number:
            return None
        value = self._values[slot]
        return Seen(value >> 32, value >> 1 & _VARIANT_MASK, bool(value & 1))

    def put(self, key: object, seen: Seen) -> None:
        """Put a page under a key."""
        number = hash(key) & _KEY_MASK
        slot = number % SLOTS
        self._keys[slot] = number
        self._values[slot] = seen.content << 32 | seen.variant << 1 | seen.counted


class UrlRules:
    """The rules of all sites of a crawl.

    :param load: returns the stored rules of a site.
    :param explore: lower limit of the share of equal URLs that are requested nevertheless. The
        share is 2 in n + 2 if that is more, where n is the lowest `streak` of the rules.
    """

    def __init__(
        self,
        load: Callable[[str], Rules] = lambda _site: {},
        *,
        explore: float = EXPLORE,
        random: Random | None = None,
    ) -> None:
        self._load = load
        self._explore = explore
        self._random = random or Random()  # noqa: S311 - a sample
        self._seen = SeenTable()
        self.sites: LocalCache[str, Site] = LocalCache(MAX_SITES)
        """The sites that are in memory, by name."""
        # Content → the URL under which it was found last.
        self._contents: LocalCache[int, str] = LocalCache(_MAX_CONTENTS)

    def site(self, url: str) -> Site:
        """Return the rules of a URL's site, loaded on first use. 10,000 sites are in memory."""
        name = site_of(url)
        site = self.sites.get(name)
        if site is None:
            site = self.sites[name] = Site(self._load(name))
        return site

    def form_of(self, url: str) -> str:
        """Return the form of a URL; the URL itself if no rules can be learned for it."""
        plain = plain_url(url)
        return url if plain is None else self.site(plain).form_of(plain)[0]

    def equal(self, url: str) -> Equal | None:
        """Return how rules make a URL equal to the URL of a handled page; None if they do not."""
        plain = plain_url(url)
        if plain is None:
            return None
        site = self.site(plain)
        form, rules = site.form_of(plain)
        if not rules or self._seen.get(self._key((), form)) is None:
            # A further rule may rewrite the URL of a handled page to this form.
            applying = site.rules_on(form)
            seen = (rule for rule in applying if self._seen.get(self._key(rule, form)) is not None)
            further = next(seen, None)
            if further is None:
                return None
            rules = [*dict.fromkeys([*rules, further])]
        pattern = site.patterns.of(form)
        on_pattern = {rule: site.rules[rule].on(pattern) for rule in rules}
        streak = min(evidence.streak for evidence in on_pattern.values())
        untested = tuple(
            (site_of(form), pattern, rule, values)
            for rule, evidence in on_pattern.items()
            if any(values := values_in(rule, plain)) and not evidence.covers(hash(values))
        )
        explore = self._random.random() < max(self._explore, 2 / (2 + streak))
        return Equal(site, pattern, tuple(rules), explore, untested)

    def handled(self, url: str, content: str, original: str | None = None) -> int:
        """Learn from a handled page; return how many rules it contradicts that changed its URL.

        :param content: identifies the content, such as the key of the page's representative.
        :param original: URL of the representative, if the page is a near-duplicate.
        """
        plain = plain_url(url)
        if plain is None:
            return 0
        site = self.site(plain)
        form, used = site.form_of(plain)
        content_id = hash(content) & _CONTENT_MASK
        differing = [rule for rule in [*site.rules] if self._differs(rule, plain, form, content_id)]
        self._seen.put(self._key((), form), Seen(content_id, _variant_of((), plain)))
        first = None if original is None else plain_url(original)
        for other in dict.fromkeys((first, self._contents.get(content_id))):
            if other is not None:
                self._suspect(site, form, other)
        self._contents[content_id] = plain
        self._contents.move_to_end(content_id)
        site.pages_to_revision -= 1
        if site.pages_to_revision <= 0 and not site.is_revised:
            self._revise(site)
        return len({*differing}.intersection(used))

    def _differs(self, rule: Rule, plain: str, form: str, content_id: int) -> bool:
        """Compare a page with the last page that a rule makes equal; return True if they differ."""
        site, rewritten = self.site(plain), rewrite(rule, form)
        key, mine = self._key(rule, rewritten), Seen(content_id, _variant_of(rule, plain))
        other = self._seen.get(key)
        if other is None:
            if rewrite(rule, plain) == plain:
                return False
            # Take the last page with this form, which the rule did not change.
            other = self._seen.get(self._key((), rewritten)) or mine
        same, is_compared = other.content == content_id, other.variant != mine.variant
        if is_compared:
            values = hash(values_in(rule, plain)) if same else None
            site.count(rule, rewritten, values=values, is_new_page=not other.counted)
        self._seen.put(key, mine._replace(counted=same and (is_compared or other.counted)))
        return is_compared and not same

    def _revise(self, site: Site) -> None:
        """Put the last contents of a site in the table under the URLs that its rules make now."""
        contents = [item for item in self._contents.items() if self.site(item[1]) is site]
        site.is_revised = True
        # On average, look at two pages for each new page.
        site.pages_to_revision = max(MIN_PAGES_BETWEEN_REVISIONS, len(contents) // 2)
        for content_id, plain in contents:
            form, _ = site.form_of(plain)
            changing = [rule for rule in site.rules if rewrite(rule, plain) != plain]
            for rule in ((), *changing):
                key = self._key(rule, rewrite(rule, form))
                if self._seen.get(key) is None:
                    self._seen.put(key, Seen(content_id, _variant_of(rule, plain)))

    def _suspect(self, site: Site, form: str, other: str) -> None:
        """Suggest the rules that make a form equal to the form of another URL with its content.

        :param site: site of the URL with this form. A rule may have put another origin there.
        """
        for rule in rules_between(form, self.site(other).form_of(other)[0]):
            # A rule between two sites belongs to the site whose URLs it rewrites.
            rewritten = rewrite(rule, form)
            (site if rewritten != form else self.site(other)).suspect(rule, rewritten)

    def _key(self, rule: Rule, form: str) -> tuple[Rule, str, int]:
        """Return the key in the table of what a rule makes of a form; ``()``: the form itself."""
        return rule, form, self.site(form).generation


def _variant_of(rule: Rule, plain: str) -> int:
    """Return `Seen.variant`: URLs with equal variants are no evidence for the rule."""
    return hash(touched_by(rule, plain)) & _VARIANT_MASK
