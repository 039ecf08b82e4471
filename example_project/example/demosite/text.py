"""The text of an article, and the edits that make near-duplicates of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CAPTION_MARKS = ("Photo: ", "图：")


@dataclass(frozen=True)
class Text:
    """A title and paragraphs. A paragraph that begins with a caption mark is a caption."""

    title: str
    paragraphs: tuple[str, ...]

    @property
    def plain(self) -> str:
        """Title and paragraphs as one text, without caption marks."""
        return "\n\n".join((self.title, *(caption_of(p) or p for p in self.paragraphs)))


Edit = Callable[[Text], Text]


def read_text(path: Path) -> Text:
    """Return the text of a file: the first line is the title, empty lines separate paragraphs."""
    title, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
    return Text(title, tuple(paragraphs))


def caption_of(paragraph: str) -> str | None:
    """Return a caption without its mark, or None for an ordinary paragraph."""
    for mark in CAPTION_MARKS:
        if paragraph.startswith(mark):
            return paragraph.removeprefix(mark)
    return None


def headline(title: str) -> Edit:
    """Return an edit that replaces the title."""
    return lambda text: replace(text, title=title)


def swap(old: str, new: str) -> Edit:
    """Return an edit that replaces a passage. It raises ValueError unless this occurs once."""

    def edit(text: Text) -> Text:
        if sum(p.count(old) for p in text.paragraphs) != 1:
            raise ValueError(f"{old!r} is not exactly once in {text.title!r}")
        return replace(text, paragraphs=tuple(p.replace(old, new) for p in text.paragraphs))

    return edit


def cut(index: int) -> Edit:
    """Return an edit that removes the paragraph at an index."""

    def edit(text: Text) -> Text:
        kept = list(text.paragraphs)
        del kept[index]
        return replace(text, paragraphs=tuple(kept))

    return edit


def add(paragraph: str, at: int | None = None) -> Edit:
    """Return an edit that inserts a paragraph before index `at`, or at the end if it is None."""

    def edit(text: Text) -> Text:
        grown = list(text.paragraphs)
        grown.insert(len(grown) if at is None else at, paragraph)
        return replace(text, paragraphs=tuple(grown))

    return edit


def order(*indexes: int) -> Edit:
    """Return an edit that reorders paragraphs. It raises ValueError unless each is named once."""

    def edit(text: Text) -> Text:
        if sorted(indexes) != list(range(len(text.paragraphs))):
            raise ValueError(f"not an order of {len(text.paragraphs)} paragraphs: {indexes}")
        return replace(text, paragraphs=tuple(text.paragraphs[i] for i in indexes))

    return edit


def without_captions(text: Text) -> Text:
    """Return the text without captions, because print versions have no pictures."""
    return replace(text, paragraphs=tuple(p for p in text.paragraphs if caption_of(p) is None))


def edited(text: Text, edits: tuple[Edit, ...]) -> Text:
    """Return the text after all edits, in their order."""
    for edit in edits:
        text = edit(text)
    return text
