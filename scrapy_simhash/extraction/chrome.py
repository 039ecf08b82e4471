"""Find what a page's tags and attributes hide, and what they name as chrome or as the site's logo.

Chrome is what surrounds the content of a page: navigation, footers, sidebars, dialogs, cookie
banners. Asides, such as comments, stand beside the content (`scrapy_simhash.extraction.asides`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy_simhash.extraction.asides import asides
from scrapy_simhash.extraction.consent import consent_banners
from scrapy_simhash.extraction.elements import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

_CHROME_ROLES = frozenset(
    "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split()
)
_BESIDE_ROLES = ("complementary", "menu", "menubar", "navigation")
_SECTION_TAGS = frozenset(("article", "main", "section"))
# Elements that may contain the content, whatever their role or class, and those that are hidden. An
# ``article`` may be a comment.
_NEVER_ASIDE = frozenset(("html", "body", "main", "script"))
_NEVER_CHROME = _NEVER_ASIDE | {"article"}

_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|content-visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)"
)
_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|masthead|branding|navbar-brand|site-?(?:title|name|header))(?:[-_]|$)"
    r"|^(?:header|brand)$"
)
_SURE_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|branding|navbar-brand|site-?(?:title|name))(?:[-_]|$)|^brand$"
)
# A form that contains one of these may be a whole page, and so may one with more links.
_CONTENT_TAGS = ("p", "h1", "h2", "h3", "table", "article")
_MAX_LINKS_OF_FORM = 5
_MAX_LINK_CHARACTERS = 2083  # longer ones are data, or traps, which a cache would keep
_MIN_LINKS_OF_LIST = 12
# What is above each of further elements takes time on deeply nested pages.
_MAX_RENAMED = 3000
# Tags that no page has.
ASIDE, OUTER, FORM_LINK = "set-aside", "outer-block", "form-link"
_LEFT_OUT = frozenset(("aside", "dialog", "footer", "nav", "script", ASIDE))
_OUTER_TAGS = (
    *("address", "article", "blockquote", "center", "div", "dl", "fieldset", "figure", "form"),
    *("li", "ol", "section", "td", "ul"),
)
_LISTING_TAGS = frozenset(("td", "th", "li", "dt", "dd"))
# Types of an `input` that nobody fills in.
_UNASKED = frozenset(("hidden", "submit", "button", "image"))
_HOME_PATHS = frozenset(("", "index.html", "index.htm", "index.php", "home"))
# The grid of a month: a table of the numbers 1 to 31, to choose a day. It says nothing of the page.
_DAYS = {form: day for day in range(1, 32) for form in (str(day), f"{day:02}")}
_MIN_DAYS = 28
_LATE_DAYS = tuple(map(str, range(10, _MIN_DAYS + 1)))
# A month has 53 digits at most, some more with days of other months.
_MAX_CHARACTERS = 400
# The cells that are no days name the weekdays, the month and the months before and after it.
_MAX_OTHER_WORDS = 24
# This share of the days follows the day before. Week numbers may stand between them.
_MIN_SHARE_IN_ORDER = 0.8


def rename_by_attributes(elements: Elements) -> list[tuple[HtmlElement, str]]:
    """Change the tags of hidden elements, chrome, asides and logos, and of the blocks around the
    headings; return (element, former tag) of each change, in order.

    The stylesheet matches only tags, because matching attributes would take most of its time.
    """
    renamed = []

    def rename(element: HtmlElement, tag: str) -> None:
        never = _NEVER_ASIDE if tag in (ASIDE, OUTER) else _NEVER_CHROME
        if element.tag not in never:
            renamed.append((element, element.tag))
            element.tag = tag

    for element in hidden_elements(elements):
        rename(element, "script")
    besides = set(elements.tagged("nav", "aside"))
    for element in elements.having("role"):
        role = element.get("role")
        if role in _CHROME_ROLES:
            rename(element, "nav")
            if role in _BESIDE_ROLES:
                besides.add(element)
        elif role == "main":
            rename(element, "main")
    # Other consent dialogs are chrome by their tag or role already.
    for element in consent_banners(elements):
        rename(element, "nav")
    for element in asides(elements):
        rename(element, ASIDE)
    _rename_by_tag(elements, rename)
    if headings := [h1 for h1 in elements.tagged("h1") if h1.tag == "h1"]:
        lists = set(filter(_is_list_beside_heading, besides - {elements.root}))
        for element in lists and lists.intersection(headings[0].xpath("following::*")):
            rename(element, ASIDE)
    if headings := [h1 for h1 in headings if not _is_inside(h1, _LEFT_OUT)]:
        around_all = set(headings[-1].iterancestors())
        for element in headings[0].iterancestors(*_OUTER_TAGS):
            if element in around_all:
                rename(element, OUTER)
    return renamed


def _is_list_beside_heading(element: HtmlElement) -> bool:
    """Return True for an element with many links, in `main` or after a heading beside it. Below the
    first heading, it may be all that the page has.
    """
    if element.tag not in ("nav", "aside"):
        return False
    links = sum(1 for _ in islice(element.iter("a"), _MIN_LINKS_OF_LIST))
    if links < _MIN_LINKS_OF_LIST or next(element.iter("h1"), None) is not None:
        return False
    is_beside = next(element.itersiblings("h1", preceding=True), None) is not None
    if is_beside and element.getparent().tag != "body":
        return True
    return _is_inside(element, ("main",))


def _rename_by_tag(elements: Elements, rename: Callable[[HtmlElement, str], None]) -> None:
    """Rename logos, the page's own header, and forms without content."""
    new_tags: dict[str, Callable[[HtmlElement], str]] = {
        "h1": lambda h1: "h2" if _is_link_home(h1) or _is_named_so(h1, _LOGO) else "h1",
        # An article may have its own header.
        "header": lambda header: "header" if _is_inside(header, _SECTION_TAGS) else "nav",
        "form": lambda form: "form" if _holds_content(form) else _tag_of_control(form),
        "table": lambda table: "nav" if _is_calendar(table) else "table",
    }
    for tag, new_tag in new_tags.items():
        for element in elements.tagged(tag)[:_MAX_RENAMED]:
            if element.tag == tag and (new := new_tag(element)) != tag:
                rename(element, new)


def _holds_content(form: HtmlElement) -> bool:
    """Return True for a form with text, a filled text field or a list of links or buttons."""
    inner = form.iter("textarea", *_CONTENT_TAGS)
    if any(element.tag != "textarea" or element.text for element in inner):
        return True
    buttons = (one for one in form.iter("button") if one.get("formaction") is not None)
    links = chain((one for one in form.iter("a") if one.get("href") is not None), buttons)
    return next(islice(links, _MAX_LINKS_OF_FORM, None), None) is not None


def _tag_of_control(form: HtmlElement) -> str:
    """Return the tag of a link for a form in a row, cell or item that has a button and asks for
    nothing; else that of chrome.
    """
    above = form.getparent()
    buttons = list(form.iter("button"))
    is_link = (
        above is not None
        and above.tag in _LISTING_TAGS
        and buttons
        and all(
            field.get("type", "").lower() in _UNASKED
            for field in form.iter("input", "select", "textarea")
        )
    )
    return FORM_LINK if is_link else "nav"


def hidden_elements(elements: Elements) -> list[HtmlElement]:
    """Return the elements, root included, that ``hidden`` hides, then those that a style hides, and
    popovers, which only a script shows.
    """
    # A browser finds the text of "until-found", and shows it.
    found = (
        *(e for e in elements.having("hidden") if e.get("hidden").strip().lower() != "until-found"),
        *(e for e in elements.having("style") if is_hidden(e.get("style"))),
        *elements.having("popover"),
    )
    return list(dict.fromkeys(found))


def is_hidden(style: str) -> bool:
    """Return True if a ``style`` attribute hides its element."""
    lowered = style.lower()
    # Most styles contain no such word, and the search is slow.
    may_hide = "none" in lowered or "hidden" in lowered or "collapse" in lowered
    return may_hide and _HIDING_STYLE.search(lowered) is not None


def is_logo(heading: HtmlElement) -> bool:
    """Return True if a heading, or an element around it, is named as the site's logo, or if it is a
    link to the front page.
    """
    return _is_link_home(heading) or _is_named_so(heading, _SURE_LOGO)


def _is_named_so(heading: HtmlElement, pattern: re.Pattern[str]) -> bool:
    """Return True if an element around a heading is named by a pattern, or the heading is named as
    a logo. A heading named "header" is one; an element above it may be the header of the site.
    """
    above = (one for one in heading.iterancestors() if one.tag not in _NEVER_CHROME)
    return _is_named(names_of(heading), _SURE_LOGO) or any(
        _is_named(names_of(one), pattern) for one in above
    )


def _is_inside(element: HtmlElement, tags: Collection[str]) -> bool:
    """Return True if an element with one of the tags is above an element."""
    return next(element.iterancestors(*tags), None) is not None


@lru_cache(maxsize=8192)  # pages of a site share their names
def _is_named(names: str, pattern: re.Pattern[str]) -> bool:
    return any(map(pattern.search, names.lower().split()))


def _is_link_home(heading: HtmlElement) -> bool:
    """Return True if a heading has one link, which leads to the front page, and no inner ``h1``."""
    inner = heading.iterdescendants("a", "h1")
    found = (one for one in inner if one.tag == "h1" or one.get("href") is not None)
    first, second, *_ = *islice(found, 2), None, None
    is_link = first is not None and first.tag == "a" and second is None
    return is_link and leads_home(first.get("href"))


def leads_home(href: str) -> bool:
    """Return True if a link leads to the front page of a site."""
    return len(href) <= _MAX_LINK_CHARACTERS and _leads_home(href)


@lru_cache(maxsize=8192)  # pages of a site share their navigation
def _leads_home(href: str) -> bool:
    href = href.strip()
    # Most links lead elsewhere. Parsing all of them would take as long as parsing the page.
    path = href.partition("//")[2].partition("/")[2] if "//" in href else href
    if not href or path.strip("/") not in _HOME_PATHS:
        return False
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    leads_on = parts.fragment or parts.query or (parts.scheme and not parts.netloc)
    return not leads_on and parts.path.strip("/") in _HOME_PATHS


def _is_calendar(table: HtmlElement) -> bool:
    """Return True for a table without inner tables whose cells are mostly the days of a month."""
    if next(table.iterdescendants("table"), None) is not None:
        return False
    # Nearly all tables end here: texts of cells may follow one another without a space.
    if sum(1 for _ in islice(table.iter("td", "th"), _MIN_DAYS)) < _MIN_DAYS:
        return False
    text = "".join(table.text_content().split())
    if len(text) > _MAX_CHARACTERS or not all(day in text for day in _LATE_DAYS):
        return False
    cells = ["".join(cell.itertext()).split() for cell in table.iter("td", "th")]
    days = [_DAYS[words[0]] for words in cells if len(words) == 1 and words[0] in _DAYS]
    others = sum(map(len, cells)) - len(days)
    in_order = sum(day + 1 == after for day, after in pairwise(days))
    return (
        len(set(days)) >= _MIN_DAYS
        and others <= _MAX_OTHER_WORDS
        and in_order >= _MIN_SHARE_IN_ORDER * len(days)
    )
