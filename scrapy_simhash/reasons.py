"""Say in words why a page is a copy of another one, or why it is none.

Verdicts, logs and commands all show these words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.confirmation import MIN_RESEMBLANCE_IN_DOUBT

if TYPE_CHECKING:
    from scrapy_simhash.confirmation import Against, Confirmation

_IN_DOUBT = f"{MIN_RESEMBLANCE_IN_DOUBT:.0%}".replace("%", " %")
# Rule → (what it found, the settings that reverse it).
_RULES = {
    "distinct_by": (
        "SIMHASH_DISTINCT_BY finds different values",
        "SIMHASH_DISTINCT_BY without that selector or field",
    ),
    "identity": (
        (
            "they declare different article numbers, names, dates or places, or show different "
            "documents, pictures or facts"
        ),
        "SIMHASH_SAME_TITLE = False",
    ),
    "links": (
        "their links lead to different pages",
        "SIMHASH_CONTENT_SELECT, with content that has few links,",
    ),
    "name": ("their names differ", "SIMHASH_SAME_TITLE = False"),
    "doubt": (
        f"their names may differ, and only {{similarity}} is similar, not {_IN_DOUBT}",
        "SIMHASH_SAME_TITLE = False",
    ),
    "resemblance": ("only {similarity} is similar", "a lower SIMHASH_MIN_RESEMBLANCE"),
    "content": ("the text has changed", "no setting"),
    "distance": ("their distance is beyond k", "a higher SIMHASH_MAX_DISTANCE"),
}


def explain(
    against: Against,
    *,
    distance: int,
    similarity: float | None,
    max_distance: int,
    confirmation: Confirmation,
    names: tuple[str, str] = ("", ""),
    same_request: bool = True,
) -> str:
    """Return why two pages are copies, or why they are not, and which setting reverses it.

    :param against: the rule that says that they are no copies; empty for copies.
    :param names: what the two pages are called; empty if unknown.
    :param same_request: False if the callbacks of two copies are called with other arguments.
    """
    shown = "" if similarity is None else percent(similarity)
    least = confirmation.min_resemblance
    similar = f"{shown} similar (copies: {percent(least)})" if shown and least else ""
    called = " and ".join(f'"{name}"' if name else "unknown" for name in names)
    named = f"names {called}" if any(names) else ""
    facts = ", ".join(filter(None, (similar, f"distance {distance} (k = {max_distance})", named)))
    if against:
        because, setting = _RULES[against]
        return (
            f"no copy, because {because.format(similarity=shown)}: {facts}. "
            f"{setting[0].upper()}{setting[1:]} reverses this"
        )
    if not same_request:
        return (
            f"a copy: {facts}. It passes, because its request carries something else. "
            "SIMHASH_IGNORE_ARGUMENTS reverses this"
        )
    return (
        f"a copy: {facts}. SIMHASH_DISTINCT_BY, or a higher SIMHASH_MIN_RESEMBLANCE, reverses this"
    )


def percent(share: float) -> str:
    """Return a share in per cent, rounded down, so that 0.799 is not shown as 80 %."""
    return f"{int(share * 100 + 1e-9)} %"
