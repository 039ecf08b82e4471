"""The stored form of a site's rules."""

from __future__ import annotations

import json
from typing import Any, TypeAlias, get_args

from scrapy_simhash.extras.url_rules.evidence import Origin, RuleEvidence, RuleRecord
from scrapy_simhash.extras.url_rules.rewriting import PARAM_STEPS, WORDS_IN_STEP, Rule
from scrapy_simhash.extras.url_rules.segments import WORD_PLACES

Rules: TypeAlias = dict[Rule, RuleRecord]

MAX_RULES = 32


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
    plain = []
    for rule, record in rules.items():
        patterns = {pattern: _numbers(evidence) for pattern, evidence in record.patterns.items()}
        plain.append([rule, record.origin, _numbers(record.total), patterns])
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_rules(row: bytes | None) -> Rules:
    """Return the rules of a site from their stored form; no rules for None.

    :raises ValueError: the row is damaged.
    """
    if row is None:
        return {}
    rules = {}
    try:
        for steps, origin, total, patterns in json.loads(row):
            if not steps or origin not in get_args(Origin):
                raise ValueError(f"{[steps, origin]} is no rule of URLs")
            by_pattern = {str(pattern): _evidence(numbers) for pattern, numbers in patterns.items()}
            rules[tuple(map(_step, steps))] = RuleRecord(origin, _evidence(total), by_pattern)
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"rules of URLs that cannot be read ({error})") from error
    return rules


def _numbers(evidence: RuleEvidence) -> list[int]:
    return [evidence.pages, evidence.against, evidence.streak, evidence.spared]


def _evidence(numbers: list[Any]) -> RuleEvidence:
    pages, against, streak, spared = map(int, numbers)
    if min(pages, against, streak, spared) < 0:
        raise ValueError(f"evidence {numbers} has negative numbers")
    return RuleEvidence(pages, against, streak, spared)


def _step(step: list[Any]) -> tuple[str, ...]:
    kind, *words = map(str, step)
    if kind in PARAM_STEPS:
        is_valid = bool(words) and (kind != "default" or len(words) % 2 == 0)
    else:
        is_valid = len(words) == WORDS_IN_STEP.get(kind)
    if not is_valid or (kind == "words" and words[1] not in WORD_PLACES):
        raise ValueError(f"{step} is no step of a rule")
    return (kind, *words)
