"""Pages to crawl: those of page sets and folders, or generated ones."""

from __future__ import annotations

import gzip
import html
import json
import random
from typing import TYPE_CHECKING, NamedTuple

from fingerprints_lib import texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

GENERATED_PAGES = 400
_CHINESE_SHARE = 4
_COPY_SHARE = 10
_MENU_LINKS = 60
_TEASERS = 25
_SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")


class Page(NamedTuple):
    """A page of the server.

    :param lang: empty if unknown.
    """

    name: str
    lang: str
    body: bytes


def pages_of(folder: Path) -> list[Page]:
    """Those of a page set, by its ``docs.jsonl``; else all files of HTML in a folder."""
    if (folder / "docs.jsonl").exists():
        lines = (folder / "docs.jsonl").read_text(encoding="utf-8").splitlines()
        return [
            Page(f"{folder.name} {doc['id']}", doc.get("lang") or "", _body(folder / doc["file"]))
            for doc in map(json.loads, lines)
            if doc.get("file")
        ]
    return [
        Page(f"{folder.name} {path.relative_to(folder)}", "", _body(path))
        for path in sorted(folder.rglob("*"))
        if path.name.endswith(_SUFFIXES)
    ]


def chosen(folders: Iterable[Path], count: int | None, seed: int) -> list[Page]:
    """Return `count` pages of the folders, or all, in an order that mixes sets and languages.

    Of pages with the same bytes there is one: the plugin remembers bytes, and what a look at a
    page costs is to be seen.
    """
    folders = list(folders)
    if folders:
        pages = list({page.body: page for folder in folders for page in pages_of(folder)}.values())
    else:
        pages = generated(count or GENERATED_PAGES, seed)
    return texts.sample(pages, count or len(pages), seed)


def generated(count: int, seed: int) -> list[Page]:
    """Articles, one in four Chinese, with the menus and teasers of a site around them.

    One in ten has the article of an earlier one with a sentence more, among other teasers.
    """
    dice = random.Random(seed)
    found = texts.generated_texts(["en", "zh"], count, seed)
    pages: list[Page] = []
    articles: list[tuple[str, str, str]] = []
    for number in range(count):
        if number % _COPY_SHARE == _COPY_SHARE - 1:
            lang, title, text = articles[dice.randrange(len(articles))]
            text += f"\n{dice.choice(found[lang]).splitlines()[0][:60]}"
        else:
            lang = "zh" if number % _CHINESE_SHARE == 1 else "en"
            text = found[lang][number]
            title = text[:40].strip()
            articles.append((lang, title, text))
        teasers = [text[:80] for text in dice.sample(found[lang], min(_TEASERS, count))]
        body = "".join(_lines(number, lang, title, text, teasers)).encode()
        pages.append(Page(f"generated {number}", lang, body))
    return pages


def _lines(number: int, lang: str, title: str, text: str, teasers: Sequence[str]) -> Iterator[str]:
    yield f'<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8">'
    yield f"<title>{html.escape(title)}</title>"
    yield f"<style>{'.teaser { margin: 0 1em 1em 0; color: #333 } ' * 40}</style>"
    yield f"<script>{'window.queue = window.queue || []; queue.push([1, 2]); ' * 40}</script>"
    yield '</head><body><div class="menu"><ul>'
    for link in range(_MENU_LINKS):
        yield f'<li class="entry"><a href="/section/{link}">Section {link}</a></li>'
    yield f'</ul></div><div class="content"><h1>{html.escape(title)}</h1>'
    for paragraph in text.splitlines():
        yield f"<p>{html.escape(paragraph)}</p>\n"
    yield '</div><div class="sidebar">'
    for teaser in teasers:
        yield f'<div class="teaser"><a href="/{number}">{html.escape(teaser)}</a></div>\n'
    yield '</div><div class="footer"><a href="/about">About</a></div></body></html>'


def _body(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
