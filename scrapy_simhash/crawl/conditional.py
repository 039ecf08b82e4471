"""Make requests conditional: a server sends a known page only if it changed (SIMHASH_CONDITIONAL).

A *condition* is a header with a *validator*, the ETag or Last-Modified of the stored content. If
the answer is 304 (not modified), the page counts as unchanged, and is dropped: callbacks need a
body. Only scheduled requests are conditional: an inline download must get a response.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

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

    from scrapy_simhash.crawl.lane import Lane

NOT_MODIFIED = 304
CHOICE_META_KEY = "simhash_conditional"  # set by spiders: True or False
# Marks scheduled requests. The value has the conditions that `prepare` added.
CONDITIONS_META_KEY = "simhash_if_changed"
_ETAG = re.compile(r'(W/)?"[^"\x00-\x20\x7f]{1,256}"')
_MAX_DATE_CHARACTERS = 64
# `prepare` leaves a request with any of these headers as it is.
_CONDITION_HEADERS = (
    "If-None-Match If-Modified-Since If-Match If-Unmodified-Since If-Range Range".split()
)


class ConditionalRequests:
    """The conditional requests of one crawl. If `enabled` is False, no request is conditional.

    :param on_finished: called with (page, True) for each unchanged page that is not downloaded.
    """

    def __init__(self, lane: Lane, on_finished: Callable[[PageState, bool], None]) -> None:
        self.enabled = lane.settings.conditional
        # A page that is not downloaded reaches no callback.
        self._default_choice = lane.policy.action == "drop" and not lane.policy.follow
        self._lane = lane
        self._on_finished = on_finished
        self.lastmod = LastmodTrust(lane)

    def scheduled(self, request: Request) -> None:
        """Mark a scheduled request, and remove conditions that it copied from another request."""
        if self.enabled:
            remove_conditions(request)
            request.meta[CONDITIONS_META_KEY] = {}

    async def prepare(self, request: Request) -> None:
        """Add conditions to a marked request for a page that the index knows.

        :raises SparedRequest: a trusted sitemap says that the page has not changed.
        """
        is_marked = remove_conditions(request) is not None  # also if marked before a pause
        if not (self.enabled and is_marked and self._may_be_conditional(request)):
            return
        key = self._lane.identity.key(request)
        if self.lastmod.knows(key):
            await self._spare_if_unmodified(request, key)
        validators = await self._lane.calls.soon(key, lambda index: _validators_of(index, key))
        if validators is None:
            return
        headers = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
        headers = {name: value for name, value in headers.items() if value}
        request.headers.update({name: value.encode("latin-1") for name, value in headers.items()})
        request.meta[CONDITIONS_META_KEY] = {"number": validators.number, "headers": headers}
        self._lane.stats.count("conditional/sent")

    async def _spare_if_unmodified(self, request: Request, key: str) -> None:
        """Count the page as unchanged and raise SparedRequest if `LastmodTrust.spares` it."""
        answer = await self._lane.calls.soon(
            key, lambda index: (index.entry(key), self.lastmod.stored_evidence(index, key))
        )
        entry, stored = answer or (None, None)
        if entry is None or not self.lastmod.spares(key, entry, stored):
            return
        verdict = await self._lane.calls.soon(
            key, lambda index: _seen_again(index, key, entry.number)
        )
        if verdict is not None:
            self.lastmod.spared(key)
            self._finish_unchanged(request, verdict)
            raise SparedRequest(request.url, "unmodified")

    def _finish_unchanged(self, request: Request, verdict: Verdict) -> None:
        """Count an unchanged page as dropped, and report it as finished: no callback gets it."""
        self._lane.count_verdict(verdict, DROP)
        self._on_finished(PageState(verdict.key, verdict, PASS, request), True)  # noqa: FBT003 - confirmed

    async def received(self, request: Request, response: Response) -> Response | Request:
        """Remove the conditions. Return the response, or a request without conditions if the answer
        is 304, but the page cannot be recorded as unchanged (see `_seen_again`).

        :raises NearDuplicatePage: the answer is 304, and the page was recorded as unchanged.
        """
        conditions = _conditions_of(request) if response.status == NOT_MODIFIED else None
        mark = remove_conditions(request)
        # If other code has changed the conditions, the answer is for the callback.
        if not mark or conditions != mark["headers"]:
            return response
        key = self._lane.identity.key(request)
        verdict = await self._lane.calls.soon(
            key, lambda index: _seen_again(index, key, mark["number"])
        )
        if verdict is None:
            self._lane.stats.count("conditional/asked_again")
            meta = request.meta | {CHOICE_META_KEY: False}
            return request.replace(meta=meta, dont_filter=True)
        self._lane.stats.count("conditional/not_modified")
        self.lastmod.arrived(key, unchanged=True)
        self._finish_unchanged(request, verdict)
        response.request = request  # as Scrapy does for responses that pass
        raise NearDuplicatePage(response, verdict)

    def arrived(self, page: PageState, response: Response) -> None:
        """Hold the validators of a page until it is finished. Near-duplicates have no entry."""
        if self.enabled and page.verdict is not None and page.verdict.kind != "near-duplicate":
            page.validators = _validators_in(response)

    def finished(self, page: PageState, confirmed: bool) -> None:
        """Check the sitemap. If `confirmed`, store the page's validators, or delete old ones."""
        if page.verdict is not None:
            unchanged = page.verdict.kind == "unchanged" if confirmed else None
            self.lastmod.arrived(page.key, unchanged=unchanged)
        key, validators = page.key, page.validators
        if validators is None or not confirmed:
            return

        def store(index: Any) -> None:
            entry = index.entry(key) if any(validators) else None
            row = entry and encode_validators(Validators(entry.number, *validators))
            index.change_side_row("validators", key, lambda _: row)

        self._lane.calls.tell(key, store)

    def _may_be_conditional(self, request: Request) -> bool:
        meta = request.meta
        return (
            bool(meta.get(CHOICE_META_KEY, self._default_choice))
            and request.method == "GET"
            and not request.body
            and request.callback is not NO_CALLBACK
            and not meta.get(OPT_OUT_META_KEY)
            # A page that is requested again must reach its callback.
            and not any(key in meta for key in (REFUSED_META_KEY, META_KEY, ITEM_META_KEY))
            and not _conditions_of(request)
        )


def _conditions_of(request: Request) -> dict[str, str]:
    """Return the headers of a request that `_CONDITION_HEADERS` lists."""
    values = {name: request.headers.get(name) for name in _CONDITION_HEADERS}
    return {name: value.decode("latin-1") for name, value in values.items() if value is not None}


def remove_conditions(request: Request) -> dict[str, Any] | None:
    """Remove the mark of a request and the conditions in the mark. Return the mark, or None.

    A retried or redirected request is a copy, with the mark and conditions of the first request.
    """
    mark: dict[str, Any] | None = request.meta.pop(CONDITIONS_META_KEY, None)
    for name, value in (mark or {}).get("headers", {}).items():
        if request.headers.get(name) == value.encode("latin-1"):
            del request.headers[name]
    return mark


def _validators_in(response: Response) -> tuple[str, str]:
    """Return (ETag, Last-Modified) of a response; an empty string if missing or unusable."""
    etag, modified, date = (
        (response.headers.get(name) or b"").decode("latin-1").strip()
        for name in ("ETag", "Last-Modified", "Date")
    )
    try:
        # Usable only if earlier than Date, because a page may change twice in one second.
        if len(modified) > _MAX_DATE_CHARACTERS or parsedate_to_datetime(
            modified
        ) >= parsedate_to_datetime(date):
            modified = ""
    except (TypeError, ValueError, OverflowError):
        modified = ""
    return (etag if _ETAG.fullmatch(etag) else ""), modified


def _validators_of(index: Any, key: str) -> Validators | None:
    """Return the validators that are stored for a page; None if missing, damaged or outdated."""
    row = index.side_row("validators", key)
    if row is None:
        return None
    try:
        validators = decode_validators(row)
    except ValueError:  # the page is downloaded, and its row is written again
        return None
    entry = index.entry(key)
    return validators if entry is not None and entry.number == validators.number else None


def _seen_again(index: Any, key: str, number: int) -> Verdict | None:
    """Record that a page is unchanged, and return the verdict. Return None if its entry no longer
    has that number (`Entry.number`), or if other content of the page is pending.
    """
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
