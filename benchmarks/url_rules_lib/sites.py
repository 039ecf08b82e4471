"""Sites whose URLs and contents are known: those of which docs/url-rules.md has the figures."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from url_rules_lib.more_sites import MORE_SITES
from url_rules_lib.site import Site, numbers_of, split, url_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LETTERS = "abcdefghijklmnop"


def forum() -> Site:
    """Return a forum that gives each link a session id, highlights words, and prints topics."""
    host, boards, topics = "http://forum.example.com", 12, 30
    sessions = random.Random(7)

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        links: list[str] = []

        def link(script: str, **more: object) -> None:
            links.append(
                url_with(f"{host}/{script}", **more, sid=f"{sessions.getrandbits(128):032x}")
            )

        if path == ["index.php"]:
            for board in range(boards):
                link("viewforum.php", f=board)
            return "index", links
        if path == ["viewforum.php"]:
            board, start = int(params["f"]), int(params.get("start", 0))
            for topic in range(start, min(start + 10, topics)):
                number = board * topics + topic
                link("viewtopic.php", f=board, t=number)
                link("viewtopic.php", t=number, view="print")
            if start + 10 < topics:
                link("viewforum.php", f=board, start=start + 10)
            link("index.php")
            return f"board {board} {start}", links
        number = int(params["t"])
        for step in (13, 29):
            link("viewtopic.php", t=(7 * number + step) % (boards * topics), hilit=f"w{step}")
        link("viewforum.php", f=number // topics)
        return f"topic {number}", links

    return Site(f"{host}/index.php", show)


def shop() -> Site:
    """Return a shop whose listings have sort orders and views, which don't matter, and filters,
    which do.
    """
    host, categories, products = "https://shop.example.org", 12, 25
    colours = ("red", "green", "blue")

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        if not path:
            return "home", [f"{host}/c/{_LETTERS[n]}/" for n in range(categories)]
        if path[0] == "c":
            category, colour = _LETTERS.index(path[1]), params.get("color")
            kept = {"color": colour} if colour else {}
            base = f"{host}/c/{path[1]}/"
            links = [url_with(base, color=one) for one in colours]
            for sort in ("price", "name", "new"):
                links.append(url_with(base, **kept, sort=sort))
                links += [url_with(base, **kept, sort=sort, view=view) for view in ("grid", "list")]
            shown = [
                category * products + n
                for n in range(products)
                if not colour or colours[n % 3] == colour
            ]
            links += [url_with(f"{host}/p/{n}/item-{n}", ref=path[1]) for n in shown]
            return f"category {category} {colour}", links
        number = int(path[1])
        others = [(number + step) % (categories * products) for step in (1, 2, 30)]
        links = [url_with(f"{host}/p/{n}/item-{n}", ref="related") for n in others]
        return f"product {number}", [*links, f"{host}/p/{number}/item-{number}"]

    return Site(f"{host}/", show)


def news() -> Site:
    """Return news with print and mobile versions, and links that say where a reader came from."""
    host, mobile = "https://www.news.example.net", "https://m.news.example.net"
    sections, stories = ("world", "sport", "science"), 420

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        if not path:
            return "home", [f"{host}/{section}/" for section in sections]
        if len(path) == 1:
            first = sections.index(path[0])
            numbers = range(first, stories, len(sections))
            return f"section {path[0]}", [f"{host}/{path[0]}/2024/{n}-a.html" for n in numbers]
        number = int(path[2].split("-")[0])
        here = f"{host}/{path[0]}/2024/{number}-a"
        related = (number + 3) % stories
        return f"story {number}", [
            f"{here}-print.html",
            here.replace(host, mobile) + ".html",
            f"{here}.html?utm_source=feed&utm_medium=rss",
            f"{host}/{sections[related % 3]}/2024/{related}-a.html?from={number}",
        ]

    return Site(f"{host}/", show)


def wiki() -> Site:
    """Return a wiki: views and histories of articles, with parameters that don't matter, and a page
    of a log-in for each that can be edited.
    """
    host, articles = "http://wiki.example.info", 350
    script = f"{host}/index.php"

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        title = params.get("title") or path[-1]
        number = int(title.removeprefix("Article_"))
        action = params.get("action", "view")
        others = [(3 * number + step) % articles for step in (1, 2, 3)]
        links = [f"{host}/wiki/Article_{n}" for n in others]
        links += [url_with(script, title=f"Article_{n}", redirect="no") for n in others[:1]]
        links += [
            url_with(script, title=title, action="history"),
            url_with(script, title=title, action="history", limit=50),
            url_with(script, title=title, printable="yes"),
            url_with(script, title=title, mobileaction="toggle"),
            url_with(script, title=title, action="edit"),
        ]
        return ("log in" if action == "edit" else f"{action} {title}"), links

    return Site(f"{host}/wiki/Article_0", show)


def calendar() -> Site:
    """Return a site with events and a calendar without end, most of whose months are empty."""
    host, events = "http://events.example.com", 250

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        if not path:
            pages = [f"{host}/event/{n}" for n in range(events)]
            return "home", [*pages, url_with(f"{host}/calendar", month=0)]
        if path[0] == "event":
            number = int(path[1])
            more = (number + 1) % events
            return f"event {number}", [f"{host}/event/{more}", f"{host}/event/{number}?share=1"]
        month = int(params["month"])
        links = [url_with(f"{host}/calendar", month=month + step) for step in (-1, 1, 12)]
        links += [url_with(f"{host}/calendar", month=month, view=one) for one in ("week", "day")]
        return (f"month {month}" if abs(month) <= 12 else f"empty month of {month}"), links

    return Site(f"{host}/", show)


def mirror() -> Site:
    """Return a site under four schemes and hosts, with index files and slashes."""
    hosts = (
        *("https://www.docs.example.com", "http://www.docs.example.com"),
        *("http://docs.example.com", "http://mirror.example.edu"),
    )
    pages = 300

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        number = int(path[1]) if path else 0
        chosen = numbers_of(f"mirror {number}")
        links = [f"{chosen.choice(hosts)}/doc/{(2 * number + n) % pages}/" for n in range(4)]
        links += [f"{host}/doc/{number}/" for host in hosts]
        return f"doc {number}", [*links, f"{hosts[0]}/doc/{number}/index.html"]

    return Site(f"{hosts[0]}/doc/0/", show)


def matters() -> Site:
    """Return a site on which a parameter matters in the catalog, and not in the news."""
    host, stories, parts = "http://both.example.com", 200, 300

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        if not path:
            return "home", [f"{host}/news/{n}" for n in range(stories)] + [
                url_with(f"{host}/catalog", ref=n) for n in range(parts)
            ]
        if path[0] == "news":
            number = int(path[1])
            others = [(number + step) % stories for step in (1, 2, 7)]
            return f"story {number}", [url_with(f"{host}/news/{n}", ref=number) for n in others]
        number = int(params["ref"])
        links = [url_with(f"{host}/catalog/part", ref=number, page=n) for n in (1, 2)]
        return f"catalog {'/'.join(path)} {number} {params.get('page')}", links

    return Site(f"{host}/", show)


SITES: Mapping[str, Callable[[], Site]] = {
    "forum": forum,
    "shop": shop,
    "news": news,
    "wiki": wiki,
    "calendar": calendar,
    "mirror": mirror,
    "matters": matters,
    **MORE_SITES,
}
