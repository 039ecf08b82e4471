"""Split JSON files into the objects in them, and parse objects."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.lines import Part, Unreadable, decoded_record, record_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What may stand between objects: the brackets of arrays, and the separators of JSON text sequences.
_BETWEEN = re.compile(r"[\s,\[\]\x1e\ufeff]*")

_AROUND = b"\xef\xbb\xbf\x1e \t\r\n"


def json_parts(lines: Iterable[bytes], encoding: str, max_bytes: int) -> Iterator[Part]:
    """Yield the values in a file, without the brackets and commas of the arrays around them.

    A file may be one array or several, in one line or many, or objects without an array. A broken
    value ends before the next line that begins as its own one does.

    :param encoding: based on ASCII.
    """
    decode = json.JSONDecoder().raw_decode
    text = ""
    at = needed = 0  # position in `text`; characters needed before the next attempt to parse
    pending: list[str] = []
    for line in chain(lines, [None]):
        if line is not None:
            pending.append(line.decode(encoding, "surrogateescape"))
            needed -= len(pending[-1])
            if needed > 0:
                continue
        start = text.rfind("\n", 0, at) + 1  # of the line, whose indentation counts
        text = text[start:] + "".join(pending)
        at -= start
        pending.clear()
        while (at := _end_of(_BETWEEN, text, at)) < len(text):
            reason: str | None = None
            end: int | None
            try:
                _, end = decode(text, at)
            except (ValueError, RecursionError) as error:
                reason = "not_json"
                # No token of JSON contains a line break, so only a value that is cut off has its
                # error at the end.
                is_cut_off = not text[getattr(error, "pos", at) :].strip()
                end = None if is_cut_off else _end_of_broken(text, at)
            if end is None:
                if line is not None:
                    break
                end = len(text)
            yield record_part(_bytes_of(text[at:end], encoding), max_bytes, reason)
            at = end
        needed = len(text) - at  # doubles, because parsing begins again


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _end_of_broken(text: str, at: int) -> int | None:
    """Return where the next line begins that is indented as that of a broken value; or None."""
    indent = text[text.rfind("\n", 0, at) + 1 : at]
    end = text.find(f"\n{indent if indent.isspace() else ''}{text[at]}", at)
    return None if end < 0 else end


def _bytes_of(value: str, encoding: str) -> bytes:
    """Return a value as bytes, without what follows a broken one in an array."""
    value = value.rstrip(" \t\r\n,")
    if value.startswith("{") and value.endswith("]"):
        value = value[:-1].rstrip()
    return value.encode(encoding, "surrogateescape")


def begins_as_array(line: bytes) -> bool:
    """Return True unless the first line of a file begins an object."""
    return not line.strip(_AROUND).startswith(b"{")


def begins_value(line: bytes) -> bool:
    """Return True if the first line of a file begins an array, or an object over several lines."""
    line = line.strip(_AROUND)
    return line == b"{" or line.startswith(b"[")


def parse_json(content: bytes, encoding: str) -> dict[str, Any]:
    """Return a JSON object.

    :raises Unreadable: the content is no JSON object, or not in that encoding.
    """
    try:
        record = json.loads(decoded_record(content, encoding).strip("\x1e, \t\r\n"))
    except (ValueError, RecursionError):
        raise Unreadable("not_json") from None
    if not isinstance(record, dict):
        raise Unreadable("not_json")
    return record
