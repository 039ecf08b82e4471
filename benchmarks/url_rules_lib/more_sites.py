"""More sites whose URLs and contents are known, of kinds that the first ones don't have."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from url_rules_lib.site import Site, numbers_of, split, url_with

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def sessions() -> Site:
    """Return a site that has a new session id in the path of all links of a page."""
    host, groups, items = "http://desk.example.com", 12, 30
    tokens = random.Random(11)
    letters = "abcdefghijklmnopqrstuvwxyz012345"

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        base = f"{host}/(S({''.join(tokens.choices(letters, k=24))}))"
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

    return Site(f"{host}/default.aspx", show)


def questions() -> Site:
    """Return questions whose number alone matters: the words after it may be others, or none."""
    host, tags, count = "https://ask.example.org", 10, 360
    words = ("how", "why", "when", "to", "mend", "paint", "boat", "kite", "lamp", "glue")

    def slug(number: int, version: int) -> str:
        return "-".join(numbers_of(f"slug {number} {version}").sample(words, 4))

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
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

    return Site(f"{host}/", show)


def blog() -> Site:
    """Return a blog with numbers for posts, replies, shares, feeds of words, and first pages."""
    host, posts, per_page = "https://blog.example.net", 320, 10

    def post(number: int) -> str:
        year, month = 2015 + number % 9, 1 + number % 12
        return f"{host}/{year}/{month:02}/{_word(number)}/"

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
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

    def _post(number: int) -> tuple[str, list[str]]:
        here = post(number)
        links = [f"{here}?replytocom={number * 10 + n}" for n in range(3)]
        links += [f"{here}?share={one}" for one in ("x", "mail")]
        return f"post {number}", [*links, f"{here}amp/", post((number + 1) % posts)]

    return Site(f"{host}/", show)


def paging() -> Site:
    """Return lists whose first page and usual order have two URLs; the other pages differ."""
    host, lists, pages, items = "https://list.example.com", 14, 12, 10

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        if not path:
            return "home", [f"{host}/list/{n}" for n in range(lists)]
        number = int(path[1])
        if path[0] == "item":
            chosen = number // (pages * items)
            return f"item {number}", [f"{host}/list/{chosen}?page=1", f"{host}/list/{chosen}"]
        page, order = int(params.get("page", 1)), params.get("order", "new")
        first = (number * pages + page - 1) * items
        links = [f"{host}/item/{n}" for n in range(first, first + items)]
        links += [
            url_with(f"{host}/list/{number}", page=n) for n in (1, page, min(page + 1, pages))
        ]
        links += [url_with(f"{host}/list/{number}", page=page, order=one) for one in ("new", "old")]
        return f"list {number} {page} {order}", links

    return Site(f"{host}/", show)


def days() -> Site:
    """Return a calendar without end of months, and days in months, few of which have events."""
    host, events = "http://hall.example.org", 200

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
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

    return Site(f"{host}/", show)


def months() -> Site:
    """Return a calendar without end whose URLs have the names of the months."""
    host, events = "http://fair.example.org", 150
    names = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        if not path:
            return "home", [f"{host}/event/{n}" for n in range(events)] + [f"{host}/when/jan-2024"]
        if path[0] == "event":
            number = int(path[1])
            return f"event {number}", [f"{host}/event/{(number + 1) % events}"]
        name, year = path[1].split("-")
        at = (int(year) - 2024) * 12 + names.index(name)
        links = [
            f"{host}/when/{names[other % 12]}-{2024 + other // 12}" for other in (at - 1, at + 1)
        ]
        return (f"month {at}" if at in range(12) else f"empty month of {at}"), links

    return Site(f"{host}/", show)


def filters() -> Site:
    """Return a shop whose filters can be combined without end; most combinations find nothing."""
    host, products = "https://tools.example.com", 240
    facets = {
        "brand": ("acme", "bolt", "crane", "dorn"),
        "colour": ("red", "green", "blue"),
        "size": ("small", "medium", "large"),
        "power": ("hand", "mains", "battery"),
        "use": ("wood", "stone", "steel", "glass"),
    }

    def has(number: int, name: str, value: str) -> bool:
        return numbers_of(f"{number} {name}").choice(facets[name]) == value

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
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

    return Site(f"{host}/tools", show)


def languages() -> Site:
    """Return a site whose pages differ by language, and have two URLs in one of them."""
    host, pages = "https://law.example.eu", 130
    known = ("en", "de", "fr")

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        language = path[0] if path and path[0] in known else "en"
        number = int(path[-1]) if path and path[-1].isdigit() else 0
        rest = [f"page/{(number * 3 + step) % pages}" for step in (1, 2)]
        links = [f"{host}/{one}/page/{number}" for one in known] + [f"{host}/page/{number}"]
        links += [f"{host}/{language}/{one}" for one in rest] + [f"{host}/{rest[0]}"]
        return f"page {number} {language}", links

    return Site(f"{host}/page/0", show)


def rarely() -> Site:
    """Return pages whose parameter makes another page of one in thirty."""
    host, pages = "https://rare.example.com", 600

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        number = int(path[1]) if path else 0
        variant = params.get("v", "0") if number % 30 == 7 else "0"
        others = [(number * 11 + step) % pages for step in (1, 2)]
        links = [f"{host}/page/{n}" for n in others]
        links += [f"{host}/page/{number}?v={n}" for n in (1, 2)]
        return f"page {number} {variant}", links

    return Site(f"{host}/page/0", show)


def halves() -> Site:
    """Return two hosts that show the same documents and other news."""
    hosts = ("https://one.example.com", "https://two.example.com")
    documents = stories = 160

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        host = url.split("/")[2]
        if not path:
            links = [f"{one}/docs/{n}" for n in range(0, documents, 8) for one in hosts]
            return f"home {host}", links + [
                f"{one}/news/{n}" for n in range(0, 160, 8) for one in hosts
            ]
        number = int(path[1])
        links = [f"{one}/{path[0]}/{(number + 1) % stories}" for one in hosts]
        links.append(f"{hosts[0]}/docs/{number}")
        name = f"document {number}" if path[0] == "docs" else f"story {number} {host}"
        return name, links

    return Site(f"{hosts[0]}/", show)


def relative() -> Site:
    """Return a site whose links are relative to a folder where they should be to the root."""
    host, pages = "http://old.example.com", 200

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
        number = int(path[-1][1:]) if path and path[-1][1:].isdigit() else 0
        base = host + "/" + "".join(f"{one}/" for one in path)
        links = [f"{host}/p{(number * 3 + step) % pages}/" for step in (1, 2)]
        links += [f"{base}p{(number + 1) % pages}/", f"{base}help/"]
        return ("help" if path and path[-1] == "help" else f"page {number}"), links

    return Site(f"{host}/p0/", show)


def search() -> Site:
    """Return a site whose search proposes further words without end, and finds nothing."""
    host, pages = "http://find.example.com", 180

    def show(url: str) -> tuple[str, list[str]]:
        path, params = split(url)
        if path and path[0] == "search":
            word = params["q"]
            chosen = numbers_of(f"near {word}")
            links = [f"{host}/search?q={_word(chosen.randrange(10**9))}" for _ in range(5)]
            return "empty month of 0", links
        number = int(path[1]) if path else 0
        links = [f"{host}/page/{(number * 3 + step) % pages}" for step in (1, 2)]
        return f"page {number}", [*links, f"{host}/search?q={_word(number)}"]

    return Site(f"{host}/page/0", show)


def albums() -> Site:
    """Return photographs, each of which has a URL in its album and one outside of it."""
    host, albums_, photos = "https://photo.example.net", 15, 20

    def show(url: str) -> tuple[str, list[str]]:
        path, _ = split(url)
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

    return Site(f"{host}/", show)


_SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]


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


MORE_SITES: Mapping[str, Callable[[], Site]] = {
    function.__name__: function
    for function in (
        *(sessions, questions, blog, paging, days, months, filters, languages, rarely, halves),
        *(relative, search, albums),
    )
}
