"""Keep the verdicts of an index on the network until callbacks take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from scrapy_simhash.verdict import Verdict


class UnclaimedVerdicts:
    """Verdicts of an index on the network, which is asked before it is known whether a callback
    will get the page. If none does, as for inline downloads, the verdict is discarded when its
    response is deleted.

    :param discard: called in any thread with each verdict that was not taken.
    """

    def __init__(self, discard: Callable[[Verdict], None]) -> None:
        self._discard = discard
        # Response → (verdict, finalizer that calls `discard` with the verdict).
        self._kept: WeakKeyDictionary[Response, tuple[Verdict, Any]] = WeakKeyDictionary()

    def put(self, response: Response, verdict: Verdict) -> None:
        """Keep the verdict on a response."""
        finalizer = finalize(response, self._discard, verdict)
        finalizer.atexit = False
        self._kept[response] = verdict, finalizer

    def take(self, response: Response) -> Verdict | None:
        """Return and forget the verdict on a response; None if there is none."""
        verdict, finalizer = self._kept.pop(response, (None, None))
        return verdict if finalizer is not None and finalizer.detach() else None

    def discard_all(self) -> None:
        """Discard all verdicts. Call this when the crawl is idle, so no callback will take them."""
        for _, finalizer in [*self._kept.values()]:
            finalizer()
        self._kept.clear()
