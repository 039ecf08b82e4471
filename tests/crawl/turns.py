"""Answers of the site that change from request to request."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING

from tests.crawl.site import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crawl.site import Site

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


class Turns:
    """Answers of paths, one after the other; the last one stays."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._answers: dict[str, list[Answer]] = {}
        self._otherwise = site.answer

    def put(self, path: str, *answers: Answer) -> str:
        """Serve the answers under a path. Return its URL."""
        self._answers[path] = list(answers)
        return self._site.url(path)

    def answer(self, path: str) -> Answer:
        answers = self._answers.get(path)
        if answers is None:
            return self._otherwise(path)
        self._site.hits.append(path)
        return answers.pop(0) if len(answers) > 1 else answers[0]


@contextmanager
def in_turns(site: Site) -> Iterator[Turns]:
    """Make a site serve answers in turns."""
    turns = Turns(site)
    site.answer = turns.answer  # type: ignore[method-assign]
    try:
        yield turns
    finally:
        del site.answer  # type: ignore[misc]
