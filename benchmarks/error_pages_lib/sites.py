"""Generated sites with known error pages: each host has a language and a kind of error pages."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from error_pages_lib.texts import Language

REAL_PAGES = 40
DEAD_URLS = 20
WALLED_PAGES = 60
# Names of real and dead pages. A crawler doesn't know which are which.
_NAMES = "amber birch cedar dune ember fjord grove heath islet jetty knoll ledge marsh"


@dataclass
class Answer:
    """What a host answers; `is_error` is the truth."""

    body: str
    status: int = 200
    location: str = ""
    is_error: bool = False


@dataclass
class Site:
    """A host whose pages are made from its name alone.

    :param urls: what the crawl asks for, in this order.
    :param asked: the URLs of requests so far.
    """

    host: str
    kind: str
    language: Language
    pages: dict[str, Answer] = field(default_factory=dict)
    urls: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.host)
        self._home = self._article("")
        self.pages["/"] = Answer(self._home)
        paths = list(self._paths())
        for number in range(REAL_PAGES):
            self.pages[paths[number]] = Answer(self._real(number))
        dead = paths[REAL_PAGES:]
        if self.kind == "wall":
            dead = [f"/members/{number}/{self._name()}" for number in range(WALLED_PAGES)]
        elif self.kind == "ignores names":
            dead = [f"{path}-{self._name()}" for path in paths[:DEAD_URLS]]
        mixed = paths[1:REAL_PAGES] + dead
        self._random.shuffle(mixed)
        self.urls = [f"http://{self.host}{path}" for path in ("/", paths[0], *mixed)]

    def answer(self, url: str) -> Answer:
        """Return the answer to a request."""
        self.asked.append(url)
        path = urlsplit(url).path
        return self.pages.get(path) or KINDS[self.kind](self, path)

    def _paths(self) -> Iterator[str]:
        found: set[str] = set()
        while len(found) < REAL_PAGES + DEAD_URLS:
            section = self._random.choice(("news", "shop", "guide/town"))
            number = self._random.randrange(100, 9999)
            path = self._random.choice(
                (f"/{section}/{self._name()}-{self._name()}.html", f"/{section}/{number}")
            )
            if path not in found:
                found.add(path)
                yield path

    def _name(self) -> str:
        return "".join(self._random.choices("abcdefghiklmnoprstu", k=3)) + self._random.choice(
            _NAMES.split()
        )

    def words(self, count: int, chosen: random.Random | None = None) -> str:
        """Return random words in the site's language."""
        chosen = chosen or self._random
        return self.language.between.join(chosen.choices(self.language.words.split(), k=count))

    def html(self, title: str, body: str, heading: str) -> str:
        """Return a page in the site's template."""
        menu = "".join(
            f"<a href='/{at}'>{word}</a> " for at, word in enumerate(self.language.menu.split())
        )
        title = self.host if self.kind in ("one title", "no names") else f"{title} | {self.host}"
        heading = "" if self.kind == "no names" else f"<h1>{heading}</h1>"
        return (
            f"<html><head><title>{escape(title)}</title></head><body><nav>{menu}</nav>"
            f"<main>{heading}{body}</main><footer>© {self.host} {menu}</footer></body></html>"
        )

    def _article(self, name: str) -> str:
        title = f"{self.words(3)} {name}"
        paragraphs = "".join(
            f"<p>{self.words(self._random.randrange(30, 60))}.</p>" for _ in range(4)
        )
        return self.html(title, paragraphs, title)

    def _real(self, number: int) -> str:
        """Return an article, a product of a template, or a page with few words."""
        if number % 3 == 0:
            return self._article(str(number))
        name = f"{self.words(2)} {number}"
        if number % 3 == 1:
            rows = "".join(
                f"<li>{label}: {self.words(1)} {self._random.randrange(999)}</li>"
                for label in self.language.menu.split()
            )
            text = f"<p>{self.words(12)}</p><ul>{rows}</ul><p>{self.language.help}</p>"
            return self.html(name, text, name)
        return self.html(name, f"<p>{self.words(6)}</p>", name)

    # Answers to URLs without a page.

    def _error(self, body: str, title: str = "") -> Answer:
        title = title or self.language.error[0]
        return Answer(self.html(title, body, title), is_error=True)

    def status(self, _path: str) -> Answer:
        """Answer with status 404."""
        return Answer(self._error(self.language.error[1]).body, 404)

    def short(self, _path: str) -> Answer:
        """Answer with one sentence."""
        return self._error(f"<p>{self.language.error[1]}</p>")

    def long(self, _path: str) -> Answer:
        """Answer with a paragraph."""
        return self._error(f"<p>{self.language.error[1]}</p><p>{self.language.help}</p>")

    def echo(self, path: str) -> Answer:
        """Answer with the URL, in the title and twice in the text."""
        text = self.language.echo.format(url=f"http://{self.host}{path}")
        title = f"{self.language.error[0]}: {path}"
        return self._error(f"<p>{text}</p><p>{self.language.help} <b>{path}</b></p>", title)

    def related(self, path: str) -> Answer:
        """Answer with links to pages whose names are like the path."""
        by_name = random.Random(path[:6])
        links = "".join(f"<li>{self.words(5, by_name)}</li>" for _ in range(5))
        return self._error(f"<p>{self.language.error[1]}</p><ul>{links}</ul>")

    def recommended(self, _path: str) -> Answer:
        """Answer with other teasers each time."""
        links = "".join(f"<li>{self.words(12)}</li>" for _ in range(8))
        return self._error(f"<p>{self.language.error[1]}</p><ul>{links}</ul>")

    def home(self, _path: str) -> Answer:
        """Answer with the home page."""
        return Answer(self._home, is_error=True)

    def redirect(self, _path: str) -> Answer:
        """Redirect to a page for all errors."""
        self.pages.setdefault("/sorry", self._error(f"<p>{self.language.error[1]}</p>"))
        return Answer("", 302, "/sorry", is_error=True)

    def sections(self, path: str) -> Answer:
        """Answer with another text in a part of the site."""
        section = path.split("/")[1]
        if section == "shop":
            return self._error(f"<p>{self.language.echo.format(url='')}</p>", self.language.wall[0])
        return self._error(f"<p>{self.language.error[1]}</p>")

    def wall(self, path: str) -> Answer:
        """Answer with a consent page in a part of the site, with status 404 elsewhere."""
        if not path.startswith("/members/"):
            return self.status(path)
        title, text = self.language.wall
        return Answer(self.html(title, f"<p>{text}</p>", title), is_error=True)

    def ignores_names(self, path: str) -> Answer:
        """Answer with the page whose path is a beginning of the one that is asked for."""
        known = [other for other in self.pages if other != "/" and path.startswith(other)]
        return self.pages[max(known, key=len)] if known else self.status(path)


KINDS: dict[str, Callable[[Site, str], Answer]] = {
    "short": Site.short,
    "long": Site.long,
    "URL repeated": Site.echo,
    "related links": Site.related,
    "random links": Site.recommended,
    "one title": Site.long,
    "no names": Site.short,
    "home page": Site.home,
    "redirect": Site.redirect,
    "by section": Site.sections,
    "wall": Site.wall,
    "status 404": Site.status,
    "ignores names": Site.ignores_names,
}
