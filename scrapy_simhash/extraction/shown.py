"""Put into the tree of a page what a browser shows, and a parser does not.

Declarative shadow roots (``template shadowrootmode``), documents in attributes (``iframe srcdoc``)
and the fallback of objects that a browser cannot show.
"""

from __future__ import annotations

from mimetypes import guess_type
from typing import TYPE_CHECKING

from scrapy_simhash.extraction.readability import drop_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

_SHADOW_MODES = ("open", "closed")
# Media types that browsers show, by their beginnings; they then do not show the fallback.
_SHOWN_TYPES = ("image/", "text/", "video/", "audio/", "application/pdf")


def unfold(elements: Elements, parse: Callable[[bytes], HtmlElement | None]) -> bool:
    """Change a tree so that its elements are those that a browser shows; return False if they are.

    :param parse: returns the tree of a document, or None if it has no element.
    """
    is_changed = False
    for element in elements.tagged("template", "iframe", "object"):
        if element.tag == "template":
            if element.get("shadowrootmode", "").lower() in _SHADOW_MODES:
                _attach(element)
                is_changed = True
        elif element.tag == "iframe":
            source = element.get("srcdoc", "")
            document = parse(source.encode()) if source.strip() else None
            if document is not None:
                element.tag = "div"
                element.text = None
                element.append(document)
                is_changed = True
        else:
            data = element.get("data", "")
            if (element.get("type") or guess_type(data)[0] or "").lower().startswith(_SHOWN_TYPES):
                element.tag = "script"  # invisible, as for `lines_of`
    return is_changed


def _attach(template: HtmlElement) -> None:
    """Make a template the shadow root of its parent, which shows other children only in slots."""
    template.tag = "div"
    host = template.getparent()
    slots = {slot.get("name", "") for slot in template.iter("slot")}
    if "" not in slots:
        host.text = None
        for child in host:
            child.tail = None
    drop_all(
        [child for child in host if child is not template and child.get("slot", "") not in slots]
    )
