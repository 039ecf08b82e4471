"""Escape text from pages, URLs and files, which may be hostile, for terminals and logs."""

from __future__ import annotations

_SHOWN_CHARACTERS = 200


def escaped(text: str) -> str:
    """Return a text with control, invisible and other unprintable characters escaped."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


def printable(text: str) -> str:
    """Return a text for one log line: its first 200 characters, escaped."""
    return escaped(text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…")


def nearness(distance: int | None, similarity: float | None) -> str:
    """Return text with the distance of two pages in bits and, if known, their similarity.

    The similarity is rounded down, so that 100 % means a similarity of 1.
    """
    shown = "" if similarity is None else f", similarity {int(100 * similarity + 1e-9)} %"
    return f"distance {distance}{shown}"
