"""Evidence for and against a rule, on each path pattern of a site and on the whole site."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, TypeAlias

# A rule needs nine pages for it if none is against it, or 200 for each page against it.
MIN_LOWER_BOUND = 0.75
MAX_CONTRADICTED = 0.005
_MIN_PAGES = 9
_Z = 1.645  # one-sided, 95 %
# With more, counts are halved: old evidence fades, so that a rule ends soon after a site changed.
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

    :param pages: pages that had the same content under two URLs, each counted once.
    :param against: URLs whose content differed from that of an equal URL.
    :param streak: comparisons for the rule since the last one against it.
    :param spared: requests that the rule spared, or would have spared.
    """

    pages: int = 0
    against: int = 0
    streak: int = 0
    spared: int = 0

    @property
    def holds(self) -> bool:
        """Return True if the evidence is enough for the rule."""
        return (
            self.against <= MAX_CONTRADICTED * self.pages
            and lower_bound(self.pages, self.against) >= MIN_LOWER_BOUND
        )

    def count(self, *, same: bool, is_new_page: bool) -> None:
        """Count a comparison of two equal URLs, with the same content or not."""
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
    """The origin of a rule and the evidence for it.

    :param origin: ``imported`` rules need no evidence until something contradicts them; ``removed``
        ones never apply, and are kept so that they are not learned again.
    :param total: evidence on the whole site.
    :param patterns: evidence by path pattern, for the first 100 patterns.
    """

    origin: Origin = "learned"
    total: Evidence = field(default_factory=Evidence)
    patterns: dict[str, Evidence] = field(default_factory=dict)

    @property
    def may_apply(self) -> bool:
        """Return False if the rule applies nowhere. It takes less time than `applies`."""
        return self.origin == "imported" or (
            self.origin == "learned" and self.total.pages >= _MIN_PAGES
        )

    def applies(self, pattern: str) -> bool:
        """Return True if the rule rewrites URLs of a path pattern.

        The evidence on the pattern decides if it is enough, or has a contradiction. If not, an
        imported rule applies, and a learned one if it holds on the whole site. Then the first
        equal URL is a test (`Equal.explore`).
        """
        if self.origin == "removed":
            return False
        evidence = self.patterns.get(pattern)
        if evidence is not None and (evidence.against or evidence.holds):
            return evidence.holds
        return self.origin == "imported" or self.total.holds

    def count(self, pattern: str, *, same: bool, is_new_page: bool) -> None:
        """Count a comparison on a path pattern; see `Evidence.count`."""
        for evidence in self._counted_on(pattern):
            evidence.count(same=same, is_new_page=is_new_page)

    def spare(self, pattern: str) -> None:
        """Count a request on a path pattern that the rule spared, or would have spared."""
        for evidence in self._counted_on(pattern):
            evidence.spared += 1

    def _counted_on(self, pattern: str) -> list[Evidence]:
        """Return the evidence that counts comparisons on a path pattern."""
        evidence = self.patterns.get(pattern)
        if evidence is None and len(self.patterns) < MAX_PATTERNS:
            evidence = self.patterns[pattern] = Evidence()
        return [self.total] if evidence is None else [self.total, evidence]
