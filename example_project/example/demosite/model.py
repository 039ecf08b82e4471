"""The pages of the demo site, and the site itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "127.0.0.1"
# For the plugin, another name is another site, on which copies may have other titles.
MIRROR_HOST = "localhost"
MAIN, MIRROR = "main", "mirror"


@dataclass(frozen=True)
class Page:
    """A page.

    :param role: ``main`` or ``mirror``, the host that has the page.
    :param text: the main text, by which resemblance is measured; empty for listings.
    :param kind: ``article``, ``listing``, ``about``, ``calendar``, ``soft-404`` or `Plant.kind`.
    :param family: pages of one family are near-duplicates of each other.
    """

    role: str
    path: str
    html: str
    text: str
    lang: str
    kind: str
    family: str


@dataclass(frozen=True)
class Site:
    """The demo site.

    :param pages: (role, path) → page.
    :param endless: returns another page of the main host by its path, or None if there is none.
    """

    main_port: int
    mirror_port: int
    pages: dict[tuple[str, str], Page]
    endless: Callable[[str], Page | None]

    @property
    def main_url(self) -> str:
        """The URL of the front page."""
        return f"http://{HOST}:{self.main_port}/"

    @property
    def mirror_url(self) -> str:
        """The URL of the front page of the mirror host, which also has the partner site."""
        return f"http://{MIRROR_HOST}:{self.mirror_port}/"

    @property
    def start_urls(self) -> str:
        """The start URLs of both hosts, in the form that the spider takes."""
        return f"{self.main_url},{self.mirror_url}"

    def find(self, role: str, path: str) -> Page | None:
        """Return the page at a path (with its query); None if the server should answer 404."""
        page = self.pages.get((role, path))
        return page if page or role != MAIN else self.endless(path)

    def url(self, page: Page) -> str:
        """Return the URL of a page."""
        return (self.mirror_url if page.role == MIRROR else self.main_url).rstrip("/") + page.path

    def page_at(self, url: str) -> Page | None:
        """Return the page at a URL; None if the site has no page there."""
        parts = urlsplit(url)
        role = {self.main_port: MAIN, self.mirror_port: MIRROR}.get(parts.port or 80)
        if role is None or parts.hostname != (MIRROR_HOST if role == MIRROR else HOST):
            return None
        return self.find(role, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
