"""Find the fields that contain the text or the HTML page of a record, and its key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.errors import SimhashError
from scrapy_simhash.markup import begins_as_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy_simhash.dedupe.options import Fields

# Usual names, preferred ones first. Upper or lower case does not matter, except for the key.
TEXT_FIELDS = ("text", "content", "body", "article", "main_text", "full_text")
HTML_FIELDS = ("html", "raw_html", "page_html", "body_html", "content_html")
KEY_FIELD = "url"
_SHOWN_FIELDS = 12  # upper limit in messages


def find_fields(
    asked: Fields,
    names: Sequence[str] | None,
    records: Sequence[Mapping[str, Any]],
    file_name: str,
) -> Fields:
    """Return the fields to use: those that `asked` names, else fields with usual names.

    :param names: the names of all fields; None to take them from the records. If there are none
        either, the result is `asked`.
    :param records: the first records. A usual field is used if it has a text in one of them.
    :raises SimhashError: `asked` names a field that is missing, or no field can be the text.
    """
    if names is None:
        names = list(dict.fromkeys(name for record in records for name in record))
        if not names:  # no record could be read
            return asked
    for name in (*asked.text, asked.html, asked.key):
        if name and name not in names:
            raise SimhashError(f"{file_name}: no field {name!r}; there are {_listed(names)}")
    if asked.key is None and KEY_FIELD in names:
        asked = replace(asked, key=KEY_FIELD)
    if asked.text or asked.html is not None:
        return asked
    by_lower = {name.lower(): name for name in reversed(names)}
    for usual in (*TEXT_FIELDS, *HTML_FIELDS):
        name = by_lower.get(usual)
        if name is None or (text := _first_text(name, records)) is None:
            continue
        if usual in HTML_FIELDS or begins_as_html(text):
            return replace(asked, html=name)
        return replace(asked, text=(name,))
    raise SimhashError(
        f"{file_name}: which field is the text? There are {_listed(names)}: name it with "
        "--text-field, or --html-field if it is a page"
    )


def _first_text(name: str, records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the first text of a field that is not blank; None if no record has one."""
    for record in records:
        value = record.get(name)
        if isinstance(value, (list, tuple)):
            value = "\n".join(map(str, value))
        if isinstance(value, str) and value.strip():
            return value
    return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN_FIELDS]))
    more = len(names) - _SHOWN_FIELDS
    return shown + (f" and {more} more" if more > 0 else "")
