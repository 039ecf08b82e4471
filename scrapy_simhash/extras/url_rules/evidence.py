"""Evidence for and against a rule, on each path pattern of a site and on the whole site; and how
the rules of a site are stored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from scrapy_simhash.extras.url_rules.rewriting import Rule, rewrite

# A rule holds with nine pages for it if no URL is against it (the lower bound of its precision is
# then 0.77), else with 200 pages for each URL against it.
_MIN_PAGES = 9
_PAGES_FOR_EACH_AGAINST = 200
# Larger counts are halved. So old evidence fades, and a rule ends soon after its site has changed.
_MAX_PAGES = 400
# If this number of values of a rule's parameters did not change the content, no more are tested.
_MANY_VALUES = 16
MAX_PATTERNS = 100
MAX_RULES = 32

Origin: TypeAlias = Literal["learned", "removed"]


@dataclass
class RuleEvidence:
    """Counts of comparisons of URLs that a rule makes equal.

    :param pages: number of pages with the same content under two URLs, each counted once.
    :param against: number of URLs whose content differed from that of an equal URL.
    :param streak: number of comparisons for the rule since the last one against it.
    :param spared: number of requests that the rule spared, or would have spared.
    :param values: hashes of parameter values that made no difference, up to 16; not stored.
    """

    pages: int = 0
    against: int = 0
    streak: int = 0
    spared: int = 0
    values: set[int] = field(default_factory=set, compare=False, repr=False)

    @property
    def holds(self) -> bool:
        """Return True if the evidence is enough for the rule."""
        return self.pages >= max(_MIN_PAGES, self.against * _PAGES_FOR_EACH_AGAINST)

    def covers(self, values: int) -> bool:
        """Return True if these values of parameters, or many others, made no difference."""
        return len(self.values) >= _MANY_VALUES or values in self.values


@dataclass
class RuleRecord:
    """The origin of a rule and the evidence for it.

    :param origin: a ``removed`` rule never applies, and is stored so that it is not learned again.
    :param total: evidence on the whole site.
    :param patterns: evidence by path pattern, for the first 100 patterns.
    """

    origin: Origin = "learned"
    total: RuleEvidence = field(default_factory=RuleEvidence)
    patterns: dict[str, RuleEvidence] = field(default_factory=dict)

    @property
    def may_apply(self) -> bool:
        """Return False if the rule applies nowhere: a test that is faster than `applies`."""
        return self.origin == "learned" and self.total.pages >= _MIN_PAGES

    @property
    def worth(self) -> int:
        """Return the value of the evidence; 0 if another rule may replace this one."""
        if self.origin == "removed":
            return 1 << 32
        is_contradicted = self.total.against >= self.total.pages
        # A rule may hold on one part of a site although others contradict it.
        is_in_use = any(evidence.holds for evidence in self.patterns.values())
        return 0 if is_contradicted and not is_in_use else 1 + self.total.pages

    def applies(self, pattern: str) -> bool:
        """Return True if the rule rewrites URLs of a path pattern.

        The evidence on the pattern decides if it is enough or contains a contradiction. If not, the
        rule applies if it holds on the whole site. The first equal URL is then requested as a test
        (`Equal.explore`).
        """
        own = self.patterns.get(pattern, self.total)
        decides = own if own.against or own.holds else self.total
        return self.origin == "learned" and decides.holds

    def on(self, pattern: str) -> RuleEvidence:
        """Return the evidence on a path pattern; new evidence, not kept if there is no room."""
        if len(self.patterns) < MAX_PATTERNS:
            return self.patterns.setdefault(pattern, RuleEvidence())
        return self.patterns.get(pattern, RuleEvidence())

    def count(self, pattern: str, *, values: int | None, is_new_page: bool) -> None:
        """Count a comparison of two equal URLs.

        :param values: hash of the values of parameters that made no difference; None if the
            contents differed.
        :param is_new_page: the page with this content is not counted yet.
        """
        for evidence in (self.total, self.on(pattern)):
            if values is None:
                evidence.against, evidence.streak = evidence.against + 1, 0
                continue
            evidence.streak += 1
            evidence.pages += is_new_page
            if not evidence.covers(values):
                evidence.values.add(values)
            if evidence.pages > _MAX_PAGES:
                evidence.pages //= 2
                evidence.against //= 2


Rules: TypeAlias = dict[Rule, RuleRecord]


def merged(mine: bytes, row: bytes | None) -> bytes:
    """Return the rules of two stored forms, at most 32. The evidence of `mine` counts for rules in
    both, except for those that `row` has as removed. A damaged `row` is replaced.
    """
    try:
        theirs = decode_rules(row)
    except ValueError:
        return mine
    removed = {rule: record for rule, record in theirs.items() if record.origin == "removed"}
    rules = theirs | decode_rules(mine) | removed
    best = sorted(rules, key=lambda rule: -rules[rule].worth)[:MAX_RULES]
    return encode_rules({rule: rules[rule] for rule in best})


def encode_rules(rules: Rules) -> bytes:
    """Return the stored form of a site's rules."""
    plain = [
        [
            rule,
            record.origin,
            _numbers(record.total),
            {pattern: _numbers(own) for pattern, own in record.patterns.items()},
        ]
        for rule, record in rules.items()
    ]
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_rules(row: bytes | None) -> Rules:
    """Return the rules of a site from their stored form; no rules for None.

    :raises ValueError: the row is damaged.
    """
    rules = {}
    try:
        for steps, origin, total, patterns in json.loads(b"[]" if row is None else row):
            rule = tuple(tuple(map(str, step)) for step in steps)
            rewrite(rule, "")  # raises ValueError for a step that is none
            if not rule or origin not in get_args(Origin):
                raise ValueError(f"{[steps, origin]} is no rule of URLs")
            by_pattern = {str(pattern): _evidence(own) for pattern, own in patterns.items()}
            rules[rule] = RuleRecord(origin, _evidence(total), by_pattern)
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"rules of URLs that cannot be read ({error})") from error
    return rules


def _numbers(evidence: RuleEvidence) -> list[int]:
    return [evidence.pages, evidence.against, evidence.streak, evidence.spared]


def _evidence(numbers: list[float]) -> RuleEvidence:
    pages, against, streak, spared = map(int, numbers)
    if min(pages, against, streak, spared) < 0:
        raise ValueError(f"evidence {numbers} has negative numbers")
    return RuleEvidence(pages, against, streak, spared)
