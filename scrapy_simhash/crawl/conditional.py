"""Ask for pages that the index knows only if they have changed (SIMHASH_CONDITIONAL).

The answer 304 (not modified) stands for an unchanged page that is dropped: it has no body, so no
callback could see it. Only requests that the scheduler gives out are conditional: an inline
download waits for its page.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.exceptions import NearDuplicatePage, SparedRequest
from scrapy_simhash.crawl.identity import OPT_OUT_META_KEY, REFUSED_META_KEY
from scrapy_simhash.crawl.lastmod import LastmodTrust
from scrapy_simhash.crawl.retries import ITEM_META_KEY, META_KEY
from scrapy_simhash.crawl.settlement import PageState
from scrapy_simhash.index.validators import Validators, decode_validators, encode_validators
from scrapy_simhash.policy import DROP, PASS
from scrapy_simhash.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from scrapy_simhash.crawl.identity import Identity
    from scrapy_simhash.crawl.lane import Lane
    from scrapy_simhash.crawl.settings import SimhashSettings
    from scrapy_simhash.crawl.stats import CrawlStats

NOT_MODIFIED = 304
CHOICE_META_KEY = "simhash_conditional"
# On scheduled requests; while they are under way, with what was added to them.
SENT_META_KEY = "simhash_if_changed"
_ETAG = re.compile(r'(W/)?"[^"\x00-\x20\x7f]{1,256}"')
_MAX_DATE_CHARACTERS = 64
_CONDITIONS = (
    *("If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"),
    "Range",
)


class ConditionalRequests:
    """The conditional requests of one crawl. Off, its methods have no effect.

    :param finished: called with each page that has not changed.
    """

    def __init__(
        self,
        settings: SimhashSettings,
        lane: Lane,
        identity: Identity,
        stats: CrawlStats,
        finished: Callable[[PageState, bool], None],
    ) -> None:
        self.on = settings.conditional
        # A page that would reach its callback is downloaded, unless its request says otherwise.
        self._by_default = settings.policy.action == "drop" and not settings.policy.follow
        self._lane = lane
        self._identity = identity
        self._stats = stats
        self._finished = finished
        self._validators: WeakKeyDictionary[PageState, tuple[str, str]] = WeakKeyDictionary()
        self.lastmod = LastmodTrust(settings, lane, stats)

    def scheduled(self, request: Request) -> None:
        """Mark a request that goes through the scheduler, perhaps as a repetition of another."""
        if self.on:
            _take_back(request)
            request.meta[SENT_META_KEY] = {}

    async def prepare(self, request: Request) -> None:
        """Add conditions to a request for a page that the index knows.

        :raises SparedRequest: its sitemap says that it has not changed, and is trusted.
        """
        if _take_back(request) is None or not self._may_be_conditional(request):
            return
        key = self._identity.key(request)
        if self.lastmod.knows(key):
            await self._ask_sitemap(request, key)
        found = await self._lane.call(key, lambda index: _validators_of(index, key))
        if found is None:
            return
        headers = {"If-None-Match": found.etag, "If-Modified-Since": found.last_modified}
        headers = {name: value for name, value in headers.items() if value}
        for name, value in headers.items():
            request.headers[name] = value.encode("latin-1")
        request.meta[SENT_META_KEY] = {"number": found.number, "headers": headers}
        self._stats.count("conditional/sent")

    async def _ask_sitemap(self, request: Request, key: str) -> None:
        found = await self._lane.call(
            key, lambda index: (index.entry(key), self.lastmod.stored_evidence(index, key))
        )
        entry, stored = found or (None, None)
        if entry is None or not self.lastmod.spares(key, entry, stored):
            return
        verdict = await self._lane.call(key, lambda index: _seen_again(index, key, entry.number))
        if verdict is not None:
            self.lastmod.spared(key)
            self._unchanged(request, verdict)
            raise SparedRequest(request.url, "unmodified")

    def _unchanged(self, request: Request, verdict: Verdict) -> None:
        """Count a page that has not changed, and was not sent."""
        self._lane.count_judged(verdict, DROP)
        self._finished(PageState(verdict.key, verdict, PASS, request), True)  # noqa: FBT003 - confirmed

    async def received(self, request: Request, response: Response) -> Response | Request:
        """Return the response, or a request that asks again without conditions.

        :raises NearDuplicatePage: the page has not changed.
        """
        conditions = _conditions_of(request)
        sent = _take_back(request)
        if response.status != NOT_MODIFIED or not sent or conditions != sent["headers"]:
            return response
        key = self._identity.key(request)
        verdict = await self._lane.call(key, lambda index: _seen_again(index, key, sent["number"]))
        if verdict is None:  # removed or changed meanwhile, or the index failed
            self._stats.count("conditional/asked_again")
            meta = request.meta | {CHOICE_META_KEY: False}
            return request.replace(meta=meta, dont_filter=True)
        self._stats.count("conditional/not_modified")
        self.lastmod.arrived(key, unchanged=True)
        self._unchanged(request, verdict)
        response.request = request  # as Scrapy does for responses that pass
        raise NearDuplicatePage(response, verdict)

    def failed(self, request: Request) -> None:
        """Take back what was added to a request whose page will not arrive."""
        _take_back(request)

    def arrived(self, page: PageState, response: Response) -> None:
        """Hold the validators of a page until it is handled."""
        verdict = page.verdict
        if self.on and verdict is not None and verdict.kind != "near-duplicate":
            self._validators[page] = _validators_in(response)

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Keep the validators of a page that was handled without an error."""
        if self.on and page.verdict is not None:
            unchanged = page.verdict.kind == "unchanged" if confirmed else None
            self.lastmod.arrived(page.key, unchanged=unchanged)
        validators = self._validators.pop(page, None)
        if validators is None or not confirmed:
            return
        key = page.key

        def keep(index: Any) -> None:
            entry = index.entry(key) if any(validators) else None
            row = (
                None if entry is None else encode_validators(Validators(entry.number, *validators))
            )
            index.change_side_row("validators", key, lambda _: row)

        self._lane.tell(key, keep)

    def _may_be_conditional(self, request: Request) -> bool:
        meta = request.meta
        return (
            bool(meta.get(CHOICE_META_KEY, self._by_default))
            and request.method == "GET"
            and not request.body
            and request.callback is not NO_CALLBACK
            and not meta.get(OPT_OUT_META_KEY)
            # Its callback must run: that of an earlier request failed.
            and not any(key in meta for key in (REFUSED_META_KEY, META_KEY, ITEM_META_KEY))
            and not _conditions_of(request)
        )


def _conditions_of(request: Request) -> dict[str, str]:
    """Return the headers that make a request conditional."""
    found = {name: request.headers.get(name) for name in _CONDITIONS}
    return {name: value.decode("latin-1") for name, value in found.items() if value is not None}


def _take_back(request: Request) -> dict[str, Any] | None:
    """Remove the mark and the conditions that were added. Return None if there was no mark.

    A retried or redirected request is a copy, and has those of the first.
    """
    sent: dict[str, Any] | None = request.meta.pop(SENT_META_KEY, None)
    for name, value in (sent or {}).get("headers", {}).items():
        if request.headers.get(name) == value.encode("latin-1"):
            del request.headers[name]
    return sent


def _validators_in(response: Response) -> tuple[str, str]:
    """Return the ETag and Last-Modified of a response, empty if they are missing or unusable."""
    etag, modified, date = (
        (response.headers.get(name) or b"").decode("latin-1").strip()
        for name in ("ETag", "Last-Modified", "Date")
    )
    try:
        # A page that changes twice in a second has one time for two contents.
        if len(modified) > _MAX_DATE_CHARACTERS or parsedate_to_datetime(
            modified
        ) >= parsedate_to_datetime(date):
            modified = ""
    except (TypeError, ValueError):
        modified = ""
    return (etag if _ETAG.fullmatch(etag) else ""), modified


def _validators_of(index: Any, key: str) -> Validators | None:
    """Return the validators of the content that the index has under a key."""
    row = index.side_row("validators", key)
    if row is None:
        return None
    try:
        found = decode_validators(row)
    except ValueError:  # the page is downloaded, and the row written again
        return None
    entry = index.entry(key)
    return found if entry is not None and entry.number == found.number else None


def _seen_again(index: Any, key: str, number: int) -> Verdict | None:
    """Record that a page is unchanged; None if the index has other content under its key now."""
    entry = index.entry(key)
    if entry is None or entry.number != number:
        return None
    observation = index.observe(key, entry.fingerprint, entry.evidence)
    if observation.kind != "unchanged" or observation.provisional:
        index.discard(observation)
        return None
    index.confirm(observation)
    return Verdict(
        kind="unchanged",
        key=key,
        bits=index.scheme.bits,
        fingerprint=entry.fingerprint,
        distance=observation.distance,
        similarity=observation.similarity,
        observation=observation,
    )
