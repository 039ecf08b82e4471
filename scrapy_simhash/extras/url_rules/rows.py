"""The stored form of a site's rules, and how several crawlers add to it.

`theirs` is stored now, `before` is what a crawler read or stored last, and `mine` is what it has
now. It adds the difference of `mine` and `before` to `theirs`, so that findings add up.
"""

from __future__ import annotations

import json
from copy import copy
from typing import Any, TypeAlias, get_args

from scrapy_simhash.extras.url_rules.evidence import MAX_PATTERNS, Origin, RuleEvidence, RuleRecord
from scrapy_simhash.extras.url_rules.rewriting import PARAM_STEPS, WORDS_IN_STEP, Rule
from scrapy_simhash.extras.url_rules.segments import WORD_PLACES

Rules: TypeAlias = dict[Rule, RuleRecord]


def combined(mine: Rules, before: Rules, theirs: Rules) -> Rules:
    """Return the rules of `theirs`, with the changes from `before` to `mine`.

    A rule of `before` that `mine` or `theirs` lacks was deleted and stays deleted, unless its
    origin in `theirs` is ``removed``.
    """
    rules = {
        rule: _copy_record(record)
        for rule, record in theirs.items()
        if rule in mine or rule not in before or record.origin != "learned"
    }
    for rule, record in mine.items():
        if rule not in rules:
            if rule not in before:
                rules[rule] = _copy_record(record)
            continue
        old, result = before.get(rule, RuleRecord()), rules[rule]
        result.total = summed(record.total, old.total, result.total)
        for pattern, evidence in record.patterns.items():
            if pattern in result.patterns or len(result.patterns) < MAX_PATTERNS:
                old_evidence = old.patterns.get(pattern, RuleEvidence())
                stored = result.patterns.get(pattern, RuleEvidence())
                result.patterns[pattern] = summed(evidence, old_evidence, stored)
    return rules


def summed(mine: RuleEvidence, before: RuleEvidence, theirs: RuleEvidence) -> RuleEvidence:
    """Return the evidence of `theirs`, with the changes from `before` to `mine`."""
    contradicted = mine.against > before.against or theirs.against > before.against
    # `RuleEvidence.count` halves counts. If two crawlers halve one, the result may be below zero.
    return RuleEvidence(
        max(0, theirs.pages + mine.pages - before.pages),
        max(0, theirs.against + mine.against - before.against),
        # A contradiction ends both streaks, so the shorter one is never too long. Without one, both
        # contain that of `before`, so a sum would count it twice.
        (min if contradicted else max)(mine.streak, theirs.streak),
        max(0, theirs.spared + mine.spared - before.spared),
    )


def copy_rules(rules: Rules) -> Rules:
    """Return a copy with evidence of its own."""
    return {rule: _copy_record(record) for rule, record in rules.items()}


def _copy_record(record: RuleRecord) -> RuleRecord:
    patterns = {pattern: copy(evidence) for pattern, evidence in record.patterns.items()}
    return RuleRecord(record.origin, copy(record.total), patterns)


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
