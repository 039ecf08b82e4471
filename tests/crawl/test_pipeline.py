"""SimhashPipeline without a crawl: what it warns of."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from scrapy_simhash.crawl.advice import UnmatchedNames
from scrapy_simhash.crawl.pipeline import SimhashPipeline
from scrapy_simhash.crawl.settings_reader import DEFAULT_TAGS
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.policy import Policy
from scrapy_simhash.verdict import Verdict
from tests.crawl.spiders import BareItem

COPY = Verdict(
    kind="near-duplicate",
    key="http://a/copy",
    bits=64,
    fingerprint=1,
    representative="http://a/",
    distance=1,
    similarity=0.9,
)


class Extension:
    """An extension whose items are those of one page, and whose item fields have fingerprints."""

    def __init__(self, verdict=None, fingerprints=()) -> None:
        self.warnings = []
        self.settings = SimpleNamespace(
            item_tags=DEFAULT_TAGS,
            has_own_tags=False,
            item_fields=["text"],
            distinct_fields=[],
        )
        self.pages = SimpleNamespace(policy=Policy(action="tag"))
        self.items = SimpleNamespace(
            index=self if fingerprints else None,
            stats=SimpleNamespace(fingerprinted=lambda _: None),
        )
        page = SimpleNamespace(verdict=verdict)
        self.settlement = SimpleNamespace(take_origin=lambda _: (page, 0))
        self.crawler = SimpleNamespace(
            signals=SimpleNamespace(send_catch_log=lambda *_, **__: None)
        )
        self.unmatched_fields = UnmatchedNames(
            ["text"], "", lambda *what: self.warnings.append(what)
        )
        self.stats = SimpleNamespace(count=lambda _: None)
        self.errors = SimpleNamespace(
            warn_once=lambda _, message, *values: self.warnings.append(message % values)
        )
        self.fingerprinter = self
        self._fingerprints = iter(fingerprints)

    async def fingerprint_fields(self, *_):
        return next(self._fingerprints)


def test_a_warning_names_only_the_fields_that_must_be_declared():
    extension = Extension(COPY)
    item = BareItem(url="http://a/copy")
    assert asyncio.run(SimhashPipeline(extension).process_item(item)) is item
    assert dict(item) == {"url": "http://a/copy"}
    [warning] = extension.warnings
    assert "simhash_kind" in warning
    assert "simhash_similarity" not in warning


@pytest.mark.parametrize("reason", ["extraction_error", "timeout", "memory", "worker_died"])
def test_a_failure_does_not_tell_whether_item_fields_have_text(reason):
    fingerprints = [
        PageFingerprint(skipped=reason),
        PageFingerprint(skipped="no_text", unmatched=("text",)),
    ]
    extension = Extension(fingerprints=fingerprints)
    pipeline = SimhashPipeline(extension)
    for _ in fingerprints:
        asyncio.run(pipeline.process_item({"text": ""}))
    extension.unmatched_fields.close()
    assert extension.warnings == [("", {"names": "'text'", "pages": 1})]
