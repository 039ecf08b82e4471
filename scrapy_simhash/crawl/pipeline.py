"""SimhashPipeline: tags items with the verdict on their page, or on their own content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from itemadapter import ItemAdapter

from scrapy_simhash import signals
from scrapy_simhash.crawl.exceptions import NearDuplicateItem
from scrapy_simhash.crawl.extension import Component
from scrapy_simhash.crawl.fingerprinting import NOT_CACHED
from scrapy_simhash.detector import PageFingerprint
from scrapy_simhash.fingerprint import to_hex
from scrapy_simhash.names.identities import IDENTITY_FIELDS
from scrapy_simhash.names.names import NAME_FIELDS
from scrapy_simhash.policy import Circumstances
from scrapy_simhash.verdict import TAGGED_WHERE_KNOWN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy_simhash.crawl.extension import SimhashExtension
    from scrapy_simhash.crawl.settlement import ItemState
    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog
    from scrapy_simhash.verdict import Verdict


class SimhashPipeline(Component):
    """The item pipeline: writes verdicts into items; with SIMHASH_ITEM_FIELDS also judges them."""

    def __init__(self, crawl: SimhashExtension) -> None:
        self._settings = crawl.settings
        self._settle_all = crawl.settle_all
        self._spared_item = crawl.spared_item
        self._signals = crawl.crawler.signals
        self._settlement = crawl.settlement
        self._fingerprinter = crawl.fingerprinter
        self._pages = crawl.pages
        self._items = crawl.items
        # Item classes need not declare these fields, unless SIMHASH_ITEM_TAGS is set.
        optional = () if self._settings.has_own_tags else TAGGED_WHERE_KNOWN
        self._optional_fields = {self._settings.item_tags[field] for field in optional}

    async def close_spider(self) -> None:
        """Settle all pages, now that all items are done and the scheduler is still open."""
        await self._settle_all()

    async def process_item(self, item: Any) -> Any:
        """Judge and tag an item, and return it. :raises NearDuplicateItem: it is dropped."""
        state = self._settlement.item_arrived(item)
        judging = self._pages
        verdict = None if state.page is None else state.page.verdict
        text = None
        if self._items.index is not None:
            fingerprint = await self._fingerprint(item)
            text = fingerprint.text
            item_verdict = await self._judge(state, fingerprint)
            if item_verdict is not None:
                verdict, judging = item_verdict, self._items
        # In drop mode, originals would be the only items without the tags, or all would have fields
        # that no pipeline of the user expects.
        if verdict is not None and (judging.policy.action == "tag" or self._settings.has_own_tags):
            fields = verdict.to_dict()
            tag_item(
                item,
                {
                    item_field: fields[field]
                    for field, item_field in self._settings.item_tags.items()
                    if fields[field] is not None or field not in TAGGED_WHERE_KNOWN
                },
                "SIMHASH_ITEM_TAGS",
                self._pages.stats,
                judging.errors,
                optional=self._optional_fields,
            )
        self._signals.send_catch_log(
            signals.item_judged, item=item, page=state.page, ordinal=state.ordinal, text=text
        )
        return item

    async def _fingerprint(self, item: Any) -> PageFingerprint:
        items = self._items
        try:
            adapter = ItemAdapter(item)
            identities = [name for name in adapter if name.lower() in IDENTITY_FIELDS]
            content = (
                {name: _texts_in(adapter.get(name)) for name in names}
                for names in (
                    self._settings.item_fields,
                    (*NAME_FIELDS, *identities),
                    self._settings.distinct_fields,
                )
            )
            fingerprint = await self._fingerprinter.fingerprint_fields(*content)
        except Exception as error:  # noqa: BLE001 - no item may stop a crawl
            items.errors.count_error("item", error, repr(type(item)))
            return PageFingerprint()
        items.stats.fingerprinted(fingerprint)
        # After a failure, `unmatched` is empty, although no field was read.
        if fingerprint.skipped not in (*NOT_CACHED, "extraction_error"):
            items.unmatched.count(fingerprint.unmatched)
        return fingerprint

    async def _judge(self, state: ItemState, fingerprint: PageFingerprint) -> Verdict | None:
        """Return the verdict on an item; None if it has no fingerprint, or the index fails."""
        if fingerprint.fingerprint is None:
            return None
        # The content is part of the key, because a new item at the top of a list moves all others.
        content = to_hex(fingerprint.fingerprint, self._settings.preset.scheme.bits)
        # An item of start() has no page, so its key is random.
        page = f"crawl {uuid4().hex}" if state.page is None else state.page.key
        key = f"{page} item {state.ordinal} {content}"
        verdict = await self._items.ask(key, fingerprint)
        if verdict is None or (observation := verdict.observation) is None:
            return None
        verdict = self._items.record(verdict, fingerprint)
        request = None if state.page is None else state.page.request
        action, _ = self._items.act_on(verdict, request, Circumstances)
        if not action.items:
            self._spared_item()
            raise NearDuplicateItem(verdict)
        self._settlement.item_observed(state, observation)
        return verdict


def _texts_in(value: Any) -> list[str]:
    """Return the texts in the value of an item field, which may contain nested lists."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _texts_in(part)]
    return [value if isinstance(value, str) else str(value)]


def tag_item(
    item: Any,
    values: Mapping[str, Any],
    setting: str,
    stats: CrawlStats,
    errors: ErrorLog,
    *,
    optional: Collection[str] = (),
) -> None:
    """Write values into fields of an item. If a field cannot take its value, warn once.

    :param setting: name of the setting that lists the fields.
    :param optional: fields that are omitted if the item class does not declare them.
    """
    if not values:
        return
    try:
        adapter = ItemAdapter(item)
        if not isinstance(item, dict):
            undeclared = set(values).difference(adapter.field_names())
            if missing := undeclared.difference(optional):
                raise KeyError(", ".join(sorted(missing)))
            values = {field: values[field] for field in values if field not in undeclared}
        for field, value in values.items():
            adapter[field] = value
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        # A field is undeclared or refuses the value, the item is frozen, or it is no item.
        stats.count("skipped/item_field_not_declared")
        errors.warn_once(
            f"item_field_not_declared {setting}",
            "simhash: items of class %s do not accept all of the fields %s (%s), and lack "
            "tags: declare the fields, name other fields in %s, or set it to {}",
            type(item).__qualname__,
            ", ".join(field for field in values if field not in optional),
            error,
            setting,
        )
