"""Find values in records, and the texts in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_simhash.documents.decoding import without_surrogates
from scrapy_simhash.extraction import plain_text

if TYPE_CHECKING:
    from collections.abc import Mapping

# Usual names of the text in an object, such as {"content": {"rendered": "…"}}.
INNER_FIELDS = ("rendered", "value", "text", "html", "raw")


def value_of(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a field, which may be in an object in the record; None without one.

    The name of such a field has a dot: ``content.rendered``.
    """
    if name in record:
        return record[name]
    outer, dot, inner = name.partition(".")
    while dot:
        value = record.get(outer)
        if isinstance(value, dict) and (found := value_of(value, inner)) is not None:
            return found
        more, dot, inner = inner.partition(".")
        outer = f"{outer}.{more}"
    return None


def text_of(value: Any) -> str:
    """Return the text of a field, as `SIMHASH_ITEM_FIELDS` reads it; of an object, that inside.

    :raises ExtractionError: its markup cannot be parsed.
    """
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(text_of(part) for part in value if part is not None)
    if isinstance(value, dict):
        value = next((value[name] for name in INNER_FIELDS if value.get(name)), value)
    return plain_text(without_surrogates(str(value)))
