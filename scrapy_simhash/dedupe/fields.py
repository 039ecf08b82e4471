"""Find the fields that contain the text or the HTML page of a record, its name and its key.

A field inside another one has both names, with a dot: ``content.rendered``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.escaping import printable
from scrapy_simhash.documents.values import INNER_FIELDS, value_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.markup import begins_as_html
from scrapy_simhash.names.names import NAME_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_simhash.dedupe.options import Fields

# Usual names, preferred ones first. Upper or lower case does not matter.
TEXT_FIELDS = (
    *("text", "content", "body", "article", "main_text", "full_text", "markdown", "paragraphs"),
)
HTML_FIELDS = ("html", "raw_html", "page_html", "body_html", "content_html")
# Names of the text in an object that has it in several languages: {"title": {"en-US": "…"}}.
_LANGUAGE = re.compile(r"(?!id\Z)[a-z]{2}(?:[-_][a-z]{2,4})?")
# Objects with facts about a record, such as its name.
_ABOUT_FIELDS = ("meta", "metadata")
_MAX_DEPTH = 4
_SHOWN_FIELDS = 12  # upper limit in messages


def find_fields(
    asked: Fields,
    names: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    file_name: str,
) -> Fields:
    """Return the fields to use: those that `asked` names, else fields with usual names.

    :param names: the names of all columns, if the format has any. If the records have no fields
        either, the result is `asked`.
    :param records: the first records. A usual field that has a text in one of them is preferred.
    :raises SimhashError: `asked` names a field that is missing, or no field can be the text.
    """
    inside = (name for record in records for name in _names_in(record))
    names = list(dict.fromkeys((*names, *inside)))
    if not names:  # no record could be read
        return asked
    for name in (*asked.text, asked.html, asked.key, *(asked.names or ())):
        if name and name not in names and all(value_of(each, name) is None for each in records):
            raise SimhashError(f"{file_name}: no field {name!r}; there are {_listed(names)}")
    if asked.key is None:
        keys = [name for name in names if name.lower().rpartition(".")[2] == "url"]
        keys = keys or [name for name in names if name.lower() == "id"]
        asked = replace(asked, key=min(keys, key=lambda name: name.count("."), default=None))
    if not (asked.text or asked.html):
        asked = _with_content(asked, names, records, file_name)
    return with_names(asked, names)


def with_names(asked: Fields, names: Sequence[str]) -> Fields:
    """Return the fields with those of usual names that name a record, unless `asked` has some."""
    if asked.names is not None:
        return asked
    content = (name.lower().split(".") for name in (*asked.text, asked.html) if name)
    around = (*_ABOUT_FIELDS, *(parts[-2] for parts in content if len(parts) > 1))
    found = (_named(usual, names, around) for usual in NAME_FIELDS)
    return replace(asked, names=tuple(name for name in found if name) or None)


def _with_content(
    asked: Fields, names: Sequence[str], records: Sequence[Mapping[str, Any]], file_name: str
) -> Fields:
    _refuse_records_by_key(records, file_name)
    texts = {name: text for name in names if (text := _first_text(name, records)) is not None}
    outer = [name for name in texts if "." not in name]
    inner = [name for name in texts if name.lower().split(".")[-2:][0] not in NAME_FIELDS]
    blank = [name for name in names if not any(value_of(each, name) for each in records)]
    for candidates in (outer, inner, blank):
        for usual in (*TEXT_FIELDS, *HTML_FIELDS):
            if (name := _named(usual, candidates)) is not None:
                is_page = usual in HTML_FIELDS or begins_as_html(texts.get(name, ""))
                return replace(asked, html=name) if is_page else replace(asked, text=(name,))
    for record in records:
        for name in names:
            value = value_of(record, name)
            if isinstance(value, list) and value and isinstance(value[0], dict):
                raise SimhashError(
                    f"{file_name}: {name!r} is a list of objects, not a text. If these are the "
                    f"records, write them as JSON lines: jq -c '.{name}[]'"
                )
    raise SimhashError(
        f"{file_name}: which field is the text? There are {_listed(names)}: name it with "
        "--text-field, or --html-field if it is a page"
    )


def _refuse_records_by_key(records: Sequence[Mapping[str, Any]], file_name: str) -> None:
    """Raise an error if a file has one object that contains its records, each under its key."""
    values = list(records[0].values()) if len(records) == 1 else []
    if len(values) > 1 and all(isinstance(value, dict) for value in values):
        common = set.intersection(*({name.lower() for name in value} for value in values))
        if not common.isdisjoint((*TEXT_FIELDS, *HTML_FIELDS)):
            raise SimhashError(
                f"{file_name}: its only object contains {len(values)} others with a text. If these "
                "are the records, write them as JSON lines: jq -c '.[]'"
            )


def _named(usual: str, names: Iterable[str], inside: Sequence[str] = ()) -> str | None:
    """Return the name of a field with a usual name, preferably not inside another one.

    :param inside: the objects that may contain it; any if empty.
    """
    depths = {}
    for name in names:
        parts = name.lower().split(".")
        is_inner = parts[-1] in INNER_FIELDS or _LANGUAGE.fullmatch(parts[-1])
        if len(parts) > 1 and is_inner and parts[-2] == usual:
            parts.pop()
        if parts[-1] == usual and (len(parts) == 1 or not inside or parts[-2] in inside):
            depths[name] = len(parts)
    return min(depths, key=lambda name: depths[name], default=None)


def _names_in(record: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the names of the fields of a record, and of objects in it."""
    for name, value in record.items():
        if isinstance(value, dict) and value and depth < _MAX_DEPTH:
            yield from _names_in(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}"


def _first_text(name: str, records: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the first text of a field that is not blank; None if no record has one."""
    for record in records:
        value = value_of(record, name)
        if isinstance(value, (list, tuple)):
            value = "\n".join(part for part in value if isinstance(part, str))
        if isinstance(value, str) and value.strip():
            return value
    return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(printable(name)) for name in names[:_SHOWN_FIELDS])
    more = len(names) - _SHOWN_FIELDS
    return shown + (f" and {more} more" if more > 0 else "")
