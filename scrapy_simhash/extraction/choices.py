"""Find the choices that the forms of a page offer: options, buttons, boxes to tick.

They are chrome, since most forms are the same on many pages. A page with little text may consist of
them, though: a quiz, or a list of places in a ``select``. So the largest group of choices is an
identity (`scrapy_simhash.identities`), which tells two pages apart that have none in common.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_simhash.extraction.elements import Elements

_TAGS = ("option", "button", "label", "input")
_GROUPS = ("select", "datalist")
_AROUND_HEADING = ("article", "div", "main", "section")
_OF_SITE = "aside dialog footer header nav noscript template".split()
# Further ones are not looked at.
_MAX_CHOICES = 200
_MAX_OF_GROUP = 8
# A form has as many fields.
_MIN_OF_GROUP = 3


def choices(elements: Elements) -> Iterator[tuple[str, str]]:
    """Yield the first choices of the largest group beside the heading, each as (kind, text)."""
    groups: dict[object, dict[str, None]] = {}
    headings = (next(h1.iterancestors(*_AROUND_HEADING), None) for h1 in elements.tagged("h1"))
    around = next((one for one in headings if one is not None), elements.root)
    for element in islice(around.iter(*_TAGS), _MAX_CHOICES):
        text = element.get("value", "") if element.tag == "input" else element.text_content()
        is_choice = element.tag != "input" or element.get("type", "").lower() == "submit"
        if is_choice and next(element.iterancestors(*_OF_SITE), None) is None:
            select = next(element.iterancestors(*_GROUPS), None)
            form = next(element.iterancestors("form"), None)
            group = (element.tag, select, "" if form is None else form.get("action", ""))
            groups.setdefault(group, {})[" ".join(text.split())] = None
    largest = max(groups.values(), key=len, default={})
    if len(largest) >= _MIN_OF_GROUP:
        yield from (("choice", text) for text in list(largest)[:_MAX_OF_GROUP])
