"""Find the targets of a page's own links, cut into pieces that mirrors do not change, and the
documents that it embeds.

A mirror, a print version or a session id changes hosts, folders, endings and parameters of links,
but each in the same way on the whole page. So a target counts as a set of pieces: the segments of
its path and the parameters of its query. A common folder, ending or session id is one piece among
many, and what tells one target from another is left.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING
from urllib.parse import unquote

from scrapy_simhash.extraction.asides import aside_filter
from scrapy_simhash.extraction.chrome import is_hidden
from scrapy_simhash.extraction.elements import names_of
from scrapy_simhash.extraction.naming import host_of
from scrapy_simhash.extraction.segments import around_heading
from scrapy_simhash.file_types import type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lxml.html import HtmlElement

    from scrapy_simhash.extraction.elements import Elements
    from scrapy_simhash.extraction.lines import Line

# Navigation has one or two words a link, entries of a list have more. So a target weighs a quarter
# of the square of its words, at least 1.
_MAX_WORDS = 12
# The words of a line count for a link without a text, such as a picture.
_MAX_WORDS_OF_PICTURE = 4
# Longer targets are data, or traps.
_MAX_CHARACTERS = 2083
# Links with fewer words, as a share of the words of the content, are no list: beside the heading,
# and on the whole page, which has navigation and teasers, too.
_MIN_SHARE_OF_CONTENT = 0.3
_MIN_SHARE_OF_PAGE = 0.5
# The same share, and the number of targets, of a list that follows its introduction.
_MIN_SHARE_IF_INTRODUCED = 0.15
_MIN_INTRODUCED = 3
_MIN_TEXT_WORDS = 8
# So many links with one text ("More"), or pictures, lead to the entries of a list; beside a short
# text three, or one for so many of its words.
_MIN_ENTRIES = 10
_WORDS_PER_ENTRY = 15

# Elements that show another document, and the attributes that say which one.
_EMBEDDING = ("iframe", "object", "embed", "video", "audio", "source", "math")
_SOURCES = ("data-src", "src", "data")
# Elements of a formula that do not say where its parts are.
_GROUPS = frozenset("math mi mn mo mpadded mrow ms mstyle mtext semantics".split())
_INVISIBLE = ("annotation", "annotation-xml", "mphantom")
_MAX_PIECES = 1000
# What is embedded there belongs to the site.
_NOT_EMBEDDED_IN = "aside dialog footer header nav noscript template".split()
_ADVERTISEMENT = re.compile(r"(?<![a-z])(?:ads?|advert[a-z]*|sponsor[a-z]*)(?![a-z])")
_MAX_BOXES = 2  # elements around an embedded one whose names say that it is an advertisement
# The most values of each kind.
_MAX_EMBEDDED = {"embedded": 8, "parameter": 8, "formula": 8, "file": 4, "image": 4}
_SIZE = re.compile(r"[-_]\d+x\d+$")
# Further elements are not looked at: what is around each takes time on deeply nested pages.
_MAX_EMBEDDING = 300
_MEDIA = ("image/", "video/", "audio/")
_POINT = frozenset(("0", "1"))  # the size of what only counts visits
# Another picture at each visit: to read, or known by a parameter that is a random number or a time.
# Buttons to share a page have its address.
_OF_VISIT = re.compile(r"captcha|(?:like|share|tweet|button)[^/?#]*(?:[?#]|$)")
_RANDOM = re.compile(r"(?:.*=)?(?:0?\.\d+|\d{10,})")
_TOKEN = re.compile(r"=[0-9a-f-]{16,}$")  # of a visit, if other parameters say what is shown

_ORIGIN = re.compile(r"(?:https?:)?//[^/?#]*")
_OTHER_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
_ADDRESSES = ("mailto:", "tel:")
_AFTER_PATH = re.compile("[?&;#]")
_BETWEEN_PIECES = re.compile(r"[/?&;#]+")
_NUMBERS = re.compile(r"(?:\d{1,8}/?)+")
_ENDING = re.compile(r"\.[a-z]\w{0,4}$")
# What a script is called with: quoted texts and numbers.
_ARGUMENT = re.compile(r"'([^']*)'|\"([^\"]*)\"|\b(\d+)\b")


def own_targets(lines: Sequence[Line], content: Sequence[Line]) -> dict[str, int]:
    """Return the pieces of the targets of links, each with its weight from 1 to 36.

    Links in chrome do not count, nor do those in asides that are not part of the content.

    The result is empty if the links have few words beside the content: their targets then say
    less of the page than its text does.

    :param lines: all lines of the page.
    :param content: the lines of its content, see `scrapy_simhash.extraction.segments`.
    """
    if not any(line.aside for line in content):
        lines = [line for line in lines if not line.aside]
    words = sum(line.words for line in content)
    linked: Sequence[Line] = [line for line in lines if line.targets and not line.chrome]
    may_be_few = _links_fill(linked, _MIN_SHARE_IF_INTRODUCED * words)
    around: Sequence[Line] = ()
    if _links_fill(linked, _MIN_SHARE_OF_CONTENT * words):  # else they do not around the heading
        around = [line for line in around_heading(lines) if line.targets and not line.chrome]
    if _links_fill(around, _MIN_SHARE_OF_CONTENT * words):
        linked = around
    # A list may stand outside the element with the heading and the introduction.
    elif entries := _entries(around, words):
        linked = entries
    elif not _links_fill(linked, _MIN_SHARE_OF_PAGE * words):
        linked = _entries(linked, words)
    if linked or not may_be_few:
        return _weights(linked)
    linked = _introduced(around_heading(lines))
    if not _links_fill(linked, _MIN_SHARE_IF_INTRODUCED * words):
        return {}
    targets = [_in_folders(target[:_MAX_CHARACTERS]) for line in linked for target in line.targets]
    # Of few targets, a common folder would be a large share.
    common = set(targets[0]).intersection(*targets[1:])
    return {piece: weight for piece, weight in _weights(linked).items() if piece not in common}


def _weights(linked: Sequence[Line]) -> dict[str, int]:
    """Return the pieces of the targets of lines, each with its largest weight."""
    weights: dict[str, int] = {}
    for line in linked:
        targets = set(line.targets)
        words = _words_of_links(line) / len(targets)
        if len(targets) >= _MIN_INTRODUCED and _has_pictures(line):
            words = _MAX_WORDS_OF_PICTURE
        weight = max(round(min(words, _MAX_WORDS) ** 2 / 4), 1)
        for target in targets:
            url = target[:_MAX_CHARACTERS]
            for piece in _in_folders(url) or filter(None, (host_of(url),)):
                weights[piece] = max(weights.get(piece, 0), weight)
    return weights


def _introduced(lines: Sequence[Line]) -> list[Line]:
    """Return the lists of at least three links that follow a text, without a heading between."""
    found: list[Line] = []
    follows = False
    # Between a text and its list may be a form.
    for is_listed, group in groupby((line for line in lines if not line.chrome), _is_listed):
        run = list(group)
        linked = [line for line in run if line.targets]
        targets = {target for line in linked for target in line.targets}
        if is_listed and follows and len(targets) >= _MIN_INTRODUCED:
            found += linked
        last = run[-1]
        follows = not is_listed and last.words >= _MIN_TEXT_WORDS
    return found


def _is_listed(line: Line) -> bool:
    """Return True for an entry of a list, and for what it says of one: its author, date or price.

    A short line without a link and without a digit may be a heading.
    """
    if line.row or line.is_links:
        return True
    numbers = sum(any(map(str.isdigit, word)) for word in line.text.split())
    return line.words - numbers < _MIN_TEXT_WORDS and (numbers > 0 or bool(line.targets))


def _links_fill(linked: Sequence[Line], least_words: float) -> bool:
    """Return True if the links of lines have enough words."""
    # Texts are content, and so are the links in them.
    words = sum(_words_of_links(line) for line in linked if line.row or line.is_links)
    return words > 0 and words >= least_words


def _entries(linked: Sequence[Line], words: int) -> list[Line]:
    """Return the lines whose links are many, with one text and different targets, or pictures.

    :param words: those of the content; beside a short text, a few links are many.
    """
    enough = min(max(words // _WORDS_PER_ENTRY, _MIN_INTRODUCED), _MIN_ENTRIES)
    by_text: dict[str, dict[tuple[str, ...], Line]] = {}
    for line in linked:
        by_text.setdefault(line.text, {})[line.targets] = line
    return [
        line
        for of_text in by_text.values()
        for line in of_text.values()
        if max(len(of_text), len(set(line.targets)) if _has_pictures(line) else 0) >= enough
    ]


def _has_pictures(line: Line) -> bool:
    """Return True if links of a line are pictures: it has no text in links, or more links than
    words.
    """
    return not line.link_characters or len(line.targets) > line.words


def _words_of_links(line: Line) -> float:
    """Return how many words of a line its links have; all words of a table row count."""
    if line.row:
        return line.words
    if not line.link_characters:
        return min(line.words, _MAX_WORDS_OF_PICTURE)
    return line.words * line.link_characters / len(line.text)


def pieces_of(target: str) -> tuple[str, ...]:
    """Return the pieces of a link target: of a URL, as the page writes it, or of a script.

    The ending of a file and a fragment are left out, unless the fragment is a route (``#/`` or
    ``#!``). Of a script, the arguments of its calls are taken as URLs.
    """
    return _pieces_of(target[:_MAX_CHARACTERS])


@lru_cache(maxsize=8192)  # pages of a site share their navigation
def _pieces_of(target: str) -> tuple[str, ...]:
    target = target.strip().lower()
    if target.startswith("javascript:"):
        arguments = map("".join, _ARGUMENT.findall(target))
        return tuple(piece for argument in arguments for piece in pieces_of(argument))
    path, _, fragment = target.partition("#")
    if origin := _ORIGIN.match(path):
        path = path[origin.end() :]
    elif _OTHER_SCHEME.match(path):  # mailto:, tel:, data:
        return ()
    if fragment.startswith(("/", "!")):
        path += f"/{fragment}"
    pieces = _BETWEEN_PIECES.split(unquote(path))
    return tuple(
        _ENDING.sub("", piece) if "." in piece else piece for piece in pieces if piece.strip("./! ")
    )


@lru_cache(maxsize=8192)  # pages of a site share their navigation
def _in_folders(target: str) -> tuple[str, ...]:
    """Return the pieces of a link target, those in a folder that no mirror adds with its name: a
    number, such as a year, or that of a file which is no page.
    """
    is_page = _last_segment(target)[1]
    found = [""]
    pieces = pieces_of(target)
    for at, piece in enumerate(pieces, 1):
        is_file = not is_page and all("=" in after for after in pieces[at : at + 1])
        is_inside = "=" not in piece and (is_file or _NUMBERS.fullmatch(found[-1]))
        found.append(f"{found[-1]}/{piece}" if is_inside else piece)
    return tuple(found[1:])


def final_targets(lines: Iterable[Line]) -> Iterator[str]:
    """Yield the last segments of the targets of links outside chrome and asides that are part of
    what the page says: links in a text, and those to files, addresses and telephone numbers.
    """
    for line in lines:
        if line.targets and not (line.chrome or line.aside):
            for target in line.targets:
                segment, is_page = _last_segment(target[:_MAX_CHARACTERS])
                if segment and not (is_page and line.is_links):
                    yield segment


@lru_cache(maxsize=8192)  # pages of a site share their navigation
def _last_segment(target: str) -> tuple[str, bool]:
    """Return the last segment of a target's path, and whether it may be a page.

    What a script is called with may protect a form, and differ from one visit to the next. So do
    parameters.
    """
    if target.lower().startswith("javascript:"):
        return "", True
    origin = _ORIGIN.match(target)
    path = _AFTER_PATH.split(target[origin.end() if origin else 0 :], maxsplit=1)[0].rstrip("/")
    kind = _type_of(path) or "text/"
    return path.rpartition("/")[2], kind.startswith("text/") and not path.startswith(_ADDRESSES)


def embedded_documents(elements: Elements) -> list[tuple[str, str]]:
    """Return what tells apart the documents that a page embeds in its content: films, PDF files,
    formulas (of the kind ``formula``); files and addresses to which it leads (``file``); and its
    first pictures (``image``).

    Of a file, it is the last segment of the path (of the kind ``embedded``), whatever the host and
    the query: players have several of either. A segment without a digit may be a program. Its
    parameters say what it shows (``parameter``), but for random ones.
    """
    images = elements.tagged("img")[:_MAX_EMBEDDING]
    is_aside = cache(aside_filter(elements))
    links = elements.tagged("a")[:_MAX_EMBEDDING]
    of_links = ((one, *_last_segment(one.get("href", "")[:_MAX_CHARACTERS])) for one in links)
    # A link to share the page by mail has no address.
    files = {one: name for one, name, is_page in of_links if not is_page and name not in _ADDRESSES}
    embedding = [*elements.tagged(*_EMBEDDING)[:_MAX_EMBEDDING], *files, *images]
    of_site = set(elements.tagged(*_NOT_EMBEDDED_IN))
    mains = set(elements.tagged("main"))
    articles = {
        one for h1 in elements.tagged("h1") for one in islice(h1.iterancestors("article"), 1)
    }
    found: dict[str, dict[str, None]] = {kind: {} for kind in _MAX_EMBEDDED}
    for element in embedding:
        if len(found["image"]) >= _MAX_EMBEDDED["image"]:  # images come last
            break
        if element.tag == "source" and element.getparent().tag == "picture":  # a choice
            continue
        is_image = element.tag == "img"
        # Most images are in a link to something else.
        around_image = element.iterancestors("a") if is_image else ()
        if not all(_type_of(one.get("href", "")).startswith("image/") for one in around_image):
            continue
        above = list(element.iterancestors())
        around = mains or (articles if is_image else mains)
        if not of_site.isdisjoint(above) or (around and around.isdisjoint(above)):
            continue
        boxes = " ".join(map(names_of, (element, *above[:_MAX_BOXES]))).lower()
        if is_hidden(element.get("style", "")) or _ADVERTISEMENT.search(boxes):
            continue
        if element.tag == "a":
            found["file"][files[element]] = None
            continue
        if element.tag == "math":
            if formula := _formula(element):
                found["formula"][formula] = None
            continue
        sources = [element.get(name, "") for name in _SOURCES]
        of_image = element.get("srcset", "").partition(" ")[0] if is_image else ""
        source = next(filter(None, sources), of_image)
        path, _, query = source.partition("?")
        names = [_SIZE.sub("", name) for name in pieces_of(path)[-1:]]
        is_file = any(map(str.isdigit, "".join(names))) or _type_of(path).startswith(_MEDIA)
        pairs = [] if is_file else list(filter(None, _AFTER_PATH.split(unquote(query).lower())))
        known = [one for one in pairs if not _RANDOM.fullmatch(one)]
        parameters = [one for one in known if not _TOKEN.search(one)] or known or pairs
        kind = "image" if is_image else "parameter" if parameters else "embedded"
        is_point = not _POINT.isdisjoint(map(element.get, ("width", "height")))
        if is_point or _OF_VISIT.search(source.lower()):
            continue
        if is_image and ((pairs and not known) or any(map(is_aside, above))):
            continue
        found[kind].update(dict.fromkeys(["&".join(parameters)] if parameters else names))
    return [
        (kind, value) for kind, most in _MAX_EMBEDDED.items() for value in list(found[kind])[:most]
    ]


def _formula(math: HtmlElement) -> str:
    """Return what a formula shows, and how its parts are placed; empty if it shows nothing."""
    parts = [
        (str(one.tag) * (one.tag not in _GROUPS), one.text or "")
        for one in islice(math.iter("*"), _MAX_PIECES)
        if one.tag not in _INVISIBLE and next(one.iterancestors(*_INVISIBLE), None) is None
    ]
    shows = any(text.strip() for _, text in parts)
    return " ".join(" ".join(chain(*parts) if shows else (math.get("alttext", ""),)).split())


def _type_of(url: str) -> str:
    # `type_of` takes long, and the names of most pages have no ending.
    has_none = "/" in url.rpartition(".")[2] and not url.startswith("data:")
    return "" if has_none else type_of(url)
