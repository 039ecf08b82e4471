"""Find the choices that the forms of a page offer: options, buttons, boxes to tick.

They are chrome, since most forms are the same on many pages. A page with little text may consist of
them, though: a quiz, or a list of places in a ``select``. So the largest group of choices is an
identity (`scrapy_simhash.names.identities`), which tells two pages apart that have none in common.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.asides import asides
from scrapy_simhash.extraction.consent import consent_banners

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
# The rest of a choice, which may contain others, is not read.
_MAX_PIECES = 20
_MAX_CHARACTERS = 200
# A form has as many fields.
_MIN_OF_GROUP = 3


def choices(elements: Elements) -> Iterator[tuple[str, str]]:
    """Yield the first choices of the largest group beside the heading, each as (kind, text).

    Those in consent banners and asides, such as a bar to share the page, do not count.
    """
    groups: dict[object, dict[str, None]] = {}
    headings = (next(h1.iterancestors(*_AROUND_HEADING), None) for h1 in elements.tagged("h1"))
    around = next((one for one in headings if one is not None), elements.root)
    of_site = {*elements.tagged(*_OF_SITE), *consent_banners(elements), *asides(elements)}
    for element in islice(around.iter(*_TAGS), _MAX_CHOICES):
        is_input = element.tag == "input"
        pieces = (element.get("value", ""),) if is_input else element.itertext()
        text = "".join(islice(pieces, _MAX_PIECES))[:_MAX_CHARACTERS]
        value = element.get("value", "")
        # A word that the program reads is the same in all languages.
        if element.tag == "option" and len(value) > 1 and value.isalpha():
            text = value
        is_choice = not is_input or element.get("type", "").lower() == "submit"
        if is_choice and of_site.isdisjoint(element.iterancestors()):
            select = next(element.iterancestors(*_GROUPS), None)
            form = next(element.iterancestors("form"), None)
            group = (element.tag, select, "" if form is None else form.get("action", ""))
            groups.setdefault(group, {})[" ".join(text.split())] = None
    largest = max(groups.values(), key=len, default={})
    if len(largest) >= _MIN_OF_GROUP:
        yield from (("choice", text) for text in list(largest)[:_MAX_OF_GROUP])
