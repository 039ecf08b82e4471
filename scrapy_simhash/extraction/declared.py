"""What a page declares of itself in its markup: names, the name of its site, and an identity.

Sources are ``meta`` elements, JSON-LD and microdata. A page also describes other things than
itself, such as related products. So what is read is the page's *main thing*: the only thing at the
top level, or the one whose name is the page's title or heading.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from html import unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.identities import IDENTITY_FIELDS, identity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lxml.html import HtmlElement

_TITLE_METAS = ("og:title", "twitter:title", "dc.title")
_SITE_METAS = frozenset(("og:site_name", "application-name", "apple-mobile-web-app-title"))
_META_IDENTITIES = {"product:retailer_item_id": "sku", "product:ean": "gtin", "product:upc": "gtin"}
_NAMES = frozenset(("name", "headline"))
# A page never is about one of these, but may mention them.
_SURROUNDINGS = frozenset(
    "website webpage organization newsmediaorganization person breadcrumblist imageobject "
    "sitenavigationelement wpheader wpfooter wpsidebar searchaction itemlist".split()
)
# Larger scripts, and further things and properties, are not read.
_MAX_SCRIPT_CHARACTERS = 500_000
_MAX_THINGS = 50
_MAX_PROPERTIES = 500


class Thing(NamedTuple):
    """A thing that a page describes.

    :param names: its name and its headline.
    :param identities: (kind, value), such as ``("sku", "A-17")``.
    """

    names: list[str]
    identities: list[tuple[str, str]]


class Declared(NamedTuple):
    """What a page declares of itself.

    :param title: its ``og:title`` or the like, or empty.
    :param sites: the names of its site.
    :param things: the things that it may be about.
    """

    title: str
    sites: list[str]
    things: list[Thing]

    def main(self, is_name: Callable[[str], bool]) -> Thing:
        """Return the thing that the page is about; one without names and identities for none.

        A page may describe it twice. An identity with several values is none.

        :param is_name: returns True for a name of the page.
        """
        same = self.things
        if len(same) > 1:
            same = [thing for thing in same if not thing.names or any(map(is_name, thing.names))]
        names = [name for thing in same for name in thing.names]
        found = list(dict.fromkeys(one for thing in same for one in thing.identities))
        kinds = Counter(kind for kind, _ in found)
        return Thing(names, [one for one in found if kinds[one[0]] == 1])


def declared(root: HtmlElement) -> Declared:
    """Return what a page declares of itself."""
    title = ""
    sites: list[str] = []
    things: list[Thing] = []
    for meta in root.iter("meta"):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = meta.get("content", "").strip()
        if not content:
            continue
        if name in _TITLE_METAS:
            title = title or content
        elif name in _SITE_METAS:
            sites.append(content)
        elif name in _META_IDENTITIES and (found := identity_of(_META_IDENTITIES[name], content)):
            things.append(Thing([], [found]))
    for data in _scripts(root):
        for node in _nodes(data):
            sites.extend(_sites_of(node))
            if len(things) < _MAX_THINGS and (thing := _thing_of(node)):
                things.append(thing)
    things.extend(_microdata(root))
    return Declared(title, sites, things)


def _scripts(root: HtmlElement) -> Iterator[Any]:
    """Yield the content of each JSON-LD script."""
    for script in root.iter("script"):
        if "ld+json" not in script.get("type", "").lower():
            continue
        text = script.text or ""
        if len(text) > _MAX_SCRIPT_CHARACTERS:
            continue
        try:
            yield json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the things at the top level of a JSON-LD script, and what web pages are about."""
    waiting = [data]
    for _ in range(_MAX_THINGS):
        if not waiting:
            return
        node = waiting.pop(0)
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            yield node
            waiting.extend(node[key] for key in ("@graph", "mainEntity") if key in node)


def _sites_of(node: dict[str, Any]) -> Iterator[str]:
    publishers = [node.get("publisher"), node.get("isPartOf")]
    if "website" in _types(node):
        publishers.append(node)
    for publisher in publishers:
        if isinstance(publisher, dict):
            yield from _texts(publisher.get("name"))


def _thing_of(node: dict[str, Any]) -> Thing | None:
    types = _types(node)
    if not types or not _SURROUNDINGS.isdisjoint(types):
        return None
    names = [text for key in ("name", "headline") for text in _texts(node.get(key))]
    identities = [
        found
        for key, value in node.items()
        if (kind := IDENTITY_FIELDS.get(key.lower()))
        for text in _texts(value.get("value") if isinstance(value, dict) else value)
        if (found := identity_of(kind, text))
    ]
    return Thing(names, identities) if names or identities else None


def _types(node: dict[str, Any]) -> set[str]:
    """Return the types of a thing, in lower case, without a vocabulary."""
    return {re.split("[/:#]", text)[-1].lower() for text in _texts(node.get("@type"))}


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [
        unescape(str(one)).strip()
        for one in values
        if isinstance(one, str | int) and not isinstance(one, bool) and str(one).strip()
    ]


def _microdata(root: HtmlElement) -> list[Thing]:
    """Return the things at the top level of the microdata of a page.

    Properties without an ``itemscope`` above, as in a fragment of a page, make up one thing.
    """
    things: dict[HtmlElement | None, Thing] = {}
    for properties in _properties()(root)[:_MAX_PROPERTIES]:
        wanted = [
            name for name in properties.lower().split() if name in _NAMES or name in IDENTITY_FIELDS
        ]
        if not wanted:
            continue
        element = properties.getparent()
        if element.get("itemscope") is not None:
            continue
        scope = next((e for e in element.iterancestors() if e.get("itemscope") is not None), None)
        if scope is not None and (scope.get("itemprop") is not None or _is_surrounding(scope)):
            continue
        text = _value(element)
        if not text:
            continue
        thing = things.setdefault(scope, Thing([], []))
        for name in wanted:
            if name in _NAMES:
                thing.names.append(text)
            elif found := identity_of(IDENTITY_FIELDS[name], text):
                thing.identities.append(found)
    return list(things.values())


@lru_cache(maxsize=1)
def _properties() -> Any:
    """Return a search for the properties of microdata."""
    from lxml.etree import XPath

    return XPath("descendant::*/@itemprop")


def _is_surrounding(scope: HtmlElement) -> bool:
    return scope.get("itemtype", "").rpartition("/")[2].lower() in _SURROUNDINGS


def _value(element: HtmlElement) -> str:
    """Return the value of a property of microdata."""
    for name in ("content", "value", "datetime"):
        if value := element.get(name, "").strip():
            return str(value)
    texts: Iterable[str] = element.itertext()
    return " ".join("".join(texts).split())
