"""Answers of the site: pages, and hang-ups."""

from __future__ import annotations

from tests.crawl.site import Answer

HTML = {"Content-Type": "text/html; charset=utf-8"}


class HangUp:
    """Ends the connection of an answer, in place of a barrier."""

    def wait(self) -> None:
        raise ConnectionAbortedError


def html(body: str) -> Answer:
    return Answer(body.encode(), headers=HTML)
