"""A site's chrome: navigation, sidebar and footer in one of several layouts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from quality_lib.templates.markup import links, paragraphs

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_WORD = re.compile(r"[^\W_]+")
_SIDEBAR_LINKS = 5


class Content(NamedTuple):
    """What one page says, without the chrome of its site.

    :param body: HTML below the page's heading.
    :param heading: the h1 where it is not the name.
    :param path: the last part of its URL where that cannot be made from the name.
    :param brand: the firm on whose own domain the page is, if one template serves several.
    """

    name: str
    body: str
    heading: str = ""
    path: str = ""
    brand: str = ""


@dataclass(frozen=True)
class Site:
    """What all pages of a site have in common.

    :param folder: the first part of the path of each page.
    :param nav: the texts of the main navigation, separated by ``|``.
    :param title: of each page, with ``{name}`` and ``{site}``; constant if it has no ``{name}``.
    :param logo_is_heading: the site's name is the h1, and the page's own is plain text.
    :param banner: HTML that stands before all else, such as a consent dialog.
    """

    name: str
    host: str
    folder: str
    nav: str
    layout: Callable[[Frame], str]
    footer: tuple[str, ...]
    aside: str = ""
    title: str = "{name} | {site}"
    logo_is_heading: bool = False
    banner: str = ""
    lang: str = "en"


@dataclass(frozen=True)
class Frame:
    """One page about to be laid out. `query` is appended to all links of the page."""

    site: Site
    content: Content
    query: str
    sidebar: tuple[str, ...]
    printed_from: str = ""

    @property
    def title(self) -> str:
        """The text of the title element."""
        return self.site.title.format(name=self.content.name, site=self.site.name)

    @property
    def heading(self) -> str:
        """The page's own heading, which is no h1 where the logo is."""
        text = escape(self.content.heading or self.content.name)
        return f'<p class="page-name"><b>{text}</b></p>' if self._logo else f"<h1>{text}</h1>"

    @property
    def logo(self) -> str:
        """The site's name with a link."""
        link = f'<a href="/{self.query}" class="logo">{escape(self.site.name)}</a>'
        return f"<h1>{link}</h1>" if self._logo else link

    @property
    def nav(self) -> str:
        """The main navigation."""
        return links((f"/{slug(text)}{self.query}", text) for text in self.site.nav.split("|"))

    @property
    def side(self) -> str:
        """Links to other pages of the site."""
        return links((self.address(text), text) for text in self.sidebar)

    @property
    def foot(self) -> str:
        """The footer's texts."""
        return paragraphs(*self.site.footer)

    @property
    def aside(self) -> str:
        """The site's note in the sidebar."""
        return paragraphs(self.site.aside) if self.site.aside else ""

    @property
    def _logo(self) -> bool:
        return self.site.logo_is_heading

    def address(self, name: str) -> str:
        """Return the path of the page with that name."""
        return f"/{self.site.folder}/{slug(name)}{self.query}"

    def head(self, more: str = "") -> str:
        """Return everything up to the body, and the banner."""
        return (
            f'<!DOCTYPE html>\n<html lang="{self.site.lang}">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(self.title)}</title>\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<link rel="stylesheet" href="/assets/main.css">\n{more}</head>\n<body>\n'
            f"{self.site.banner}\n"
        )


def slug(text: str) -> str:
    """Return a text as a part of a path."""
    return quote("-".join(_WORD.findall(text.lower())))


def frame(site: Site, content: Content, names: list[str], dice: random.Random) -> Frame:
    """Return a page with a sidebar of other pages, as they are on the day of the visit."""
    sidebar = tuple(dice.sample(names, min(_SIDEBAR_LINKS, len(names))))
    return Frame(site, content, "", sidebar)


# Layouts


def sections(page: Frame) -> str:
    """Return a page in HTML 5's own elements."""
    return (
        f"{page.head()}<header>\n{page.logo}\n<nav>\n{page.nav}</nav>\n</header>\n<main>\n"
        f"<article>\n{page.heading}\n{page.content.body}\n</article>\n</main>\n"
        f"<aside>\n<h2>See also</h2>\n{page.side}{page.aside}</aside>\n"
        f"<footer>\n{page.foot}\n</footer>\n</body>\n</html>\n"
    )


def columns(page: Frame) -> str:
    """Return a page of nested divs with a breadcrumb, as frameworks make them."""
    here = escape(page.content.name)
    return (
        f'{page.head()}<div class="navbar"><div class="container">\n{page.logo}\n'
        f'<div class="collapse">{page.nav}</div></div></div>\n<div class="container">\n'
        f'<ol class="breadcrumb"><li><a href="/{page.query}">Home</a></li>'
        f'<li class="active">{here}</li></ol>\n<div class="row">\n<div class="col-md-9">\n'
        f"{page.heading}\n{page.content.body}\n</div>\n"
        f'<div class="col-md-3 sidebar"><h3>Recently viewed</h3>\n{page.side}{page.aside}</div>\n'
        f'</div>\n</div>\n<div class="footer"><div class="container">\n{page.foot}\n</div></div>\n'
        "</body>\n</html>\n"
    )


def weblog(page: Frame) -> str:
    """Return a page as a content management system writes it, with widgets."""
    return (
        f'{page.head()}<div id="page" class="hfeed site">\n<div id="masthead" class="site-header">'
        f'{page.logo}</div>\n<div id="site-navigation" class="main-navigation">{page.nav}</div>\n'
        '<div id="content" class="site-content"><div id="primary" class="content-area">\n'
        f'<div class="post entry"><div class="entry-header">{page.heading}</div>\n'
        f'<div class="entry-content">\n{page.content.body}\n</div></div></div>\n'
        '<div id="secondary" class="widget-area"><div class="widget"><h3 class="widget-title">'
        f'Popular now</h3>\n{page.side}</div><div class="widget">{page.aside}</div></div></div>\n'
        f'<div id="colophon" class="site-footer">\n{page.foot}\n</div></div>\n</body>\n</html>\n'
    )


def manual(page: Frame) -> str:
    """Return a page of documentation with a table of contents beside it."""
    return (
        f'{page.head()}<div class="related" role="navigation">{page.logo}{page.nav}</div>\n'
        f'<div class="document"><div class="sphinxsidebar"><h3>Contents</h3>\n{page.side}'
        f'{page.aside}</div>\n<div class="body" role="main">\n{page.heading}\n'
        f'{page.content.body}\n</div></div>\n<div class="footer">\n{page.foot}\n</div>\n'
        "</body>\n</html>\n"
    )


def grid(page: Frame) -> str:
    """Return a page laid out by a table, as they were made in 2003."""
    return (
        f'{page.head()}<table width="780" cellpadding="4"><tr><td colspan="2" bgcolor="#336699">'
        f'{page.logo}</td></tr>\n<tr><td width="160" valign="top">{page.nav}<hr>\n{page.side}'
        f'{page.aside}</td>\n<td valign="top">\n{page.heading}\n{page.content.body}\n</td></tr>\n'
        f'<tr><td colspan="2"><font size="1">\n{page.foot}\n</font></td></tr></table>\n'
        "</body>\n</html>\n"
    )


def print_version(page: Frame) -> str:
    """Return a page as it is printed: a logo, the content, and where it is from."""
    return (
        f'{page.head("<style>body { font: 11pt serif }</style>")}<div class="print-logo">'
        f'{page.logo}</div>\n<div class="print-content">\n{page.heading}\n{page.content.body}\n'
        f'</div>\n<p class="print-source">{escape(page.printed_from)}</p>\n</body>\n</html>\n'
    )


def fragment(page: Frame) -> str:
    """Return what a script loads into a dialog: no title and no heading."""
    return (
        f'<div class="quick-view"><div class="product">{escape(page.content.name)}</div>\n'
        f"{page.content.body}\n<button>Add to basket</button></div>\n"
    )


def phone_version(page: Frame) -> str:
    """Return a page for telephones: the menu below the content, no sidebar."""
    return (
        f'{page.head()}<div class="topbar"><a href="#menu">Menu</a> {page.logo}</div>\n'
        f'<div class="screen">\n{page.heading}\n{page.content.body}\n</div>\n'
        f'<div id="menu">{page.nav}</div>\n<div class="bottom">\n{page.foot}\n</div>\n'
        "</body>\n</html>\n"
    )
