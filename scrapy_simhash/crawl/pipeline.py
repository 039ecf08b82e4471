"""SimhashPipeline: tags items with the verdict on their page, or on their own content."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from itemadapter import ItemAdapter

from scrapy_simhash.crawl.exceptions import NearDuplicateItem
from scrapy_simhash.crawl.extension import SimhashExtension
from scrapy_simhash.crawl.settings import SETTINGS
from scrapy_simhash.crawl.settings_reader import TAGGED_WHERE_KNOWN
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.fingerprint import to_hex

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_simhash.crawl.settlement import Origin
    from scrapy_simhash.policy import Policy
    from scrapy_simhash.verdict import Verdict


class SimhashPipeline:
    """Writes verdicts into items; with SIMHASH_ITEM_FIELDS also judges the items themselves."""

    def __init__(self, extension: SimhashExtension) -> None:
        self._extension = extension
        self._settings = extension.settings
        # Item classes that declare the fields of earlier releases are tagged with those.
        tags = self._settings.item_tags
        by_default = tags == SETTINGS["SIMHASH_ITEM_TAGS"]
        self._if_declared = {tags[field] for field in TAGGED_WHERE_KNOWN if by_default}
        # Items of start() have no page to be identified by; other crawls have other such items.
        self._crawl = uuid4().hex
        self._without_page = itertools.count()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the pipeline of a crawl, as Scrapy asks for it."""
        return cls(SimhashExtension.of(crawler))

    async def close_spider(self) -> None:
        """Settle everything: all items are done, and the scheduler is still open."""
        await self._extension.settle_all()

    async def process_item(self, item: Any) -> Any:
        """Tag the item. :raises NearDuplicateItem: its content was seen, and it is dropped."""
        extension = self._extension
        origin = extension.settlement.take_origin(item)
        verdict = None if origin is None else origin.page.verdict
        policy = extension.pages.policy
        text = None
        if extension.items.index is not None:
            fingerprint = await self._fingerprint(item)
            text = fingerprint.text
            item_verdict = await self._judge(item, origin, fingerprint)
            if item_verdict is not None:
                verdict, policy = item_verdict, extension.items.policy
        if verdict is not None and _is_tagged(verdict, policy):
            self._tag(item, self._tags(verdict), "SIMHASH_ITEM_TAGS", self._if_declared)
        if extension.page_passages.enabled and origin is not None:
            values = await extension.page_passages.tags(origin.page, origin.ordinal, text)
            self._tag(item, values, "SIMHASH_PASSAGES_TAGS")
        return item

    async def _fingerprint(self, item: Any) -> PageFingerprint:
        extension = self._extension
        try:
            adapter = ItemAdapter(item)
            fields = {name: _parts(adapter.get(name)) for name in self._settings.item_fields}
            fingerprint = await extension.fingerprinter.fingerprint_fields(fields)
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            extension.errors.failed("item", error, repr(type(item)))
            return PageFingerprint()
        extension.items.stats.fingerprinted(fingerprint)
        if fingerprint.skipped not in ("timeout", "worker_died"):
            extension.unmatched_fields.seen(fingerprint.unmatched)
        return fingerprint

    async def _judge(
        self, item: Any, origin: Origin | None, fingerprint: PageFingerprint
    ) -> Verdict | None:
        extension = self._extension
        if fingerprint.fingerprint is None:
            return None
        verdict = await extension.items.ask(self._identity(origin, fingerprint), fingerprint)
        if verdict is None or verdict.observation is None:
            return None
        observation = verdict.observation
        verdict = extension.items.judged(verdict, fingerprint)
        page = None if origin is None else origin.page
        action = extension.items.act_on(verdict, None if page is None else page.request)
        if not action.items:
            raise NearDuplicateItem(verdict)
        extension.settlement.item_observed(page, item, observation)
        return verdict

    def _identity(self, origin: Origin | None, fingerprint: PageFingerprint) -> str:
        """Return the key of an item: its page, its place there, and its content.

        With its place alone, one new item at the top of a list would change all the others.
        """
        content = to_hex(fingerprint.fingerprint or 0, self._settings.scheme.bits)
        if origin is None:
            return f"crawl {self._crawl} item {next(self._without_page)} {content}"
        return f"{origin.page.key} item {origin.ordinal} {content}"

    def _tags(self, verdict: Verdict) -> dict[str, Any]:
        fields = verdict.to_dict()
        return {
            item_field: fields[field]
            for field, item_field in self._settings.item_tags.items()
            if fields[field] is not None or field not in TAGGED_WHERE_KNOWN
        }

    def _tag(
        self,
        item: Any,
        values: Mapping[str, Any],
        setting: str,
        if_declared: Collection[str] = (),
    ) -> None:
        """Write values into fields of an item; count and warn if the item does not accept them.

        :param setting: name of the setting that lists the fields.
        :param if_declared: fields to omit if the item class does not declare them.
        """
        if not values:
            return
        try:
            adapter = ItemAdapter(item)
            if not isinstance(item, dict):
                undeclared = set(values).difference(adapter.field_names())
                if undeclared.difference(if_declared):
                    raise KeyError(", ".join(sorted(undeclared)))
                values = {field: values[field] for field in values if field not in undeclared}
            for field, value in values.items():
                adapter[field] = value
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            # The field is undeclared, the item is frozen or of another type, or it is no item.
            self._extension.stats.count("skipped/item_field_not_declared")
            self._extension.errors.warn_once(
                f"item_field_not_declared {setting}",
                "simhash: items of class %s do not accept all of the fields %s (%s), and are not "
                "tagged: declare the fields, name others in %s, or set it to {}",
                type(item).__qualname__,
                ", ".join(values),
                error,
                setting,
            )


def _is_tagged(verdict: Verdict, policy: Policy) -> bool:
    """Return True if an item is tagged. Where copies are dropped, originals need no tags."""
    return (
        policy.action == "tag"
        or policy.seen(verdict)
        or verdict.similar_to is not None
        or verdict.kind == "error-page"
    )


def _parts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _parts(part)]
    return [value if isinstance(value, str) else str(value)]
