"""Second chances: copies that were dropped because of a page that failed afterwards.

A near-duplicate may be dropped while its representative is still on its way through the callback
and the pipelines. If that fails, its copies are asked for again, one after the other, until one
of them stands for all. Copies that turn out to be other pages by then, as after a ban page that
answered for every URL, are asked for at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request

    from scrapy_simhash.confirmation import Evidence
    from scrapy_simhash.index import Observation
    from scrapy_simhash.index.rules import Rules, Text

META_KEY = "simhash_second_chance"
ITEM_META_KEY = "simhash_item_second_chance"
MAX_HELD = 10_000
# How often an idle crawl waits for another that shares its index; Scrapy asks every five seconds.
_MAX_WAITS = 12


@dataclass(frozen=True, eq=False)
class DroppedCopy:
    """A page (or item) that was dropped as the near-duplicate of one that is pending.

    :param evidence: by which it was confirmed.
    :param request: of the page (or of that which the item came from).
    """

    key: str
    fingerprint: int
    evidence: Evidence
    request: Request


class SecondChances:
    """Holds dropped copies until their representatives are confirmed or discarded.

    :param observe: what the index says of a copy now; None if it cannot say.
    :param schedule: asks for a page.
    :param rules: what makes a copy.
    :param meta_key: by which a page that was asked for again is known.
    :param max_held: more copies than that are not held.
    """

    def __init__(
        self,
        observe: Callable[[DroppedCopy], Observation | None],
        schedule: Callable[[Request], None],
        rules: Rules,
        *,
        meta_key: str = META_KEY,
        max_held: int = MAX_HELD,
    ) -> None:
        self._observe = observe
        self._schedule = schedule
        self._rules = rules
        self._meta_key = meta_key
        self._max_held = max_held
        self._count = 0
        self._held: dict[str, list[DroppedCopy]] = {}
        # Copies that were asked for again, and those that wait for the outcome.
        self._asked: dict[str, tuple[DroppedCopy, Sequence[DroppedCopy]]] = {}
        self._waits = 0
        self._closing = False

    def hold(self, representative: str, copy: DroppedCopy) -> bool:
        """Hold a copy while its representative is pending. False if there are too many."""
        if self._count >= self._max_held:
            return False
        self._count += 1
        self._held.setdefault(representative, []).append(copy)
        return True

    def confirmed(self, key: str, page: Text | None = None) -> None:
        """A page stands for its copies.

        :param page: what was confirmed. Copies of other content, which is pending under the same
            key, are held on; none are if it is not given.
        """
        held = self._held.pop(key, [])
        others = [copy for copy in held if page is not None and not self._rules.is_copy(copy, page)]
        self._count -= len(held) - len(others)
        if others:
            self._held[key] = others

    def discarded(self, key: str) -> None:
        """A page failed: its copies may be the content now."""
        self._look_again(self._held.pop(key, ()))

    def asked_for(self, key: str) -> None:
        """Its own callback asks for a page again: it needs no second chance here."""
        for awaited, copies in [*self._held.items()]:
            others = [copy for copy in copies if copy.key != key]
            self._count -= len(copies) - len(others)
            if others:
                self._held[awaited] = others
            else:
                del self._held[awaited]

    def arrived(self, request: Request, page: Text | None) -> bool:
        """A page has come. True if it was asked for here, now or before a pause of the crawl.

        :param page: what was observed; None if the page was not judged.
        """
        token = request.meta.pop(self._meta_key, None)
        asked = self._asked.pop(token, None)
        if asked is not None:
            copy, waiting = asked
            self._count -= 1
            is_other = page is not None and not self._rules.same_text(copy, page)
            self._look_again(waiting, all_at_once=is_other)
        return token is not None

    def idle(self) -> bool:
        """Nothing is under way: what was asked for has come to nothing, and what is still pending
        is another crawl's that shares the index. True if there is more to come.
        """
        asked, held = [*self._asked.values()], [*self._held.values()]
        self._asked.clear()
        self._held.clear()
        for _, waiting in asked:
            self._count -= 1
            self._look_again(waiting)
        for copies in held:
            self._look_again(copies)
        self._waits = self._waits + 1 if self._held and not self._asked else 0
        return bool(self._asked) or 0 < self._waits <= _MAX_WAITS

    def close(self) -> None:
        """The crawl ends or pauses: leave all that waits to the scheduler."""
        self._closing = True
        for key in [*self._held]:
            self.discarded(key)
        for _, waiting in [*self._asked.values()]:
            self._look_again(waiting)
        self._asked.clear()

    def _look_again(self, copies: Sequence[DroppedCopy], *, all_at_once: bool = False) -> None:
        """Ask for what the index does not hold, and hold what is pending there once more."""
        missing: list[DroppedCopy] = []
        for copy in copies:
            observation = self._observe(copy)
            if observation is None or observation.kind in ("new", "changed"):
                missing.append(copy)
            elif observation.provisional:
                if self._closing:  # of another crawl, and nobody waits for it any more
                    missing.append(copy)
                else:
                    awaited = observation.representative or observation.key
                    self._held.setdefault(awaited, []).append(copy)
            else:
                self._count -= 1
        # One page may have had several items: it is asked for once.
        once = [*{id(copy.request): copy for copy in missing}.values()]
        self._count -= len(missing) - len(once)
        missing = once
        if all_at_once or self._closing:
            for copy in missing:
                self._ask(copy, ())
        elif missing:
            self._ask(missing[0], missing[1:])

    def _ask(self, copy: DroppedCopy, waiting: Sequence[DroppedCopy]) -> None:
        token = uuid4().hex
        self._asked[token] = copy, waiting
        meta = copy.request.meta | {self._meta_key: token}
        self._schedule(copy.request.replace(dont_filter=True, meta=meta))
