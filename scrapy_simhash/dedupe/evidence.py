"""Evidence as values for JSON: from workers to the index, and in the journal."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from scrapy_simhash.confirmation import NO_EVIDENCE, Evidence

if TYPE_CHECKING:
    from collections.abc import Sequence


def plain_evidence(evidence: Evidence) -> list[Any]:
    """Return evidence as a list for JSON; no evidence is an empty one."""
    if evidence == NO_EVIDENCE:
        return []
    return [
        b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for value in evidence
    ]


def evidence_from(plain: Sequence[Any]) -> Evidence:
    """Return the evidence of which `plain_evidence` made a list."""
    if not plain:
        return NO_EVIDENCE
    return Evidence._make(b64decode(value) if isinstance(value, str) else value for value in plain)
