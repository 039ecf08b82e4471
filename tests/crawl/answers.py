"""Answers of the site that are not plain pages: hang-ups, and silence."""

from __future__ import annotations

from threading import Event

from tests.crawl.site import Answer

HTML = {"Content-Type": "text/html; charset=utf-8"}


class HangUp:
    """Ends the connection of an answer, in place of a barrier."""

    def wait(self) -> None:
        raise ConnectionAbortedError


class Silence:
    """Makes clients wait until it ends."""

    def __init__(self) -> None:
        self._broken = Event()

    def wait(self) -> None:
        self._broken.wait(timeout=60)
        raise ConnectionAbortedError

    def end(self) -> None:
        self._broken.set()


def html(body: str) -> Answer:
    return Answer(body.encode(), headers=HTML)
