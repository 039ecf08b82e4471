"""Text of pages and URLs in lines that people read."""

from __future__ import annotations

_SHOWN_CHARACTERS = 200


def printable(text: str) -> str:
    """A text for a line of a log: control characters escaped, and cut at 200 characters."""
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in shown
    )


def nearness(distance: int | None, similarity: float | None) -> str:
    """Return how near two pages are: bits, and where it is known the estimated resemblance in
    per cent, rounded down so that only equal texts have 100.
    """
    alike = "" if similarity is None else f", similarity {int(100 * similarity + 1e-9)} %"
    return f"distance {distance}{alike}"
