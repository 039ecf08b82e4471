"""Recognize error pages with status 200 by a site's answer to a URL that cannot exist.

The answer shows how an error page of the site looks, in any language. Another page is an error page
if such a URL redirects to it, or if it has the title of the answer and

- its text is a near-duplicate of the answer, under the same heading, or
- it begins like the answer: their *openings* (the first letters of the texts) share at least 12
  bytes more than the answer shares with any page with another title. This counts only if at least
  half of the pages with other titles have titles of their own.

Titles and openings are compared without parts of the URL, because error pages may repeat them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from scrapy.utils.datatypes import LocalCache

from scrapy_simhash.confirmation import MIN_RESEMBLANCE_IN_DOUBT, Confirmation
from scrapy_simhash.index.rules import Rules

if TYPE_CHECKING:
    import random

    from scrapy_simhash.detector import PageFingerprint

_MIN_TITLES = 3
_MAX_COUNTED_PAGES = 50
# Twelve Latin letters say as much as four Chinese characters. Both have 12 bytes in UTF-8.
_MIN_SHARED_BYTES = 12
# Lower limit for the `_resemblance` of two openings, if a page has no sketch.
_MIN_OPENING_RESEMBLANCE = 0.9
_FLOOD_PATHS = 5
_REMEMBERED_TEXTS = 20
_MIN_REPEATED_CHARACTERS = 4
_RANDOM_LETTERS = 14
# Sites choose the length of texts and URLs, so these limits bound the time of a comparison.
_COMPARED_CHARACTERS = 400
_COMPARED_URL_CHARACTERS = 2083


@dataclass
class _Answer:
    """The answer to a URL that cannot exist.

    :param others: hash of the URL → hash of the title, for up to 50 pages with another title.
    :param common_bytes: length of the longest prefix that the answer's opening shares with the
        opening of any page with another title.
    :param is_folder: the answer is the page of a folder. Real pages in the folder may begin alike.
    """

    url: str
    page: PageFingerprint
    others: dict[int, int] = field(default_factory=dict)
    common_bytes: int = 0
    is_folder: bool = False


class ErrorAnswers:
    """The answers of one host, and the texts that it returns under many paths.

    :param max_distance: k, inclusive.
    """

    def __init__(self, max_distance: int) -> None:
        confirmation = Confirmation(min_resemblance=MIN_RESEMBLANCE_IN_DOUBT, same_name=False)
        self._rules = Rules(max_distance, confirmation)
        self._answers: list[_Answer] = []
        # Target of a redirect → the URL that cannot exist and redirects to it.
        self._targets: dict[str, str] = {}
        self._home: tuple[str, PageFingerprint] | None = None
        # Hash of title and opening → hashes of the paths that they were returned under.
        self._texts: LocalCache[int, set[int]] = LocalCache(_REMEMBERED_TEXTS)

    def add(self, url: str, page: PageFingerprint) -> None:
        """Add the answer to a URL that cannot exist."""
        # Answers recommend other pages each time.
        page = replace(page, evidence=page.evidence._replace(links=b""))
        answer = _Answer(url, page)
        if self._home is not None:
            self._compare(answer, *self._home)  # counts the home page if it has another title
        self._answers.append(answer)

    def add_redirect(self, url: str, target: str) -> None:
        """Add the target to which a URL that cannot exist redirects."""
        self._targets[target] = url

    def discard_if_like(self, url: str, page: PageFingerprint) -> bool:
        """Discard the answers that match a real page; return True if there were any."""
        answers = self._answers
        self._answers = [answer for answer in answers if not self._compare(answer, url, page)]
        return len(self._answers) < len(answers)

    def match(self, url: str, page: PageFingerprint, requested: str) -> str | None:
        """Return the impossible URL that redirects to the page, or whose answer is like the page.

        Return None if there is none, or if the home page or a folder above the impossible URL was
        requested. A site may answer an impossible URL with these, but they are no error pages.

        :param url: URL of the page, after redirects.
        :param requested: URL of the first request.
        """
        if is_home(requested):
            self._home = (url, page)
            return None
        impossible = self._targets.get(url)
        if impossible is not None:
            is_target = _folder(requested) == _folder(url)
            return None if is_target and _is_above(requested, impossible) else impossible
        matching = [answer for answer in self._answers if self._compare(answer, url, page)]
        for answer in matching:
            answer.is_folder |= _is_above(requested, answer.url)
        return next((one.url for one in matching if not _is_above(requested, one.url)), None)

    def floods(self, url: str, page: PageFingerprint) -> bool:
        """Count a page; return True if its title and opening were seen under five paths or more."""
        forms = _forms(url)
        opening = _letters(page.excerpt, forms)
        if len(opening) < _MIN_SHARED_BYTES:
            return False
        text = hash((_letters(page.title, forms), opening))
        paths = self._texts[text] = self._texts.pop(text, set())
        paths.add(hash(urlsplit(url).path))
        return len(paths) >= _FLOOD_PATHS

    def _compare(self, answer: _Answer, url: str, page: PageFingerprint) -> bool:
        """Return True if a page is like an answer; count a page with another title."""
        # If only its own URL were removed from each text, equal texts could become different.
        forms = _forms(answer.url, url)
        expected, opening = _letters(answer.page.excerpt, forms), _letters(page.excerpt, forms)
        shared = _shared_bytes(expected, opening)
        title = _letters(page.title, forms)
        if _letters(answer.page.title, forms) != title:
            answer.common_bytes = max(answer.common_bytes, shared)
            if len(answer.others) < _MAX_COUNTED_PAGES:
                answer.others[hash(url)] = hash(title)
            return False
        if self._is_copy(answer.page, page, expected, opening):
            return True
        return (
            # Pages have titles of their own: at least three titles, and one for every two pages.
            len({*answer.others.values()}) >= max(_MIN_TITLES, len(answer.others) / 2)
            and not answer.is_folder
            # If only parts of URLs differ in the titles, the headings may differ in them, too.
            and (_same_heading(answer.page, page) or answer.page.title != page.title)
            and shared >= answer.common_bytes + _MIN_SHARED_BYTES
        )

    def _is_copy(
        self, one: PageFingerprint, other: PageFingerprint, expected: bytes, opening: bytes
    ) -> bool:
        """Return True for near-duplicates with the same heading.

        Without sketches, the openings must resemble each other, too; without fingerprints, only
        the openings count.
        """
        if one.fingerprint is not None and other.fingerprint is not None:
            is_copy = self._rules.is_copy(one, other)  # type: ignore[arg-type]
            if not is_copy or not _same_heading(one, other):
                return False
            if one.evidence.sketch and other.evidence.sketch:
                return True
        return _resemblance(expected, opening) >= _MIN_OPENING_RESEMBLANCE


def is_home(url: str) -> bool:
    """Return True for the URL of a home page."""
    parts = urlsplit(url)
    return parts.path in ("", "/") and not parts.query


def _same_heading(one: PageFingerprint, other: PageFingerprint) -> bool:
    """Return True for equal headings, or if a page has no fingerprint: its heading is unknown."""
    is_unknown = one.fingerprint is None or other.fingerprint is None
    return is_unknown or one.evidence.heading == other.evidence.heading


def _is_above(url: str, other: str) -> bool:
    """Return True if the path of a URL is a folder above the path of the other URL."""
    return urlsplit(other).path.startswith(f"{_folder(url)}/")


def _folder(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def impossible_url(url: str, rng: random.Random) -> str:
    """Return a URL that cannot exist, in the same part of the site as the given URL.

    Nine random digits replace each number in the path. If the last segment has no number, random
    letters replace its name. The extension remains; the query is dropped.
    """
    parts = urlsplit(url)
    *folders, last = (parts.path or "/").split("/")
    stem, ending = _stem(last), PurePosixPath(last).suffix
    if not re.search(r"\d", stem):
        stem = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=_RANDOM_LETTERS))
    segments = [
        re.sub(r"\d+", lambda _: str(rng.randrange(10**8, 10**9)), segment)
        for segment in (*folders, stem)
    ]
    return f"{parts.scheme}://{parts.netloc}{'/'.join(segments)}{ending}"


def _forms(*urls: str) -> list[str]:
    """Return the parts of URLs that a page may repeat, case-folded, the longest first."""
    forms: set[str] = set()
    for url in (url[:_COMPARED_URL_CHARACTERS] for url in urls):
        parts = urlsplit(url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        whole = {form for form in (url, f"{parts.netloc}{path}", path, parts.path) if form[1:]}
        names = {unquote(segment) for segment in parts.path.split("/")}
        names |= {re.sub(r"[-_+.]+", " ", _stem(name)) for name in names} | {*map(_stem, names)}
        forms |= whole | {unquote(form) for form in whole}
        forms |= {name for name in names if len(name) >= _MIN_REPEATED_CHARACTERS}
    return sorted({form.casefold() for form in forms}, key=len, reverse=True)


def _letters(text: str, forms: list[str]) -> bytes:
    """Return the letters in the first 400 characters of a text, without `_forms` of URLs."""
    text = text[:_COMPARED_CHARACTERS].casefold()
    for form in forms:
        text = text.replace(form, "")
    return "".join(filter(str.isalpha, text)).encode("utf-8", "surrogatepass")


def _stem(name: str) -> str:
    return name.removesuffix(PurePosixPath(name).suffix)


def _shared_bytes(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix of two texts."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _resemblance(one: bytes, other: bytes) -> float:
    """Return the Jaccard coefficient of the byte trigrams of two texts, from 0 to 1."""
    a, b = ({text[at : at + 3] for at in range(len(text) - 2)} for text in (one, other))
    return len(a & b) / len(a | b) if a and b else 0.0
