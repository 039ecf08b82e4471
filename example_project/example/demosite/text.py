"""The text of an article, and the edits that turn one into a near-duplicate of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CAPTION_MARKS = ("Photo: ", "图：")


@dataclass(frozen=True)
class Text:
    """A headline and its paragraphs; one that begins with a caption mark belongs to a picture."""

    title: str
    paragraphs: tuple[str, ...]

    @property
    def plain(self) -> str:
        """Headline and paragraphs as the text by which resemblance is measured."""
        return "\n\n".join((self.title, *(caption_of(p) or p for p in self.paragraphs)))


Edit = Callable[[Text], Text]


def read_text(path: Path) -> Text:
    """Read a text file: the first line is the title, blank lines part the paragraphs."""
    title, *paragraphs = path.read_text(encoding="utf-8").strip().split("\n\n")
    return Text(title, tuple(paragraphs))


def caption_of(paragraph: str) -> str | None:
    """Return the caption without its mark, or None for an ordinary paragraph."""
    for mark in CAPTION_MARKS:
        if paragraph.startswith(mark):
            return paragraph.removeprefix(mark)
    return None


def headline(title: str) -> Edit:
    """Give the text another title."""
    return lambda text: replace(text, title=title)


def swap(old: str, new: str) -> Edit:
    """Replace a passage that occurs exactly once, so that an edit never misses silently."""

    def edit(text: Text) -> Text:
        if sum(p.count(old) for p in text.paragraphs) != 1:
            raise ValueError(f"not exactly once in {text.title!r}: {old!r}")
        return replace(text, paragraphs=tuple(p.replace(old, new) for p in text.paragraphs))

    return edit


def cut(index: int) -> Edit:
    """Leave out the paragraph at index."""

    def edit(text: Text) -> Text:
        kept = list(text.paragraphs)
        del kept[index]
        return replace(text, paragraphs=tuple(kept))

    return edit


def add(paragraph: str, at: int | None = None) -> Edit:
    """Insert a paragraph before index `at`, or append it."""

    def edit(text: Text) -> Text:
        grown = list(text.paragraphs)
        grown.insert(len(grown) if at is None else at, paragraph)
        return replace(text, paragraphs=tuple(grown))

    return edit


def order(*indexes: int) -> Edit:
    """Put the paragraphs into another order; every one has to be named."""

    def edit(text: Text) -> Text:
        if sorted(indexes) != list(range(len(text.paragraphs))):
            raise ValueError(f"not an order of {len(text.paragraphs)} paragraphs: {indexes}")
        return replace(text, paragraphs=tuple(text.paragraphs[i] for i in indexes))

    return edit


def without_captions(text: Text) -> Text:
    """Leave out the captions, as print versions do."""
    return replace(text, paragraphs=tuple(p for p in text.paragraphs if caption_of(p) is None))


def edited(text: Text, edits: tuple[Edit, ...]) -> Text:
    """Apply the edits in turn."""
    for edit in edits:
        text = edit(text)
    return text
