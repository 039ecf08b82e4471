"""Evidence for and against a rule on one path pattern, and on all of a site."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, TypeAlias

# A rule holds on a path pattern with nine pages for it and none against it, or with one
# contradiction for each 200 pages.
MIN_LOWER_BOUND = 0.75
MAX_CONTRADICTED = 0.005
_MIN_PAGES = 9
_Z = 1.645  # one-sided, 95 %
# Old evidence fades, so that a rule ends soon after a site has changed.
MAX_PAGES = 400
MAX_PATTERNS = 100

Origin: TypeAlias = Literal["learned", "imported", "removed"]


def lower_bound(pages: int, against: int) -> float:
    """Return the Wilson lower bound of a rule's precision; 0 without evidence."""
    count = pages + against
    if not count:
        return 0.0
    share, z2 = pages / count, _Z * _Z
    spread = _Z * sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return (share + z2 / (2 * count) - spread) / (1 + z2 / count)


@dataclass
class Evidence:
    """Counts of comparisons of URLs that a rule makes equal.

    :param pages: pages for the rule: each had the same content under two URLs. Further URLs of a
        page count no more.
    :param against: URLs whose content differed from that of an equal URL.
    :param streak: comparisons for the rule since the last one against it.
    :param spared: requests that the rule spared, or would have.
    """

    pages: int = 0
    against: int = 0
    streak: int = 0
    spared: int = 0

    @property
    def holds(self) -> bool:
        """Return True if this evidence is enough by itself."""
        return (
            self.against <= MAX_CONTRADICTED * self.pages
            and lower_bound(self.pages, self.against) >= MIN_LOWER_BOUND
        )

    def count(self, *, same: bool, is_new_page: bool) -> None:
        """Count a comparison of two URLs that the rule makes equal."""
        if not same:
            self.against += 1
            self.streak = 0
            return
        self.streak += 1
        self.pages += is_new_page
        if self.pages > MAX_PAGES:
            self.pages //= 2
            self.against //= 2


@dataclass
class RuleRecord:
    """A rule's evidence by path pattern.

    :param origin: ``imported`` rules need no evidence until something contradicts them; ``removed``
        ones are kept so that they are not learned again.
    :param total: evidence of the whole site.
    """

    origin: Origin = "learned"
    total: Evidence = field(default_factory=Evidence)
    patterns: dict[str, Evidence] = field(default_factory=dict)

    @property
    def may_apply(self) -> bool:
        """Return False if the rule applies nowhere."""
        return self.origin == "imported" or (
            self.origin == "learned" and self.total.pages >= _MIN_PAGES
        )

    def applies(self, pattern: str) -> bool:
        """Return True if the rule rewrites URLs of a path pattern.

        Either the pattern's own evidence is enough, or that of the site is, and nothing on the
        pattern contradicts it. `UrlRules.equal` tests the latter before it spares anything.
        """
        if self.origin == "removed":
            return False
        own = self.patterns.get(pattern)
        if own is not None and (own.against or own.holds):
            return own.holds
        return self.origin == "imported" or self.total.holds

    def count(self, pattern: str, *, same: bool, is_new_page: bool) -> None:
        """Count a comparison on a path pattern; beyond 100 patterns, for the site alone."""
        self.total.count(same=same, is_new_page=is_new_page)
        own = self._on(pattern)
        if own is not None:
            own.count(same=same, is_new_page=is_new_page)

    def spare(self, pattern: str) -> None:
        """Count a request that the rule spared, or would have."""
        self.total.spared += 1
        own = self._on(pattern)
        if own is not None:
            own.spared += 1

    def _on(self, pattern: str) -> Evidence | None:
        own = self.patterns.get(pattern)
        if own is None and len(self.patterns) < MAX_PATTERNS:
            own = self.patterns[pattern] = Evidence()
        return own
