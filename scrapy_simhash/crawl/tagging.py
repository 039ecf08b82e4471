"""Write fields into items of any class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scrapy_simhash.crawl.extension import SimhashExtension


def tag(
    extension: SimhashExtension,
    item: Any,
    values: Mapping[str, Any],
    setting: str,
    *,
    if_declared: Collection[str] = (),
) -> None:
    """Write values into fields of an item; count and warn if the item does not accept them.

    :param setting: name of the setting that lists the fields.
    :param if_declared: fields to omit if the item class does not declare them.
    """
    if not values:
        return
    try:
        adapter = ItemAdapter(item)
        if not isinstance(item, dict):
            undeclared = set(values).difference(adapter.field_names())
            if undeclared.difference(if_declared):
                raise KeyError(", ".join(sorted(undeclared)))
            values = {field: values[field] for field in values if field not in undeclared}
        for field, value in values.items():
            adapter[field] = value
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        # The field is undeclared, the item is frozen or of another type, or it is no item.
        extension.stats.count("skipped/item_field_not_declared")
        extension.warn_once(
            f"item_field_not_declared {setting}",
            "simhash: items of class %s do not accept all of the fields %s (%s), and are not "
            "tagged: declare the fields, name others in %s, or set it to {}",
            type(item).__qualname__,
            ", ".join(values),
            error,
            setting,
        )
