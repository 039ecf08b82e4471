"""Find what a page's tags and attributes hide, and what they name as chrome or as the site's logo.

Chrome is what surrounds the content of a page: navigation, footers, sidebars, dialogs, cookie
banners. Asides, such as comments, stand beside the content (`scrapy_simhash.extraction.asides`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy_simhash.extraction.asides import asides_by_name, is_form_to_write
from scrapy_simhash.extraction.calendars import is_calendar
from scrapy_simhash.extraction.consent import consent_banners
from scrapy_simhash.extraction.elements import holding, names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements

_CHROME_ROLES = frozenset(
    "alertdialog banner complementary contentinfo dialog menu menubar navigation search".split()
)
_SECTION_TAGS = frozenset(("article", "main", "section"))
# Elements that may contain the content, whatever their role or class, and those that are hidden. An
# ``article`` may be a comment.
_NEVER_ASIDE = frozenset(("html", "body", "main", "script"))
_NEVER_CHROME = _NEVER_ASIDE | {"article"}

_HIDING_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\s*(?:!\s*important\s*)?(?:;|$)"
)
_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|masthead|branding|navbar-brand|site-?(?:title|name|header))(?:[-_]|$)"
    r"|^(?:header|brand)$"
)
_SURE_LOGO = re.compile(
    r"(?:^|[-_])(?:logo|branding|navbar-brand|site-?(?:title|name))(?:[-_]|$)|^brand$"
)
# Every match of `_LOGO` contains one of these words, which are faster to search.
_LOGO_WORDS = ("logo", "masthead", "brand", "site", "header")
# A form that contains one of these may be a whole page, and so may one with more links.
_CONTENT_TAGS = ("p", "h1", "h2", "h3", "table", "article")
_MAX_LINKS_OF_FORM = 5
# Tags that no page has.
ASIDE, OUTER, FORM_LINK = "set-aside", "outer-block", "form-link"
_LEFT_OUT = frozenset(("aside", "dialog", "footer", "nav", "script", ASIDE))
_OUTER_TAGS = (
    *("address", "article", "blockquote", "center", "div", "dl", "fieldset", "figure", "form"),
    *("li", "ol", "section", "ul"),
)
_LISTING_TAGS = frozenset(("td", "th", "li", "dt", "dd"))
# Types of an `input` that nobody fills in.
_UNASKED = frozenset(("hidden", "submit", "button", "image"))
HOME_PATHS = frozenset(("", "index.html", "index.htm", "index.php", "home"))


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
    for role in elements.values("role"):
        if role in _CHROME_ROLES:
            rename(role.getparent(), "nav")
        elif role == "main":
            rename(role.getparent(), "main")
    # Other consent dialogs are chrome by their tag or role already.
    for element in consent_banners(elements):
        rename(element, "nav")
    for element in asides(elements):
        rename(element, ASIDE)
    _rename_by_tag(elements, rename)
    left_out = _inside(lambda element: element.tag in _LEFT_OUT)
    headings = [h1 for h1 in elements.tagged("h1") if h1.tag == "h1" and not left_out(h1)]
    if headings:
        around_all = set(headings[-1].iterancestors())
        for element in headings[0].iterancestors(*_OUTER_TAGS):
            if element in around_all:
                rename(element, OUTER)
    return renamed


def _rename_by_tag(elements: Elements, rename: Callable[[HtmlElement, str], None]) -> None:
    """Rename logos, the page's own header, and forms without content."""
    named_as_logo = _inside(_is_named_as_logo)
    in_section = _inside(lambda element: element.tag in _SECTION_TAGS)
    for heading in elements.tagged("h1"):
        if heading.tag == "h1" and (named_as_logo(heading) or _is_link_home(heading)):
            rename(heading, "h2")
    for header in elements.tagged("header"):
        if header.tag == "header" and not in_section(header):  # an article may have its own
            rename(header, "nav")
    for form in elements.tagged("form"):
        if form.tag == "form" and not _holds_content(form):
            rename(form, FORM_LINK if _is_link_in_list(form) else "nav")
    for table in elements.tagged("table"):
        if table.tag == "table" and is_calendar(table):
            rename(table, "nav")


def asides(elements: Elements) -> list[HtmlElement]:
    """Return the asides by name, and the forms to write something; none with a heading inside."""
    headings = [h1 for h1 in elements.tagged("h1") if h1.tag == "h1"]
    around_headings = holding(headings or islice(elements.root.iter("h2", "h3"), 1))
    forms = [
        form
        for form in elements.tagged("form")
        if form.tag == "form" and form not in around_headings and is_form_to_write(form)
    ]
    return [*asides_by_name(elements, around_headings), *forms]


def _holds_content(form: HtmlElement) -> bool:
    """Return True for a form with text, a filled text field or a list of links or buttons."""
    links = 0
    for element in form.iter("a", "button", "textarea", *_CONTENT_TAGS):
        if element.tag in ("a", "button"):
            links += element.get("href" if element.tag == "a" else "formaction") is not None
            if links > _MAX_LINKS_OF_FORM:
                return True
        elif element.tag != "textarea" or element.text:
            return True
    return False


def _is_link_in_list(form: HtmlElement) -> bool:
    """Return True for a form in a row, cell or item that has a button and asks for nothing."""
    above = form.getparent()
    if above is None or above.tag not in _LISTING_TAGS:
        return False
    fields = list(form.iter("button", "input", "select", "textarea"))
    return any(field.tag == "button" for field in fields) and all(
        field.tag == "button" or field.get("type", "").lower() in _UNASKED for field in fields
    )


def hidden_elements(elements: Elements) -> list[HtmlElement]:
    """Return the elements, root included, that ``hidden`` hides, then those that a style hides."""
    # A browser finds the text of "until-found", and shows it.
    found = [
        value.getparent()
        for value in elements.values("hidden")
        if value.strip().lower() != "until-found"
    ]
    found += [value.getparent() for value in elements.values("style") if is_hidden(value)]
    return list(dict.fromkeys(found))


def is_hidden(style: str) -> bool:
    """Return True if a ``style`` attribute hides its element."""
    lowered = style.lower()
    # Most styles contain neither word, and the search is slow.
    return ("none" in lowered or "hidden" in lowered) and _HIDING_STYLE.search(lowered) is not None


def is_logo(heading: HtmlElement) -> bool:
    """Return True if a heading, or an element around it, is named as the site's logo, or if it is a
    link to the front page.
    """
    around = [heading, *heading.iterancestors()]
    return _is_link_home(heading) or any(
        element.tag not in _NEVER_CHROME and any(map(_SURE_LOGO.search, names_of(element).split()))
        for element in around
    )


def _inside(passes: Callable[[HtmlElement], bool]) -> Callable[[HtmlElement], bool]:
    """Return a function that returns True if an element, or one that contains it, passes.

    Each element is tested once. Otherwise deeply nested pages would take minutes.
    """
    answers: dict[HtmlElement | None, bool] = {None: False}  # no element contains the root

    def is_inside(element: HtmlElement) -> bool:
        visited = []
        at: Any = element
        while at not in answers:
            visited.append(at)
            if passes(at):
                answers[at] = True
            else:
                at = at.getparent()
        answers.update(dict.fromkeys(visited, answers[at]))
        return answers[at]

    return is_inside


def _is_named_as_logo(element: HtmlElement) -> bool:
    names = names_of(element).lower()
    return (
        any(word in names for word in _LOGO_WORDS)
        and element.tag not in _NEVER_CHROME
        # A heading named "header" is one; an element above it may be the header of the site.
        and any(map((_SURE_LOGO if element.tag == "h1" else _LOGO).search, names.split()))
    )


def _is_link_home(heading: HtmlElement) -> bool:
    """Return True if a heading has one link, which leads to the front page, and no inner ``h1``."""
    hrefs: list[str] = []
    for element in heading.iterdescendants("a", "h1"):
        href = element.get("href")
        if element.tag == "h1" or (href is not None and hrefs):
            return False
        if href is not None:
            hrefs.append(href)
    return bool(hrefs) and leads_home(hrefs[0])


@lru_cache(maxsize=4096)
def leads_home(href: str) -> bool:
    """Return True if a link leads to the front page of a site."""
    href = href.strip()
    if not href or href.startswith("#"):
        return False
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.path.strip("/") in HOME_PATHS and not parts.fragment and not parts.query
