"""Make text of pages and URLs safe for logs and terminals."""

from __future__ import annotations

_SHOWN_CHARACTERS = 200


def printable(text: str) -> str:
    """Return a text for one log line: control characters escaped, at most 200 characters."""
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in shown
    )


def nearness(distance: int | None, similarity: float | None) -> str:
    """Return the distance of two pages in bits and, if known, their similarity in per cent.

    The similarity is rounded down, so that only equal texts have 100 %.
    """
    shown = "" if similarity is None else f", similarity {int(100 * similarity + 1e-9)} %"
    return f"distance {distance}{shown}"
