"""What a page declares of itself in its markup: names, the name of its site, and an identity.

Sources are ``meta`` elements, JSON-LD, microdata and RDFa. A page also describes other things than
itself, such as related products. So what is read is the page's *main thing*: the only thing at the
top level, or the one whose name is the page's title or heading.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy_simhash.extraction.asides import is_discussion
from scrapy_simhash.extraction.elements import line_of
from scrapy_simhash.names.identities import IDENTITY_FIELDS, identity_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

# og:title, twitter:title, dcterms.title, citation_title, …
_TITLE_META = re.compile(r"(?:[a-z]+[.:_-])?title")
_SITE_METAS = frozenset(("og:site_name", "application-name", "apple-mobile-web-app-title"))
_META_STATES = {
    f"{name}:{of}": state
    for name in ("product", "og")
    for of, state in (("price:amount", "price"), ("availability", "availability"))
}
_META_IDENTITIES = {
    "product:retailer_item_id": "sku",
    "product:ean": "gtin",
    "product:upc": "gtin",
    **{f"product:{name}": name for name in ("color", "size", "material", "pattern")},
}
_NAMES = ("name", "headline", "title")
# What changes about a thing that stays the same.
_STATES = frozenset("price lowprice highprice availability eventstatus startdate enddate".split())
# A field of a record may have such a name and mean something else, the markup of a thing may not.
_OF_MARKUP = (
    *("color", "size", "material", "pattern"),
    *("startdate", "streetaddress", "addresslocality"),
)
_IDENTITIES: Mapping[str, str] = {**IDENTITY_FIELDS, **{name: name for name in _OF_MARKUP}}
_WANTED = frozenset((*_NAMES, *_IDENTITIES, *_STATES))
# Attributes for properties: microdata's and RDFa's, and what each of them has beside it.
_PROPERTIES: Mapping[str, str] = {"itemprop": "itemprop", "property": "typeof"}
# A page never is about one of these, but may mention them.
_SURROUNDINGS = frozenset(
    "website webpage organization newsmediaorganization person breadcrumblist imageobject "
    "sitenavigationelement wpheader wpfooter wpsidebar searchaction itemlist".split()
)
# Such a thing is the main one of a page that declares no other: a profile, an imprint.
_MAY_BE_MAIN = frozenset(("organization", "newsmediaorganization", "person"))
# NewsArticle, TechArticle, BlogPosting, JobPosting, …
_DOCUMENT_TYPES = ("article", "posting", "recipe")
# Parts of a thing that say which one of several variants it is; of a place, two properties do.
_PLACES = frozenset("location joblocation address".split())
_PARTS = _PLACES | {"offers", "pricespecification"}
_OF_PLACES = ("streetaddress", "addresslocality")
_VOCABULARY_ENDS = re.compile(r"[/:#]")
# Commas that JSON does not allow.
_JSON_START = re.compile(r"[\[{]")
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
# Larger scripts, and further things and properties, are not read.
_MAX_SCRIPT_CHARACTERS = 500_000
_MAX_THINGS = 50
_MAX_PROPERTIES = 500


class Thing(NamedTuple):
    """A thing that a page describes.

    :param names: its name and its headline.
    :param identities: (kind, value), such as ``("sku", "A-17")``.
    :param states: what may change about it, such as ``"price 12.50"``.
    :param is_document: it is a text of its own by its type: an article, a posting, a recipe.
    """

    names: list[str]
    identities: list[tuple[str, str]]
    states: list[str]
    is_document: bool = False


class Declared(NamedTuple):
    """What a page declares of itself.

    :param title: its ``og:title`` or the like, or empty.
    :param sites: the names of its site.
    :param things: the things that it may be about.
    :param crumb: its own name in its breadcrumb, or empty.
    """

    title: str
    sites: list[str]
    things: list[Thing]
    crumb: str = ""

    def main(self, is_name: Callable[[str], bool]) -> Thing:
        """Return the thing that the page is about; an empty one for none.

        A page may describe it twice. An identity with several values is none.

        :param is_name: returns True for a name of the page.
        """
        same = self.things
        if len(same) > 1:
            same = [thing for thing in same if not thing.names or any(map(is_name, thing.names))]
        names = [name for thing in same for name in thing.names]
        found = list(dict.fromkeys(one for thing in same for one in thing.identities))
        kinds = Counter(kind for kind, _ in found)
        states = sorted({state for thing in same for state in thing.states})
        return Thing(names, [one for one in found if kinds[one[0]] == 1], states)


def declared(elements: Elements) -> Declared:
    """Return what a page declares of itself."""
    title = crumb = ""
    sites: list[str] = []
    things: list[Thing] = []
    surroundings: list[Thing] = []
    for meta in elements.tagged("meta"):
        name = (meta.get("property") or meta.get("name") or "").lower()
        content = meta.get("content", "").strip()
        if not content:
            continue
        if name in _SITE_METAS:
            sites.append(content)
        elif _TITLE_META.fullmatch(name):
            title = title or content
        elif name in _META_IDENTITIES and (found := identity_of(_META_IDENTITIES[name], content)):
            things.append(Thing([], [found], []))
        elif name in _META_STATES:
            things.append(Thing([], [], [f"{_META_STATES[name]} {content}"]))
    for data in filter(None, map(_parsed, elements.tagged("script"))):
        for node in _nodes(data):
            types = _types(node)
            sites.extend(_sites_of(node, types))
            if "webpage" in types:
                title = title or next(iter(_texts(node.get("name"))), "")
            crumb = crumb or _crumb_of(node, types)
            of_kind = surroundings if types <= _MAY_BE_MAIN else things
            if len(of_kind) < _MAX_THINGS and (thing := _thing_of(node, types)):
                of_kind.append(thing)
    things.extend(_microdata(elements))
    return Declared(title, sites, things or surroundings, crumb)


def declared_phrases(elements: Elements) -> list[str]:
    """Return the texts of several words that JSON-LD declares of a thing; of the longest thing.

    Texts of people, firms, comments and reviews are left out.
    """
    things = (
        list(_phrases(node))
        for data in map(_parsed, elements.tagged("script"))
        for node in _nodes(data)
        if _types(node)
    )
    return max(things, key=lambda phrases: sum(map(len, phrases)), default=[])


def _phrases(node: dict[str, Any]) -> Iterator[str]:
    waiting: list[Any] = [node]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and " " in value.strip():
            yield unescape(value)
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict) and _SURROUNDINGS.isdisjoint(_types(value)):
            inner = [one for key, one in value.items() if not is_discussion(key.lower())]
            waiting.extend(reversed(inner))


def _parsed(script: HtmlElement) -> Any:
    """Return the content of a JSON-LD script; None for others."""
    text = (script.text or "") if "ld+json" in script.get("type", "").lower() else ""
    for repair in (str, _without_wrapping) if 0 < len(text) <= _MAX_SCRIPT_CHARACTERS else ():
        with suppress(ValueError, RecursionError):
            return json.loads(repair(text), strict=False)
    return None


def _without_wrapping(text: str) -> str:
    """Return JSON without comments and CDATA marks around it, and without superfluous commas."""
    before, cdata, after = text.partition("<![CDATA[")
    if cdata and "{" not in before:
        text = after.rpartition("]]>")[0] or after
    start = _JSON_START.search(text)
    end = max(text.rfind("}"), text.rfind("]")) + 1
    return _LAST_COMMA.sub("", text[start.start() if start else 0 : end])


def _nodes(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the things at the top level of a JSON-LD script, and what web pages are about."""
    waiting = [data]
    for node in islice(waiting, _MAX_THINGS):  # what the loop adds comes next
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            thing = {_without_vocabulary(key): value for key, value in node.items()}
            yield thing
            # What an article is about is a topic.
            about = ("about",) if "webpage" in _types(thing) else ()
            waiting.extend(thing[key] for key in ("@graph", "mainEntity", *about) if key in thing)


def _sites_of(node: dict[str, Any], types: set[str]) -> Iterator[str]:
    publishers = (node.get("publisher"), node.get("isPartOf"), "website" in types and node)
    for publisher in publishers:
        if isinstance(publisher, dict):
            yield from _texts(publisher.get("name"))


def _crumb_of(node: dict[str, Any], types: set[str]) -> str:
    """Return the last name in a breadcrumb if it leads nowhere, so that it is the page's own."""
    items = node.get("itemListElement")
    last = items[-1] if isinstance(items, list) and items else None
    if "breadcrumblist" not in types or not isinstance(last, dict) or "item" in last:
        return ""
    return next(iter(_texts(last.get("name"))), "")


def _thing_of(node: dict[str, Any], types: set[str]) -> Thing | None:
    if not types or not (_SURROUNDINGS - _MAY_BE_MAIN).isdisjoint(types):
        return None
    names = [text for key in _NAMES for text in _texts(node.get(key))]
    values = [
        (key, text)
        for key, value in _properties_of(node)
        for text in _texts(value.get("value") if isinstance(value, dict) else value)
    ]
    thing = Thing(names, [], [], any(one.endswith(_DOCUMENT_TYPES) for one in types))
    for key, text in values:
        _add(thing, key, text)
    return thing if any(thing[:3]) else None


def _properties_of(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the identities and states of a thing and of its parts, in lower case, with values."""
    waiting = [(node, False)]
    for thing, is_place in islice(waiting, _MAX_THINGS):
        for name, value in thing.items():
            key = name.lower()
            if key in _PARTS:
                parts = (one for one in _as_list(value) if isinstance(one, dict))
                waiting.extend((one, is_place or key in _PLACES) for one in parts)
                if key in _PLACES and isinstance(value, str):
                    yield "addresslocality", value
            elif key in _OF_PLACES or (not is_place and (key in _IDENTITIES or key in _STATES)):
                yield key, value


def _add(thing: Thing, key: str, text: str) -> None:
    """Add an identity or a state."""
    if key in _STATES:
        # An availability may be a URL, with ``https`` or without.
        thing.states.append(f"{key} {_local(text) if '//' in text else text.lower()}")
    if found := identity_of(_IDENTITIES.get(key, ""), text):
        thing.identities.append(found)


def _types(node: dict[str, Any]) -> set[str]:
    """Return the types of a thing, in lower case, without a vocabulary."""
    return set(map(_local, _texts(node.get("@type"))))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    values = (
        # A text in a language.
        one.get("@value") if isinstance(one, dict) else one
        for one in _as_list(value)
    )
    return [
        unescape(str(one)).strip()
        for one in values
        if isinstance(one, str | int | float) and not isinstance(one, bool) and str(one).strip()
    ]


def _microdata(elements: Elements) -> list[Thing]:
    """Return the things at the top level of the microdata and the RDFa of a page.

    Properties without a thing around, as in a fragment of a page, make up one thing.
    """
    things: dict[HtmlElement | None, Thing] = {}
    found = [
        (element, name)
        for name, sign in _PROPERTIES.items()
        if elements.having(sign)
        for element in elements.having(name)
    ]
    for element, attribute in found[:_MAX_PROPERTIES]:
        wanted = _WANTED.intersection(map(_local, element.get(attribute).split()))
        # A ``meta`` with a property, such as ``og:title``, is no RDFa.
        is_of_head = element.tag == "meta" and attribute == "property"
        if not wanted or is_of_head or _is_thing(element):
            continue
        thing, is_part, is_place = _thing_around(element)
        kind = "" if thing is None else _local(thing.get("itemtype") or thing.get("typeof") or "")
        if kind in _SURROUNDINGS or (thing is not None and any(map(thing.get, _PROPERTIES))):
            continue
        if is_place:  # which many things share
            wanted = wanted.intersection(_OF_PLACES)
        text = _value(element)
        if not text:
            continue
        of_thing = things.setdefault(thing, Thing([], [], [], kind.endswith(_DOCUMENT_TYPES)))
        for name in wanted:
            if name not in _NAMES:
                _add(of_thing, name, text)
            elif not is_part:
                of_thing.names.append(text)
    return list(things.values())


def _local(name: str) -> str:
    """Return a name without its vocabulary, in lower case."""
    return _without_vocabulary(name).lower()


@lru_cache(maxsize=8192)  # pages of a site share their vocabulary
def _without_vocabulary(name: str) -> str:
    return _VOCABULARY_ENDS.split(name)[-1]


def _is_thing(element: HtmlElement) -> bool:
    return element.get("itemscope") is not None or element.get("typeof") is not None


def _thing_around(element: HtmlElement) -> tuple[HtmlElement | None, bool, bool]:
    """Return the thing that an element describes, and whether it describes a part of it; a place,
    too.
    """
    is_part = is_place = False
    for thing in filter(_is_thing, element.iterancestors()):
        roles = {_local(thing.get(name, "")) for name in _PROPERTIES}
        if roles.isdisjoint(_PARTS):
            return thing, is_part, is_place
        is_part = True
        is_place = is_place or not roles.isdisjoint(_PLACES)
    return None, is_part, is_place


def _value(element: HtmlElement) -> str:
    """Return the value of a property of microdata."""
    for name in ("content", "value", "datetime", *(("href",) if element.tag == "link" else ())):
        if value := element.get(name, "").strip():
            return str(value)
    return line_of(element)
