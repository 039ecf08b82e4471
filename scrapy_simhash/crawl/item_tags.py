"""Write tags into the fields of items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy_simhash.crawl.stats import CrawlStats, ErrorLog


def tag_item(
    item: Any,
    values: Mapping[str, Any],
    setting: str,
    stats: CrawlStats,
    errors: ErrorLog,
    *,
    optional: Collection[str] = (),
) -> None:
    """Write values into fields of an item. If a field cannot take its value, warn once.

    :param setting: name of the setting that lists the fields.
    :param optional: fields that are omitted if the item class does not declare them.
    """
    if not values:
        return
    try:
        adapter = ItemAdapter(item)
        if not isinstance(item, dict):
            undeclared = set(values).difference(adapter.field_names())
            if missing := undeclared.difference(optional):
                raise KeyError(", ".join(sorted(missing)))
            values = {field: values[field] for field in values if field not in undeclared}
        for field, value in values.items():
            adapter[field] = value
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        # A field is undeclared or refuses the value, the item is frozen, or it is no item.
        stats.count("skipped/item_field_not_declared")
        errors.warn_once(
            f"item_field_not_declared {setting}",
            "simhash: items of class %s do not accept all of the fields %s (%s), and lack "
            "tags: declare the fields, name other fields in %s, or set it to {}",
            type(item).__qualname__,
            ", ".join(field for field in values if field not in optional),
            error,
            setting,
        )
