"""Request dropped copies again if the page that they are copies of fails.

A near-duplicate may be dropped while its representative is still in its callback or in the
pipelines (*pending*). If the representative fails, its copies are requested again, one after the
other, until one is confirmed. If a requested copy now has other content, for example because all
copies were ban pages, the other copies are requested at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request

    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text

    Answer: TypeAlias = Callable[[Sequence[Observation] | None], None]
    Observe: TypeAlias = Callable[[Sequence["DroppedCopy"], Answer], None]

META_KEY = "simhash_second_chance"
ITEM_META_KEY = "simhash_item_second_chance"
MAX_HELD = 10_000
# How often an idle crawl waits for other crawls that share its index, five seconds each time.
MAX_WAITS = 12


@dataclass(frozen=True, eq=False)
class DroppedCopy:
    """A page (or item) that was dropped as a copy of a pending one.

    :param request: repeats the page, or the page of the item.
    """

    key: str
    fingerprint: int
    evidence: Evidence
    request: Request


class Retries:
    """Dropped copies, held until their representatives are confirmed or discarded.

    :param observe: observes copies again, and calls a function with the observations, or with None
        if the index fails.
    :param schedule: schedules a request.
    :param rules: conditions for a page to be a copy.
    :param meta_key: marks the requests that this object schedules.
    :param max_held: upper limit for copies that are held or requested; see `full`.
    :param max_waits: how often an idle crawl waits for other crawls that share its index.
    """

    def __init__(
        self,
        observe: Observe,
        schedule: Callable[[Request], None],
        rules: Rules,
        *,
        meta_key: str = META_KEY,
        max_held: int = MAX_HELD,
        max_waits: int = MAX_WAITS,
    ) -> None:
        self._observe = observe
        self._schedule = schedule
        self._rules = rules
        self._meta_key = meta_key
        self._max_held = max_held
        self._max_waits = max_waits
        self._count = 0  # copies that are not released
        # Key of a pending page → copies of it.
        self._held: dict[str, list[DroppedCopy]] = {}
        # Token in the request → (copy that was requested, copies that wait for its outcome).
        self._requested: dict[str, tuple[DroppedCopy, Sequence[DroppedCopy]]] = {}
        self._waits = 0
        self._unanswered = 0
        self._closing = False

    @property
    def full(self) -> bool:
        """Return True if no further copy can be held."""
        return self._count >= self._max_held

    def hold(self, representative: str, copy: DroppedCopy) -> None:
        """Hold a copy while its representative is pending. The caller checks `full` first."""
        self._count += 1
        self._held.setdefault(representative, []).append(copy)

    def confirmed(self, key: str, page: Text | None = None) -> None:
        """Release the copies of a confirmed page.

        :param page: the confirmed content. Copies of other content that is pending under the same
            key stay held. None releases all copies.
        """
        self._keep(key, lambda copy: page is not None and not self._rules.is_copy(copy, page))

    def discarded(self, key: str) -> None:
        """Request one copy of a page that failed, unless the index has another page like it."""
        self._look_again(self._held.pop(key, ()))

    def requested_by_callback(self, key: str) -> None:
        """Release the held copies with this key, because a callback requests the page again."""
        for awaited in [*self._held]:
            self._keep(awaited, lambda copy: copy.key != key)

    def _keep(self, key: str, is_kept: Callable[[DroppedCopy], bool]) -> None:
        """Release the held copies of a page for which `is_kept` returns False."""
        held = self._held.pop(key, [])
        kept = list(filter(is_kept, held))
        self._count -= len(held) - len(kept)
        if kept:
            self._held[key] = kept

    def arrived(self, request: Request, page: Text | None) -> bool:
        """Record that a page arrived, or will not. Return True if its request was a retry, even one
        that was scheduled before a pause.

        :param page: what was observed; None if the page was not judged.
        """
        token = request.meta.pop(self._meta_key, None)
        requested = self._requested.pop(token, None)
        if requested is not None:
            copy, waiting = requested
            self._count -= 1
            is_changed = page is not None and not self._rules.same_text(copy, page)
            self._look_again(waiting, all_at_once=is_changed)
        return token is not None

    def idle(self) -> bool:
        """Request copies that still wait; return True if the idle crawl must go on.

        In an idle crawl, requested pages that have not arrived will not arrive, and pages that are
        still pending belong to another crawl that shares the index.
        """
        self._waits = self._waits + 1 if self._held and not self._requested else 0
        if self._waits <= self._max_waits:
            self._look_again_at_all()
        return bool(self._requested or self._unanswered) or (
            bool(self._held) and self._waits <= self._max_waits
        )

    def close(self) -> None:
        """Schedule requests for all copies, because the crawl ends or pauses."""
        self._closing = True
        self._look_again_at_all()

    def _look_again_at_all(self) -> None:
        requested, held = [*self._requested.values()], [*self._held.values()]
        self._requested.clear()
        self._held.clear()
        self._count -= len(requested)
        for copies in [waiting for _, waiting in requested] + held:
            self._look_again(copies)

    def _look_again(self, copies: Sequence[DroppedCopy], *, all_at_once: bool = False) -> None:
        """Request copies that the index lacks, hold copies of pending pages, release the others."""
        if copies:
            self._unanswered += 1
            self._observe(copies, partial(self._sort_out, copies, all_at_once))

    def _sort_out(
        self,
        copies: Sequence[DroppedCopy],
        all_at_once: bool,
        observations: Sequence[Observation] | None,
    ) -> None:
        self._unanswered -= 1
        missing: list[DroppedCopy] = []
        answers: Sequence[Observation | None] = observations or [None] * len(copies)
        for copy, observation in zip(copies, answers, strict=True):
            if observation is None or observation.kind in ("new", "changed"):
                missing.append(copy)
            elif observation.provisional:
                if self._closing:  # this crawl cannot wait for the other one
                    missing.append(copy)
                else:
                    awaited = observation.representative or observation.key
                    self._held.setdefault(awaited, []).append(copy)
            else:
                self._count -= 1
        # Items of one page share its request.
        distinct = [*{id(copy.request): copy for copy in missing}.values()]
        self._count -= len(missing) - len(distinct)
        if all_at_once or self._closing:
            for copy in distinct:
                self._request(copy, ())
        elif distinct:
            self._request(distinct[0], distinct[1:])

    def _request(self, copy: DroppedCopy, waiting: Sequence[DroppedCopy]) -> None:
        token = uuid4().hex
        self._requested[token] = copy, waiting
        meta = copy.request.meta | {self._meta_key: token}
        self._schedule(copy.request.replace(dont_filter=True, meta=meta))
