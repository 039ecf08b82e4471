"""Sites whose URLs and contents are known; docs/url-rules.md has the figures of the first ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from url_rules_lib.site import SITES, numbers_of, site, url_with

if TYPE_CHECKING:
    from url_rules_lib.site import Params, Path, Shown

__all__ = ["SITES"]

_LETTERS = "abcdefghijklmnop"
_SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
_SESSIONS, _TOKENS = random.Random(7), random.Random(11)


@site("http://forum.example.com/index.php")
def forum(host: str, path: Path, params: Params) -> Shown:
    """Return a forum that gives each link a session id, highlights words, and prints topics."""
    boards, topics = 12, 30
    links: list[str] = []

    def link(script: str, **more: object) -> None:
        links.append(url_with(f"{host}/{script}", **more, sid=f"{_SESSIONS.getrandbits(128):032x}"))

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


@site("https://shop.example.org/")
def shop(host: str, path: Path, params: Params) -> Shown:
    """Return a shop whose listings have sort orders and views, which don't matter, and filters,
    which do.
    """
    categories, products = 12, 25
    colours = ("red", "green", "blue")
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


@site("https://www.news.example.net/")
def news(_host: str, path: Path, _: Params) -> Shown:
    """Return news with print and mobile versions, and links that say where a reader came from."""
    host, mobile = "https://www.news.example.net", "https://m.news.example.net"
    sections, stories = ("world", "sport", "science"), 420
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


@site("http://wiki.example.info/wiki/Article_0")
def wiki(host: str, path: Path, params: Params) -> Shown:
    """Return a wiki: views and histories of articles, with parameters that don't matter, and a page
    of a log-in for each that can be edited.
    """
    articles = 350
    script = f"{host}/index.php"
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


@site("http://events.example.com/")
def calendar(host: str, path: Path, params: Params) -> Shown:
    """Return a site with events and a calendar without end, most of whose months are empty."""
    events = 250
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


@site("https://www.docs.example.com/doc/0/")
def mirror(_host: str, path: Path, _: Params) -> Shown:
    """Return a site under four schemes and hosts, with index files and slashes."""
    hosts = (
        *("https://www.docs.example.com", "http://www.docs.example.com"),
        *("http://docs.example.com", "http://mirror.example.edu"),
    )
    pages = 300
    number = int(path[1]) if path else 0
    chosen = numbers_of(f"mirror {number}")
    links = [f"{chosen.choice(hosts)}/doc/{(2 * number + n) % pages}/" for n in range(4)]
    links += [f"{host}/doc/{number}/" for host in hosts]
    return f"doc {number}", [*links, f"{hosts[0]}/doc/{number}/index.html"]


@site("http://both.example.com/")
def matters(host: str, path: Path, params: Params) -> Shown:
    """Return a site on which a parameter matters in the catalog, and not in the news."""
    stories, parts = 200, 300
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


@site("http://desk.example.com/default.aspx")
def sessions(host: str, path: Path, params: Params) -> Shown:
    """Return a site that has a new session id in the path of all links of a page."""
    groups, items = 12, 30
    letters = "abcdefghijklmnopqrstuvwxyz012345"
    base = f"{host}/(S({''.join(_TOKENS.choices(letters, k=24))}))"
    name = path[-1] if path else "default.aspx"
    if name == "default.aspx":
        return "home", [f"{base}/list.aspx?group={n}" for n in range(groups)]
    if name == "list.aspx":
        group = int(params["group"])
        shown = range(group * items, (group + 1) * items)
        return f"group {group}", [
            *(f"{base}/forms/item.aspx?id={n}" for n in shown),
            f"{base}/default.aspx",
        ]
    number = int(params["id"])
    others = [(number * 5 + step) % (groups * items) for step in (1, 2)]
    return f"item {number}", [
        *(f"{base}/forms/item.aspx?id={n}" for n in others),
        f"{base}/list.aspx?group={number // items}",
    ]


@site("https://ask.example.org/")
def questions(host: str, path: Path, params: Params) -> Shown:
    """Return questions whose number alone matters: the words after it may be others, or none."""
    tags, count = 10, 360
    words = ("how", "why", "when", "to", "mend", "paint", "boat", "kite", "lamp", "glue")

    def slug(number: int, version: int) -> str:
        return "-".join(numbers_of(f"slug {number} {version}").sample(words, 4))

    if not path:
        return "home", [f"{host}/tags/{words[n]}" for n in range(tags)]
    if path[0] == "tags":
        tag, page = words.index(path[1]), int(params.get("page", 1))
        shown = range(tag, count, tags)[12 * (page - 1) : 12 * page]
        links = [f"{host}/questions/{n}/{slug(n, 0)}" for n in shown]
        links += [f"{host}/tags/{path[1]}?page={n}" for n in (1, 2, 3)]
        return f"tag {path[1]} {page}", links
    number = int(path[1])
    others = [(number * 7 + step) % count for step in (3, 8)]
    return f"question {number}", [
        f"{host}/questions/{others[0]}/{slug(others[0], 1)}",
        f"{host}/questions/{others[1]}",
        f"{host}/questions/{number}/{slug(number, 0)}?answertab=votes",
    ]


@site("https://blog.example.net/")
def blog(host: str, path: Path, params: Params) -> Shown:
    """Return a blog with numbers for posts, replies, shares, feeds of words, and first pages."""
    posts, per_page = 320, 10

    def post(number: int) -> str:
        year, month = 2015 + number % 9, 1 + number % 12
        return f"{host}/{year}/{month:02}/{_word(number)}/"

    def _post(number: int) -> tuple[str, list[str]]:
        here = post(number)
        links = [f"{here}?replytocom={number * 10 + n}" for n in range(3)]
        links += [f"{here}?share={one}" for one in ("x", "mail")]
        return f"post {number}", [*links, f"{here}amp/", post((number + 1) % posts)]

    if not path and "p" in params:
        return _post(int(params["p"]))
    if not path or path[0] in ("page", "category"):
        page = int(path[-1]) if len(path) > 1 and path[-2] == "page" else 1
        category = path[1] if path and path[0] == "category" else ""
        shown = [n for n in range(posts) if not category or n % 4 == int(category[-1])]
        folder = f"{host}/category/{category}" if category else host
        here = shown[per_page * (page - 1) : per_page * page]
        links = [post(n) for n in here]
        links += [f"{host}/?p={n}" for n in here[:3]]
        if page * per_page < len(shown):
            links.append(f"{folder}/page/{page + 1}/")
        links += [f"{folder}/page/1/"] + [f"{host}/category/cat{n}/" for n in range(4)]
        return f"list {category} {page}", links
    return _post(_number(path[2]))


@site("https://list.example.com/")
def paging(host: str, path: Path, params: Params) -> Shown:
    """Return lists whose first page and usual order have two URLs; the other pages differ."""
    lists, pages, items = 14, 12, 10
    if not path:
        return "home", [f"{host}/list/{n}" for n in range(lists)]
    number = int(path[1])
    if path[0] == "item":
        chosen = number // (pages * items)
        return f"item {number}", [f"{host}/list/{chosen}?page=1", f"{host}/list/{chosen}"]
    page, order = int(params.get("page", 1)), params.get("order", "new")
    first = (number * pages + page - 1) * items
    links = [f"{host}/item/{n}" for n in range(first, first + items)]
    links += [url_with(f"{host}/list/{number}", page=n) for n in (1, page, min(page + 1, pages))]
    links += [url_with(f"{host}/list/{number}", page=page, order=one) for one in ("new", "old")]
    return f"list {number} {page} {order}", links


@site("http://hall.example.org/")
def days(host: str, path: Path, _: Params) -> Shown:
    """Return a calendar without end of months, and days in months, few of which have events."""
    events = 200
    if not path:
        return "home", [f"{host}/event/{n}" for n in range(events)] + [f"{host}/cal/2024/01/"]
    if path[0] == "event":
        number = int(path[1])
        return f"event {number}", [f"{host}/event/{(number + 1) % events}"]
    year, month = int(path[1]), int(path[2])
    at = (year - 2024) * 12 + month - 1
    if len(path) == 4:
        day = int(path[3])
        links = [
            f"{host}/cal/{year}/{month:02}/{day % 28 + 1:02}/",
            f"{host}/cal/{year}/{month:02}/",
        ]
        full = at in range(12) and day % 9 == 0
        return f"day {at} {day}" if full else f"empty month of {at * 31 + day}", links
    links = [f"{host}/cal/{year}/{month:02}/{day:02}/" for day in range(1, 29)]
    for other in (at - 1, at + 1):
        links.append(f"{host}/cal/{2024 + other // 12}/{other % 12 + 1:02}/")
    return (f"month {at}" if at in range(12) else f"empty month of {at}"), links


@site("http://fair.example.org/")
def months(host: str, path: Path, _: Params) -> Shown:
    """Return a calendar without end whose URLs have the names of the months."""
    events = 150
    names = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    if not path:
        return "home", [f"{host}/event/{n}" for n in range(events)] + [f"{host}/when/jan-2024"]
    if path[0] == "event":
        number = int(path[1])
        return f"event {number}", [f"{host}/event/{(number + 1) % events}"]
    name, year = path[1].split("-")
    at = (int(year) - 2024) * 12 + names.index(name)
    links = [f"{host}/when/{names[other % 12]}-{2024 + other // 12}" for other in (at - 1, at + 1)]
    return (f"month {at}" if at in range(12) else f"empty month of {at}"), links


@site("https://tools.example.com/tools")
def filters(host: str, path: Path, params: Params) -> Shown:
    """Return a shop whose filters can be combined without end; most combinations find nothing."""
    products = 240
    facets = {
        "brand": ("acme", "bolt", "crane", "dorn"),
        "colour": ("red", "green", "blue"),
        "size": ("small", "medium", "large"),
        "power": ("hand", "mains", "battery"),
        "use": ("wood", "stone", "steel", "glass"),
    }

    def has(number: int, name: str, value: str) -> bool:
        return numbers_of(f"{number} {name}").choice(facets[name]) == value

    if path and path[0] == "tool":
        number = int(path[1])
        return f"tool {number}", [f"{host}/tool/{(number + 1) % products}"]
    chosen = {name: value for name, value in params.items() if name in facets}
    shown = [n for n in range(products) if all(has(n, *one) for one in chosen.items())]
    links = [f"{host}/tool/{n}" for n in shown]
    for name, values in facets.items():
        links += [url_with(f"{host}/tools", **{**chosen, name: value}) for value in values]
    # A page without results says so, and lists the same filters.
    return (f"tools {sorted(chosen.items())}" if shown else "empty month of 0"), links


@site("https://law.example.eu/page/0")
def languages(host: str, path: Path, _: Params) -> Shown:
    """Return a site whose pages differ by language, and have two URLs in one of them."""
    pages = 130
    known = ("en", "de", "fr")
    language = path[0] if path and path[0] in known else "en"
    number = int(path[-1]) if path and path[-1].isdigit() else 0
    rest = [f"page/{(number * 3 + step) % pages}" for step in (1, 2)]
    links = [f"{host}/{one}/page/{number}" for one in known] + [f"{host}/page/{number}"]
    links += [f"{host}/{language}/{one}" for one in rest] + [f"{host}/{rest[0]}"]
    return f"page {number} {language}", links


@site("https://rare.example.com/page/0")
def rarely(host: str, path: Path, params: Params) -> Shown:
    """Return pages whose parameter makes another page of one in thirty."""
    pages = 600
    number = int(path[1]) if path else 0
    variant = params.get("v", "0") if number % 30 == 7 else "0"
    others = [(number * 11 + step) % pages for step in (1, 2)]
    links = [f"{host}/page/{n}" for n in others]
    links += [f"{host}/page/{number}?v={n}" for n in (1, 2)]
    return f"page {number} {variant}", links


@site("https://one.example.com/")
def halves(host: str, path: Path, _: Params) -> Shown:
    """Return two hosts that show the same documents and other news."""
    hosts = ("https://one.example.com", "https://two.example.com")
    documents = stories = 160
    name = host.split("/")[2]
    if not path:
        links = [f"{one}/docs/{n}" for n in range(0, documents, 8) for one in hosts]
        return f"home {name}", links + [
            f"{one}/news/{n}" for n in range(0, 160, 8) for one in hosts
        ]
    number = int(path[1])
    links = [f"{one}/{path[0]}/{(number + 1) % stories}" for one in hosts]
    links.append(f"{hosts[0]}/docs/{number}")
    content = f"document {number}" if path[0] == "docs" else f"story {number} {name}"
    return content, links


@site("http://old.example.com/p0/")
def relative(host: str, path: Path, _: Params) -> Shown:
    """Return a site whose links are relative to a folder where they should be to the root."""
    pages = 200
    number = int(path[-1][1:]) if path and path[-1][1:].isdigit() else 0
    base = host + "/" + "".join(f"{one}/" for one in path)
    links = [f"{host}/p{(number * 3 + step) % pages}/" for step in (1, 2)]
    links += [f"{base}p{(number + 1) % pages}/", f"{base}help/"]
    return ("help" if path and path[-1] == "help" else f"page {number}"), links


@site("http://find.example.com/page/0")
def search(host: str, path: Path, params: Params) -> Shown:
    """Return a site whose search proposes further words without end, and finds nothing."""
    pages = 180
    if path and path[0] == "search":
        word = params["q"]
        chosen = numbers_of(f"near {word}")
        links = [f"{host}/search?q={_word(chosen.randrange(10**9))}" for _ in range(5)]
        return "empty month of 0", links
    number = int(path[1]) if path else 0
    links = [f"{host}/page/{(number * 3 + step) % pages}" for step in (1, 2)]
    return f"page {number}", [*links, f"{host}/search?q={_word(number)}"]


@site("https://photo.example.net/")
def albums(host: str, path: Path, _: Params) -> Shown:
    """Return photographs, each of which has a URL in its album and one outside of it."""
    albums_, photos = 15, 20
    if not path:
        return "home", [f"{host}/album/{n}" for n in range(albums_)]
    if path[0] == "album" and len(path) == 2:
        album = int(path[1])
        shown = range(album * photos, (album + 1) * photos)
        return f"album {album}", [f"{host}/album/{album}/photo/{n}" for n in shown]
    number = int(path[-1])
    other = (number + 1) % (albums_ * photos)
    return f"photo {number}", [
        f"{host}/photo/{number}",
        f"{host}/photo/{other}?album={number // photos}",
        f"{host}/photo/{number}?{urlencode({'from': f'u{number * 37}', 't': number * 991})}",
    ]


def _word(number: int) -> str:
    """Return a word of letters that stands for a number below 65^5."""
    word = ""
    for _ in range(5):
        number, syllable = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[syllable]
    return word


def _number(word: str) -> int:
    syllables = [word[at : at + 2] for at in range(0, len(word), 2)]
    return sum(
        _SYLLABLES.index(one) * len(_SYLLABLES) ** power for power, one in enumerate(syllables)
    )
