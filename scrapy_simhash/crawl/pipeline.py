"""SimhashPipeline: tags items with the verdict on their page, or on their own content."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from itemadapter import ItemAdapter

from scrapy_simhash.crawl.exceptions import NearDuplicateItem
from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.reader import TAGGED_WHERE_KNOWN
from scrapy_simhash.crawl.second_chances import DroppedCopy
from scrapy_simhash.crawl.settings import SETTINGS
from scrapy_simhash.crawl.tagging import tag
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.policy import PASS, Policy

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_simhash.crawl.settlement import Origin
    from scrapy_simhash.verdict import Verdict


class SimhashPipeline:
    """Writes verdicts into items; with SIMHASH_ITEM_FIELDS also judges the items themselves."""

    def __init__(self, extension: SimhashExtension) -> None:
        self._extension = extension
        self._settings = extension.settings
        self._item_policy = Policy(
            action=self._settings.item_action,
            incremental=self._settings.policy.incremental,
        )
        # Item classes that declare the fields of earlier releases are tagged with those.
        tags = self._settings.item_tags
        by_default = tags == SETTINGS["SIMHASH_ITEM_TAGS"]
        self._if_declared = {tags[field] for field in TAGGED_WHERE_KNOWN if by_default}
        # Items of start() have no page to be known by, and another crawl has others.
        self._crawl = uuid4().hex
        self._without_page = itertools.count()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Scrapy's way to make a pipeline."""
        return cls(SimhashExtension.of(crawler))

    def close_spider(self) -> None:
        """All items are done, and the scheduler is still open."""
        self._extension.settle_all()

    async def process_item(self, item: Any) -> Any:
        """Tag the item. :raises NearDuplicateItem: its content was seen, and it is dropped."""
        origin = self._extension.settlement.take_origin(item)
        verdict = None if origin is None else origin.page.verdict
        policy = self._settings.policy
        text = None
        if self._settings.item_fields and self._extension.item_index is not None:
            fingerprint = await self._fingerprint(item)
            text = fingerprint.text
            own = self._judge(item, origin, fingerprint)
            if own is not None:
                verdict, policy = own, self._item_policy
        if verdict is not None and self._is_tagged(verdict, policy):
            tag(
                self._extension,
                item,
                self._tags(verdict),
                "SIMHASH_ITEM_TAGS",
                if_declared=self._if_declared,
            )
        await self._tag_with_passages(item, origin, text)
        return item

    @staticmethod
    def _is_tagged(verdict: Verdict, policy: Policy) -> bool:
        """Return whether an item is tagged. Where copies are dropped, originals need no tags."""
        return policy.action == "tag" or policy.seen(verdict) or verdict.similar_to is not None

    def _tags(self, verdict: Verdict) -> dict[str, Any]:
        fields = verdict.to_dict()
        return {
            item_field: fields[field]
            for field, item_field in self._settings.item_tags.items()
            if fields[field] is not None or field not in TAGGED_WHERE_KNOWN
        }

    async def _tag_with_passages(self, item: Any, origin: Origin | None, text: str | None) -> None:
        passages = self._extension.page_passages
        if not passages.enabled or origin is None:
            return
        values = await passages.tags(origin.page, origin.ordinal, text)
        tag(self._extension, item, values, "SIMHASH_PASSAGES_TAGS")

    async def _fingerprint(self, item: Any) -> PageFingerprint:
        extension = self._extension
        try:
            adapter = ItemAdapter(item)
            fields = {name: _parts(adapter.get(name)) for name in self._settings.item_fields}
            fingerprint = await extension.fingerprinter.fingerprint_fields(fields)
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            extension.failed("item", error, repr(type(item)))
            return PageFingerprint()
        extension.item_stats.time(fingerprint)
        if fingerprint.skipped is not None:
            extension.item_stats.skip(fingerprint.skipped)
        if fingerprint.skipped not in ("timeout", "worker_died"):
            extension.unmatched_fields.seen(fingerprint.unmatched)
        return fingerprint

    def _judge(
        self, item: Any, origin: Origin | None, fingerprint: PageFingerprint
    ) -> Verdict | None:
        extension = self._extension
        if fingerprint.fingerprint is None:
            return None
        key = self._identity(origin, fingerprint)
        if extension.item_index is None:
            return None
        verdict = extension.item_index.judge(key, fingerprint)
        if verdict is None or verdict.observation is None:
            return None
        action = self._item_policy.decide(verdict)
        if not action.items and not self._may_be_dropped(origin, verdict):
            action = PASS
        extension.item_index.acted(verdict, action)
        if not action.items:
            extension.item_index.settle(verdict.observation, confirmed=True)  # met again
            raise NearDuplicateItem(verdict)
        page = None if origin is None else origin.page
        extension.settlement.item_observed(page, item, verdict.observation)
        return verdict

    def _may_be_dropped(self, origin: Origin | None, verdict: Verdict) -> bool:
        """Whether its page can be asked for again if the item that it is a copy of fails."""
        extension, observation = self._extension, verdict.observation
        if observation is None or not observation.provisional:
            return True
        request = None if origin is None else origin.page.request
        reason = "no_page"
        if request is not None:
            reason = "held_too_many"
            copy = DroppedCopy(verdict.key, observation.fingerprint, observation.evidence, request)
            if extension.item_second_chances.hold(verdict.representative or "", copy):
                return True
        extension.item_stats.kept(verdict, reason)
        return False

    def _identity(self, origin: Origin | None, fingerprint: PageFingerprint) -> str:
        """Of an item: its page, its place there, and its content.

        By its place alone, one new item at the top of a list would change all the others.
        """
        content = to_hex(fingerprint.fingerprint or 0, self._settings.scheme.bits)
        if origin is None:
            return f"crawl {self._crawl} item {next(self._without_page)} {content}"
        return f"{origin.page.key} item {origin.ordinal} {content}"


def _parts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _parts(part)]
    return [value if isinstance(value, str) else str(value)]
