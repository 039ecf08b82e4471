"""Rewrite path segments: remove some, replace one, or remove the words beside a number."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Segments: TypeAlias = tuple[str, ...]

# Where `words_at` looks for words: in the segment after that of a number, or in the same segment,
# after the number or before it.
WORD_PLACES = ("*", "#*", "*#")
# The names of pages are seldom so long without a separator.
_SESSION_ID = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}")
_NUMBER_BESIDE_WORDS = {"#*": re.compile(r"(\d+)\D.*"), "*#": re.compile(r".*\D(\d+)")}


@lru_cache(maxsize=4096)
def generalize(segment: str) -> str:
    """Return ``#`` for a number, else the segment with ``*`` for each session id in it."""
    return "#" if segment.isdecimal() else _SESSION_ID.sub("*", segment)


def without_run(segments: Segments, run: Sequence[str]) -> Segments:
    """Return a path without a run of segments, wherever the path contains it.

    :param run: consecutive segments, each as it is or as `generalize` returns it.
    """
    kept: list[str] = []
    at, length = 0, len(run)
    while at < len(segments):
        if all(
            removed in (segment, generalize(segment))
            for removed, segment in zip(run, segments[at : at + length], strict=False)
        ) and at + length <= len(segments):
            at += length
        else:
            kept.append(segments[at])
            at += 1
    return tuple(kept) or ("",)


def words_at(segments: Segments, place: str) -> tuple[str, Segments] | None:
    """Return (folder, path without the words) of a path with words beside a number; else None.

    :param place: one of `WORD_PLACES`. In ``/questions/17/how-to-row`` the words are at ``*``, in
        ``/q/17-how-to-row.html`` at ``#*``, in ``/q/how-to-row-17.html`` at ``*#``.
    :return: the segments of the folder are generalized, as in ``questions/#``.
    """
    slash: Segments = ("",) if segments[-1:] == ("",) else ()
    names = segments[: len(segments) - len(slash)]
    if not names:
        return None
    *folders, last = names
    if place == "*":
        if not folders or not folders[-1].isdecimal():
            return None
        rest = (*folders, *slash)
    else:
        name, dot, extension = stem_of(last)
        number = _NUMBER_BESIDE_WORDS[place].fullmatch(name)
        if number is None:
            return None
        rest = (*folders, f"{number[1]}{dot}{extension}", *slash)
    return "/".join(map(generalize, folders)), rest


def stem_of(segment: str) -> tuple[str, str, str]:
    """Return (stem, dot, extension) of a path segment; without an extension, both are empty."""
    name, dot, extension = segment.rpartition(".")
    return (name, dot, extension) if dot and extension.isalnum() else (segment, "", "")


def rewrite_segments(step: tuple[str, ...], segments: Segments) -> Segments:
    """Return a path as a step rewrites it; see `scrapy_simhash.extras.url_rules.rewriting`."""
    kind, *words = step
    if kind == "instead":
        return tuple(words[1] if segment == words[0] else segment for segment in segments)
    if kind == "segment":
        return without_run(segments, words[0].split("/"))
    if kind == "words":
        found = words_at(segments, words[1])
        return found[1] if found is not None and found[0] == words[0] else segments
    stem, dot, extension = stem_of(segments[-1])  # the step is a suffix
    shorter = stem.removesuffix(words[0])
    return (*segments[:-1], shorter + dot + extension) if shorter else segments
