"""Dropped copies, the pages that they wait for, and their responses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy import Request
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_simhash.evidence import Evidence
    from scrapy_simhash.index import Observation

_MAX_RESPONSE_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class DroppedCopy:
    """A page (or item) that was dropped as a copy of a pending one.

    :param request: repeats the page, or the page of the item.
    :param called: its callback has run, and only a part of the output was dropped.
    """

    key: str
    fingerprint: int
    evidence: Evidence
    request: Request
    called: bool = False

    @classmethod
    def of(cls, observation: Observation, request: Request, *, called: bool = False) -> Self:
        """Return the copy that was observed."""
        return cls(observation.key, observation.fingerprint, observation.evidence, request, called)


class CopiesByPage:
    """Dropped copies by the key of the page that they are copies of, oldest page first."""

    def __init__(self) -> None:
        self._copies: dict[str, list[DroppedCopy]] = {}
        self.count = 0

    def __bool__(self) -> bool:
        return bool(self._copies)

    def pages(self) -> list[str]:
        """Return the keys of the pages."""
        return [*self._copies]

    def first(self, key: str) -> DroppedCopy:
        """Return the oldest copy of a page."""
        return self._copies[key][0]

    def add(self, key: str, *copies: DroppedCopy) -> None:
        """Add copies of a page."""
        if copies:
            self._copies.setdefault(key, []).extend(copies)
            self.count += len(copies)

    def take(
        self, key: str, is_taken: Callable[[DroppedCopy], bool] = lambda _: True
    ) -> Sequence[DroppedCopy]:
        """Remove and return the copies of a page for which `is_taken` returns True."""
        taken: list[DroppedCopy] = []
        others: list[DroppedCopy] = []
        for copy in self._copies.get(key, ()):
            (taken if is_taken(copy) else others).append(copy)
        if others:
            self._copies[key] = others  # in its place
        else:
            self._copies.pop(key, None)
        self.count -= len(taken)
        return taken


class KeptResponses:
    """Responses of dropped copies, 16 MB of them at most, which need not be downloaded again."""

    def __init__(self) -> None:
        self._responses: dict[DroppedCopy, Response] = {}
        self._bytes = 0

    def keep(self, copy: DroppedCopy, response: Response | None) -> None:
        """Keep the response of a copy, if there is room."""
        if response is not None and self._bytes + len(response.body) <= _MAX_RESPONSE_BYTES:
            self._bytes += len(response.body)
            self._responses[copy] = response

    def take(self, copy: DroppedCopy) -> Response | None:
        """Remove and return the response of a copy; None if it was not kept."""
        response = self._responses.pop(copy, None)
        if response is not None:
            self._bytes -= len(response.body)
        return response
