"""Format texts, URLs and numbers for the report. Texts and URLs of crawled pages may be hostile."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from scrapy_simhash.documents.escaping import escaped

_WEB_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f-\x9f\ud800-\udfff]+", re.IGNORECASE)
_MAX_SHOWN = 400
_SHOWN_AT_EACH_END = 190
_UNKNOWN = "\N{EN DASH}"
_YEAR_10000_S = 253_402_300_800


def visible(text: object) -> str:
    """Return a text with its invisible characters escaped, cut in the middle if longer than 400."""
    shown = str(text)
    if len(shown) > _MAX_SHOWN:
        shown = f"{shown[:_SHOWN_AT_EACH_END]}…{shown[-_SHOWN_AT_EACH_END:]}"
    return escaped(shown)


def address(text: object) -> str:
    """Return the text if it is an http or https URL without spaces, otherwise an empty string."""
    return text if isinstance(text, str) and _WEB_ADDRESS.fullmatch(text) else ""


def count(number: float) -> str:
    """Return a number with commas between thousands."""
    return f"{number:,}"


def share(part: float, whole: float) -> str:
    """Return a share in per cent, rounded down: only the whole is 100 %. A dash if `whole` is 0."""
    if whole <= 0:
        return _UNKNOWN
    tenths = int(1000 * min(max(part / whole, 0.0), 1.0) + 1e-9)
    shown = "< 0.1" if not tenths and part > 0 else f"{tenths / 10:.1f}".replace("100.0", "100")
    return f"{shown}\N{NO-BREAK SPACE}%"


def moment(seconds: float, *, precise: bool = False) -> str:
    """Return a Unix time in UTC, to the minute or, if `precise`, second; a dash if out of range."""
    if not 0 <= seconds < _YEAR_10000_S:
        return _UNKNOWN
    return datetime.fromtimestamp(seconds, timezone.utc).strftime(
        "%Y-%m-%d %H:%M:%S" if precise else "%Y-%m-%d %H:%M"
    )


def duration(seconds: float) -> str:
    """Return a duration in days, hours, minutes and seconds: the two largest that are not 0."""
    rest_s = max(int(seconds), 0)
    parts = []
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        number, rest_s = divmod(rest_s, length_s)
        if number:
            parts.append(f"{number}\N{NO-BREAK SPACE}{unit}")
    return " ".join(parts[:2]) or "0\N{NO-BREAK SPACE}s"
