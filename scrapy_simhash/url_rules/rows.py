"""The stored form of a site's rules, and how several crawlers add to it.

A crawler stores the difference to what it read last, so that two crawlers add up what they find.
"""

from __future__ import annotations

import json
from copy import copy
from typing import Any, TypeAlias, get_args

from scrapy_simhash.url_rules.evidence import MAX_PATTERNS, Evidence, Origin, RuleRecord
from scrapy_simhash.url_rules.rewriting import OF_PARAMETERS, STEP_WORDS, Rule

Rules: TypeAlias = dict[Rule, RuleRecord]


def combined(mine: Rules, before: Rules, theirs: Rules) -> Rules:
    """Return what is stored, plus what changed here.

    :param mine: the rules here.
    :param before: the rules from which these came.
    :param theirs: what is stored now. A rule that was deleted, here or there, is deleted.
    """
    rules = {
        rule: _copied(record)
        for rule, record in theirs.items()
        if rule in mine or rule not in before or record.origin != "learned"
    }
    for rule, record in mine.items():
        old = before.get(rule, RuleRecord())
        if rule not in rules:
            if rule not in before:
                rules[rule] = _copied(record)
            continue
        other = rules[rule]
        other.total = summed(record.total, old.total, other.total)
        for pattern, own in record.patterns.items():
            if pattern in other.patterns or len(other.patterns) < MAX_PATTERNS:
                earlier = old.patterns.get(pattern, Evidence())
                known = other.patterns.get(pattern, Evidence())
                other.patterns[pattern] = summed(own, earlier, known)
    return rules


def summed(mine: Evidence, before: Evidence, theirs: Evidence) -> Evidence:
    """Return the evidence that is stored, plus what changed here; see `combined`."""
    contradicted = mine.against > before.against or theirs.against > before.against
    return Evidence(
        max(0, theirs.pages + mine.pages - before.pages),
        max(0, theirs.against + mine.against - before.against),
        (min if contradicted else max)(mine.streak, theirs.streak),
        max(0, theirs.spared + mine.spared - before.spared),
    )


def copied(rules: Rules) -> Rules:
    """Return a copy that shares no evidence."""
    return {rule: _copied(record) for rule, record in rules.items()}


def _copied(record: RuleRecord) -> RuleRecord:
    patterns = {pattern: copy(own) for pattern, own in record.patterns.items()}
    return RuleRecord(record.origin, copy(record.total), patterns)


def encode_rules(rules: Rules) -> bytes:
    """Return the stored form of a site's rules."""
    plain = []
    for rule, record in rules.items():
        patterns = {pattern: _numbers(own) for pattern, own in record.patterns.items()}
        plain.append([rule, record.origin, _numbers(record.total), patterns])
    return json.dumps(plain, separators=(",", ":")).encode()


def decode_rules(row: bytes | None) -> Rules:
    """Return the rules of a stored form; none for None.

    :raises ValueError: it is not that of a site's rules.
    """
    if row is None:
        return {}
    try:
        return {
            tuple(map(_step, rule)): RuleRecord(
                _origin(origin),
                _evidence(total),
                {str(pattern): _evidence(own) for pattern, own in patterns.items()},
            )
            for rule, origin, total, patterns in json.loads(row)
        }
    except (TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"rules of URLs that cannot be read ({error})") from error


def encode_evidence(evidence: Evidence) -> bytes:
    """Return the stored form of evidence by itself."""
    return json.dumps(_numbers(evidence)).encode()


def decode_evidence(row: bytes) -> Evidence:
    """Return the evidence of a stored form. :raises ValueError: it is none."""
    try:
        return _evidence(json.loads(row))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"evidence that cannot be read ({error})") from error


def _numbers(evidence: Evidence) -> list[int]:
    return [evidence.pages, evidence.against, evidence.streak, evidence.spared]


def _evidence(numbers: list[Any]) -> Evidence:
    pages, against, streak, spared = map(int, numbers)
    if min(pages, against, streak, spared) < 0:
        raise ValueError(f"evidence {numbers} has negative numbers")
    return Evidence(pages, against, streak, spared)


def _step(step: list[Any]) -> tuple[str, ...]:
    kind, *words = map(str, step)
    if kind in OF_PARAMETERS:
        valid = bool(words) and (kind != "default" or len(words) % 2 == 0)
    else:
        valid = len(words) == STEP_WORDS.get(kind)
    if not valid:
        raise ValueError(f"{step} is no step of a rule")
    return (kind, *words)


def _origin(text: Any) -> Origin:
    if text not in get_args(Origin):
        raise ValueError(f"{text!r} is no origin of a rule")
    origin: Origin = text
    return origin
