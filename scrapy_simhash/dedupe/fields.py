"""Which fields of records are the text, the page and the key, where nobody says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy_simhash.dedupe.options import Fields

# In the order in which they are looked for, in any case.
TEXT_FIELDS = ("text", "content", "body", "article", "main_text", "full_text")
HTML_FIELDS = ("html", "raw_html", "page_html", "body_html", "content_html")
KEY_FIELD = "url"
_SHOWN_FIELDS = 12
_HTML_START = re.compile(
    r"\ufeff?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)


def find_fields(
    asked: Fields,
    names: Sequence[str] | None,
    records: Sequence[Mapping[str, Any]],
    where: str,
) -> Fields:
    """The fields that are asked for, and for others those with the usual names.

    :param names: all that there are; None to go by the records.
    :param records: the first ones.
    :raises SimhashError: there is no such field, or none that may be the text.
    """
    if names is None:
        names = list(dict.fromkeys(name for record in records for name in record))
        if not names:  # no record that could be read, or none at all
            return asked
    for name in (*asked.text, asked.html, asked.key):
        if name and name not in names:
            raise SimhashError(f"{where}: no field {name!r}; there are {_shown(names)}")
    if asked.key is None and KEY_FIELD in names:
        asked = replace(asked, key=KEY_FIELD)
    if asked.text or asked.html is not None:
        return asked
    by_lower = {name.lower(): name for name in reversed(names)}
    for usual in (*TEXT_FIELDS, *HTML_FIELDS):
        name = by_lower.get(usual, "")
        value = _first(name, records)
        if value is None:
            continue
        if usual in HTML_FIELDS or _HTML_START.match(value):
            return replace(asked, html=name)
        return replace(asked, text=(name,))
    raise SimhashError(
        f"{where}: which field is the text? There are {_shown(names)}: name it with --text-field, "
        "or --html-field if it is a page"
    )


def _first(name: str, records: Iterable[Mapping[str, Any]]) -> str | None:
    """The first text under a name."""
    for record in records:
        value = record.get(name)
        if isinstance(value, (list, tuple)):
            value = "\n".join(map(str, value))
        if isinstance(value, str) and value.strip():
            return value
    return None


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN_FIELDS]))
    more = len(names) - _SHOWN_FIELDS
    return shown + (f" and {more} more" if more > 0 else "")
